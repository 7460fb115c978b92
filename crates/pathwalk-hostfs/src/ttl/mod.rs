//! The mode [`Ttl`](crate::Coherence::Ttl): answers are used at full speed for a time, and then
//! asked for again.
//!
//! - [`timer`]: the thread that marks what is cached, one pass after the other;
//! - [`looks`]: one look at a directory confirms all its names.
//!
//! # Why no answer is older than promised
//!
//! A pass has all answers of a kind marked that the host was asked for before the pass began. It
//! begins when half of the time that was set is over since the last one began. An operation that
//! begins between the ends of two passes uses answers that are at most as old as the time from the
//! beginning of the first to the end of the second: half of the time that was set, and the length
//! of the pass, and the lateness of the thread. Passes that took longer than promised are counted.
//!
//! What always holds: without the thread, each answer is asked for. Nothing is stored for a file.
//!
//! What it does not do: it drops nothing from the caches.

mod looks;
mod timer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use pathwalk::{Freshness, NodeKey, Notifier, Sweep};

use looks::Looks;
pub(crate) use looks::Stamp;

/// The shortest time for which answers are used. Below it, each is asked for at each use.
const LEAST: Duration = Duration::from_millis(1);

/// The kinds of answers, in the order of the arrays here.
const KINDS: [Sweep; 3] = [Sweep::NAMES, Sweep::ABSENCES, Sweep::ATTRIBUTES];

/// The counts of [`Coherence::Ttl`](crate::Coherence::Ttl), from
/// [`HostFs::ttl_stats`](crate::HostFs::ttl_stats), which has an example. Pairs and triples are in
/// the order entry, absence, attributes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct TtlStats {
    /// The number of passes over the caches.
    pub passes: u64,
    /// The time that the longest pass took.
    pub longest_pass: Duration,
    /// The greatest age that an answer of each kind may have had when it was used last: the
    /// longest time from the beginning of a pass to the end of the next one.
    pub oldest: [Duration; 3],
    /// The number of times that this was more than promised, since the thread was late: the
    /// process was stopped, or had no processor.
    pub late: u64,
    /// The number of directories that were looked at to confirm their names.
    pub looks: u64,
    /// The number of names and absences that were confirmed.
    pub confirmed: u64,
}

/// The beginnings of the last passes of a kind, the newest first. Before the first pass, that of
/// the mode.
type Passes = [Instant; 3];

/// What the thread and the calls of the file system share.
struct Shared {
    /// How long answers of each kind are used.
    times: [Duration; 3],
    state: Mutex<State>,
    /// Signalled when the thread is to end.
    ends: Condvar,
    /// Whether the thread runs. `SeqCst`, as it is cleared before the last report.
    runs: AtomicBool,
}

struct State {
    is_over: bool,
    notifiers: Vec<Notifier>,
    passes: [Passes; 3],
    /// The beginning of the last pass before which mounts had changed; at first, that of the mode.
    mounted: Instant,
    stats: TtlStats,
}

/// The mode of one tree. Ends the thread when it is dropped.
pub(crate) struct Ttl {
    shared: Arc<Shared>,
    looks: Looks,
}

impl Drop for Ttl {
    fn drop(&mut self) {
        self.shared.state.lock().is_over = true;
        self.shared.ends.notify_all();
    }
}

impl Ttl {
    /// Starts the thread. Where there is none to be had, each answer is asked for.
    pub(crate) fn begin(times: [Duration; 3]) -> Ttl {
        let (now, stats) = (Instant::now(), TtlStats::default());
        let state = State { is_over: false, notifiers: Vec::new(), passes: [[now; 3]; 3], mounted: now, stats };
        let shared = Arc::new(Shared { times, state: Mutex::new(state), ends: Condvar::new(), runs: AtomicBool::new(true) });
        timer::start(&shared);
        Ttl { shared, looks: Looks::new() }
    }

    /// Adds caches that are told of passes.
    pub(crate) fn attach(&self, notifier: Notifier) {
        self.shared.state.lock().notifiers.push(notifier);
    }

    /// Returns how long answers of a kind are valid.
    pub(crate) fn freshness(&self, of: Sweep) -> Freshness {
        let is_used = KINDS.iter().zip(self.shared.times).any(|(kind, time)| *kind == of && time >= LEAST);
        if is_used && self.shared.runs.load(Ordering::SeqCst) { Freshness::Stable } else { Freshness::AskEachTime }
    }

    /// Returns the counts.
    pub(crate) fn stats(&self) -> TtlStats {
        let (looks, confirmed) = self.looks.counts();
        TtlStats { looks, confirmed, ..self.shared.state.lock().stats }
    }

    /// Takes note of a directory that is handed out, and of which nothing is cached yet. `stamp`
    /// was just read.
    pub(crate) fn is_new(&self, dir: NodeKey, stamp: Stamp) {
        self.looks.is_new(dir, stamp);
    }

    /// Takes note that nothing holds a directory any more.
    pub(crate) fn forget(&self, dir: NodeKey) {
        self.looks.forget(dir);
    }

    /// Returns whether the names of a directory that the last pass marked still hold: its absences,
    /// or the names that lead somewhere. `look` returns what the directory shows now.
    pub(crate) fn confirms(&self, dir: NodeKey, of: Sweep, look: impl FnOnce() -> Option<Stamp>) -> bool {
        let (passes, mounted) = {
            let state = self.shared.state.lock();
            (state.passes[usize::from(of == Sweep::ABSENCES)], state.mounted)
        };
        self.looks.confirms(dir, &passes, mounted, look)
    }

    /// Returns the bytes that are held.
    pub(crate) fn memory(&self) -> u64 {
        size_of::<Shared>() as u64 + self.looks.memory()
    }
}
