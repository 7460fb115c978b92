//! The ring itself, as its owner has it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use pathwalk::Context;

use crate::closing::Closing;
use crate::complete::{Completions, Notify};
use crate::punt::{Punted, unique};
use crate::{Completion, Pool, SubmissionQueue};

/// A submission and a completion queue over the `Vfs` of a [`Context`], for one owner. Source:
/// `io_uring_setup(2)`, `io_uring_enter(2)`.
///
/// # What always holds
///
/// - Each entry that [`submit`](Self::submit) takes completes exactly once. Its place in the
///   completion queue is reserved when it is taken: nothing is ever dropped for want of room; a
///   full queue is `EBUSY`.
/// - What the caches can answer is answered in `submit`. The rest is done by the workers of the
///   [`Pool`], several of a ring at once.
/// - Completions come in any order. Entries that are not linked are not ordered: one that is
///   answered inline may overtake an earlier one that a worker does. The effect of an entry is seen
///   by every entry that is submitted after its completion was reaped, and by those linked behind
///   it.
/// - A call of the file system that was begun is never interrupted: cancelling it is `EALREADY`,
///   and dropping the ring lets it end.
/// - A panic of the file system is `EIO`, also one in the drop of an open file that an entry was
///   the last to hold when it ran.
/// - No call of the ring closes a file: where an entry that was answered or cancelled was the last
///   to hold one, a worker closes it.
///
/// # Threads
///
/// All methods take `&mut self`: one thread at a time submits and reaps. The ring may be sent to
/// another thread. Workers complete entries concurrently. Time passes for a ring when its owner
/// submits, reaps or waits: then timeouts complete. An entry whose time limit has expired is not
/// begun in any case.
///
/// # Dropping it
///
/// Entries that are not begun are cancelled. Those that run are left to end, and their results are
/// dropped. Entries linked behind them are not begun. The drop does not wait for any of them. A
/// worker closes the files that they hold.
///
/// ```
/// use std::time::{Duration, Instant};
/// use pathwalk::{Credentials, Errno, OpenFlags, Vfs};
/// use pathwalk_ring::{Entry, Op, Ring, Value};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.write("/file", "data")?;
/// let mut ring = Ring::new(context);
/// let mut queue = ring.queue();
/// assert!(queue.is_empty());
/// queue.push(Entry::new(1, Op::stat("/file"))).map_err(Errno::from)?;
/// queue.push(Entry::new(2, Op::open("/file", OpenFlags::READ))).map_err(Errno::from)?;
/// assert_eq!(queue.len(), 2);
/// assert_eq!(ring.submit(&mut queue), Ok(2));
/// if ring.has_room() {
///     ring.submit_one(Entry::new(3, Op::Mkdirat { place: "/new".into(), mode: 0o755 }))?;
/// }
/// assert_eq!(ring.outstanding(), 3);
/// assert_eq!(ring.wait(3), 3);
/// while let Some(done) = ring.reap() {
///     match (done.user_data, done.result?) {
///         (1, Value::Statx(statx)) => assert_eq!(statx.attributes.size, 4),
///         (2, Value::File(file)) => assert_eq!(file.handle().path()?, b"/file"),
///         (3, Value::Done) => assert!(ring.context().stat("/new").is_ok()),
///         other => unreachable!("{other:?}"),
///     }
/// }
///
/// // A timeout, which is cancelled before it ends.
/// ring.submit_one(Entry::new(4, Op::Timeout { after: Duration::from_secs(600) }))?;
/// assert!(ring.next_timeout().is_some_and(|at| at > Instant::now()));
/// assert_eq!(ring.wait_for(1, Duration::from_millis(1)), Err(Errno::ETIME));
/// ring.cancel(4)?;
/// assert_eq!(ring.reap().unwrap().result.unwrap_err(), Errno::ECANCELED);
/// assert!(ring.pool().stats().queued == 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ring {
    pub(crate) completions: Arc<Completions>,
    pub(crate) pool: Pool,
    pub(crate) context: Arc<Context>,
    entries: usize,
    /// The size of the completion queue.
    pub(crate) places: usize,
    /// The number of entries that were submitted and whose completions were not reaped.
    pub(crate) outstanding: usize,
    /// The completions that the owner has already. Others are in the workers' queue.
    pub(crate) done: VecDeque<Completion>,
    /// The work that is about to be given to the workers; empty between calls.
    pub(crate) punted: Vec<Punted>,
    /// The files that completed entries were the last to hold; empty between calls.
    pub(crate) closing: Closing,
    /// The timeouts: their `user_data`, by the instant at which they expire and a number.
    pub(crate) timeouts: BTreeMap<(Instant, u64), u64>,
    /// Whether entries with a time limit were submitted since nothing was outstanding.
    pub(crate) has_limits: HasLimits,
}

/// A flag for time limits that may have to be checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HasLimits {
    None,
    Some,
}

/// The configuration of a [`Ring`] to be built.
///
/// ```
/// use std::sync::mpsc;
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_ring::{Entry, Op, Pool, Ring};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let (bell, rung) = mpsc::channel();
/// let mut ring = Ring::builder(context)
///     .entries(32)
///     .completions(64)
///     .pool(Pool::builder().workers(2).build())
///     .notify(move || _ = bell.send(())) // wakes an event loop: an eventfd, as a rule
///     .build();
/// ring.submit_one(Entry::new(1, Op::Mkdirat { place: "/new".into(), mode: 0o755 }))?;
/// rung.recv()?;
/// assert!(ring.reap().unwrap().result.is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RingBuilder {
    context: Arc<Context>,
    entries: usize,
    completions: Option<usize>,
    pool: Option<Pool>,
    notify: Option<Notify>,
}

impl Ring {
    /// Creates a ring with the rights of this context, 128 entries, 256 completions and a pool of
    /// its own.
    pub fn new(context: Context) -> Ring {
        Ring::builder(context).build()
    }

    /// Creates a builder.
    ///
    /// [`RingBuilder`] has an example.
    pub fn builder(context: Context) -> RingBuilder {
        RingBuilder { context: Arc::new(context), entries: 128, completions: None, pool: None, notify: None }
    }

    /// Returns the context whose rights, root and working directory its entries have.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the workers.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Creates an empty submission queue.
    pub fn queue<'p>(&self) -> SubmissionQueue<'p> {
        SubmissionQueue::new(self.entries)
    }

    /// Returns the number of entries that were submitted and whose completions were not reaped.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }
}

impl RingBuilder {
    /// Sets the size of a submission queue, at least 1. Source: `entries` of `io_uring_setup(2)`.
    #[must_use]
    pub fn entries(self, entries: usize) -> RingBuilder {
        RingBuilder { entries: entries.max(1), ..self }
    }

    /// Sets the size of the completion queue, which is the maximum number of outstanding entries.
    /// At least the size of a submission queue; by default twice that. Source:
    /// `IORING_SETUP_CQSIZE`.
    #[must_use]
    pub fn completions(self, completions: usize) -> RingBuilder {
        RingBuilder { completions: Some(completions), ..self }
    }

    /// Sets the workers, which rings and async contexts may share. Source:
    /// `IORING_SETUP_ATTACH_WQ`.
    #[must_use]
    pub fn pool(self, pool: Pool) -> RingBuilder {
        RingBuilder { pool: Some(pool), ..self }
    }

    /// Sets a function that a worker calls after it has completed an entry, for an owner that waits
    /// elsewhere: to write to an eventfd, for example. It must not block. It is not called for
    /// entries that complete in the owner's own calls, nor when timeouts expire: see
    /// [`Ring::next_timeout`]. Source: `IORING_REGISTER_EVENTFD_ASYNC`.
    #[must_use]
    pub fn notify(self, notify: impl Fn() + Send + Sync + 'static) -> RingBuilder {
        RingBuilder { notify: Some(Box::new(notify)), ..self }
    }

    /// Builds the ring.
    pub fn build(self) -> Ring {
        let RingBuilder { context, entries, completions, pool, notify } = self;
        Ring {
            completions: Arc::new(Completions::new(unique(), notify)),
            pool: pool.unwrap_or_default(),
            context,
            entries,
            places: completions.unwrap_or(entries.saturating_mul(2)).max(entries),
            outstanding: 0,
            done: VecDeque::new(),
            punted: Vec::new(),
            closing: Closing::default(),
            timeouts: BTreeMap::new(),
            has_limits: HasLimits::None,
        }
    }
}

impl std::fmt::Debug for RingBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RingBuilder({} entries)", self.entries)
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ring({} of {} outstanding)", self.outstanding, self.places)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let vfs = self.context.vfs();
        if self.outstanding != self.done.len() + self.timeouts.len() {
            // The pool still has some work of the ring.
            self.completions.abandon();
            self.pool.withdraw(self.completions.owner, vfs);
            self.completions.fetch(&mut self.done);
        }
        self.closing.completions(self.done.drain(..));
        self.pool.close(std::mem::take(&mut self.closing), vfs);
    }
}
