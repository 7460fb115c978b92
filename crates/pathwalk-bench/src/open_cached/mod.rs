//! The bench `open_cached`: opens of which a share is cached, through a ring that tries the cache
//! first and through one that does not.
//!
//! - [`place`](self): real files, hot and cold. [`Plan`] says how many are opened, how, and where.
//! - Each batch begins with a `Vfs` that has only the hot files cached and, where this process may
//!   drop the kernel's caches, with a kernel that has no more cached than that.
//! - Both ways open the same files in the same order, and take turns. So do the measurements of the
//!   costs of a hop, a hit, a failed try and a miss, from which the bound follows.
//! - Submitter and worker have a processor each, where there are two: a hop on one processor costs
//!   a fraction of a hop that wakes another.
//! - The peers are timed on the same files: tokio's file system calls, and `io_uring`.
//!
//! Invariant: no cold file was looked up before its batch. What it does not do: print.

mod bound;
mod delayed;
mod drive;
mod peers;
mod place;
mod processors;
mod run;
mod uring;
mod world;

use std::path::PathBuf;
use std::time::Duration;

use pathwalk_hostfs::Descriptors;

use crate::rounds::Quartiles;

pub use bound::Costs;
pub use drive::{Failure, Way};
pub use peers::{Cache, Peer};
pub use run::{Error, run};

/// The plan of a measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The shares of opens that are cached, in percent: 0..=100.
    pub hits: Vec<u32>,
    /// The numbers of opens in flight, each at least 1.
    pub depths: Vec<u32>,
    /// The number of opens of a batch, at least 1.
    pub opens: usize,
    /// The additional time of each lookup.
    pub delay: Duration,
    /// The time at which an open file gets a descriptor of the host.
    pub descriptors: Descriptors,
    /// The directory in which the files are made.
    pub dir: PathBuf,
    /// The number of alternating rounds, at least 1.
    pub rounds: u32,
}

impl Plan {
    /// Returns the number of steps in the progress of a run.
    pub fn steps(&self) -> u64 {
        u64::from(self.rounds) * self.depths.len() as u64 * (self.hits.len() as u64 + 1)
    }
}

/// The results for one share of hits at one depth.
#[derive(Clone, Debug)]
pub struct Row {
    /// The percentage of the opens that were cached.
    pub hit: u32,
    /// The number of opens in flight at once.
    pub depth: u32,
    /// The nanoseconds of a batch in which every open is sent to the worker.
    pub always_punt: Quartiles,
    /// The nanoseconds of a batch in which the cache is tried first.
    pub cached_first: Quartiles,
    /// The ratio of the first time to the second, round by round.
    pub speedup: Quartiles,
    /// The upper bound of the speedup, from the costs of the same round.
    pub bound: Quartiles,
    /// The ratio of `speedup` to `bound`, round by round.
    pub of_bound: Quartiles,
    /// The medians of the costs.
    pub costs: Costs,
    /// The nanoseconds of single opens, from submission to reaping: for each of [`Way::BOTH`], in
    /// that order.
    pub single: [Latency; 2],
    /// The speedup that Linux reported for io_uring at this share of hits.
    pub linux: Option<f64>,
}

/// Percentiles, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Latency {
    /// The time that half of the opens do not exceed.
    pub p50: u64,
    /// The time that 99 of 100 opens do not exceed.
    pub p99: u64,
    /// The time that 999 of 1,000 opens do not exceed.
    pub p999: u64,
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The kernel's name of the file system.
    pub file_system: String,
    /// True if an open that the cache answers holds a descriptor of the host.
    pub holds_descriptor: bool,
    /// The rows, by depth, then by share of hits.
    pub rows: Vec<Row>,
    /// The peers, by depth.
    pub peers: Vec<Peer>,
    /// The notes for the reader.
    pub notes: Vec<String>,
}

/// The speedups reported for the same change of io_uring, by percent of hits, when `RESOLVE_CACHED`
/// was introduced (Linux 5.12).
const LINUX: [(u32, f64); 3] = [(33, 1.1), (89, 1.9), (100, 2.9)];
