//! What came out of a run.

use pathwalk::{HandOver, Stats};

use super::{Memory, Peer, Probe, Used};
use crate::rounds::Quartiles;

/// Who is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// The kernel, by `stat(2)`.
    Kernel,
    /// The engine.
    Pathwalk,
    /// An inode cache alone, with this first probe.
    Inodes(Probe),
    /// What servers use instead.
    Peer(Peer),
}

impl Who {
    /// A name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Who::Kernel => "stat(2)",
            Who::Pathwalk => "pathwalk",
            Who::Inodes(_) => "inode cache",
            Who::Peer(peer) => peer.name(),
        }
    }

    /// Returns how inodes are looked for first; `None` of the kernel and of peers.
    pub const fn probe(self) -> Option<Probe> {
        match self {
            Who::Kernel | Who::Peer(_) => None,
            Who::Pathwalk => Some(Probe::LockFree),
            Who::Inodes(probe) => Some(probe),
        }
    }
}

/// Which of the two passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// With empty caches; from a cold disk, where that could be had.
    First,
    /// Right behind the first.
    Repeated,
}

/// How the engine's answers in one pass came about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Served {
    /// Files that the lock-free walk found alone.
    pub lock_free: u64,
    /// Hand-overs to the locked walk by reason, in the order of [`HandOver::ALL`].
    pub hand_overs: [u64; HandOver::ALL.len()],
    /// Names that the file system was asked for, directories included.
    pub fs_lookups: u64,
    /// Names that it told of unasked.
    pub siblings: u64,
    /// Walks that waited for another thread's question.
    pub waits: u64,
    /// Names that were evicted.
    pub evictions: u64,
}

impl Which {
    /// Both, in their order.
    pub const BOTH: [Which; 2] = [Which::First, Which::Repeated];

    /// A name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Which::First => "first",
            Which::Repeated => "repeated",
        }
    }
}

impl Served {
    /// What happened between two snapshots, in which so many files were asked for.
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
    /// From the start to the end of the last thread.
    pub seconds: f64,
    /// Files, all threads together.
    pub files: u64,
    /// What the process used meanwhile.
    pub used: Used,
    /// How the engine answered; nothing of others.
    pub served: Option<Served>,
}

impl Pass {
    /// Files a second, all threads together.
    pub fn files_per_second(&self) -> f64 {
        self.files as f64 / self.seconds
    }
}

/// A first pass and a repeated one, by one contestant in one round.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Run {
    /// Who.
    pub who: Who,
    /// In which round, from 0.
    pub round: u32,
    /// With empty caches.
    pub first: Pass,
    /// Right behind it.
    pub repeated: Pass,
    /// Of the engine's caches; nothing of others.
    pub memory: Option<Memory>,
}

impl Run {
    /// One of its passes.
    pub fn pass(&self, which: Which) -> &Pass {
        match which {
            Which::First => &self.first,
            Which::Repeated => &self.repeated,
        }
    }
}

/// All that came out.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// In the order in which they ran.
    pub runs: Vec<Run>,
    /// What one should know when reading the figures.
    pub notes: Vec<String>,
}

impl Report {
    /// Files a second of one contestant over the rounds; `None` unless it took part.
    pub fn rate(&self, who: Who, which: Which) -> Option<Quartiles> {
        let runs = self.runs.iter().filter(|run| run.who == who);
        let rates: Vec<_> = runs.map(|run| run.pass(which).files_per_second()).collect();
        (!rates.is_empty()).then(|| Quartiles::of(rates))
    }

    /// How many times as many files a second `who` did as `other`, round by round; `None` unless both took part.
    pub fn ratio(&self, who: Who, other: Who, which: Which) -> Option<Quartiles> {
        let of = |who: Who| self.runs.iter().filter(move |run| run.who == who);
        let pairs = of(who).filter_map(|run| Some((run, of(other).find(|other| other.round == run.round)?)));
        let rate = |run: &Run| run.pass(which).files_per_second();
        let ratios: Vec<_> = pairs.map(|(run, other)| rate(run) / rate(other)).collect();
        (!ratios.is_empty()).then(|| Quartiles::of(ratios))
    }
}
