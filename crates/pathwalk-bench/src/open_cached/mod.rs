//! Cached, or punt: opens of which a share is cached, through a ring that tries the cache first and through one that does not.
//!
//! - [`place`](self): real files, hot and cold; [`Plan`] says how many are opened how, and where;
//! - each batch begins with a `Vfs` that knows the hot files alone and, where this process may, with a kernel that does not know more;
//! - both ways open the same files in the same order, and take turns; so do the measurements of what a hop, a hit, a failed try and a miss cost,
//!   from which the bound follows;
//! - submitter and worker have a processor each, where there are two: a hop on one costs a fraction of a hop that wakes another;
//! - the peers are timed on the same files: tokio's file system calls, and `io_uring`.
//!
//! Invariant: no cold file was asked for before its batch. What it does not do: print.

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

/// What is to be measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Shares of opens that are cached, in percent: 0..=100.
    pub hits: Vec<u32>,
    /// How many opens are in flight, at least 1.
    pub depths: Vec<u32>,
    /// Opens of a batch, at least 1.
    pub opens: usize,
    /// What each lookup takes longer.
    pub delay: Duration,
    /// When an open file gets a descriptor of the host.
    pub descriptors: Descriptors,
    /// Where the files are made.
    pub dir: PathBuf,
    /// Alternating rounds, at least 1.
    pub rounds: u32,
}

impl Plan {
    /// How many steps the progress of a run has.
    pub fn steps(&self) -> u64 {
        u64::from(self.rounds) * self.depths.len() as u64 * (self.hits.len() as u64 + 1)
    }
}

/// One share of hits at one depth.
#[derive(Clone, Debug)]
pub struct Row {
    /// Percent of the opens that were cached.
    pub hit: u32,
    /// In flight at once.
    pub depth: u32,
    /// Nanoseconds of a batch, everything sent to the worker.
    pub always_punt: Quartiles,
    /// Nanoseconds of a batch, the cache tried first.
    pub cached_first: Quartiles,
    /// The one over the other, round by round.
    pub speedup: Quartiles,
    /// What the costs of the same round allow.
    pub bound: Quartiles,
    /// `speedup` over `bound`, round by round.
    pub of_bound: Quartiles,
    /// Medians of the costs.
    pub costs: Costs,
    /// Nanoseconds of single opens, from being submitted to being reaped: of [`Way::BOTH`], in that order.
    pub single: [Latency; 2],
    /// What Linux reported for io_uring at this share of hits.
    pub linux: Option<f64>,
}

/// Percentiles, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Latency {
    /// Half of them took no longer.
    pub p50: u64,
    /// 99 of 100 took no longer.
    pub p99: u64,
    /// 999 of 1,000 took no longer.
    pub p999: u64,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Report {
    /// What the kernel calls the file system.
    pub file_system: String,
    /// Whether an open that the cache answers holds a descriptor of the host.
    pub holds_descriptor: bool,
    /// By depth, then by share of hits.
    pub rows: Vec<Row>,
    /// By depth.
    pub peers: Vec<Peer>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// What was reported for the same change of io_uring, by percent of hits, when `RESOLVE_CACHED` came (Linux 5.12).
const LINUX: [(u32, f64); 3] = [(33, 1.1), (89, 1.9), (100, 2.9)];
