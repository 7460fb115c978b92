//! The results of a run.

use pathwalk::{HandOver, Stats};

use super::{Memory, Peer, Probe, Used};
use crate::rounds::Quartiles;

/// A contestant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// The kernel, by `stat(2)`.
    Kernel,
    /// The engine.
    Pathwalk,
    /// An inode cache alone, with this first probe.
    Inodes(Probe),
    /// A map or cache that servers use instead.
    Peer(Peer),
}

impl Who {
    /// Returns the name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Who::Kernel => "stat(2)",
            Who::Pathwalk => "pathwalk",
            Who::Inodes(_) => "inode cache",
            Who::Peer(peer) => peer.name(),
        }
    }

    /// Returns the way in which inodes are probed first, `None` for the kernel and for peers.
    pub const fn probe(self) -> Option<Probe> {
        match self {
            Who::Kernel | Who::Peer(_) => None,
            Who::Pathwalk => Some(Probe::LockFree),
            Who::Inodes(probe) => Some(probe),
        }
    }
}

/// One of the two passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The pass with empty caches; from a cold disk, where the kernel's caches could be dropped.
    First,
    /// The pass right after the first.
    Repeated,
}

/// The sources of the engine's answers in one pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Served {
    /// The number of files that the lock-free walk found alone.
    pub lock_free: u64,
    /// The number of hand-overs to the locked walk by reason, in the order of [`HandOver::ALL`].
    pub hand_overs: [u64; HandOver::ALL.len()],
    /// The number of names that the file system was asked for, directories included.
    pub fs_lookups: u64,
    /// The number of names that the file system handed out unasked.
    pub siblings: u64,
    /// The number of walks that waited for another thread's question.
    pub waits: u64,
    /// The number of names that were evicted.
    pub evictions: u64,
}

impl Which {
    /// Both passes, in their order.
    pub const BOTH: [Which; 2] = [Which::First, Which::Repeated];

    /// Returns the name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Which::First => "first",
            Which::Repeated => "repeated",
        }
    }
}

impl Served {
    /// Returns the difference between two snapshots, between which `files` files were looked up.
    pub(crate) fn between(before: &Stats, after: &Stats, files: u64) -> Served {
        let hand_overs = std::array::from_fn(|at| after.hand_overs[at] - before.hand_overs[at]);
        Served {
            lock_free: files.saturating_sub(hand_overs.iter().sum()),
            hand_overs,
            fs_lookups: after.fs_lookups - before.fs_lookups,
            siblings: after.siblings - before.siblings,
            waits: after.waits - before.waits,
            evictions: after.evictions - before.evictions,
        }
    }
}

/// One walk over all trees by all threads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pass {
    /// The seconds from the start to the end of the last thread.
    pub seconds: f64,
    /// The number of files, of all threads together.
    pub files: u64,
    /// The resources that the process used meanwhile.
    pub used: Used,
    /// The sources of the engine's answers, `None` for other contestants.
    pub served: Option<Served>,
}

impl Pass {
    /// Returns the files a second, of all threads together.
    pub fn files_per_second(&self) -> f64 {
        self.files as f64 / self.seconds
    }
}

/// A first pass and a repeated one, by one contestant in one round.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Run {
    /// The contestant.
    pub who: Who,
    /// The number of the round, from 0.
    pub round: u32,
    /// The pass with empty caches.
    pub first: Pass,
    /// The pass right after it.
    pub repeated: Pass,
    /// The memory of the engine's caches, `None` for other contestants.
    pub memory: Option<Memory>,
}

impl Run {
    /// Returns one of the passes.
    pub fn pass(&self, which: Which) -> &Pass {
        match which {
            Which::First => &self.first,
            Which::Repeated => &self.repeated,
        }
    }
}

/// All results.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// The runs, in the order in which they ran.
    pub runs: Vec<Run>,
    /// The notes that a reader of the figures needs.
    pub notes: Vec<String>,
}

impl Report {
    /// Returns the files a second of one contestant over the rounds, `None` unless it took part.
    pub fn rate(&self, who: Who, which: Which) -> Option<Quartiles> {
        let runs = self.runs.iter().filter(|run| run.who == who);
        let rates: Vec<_> = runs.map(|run| run.pass(which).files_per_second()).collect();
        (!rates.is_empty()).then(|| Quartiles::of(rates))
    }

    /// Returns the ratio of files a second of `who` to those of `other`, round by round. Returns
    /// `None` unless both took part.
    pub fn ratio(&self, who: Who, other: Who, which: Which) -> Option<Quartiles> {
        let of = |who: Who| self.runs.iter().filter(move |run| run.who == who);
        let pairs = of(who).filter_map(|run| Some((run, of(other).find(|other| other.round == run.round)?)));
        let rate = |run: &Run| run.pass(which).files_per_second();
        let ratios: Vec<_> = pairs.map(|(run, other)| rate(run) / rate(other)).collect();
        (!ratios.is_empty()).then(|| Quartiles::of(ratios))
    }
}
