//! The options of branches.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pathwalk::{Freshness, Timestamp};
use rustix::time::{ClockId, clock_gettime};

/// What branches are told of changes of their base.
///
/// [`Options`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum BaseChanges {
    /// All of them: they are made through the `Vfs` of the base, or reported to it. The caches of a
    /// branch keep what they were told until a change is reported; where the file system of the
    /// base does not promise that, they ask each time.
    #[default]
    Reported,
    /// Not all. Each use of a name or of attributes asks the branch, which asks the `Vfs` of the
    /// base.
    AskEachTime,
}

impl BaseChanges {
    /// Returns how long an answer of the base is valid at most.
    pub(crate) fn freshness(self) -> Freshness {
        match self {
            BaseChanges::AskEachTime => Freshness::AskEachTime,
            BaseChanges::Reported => Freshness::Stable,
        }
    }
}

/// What becomes of data that is written and that the store has already.
///
/// [`Options::equal_chunks`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum EqualChunks {
    /// It is stored once more.
    #[default]
    StoredAgain,
    /// It takes no space again.
    StoredOnce,
}

/// The options of branches. They start from [`Options::default`]; each method changes one of them.
///
/// ```
/// use pathwalk::{Credentials, Timestamp, Vfs};
/// use pathwalk_branch::{BaseChanges, Branches, Options};
/// use pathwalk_memfs::MemFs;
///
/// let base = Vfs::builder().build(MemFs::new())?.context(Credentials::root());
/// let options = Options::default()
///     .base_changes(BaseChanges::AskEachTime)
///     .clock(|| Timestamp { seconds: 7, nanoseconds: 0 });
/// let branches = Branches::with(base, options)?;
/// let context = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
/// context.write("/file", "text")?;
/// assert_eq!(context.stat("/file")?.mtime.seconds, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) base_changes: BaseChanges,
    clock: Option<Arc<dyn Fn() -> Timestamp + Send + Sync>>,
    pub(crate) sync_every: SyncEvery,
    pub(crate) longest_text: u64,
    pub(crate) equal_chunks: EqualChunks,
}

/// The length of the longest text that is kept, if the options do not say it.
const LONGEST_TEXT: u64 = 1 << 20;

/// The time after which changed branches are synced unasked.
#[derive(Clone, Copy)]
pub(crate) struct SyncEvery(pub(crate) Option<Duration>);

impl Default for SyncEvery {
    /// Returns five seconds, as the journals of file systems have it.
    fn default() -> Self {
        SyncEvery(Some(Duration::from_secs(5)))
    }
}

impl Default for Options {
    fn default() -> Self {
        let (base_changes, sync_every) = (BaseChanges::default(), SyncEvery::default());
        Options { base_changes, clock: None, sync_every, longest_text: LONGEST_TEXT, equal_chunks: EqualChunks::default() }
    }
}

impl Options {
    /// Sets what branches are told of changes of their base. Default: all of them.
    #[must_use]
    pub fn base_changes(mut self, changes: BaseChanges) -> Options {
        self.base_changes = changes;
        self
    }

    /// Sets the clock: `read` is called at each change, in the place of the system's clock. It must
    /// neither block nor use a branch.
    #[must_use]
    pub fn clock(mut self, read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Options {
        self.clock = Some(Arc::new(read));
        self
    }

    /// Sets the time after which branches that were changed are synced, though no user asked for
    /// it; with `None` they are not. Default: 5 seconds. It says how much a crash may cost; without
    /// a [`Store`](crate::Store) it says nothing.
    #[must_use]
    pub fn sync_every(mut self, time: impl Into<Option<Duration>>) -> Options {
        self.sync_every = SyncEvery(time.into());
        self
    }

    /// Sets the length in bytes of the longest text that is kept of a file of the base before the
    /// first change of its data. With it, [`Answer::Merge`](crate::Answer::Merge) merges what the
    /// base has changed in the same file since. Longer files, and those with a zero byte, are not
    /// kept. Default: 1 MiB; 0 keeps empty files alone.
    #[must_use]
    pub fn longest_text(mut self, bytes: u64) -> Options {
        self.longest_text = bytes;
        self
    }

    /// Sets what becomes of data that is written and that the store has already, in any branch.
    /// Default: it is stored again. Without a [`Store`](crate::Store) this says nothing.
    ///
    /// Data is compared in chunks: what one write has of a piece of 64 KiB of a file, from the
    /// beginning of the piece, and at least 1 KiB. So equal files take space once that were written
    /// in equal, large writes. Cost: each write is hashed, each chunk that is new has a row in the
    /// store, and one that is not is read.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::{Branches, DiskStore, EqualChunks, Options};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # let dir = tempfile::tempdir()?;
    /// # let dir = dir.path();
    /// let base = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let options = Options::default().equal_chunks(EqualChunks::StoredOnce);
    /// let branches = Branches::open(base, options, DiskStore::open(dir)?)?;
    /// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
    /// work.write("/one", vec![7; 1 << 20])?;
    /// work.write("/other", vec![7; 1 << 20])?;
    /// assert!(branches.stored() <= 1 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn equal_chunks(mut self, chunks: EqualChunks) -> Options {
        self.equal_chunks = chunks;
        self
    }

    /// Returns the time. That of the system is that of its last tick, as on the kernel's file
    /// systems.
    pub(crate) fn now(&self) -> Timestamp {
        if let Some(read) = &self.clock {
            return read();
        }
        let time = clock_gettime(ClockId::RealtimeCoarse);
        Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec as u32 }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("base_changes", &self.base_changes).finish_non_exhaustive()
    }
}
