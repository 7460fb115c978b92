//! The bench `walktrees`: threads that each `stat` every file of a tree of their own, by path:
//! first with cold caches, then again.
//!
//! This is the work of a backup: millions of names, each looked up once, from many threads. The
//! first pass makes all entries, so it measures the cost of making them. The second pass measures
//! hits or, where there is not room for all entries, the cost of eviction.
//!
//! - `paths`: the paths, written without formatting; `crew`: the threads; `meter`: processors and
//!   memory;
//! - [`trees`]: computed trees, or real files, which the kernel's `stat(2)` then walks as well;
//! - `nodes`: in place of trees, their nodes by key in inode caches alone, which differ in how they
//!   are probed first, and in `peers`, which servers use instead;
//! - [`held`]: beside all that, probes of one bucket whose lock is held by a thread that sleeps.
//!
//! Every answer is checked: the inode numbers of a pass, folded in order, are those of the tree, or
//! those that the kernel gave.
//!
//! What it does not do: open, list or read anything.

mod crew;
pub mod held;
pub(crate) mod meter;
mod nodes;
mod paths;
mod peers;
mod report;
mod run;
#[cfg(test)]
mod tests;
pub mod trees;

pub use meter::{Growth, Memory, Used};
pub use pathwalk_synthfs::Shape;
pub use peers::Peer;
pub use report::{Pass, Report, Run, Served, Which, Who};
pub use run::run;

use pathwalk::Vfs;

use crate::machine::{Doing, SetUpError};
use trees::Trees;

/// The way in which the inode cache is probed first, before any lock is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probe {
    /// Without a lock: the way that ships.
    LockFree,
    /// Under the lock of the key's stripe.
    Locked,
    /// Under one lock for all, as Linux did.
    Global,
}

impl Probe {
    /// Returns the name for tables and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Probe::LockFree => "lockfree",
            Probe::Locked => "locked",
            Probe::Global => "global",
        }
    }
}

/// The number of names for which there is room in any case, because there is a smallest budget.
const LEAST_ROOM: u64 = 1000;

/// The questions that pathwalk asks a file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ask {
    /// Whole directories, where the engine finds that worthwhile: the way that ships.
    #[default]
    ForSiblings,
    /// Only names that are looked up.
    OneByOne,
}

/// The room in the caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// Room for all files and directories.
    All,
    /// Room for as much as fits into this number of bytes.
    Bytes(u64),
    /// Room for this number of files or directories.
    Entries(u64),
}

/// The subject of the measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The engine, and the kernel if it can: every file is looked up by path.
    Trees {
        /// The trees that are walked.
        trees: Trees,
        /// The questions that pathwalk asks the file system.
        ask: Ask,
    },
    /// Inode caches alone: the inode of every file is looked up by key. They are [`Who::Inodes`]
    /// and [`Who::Peer`], each with a cache of its own.
    Nodes(Vec<Who>),
}

/// The plan of a measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The number of threads, the directories of each, and the files in each of those; none of them
    /// 0.
    pub shape: Shape,
    /// The size of the caches; not in bytes for [`Subject::Nodes`].
    pub room: Room,
    /// The subject.
    pub subject: Subject,
    /// The number of turns of each contestant, each with empty caches.
    pub rounds: u32,
}

impl Plan {
    /// Returns all that take part: the kernel first, where there are files for it.
    pub fn contestants(&self) -> Vec<Who> {
        match &self.subject {
            Subject::Trees { trees: Trees::Synth, .. } => vec![Who::Pathwalk],
            Subject::Trees { trees: Trees::Host(_), .. } => vec![Who::Kernel, Who::Pathwalk],
            Subject::Nodes(caches) => caches.clone(),
        }
    }

    /// Returns the number of files that are looked up in all rounds.
    pub fn lookups(&self) -> u64 {
        let passes = self.contestants().len() as u64 * u64::from(self.rounds) * 2;
        passes.saturating_mul(self.shape.files())
    }

    /// Returns the budget of a `Vfs` in bytes.
    pub(crate) fn budget(&self) -> u64 {
        match self.room {
            Room::All => Vfs::budget_for(self.all(self.shape.nodes()).max(LEAST_ROOM)),
            Room::Bytes(bytes) => bytes,
            Room::Entries(entries) => Vfs::budget_for(entries),
        }
    }

    /// Returns the number of inodes for which there is room in an inode cache alone.
    pub(crate) fn inodes(&self) -> Result<u64, SetUpError> {
        match self.room {
            Room::All => Ok(self.all(self.shape.files())),
            Room::Bytes(_) => {
                let refused: Result<_, &str> = Err("an inode cache alone has room for a number of inodes, not of bytes");
                refused.doing(|| "choosing the room".into())
            }
            Room::Entries(entries) => Ok(entries),
        }
    }

    /// Returns the room for this number of nodes. It includes one inode for each thread, which the
    /// thread reserves before it asks.
    fn all(&self, nodes: u64) -> u64 {
        nodes.saturating_add(self.shape.threads().into())
    }
}
