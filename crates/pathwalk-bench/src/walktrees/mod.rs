//! `walktrees`: threads that each `stat` every file of a tree of their own, by path: first with cold caches, then again.
//!
//! It is what a backup does: millions of names, each asked for once, from many threads. The first pass makes all entries, so it measures what that
//! costs; the second measures hits, or, where there is not room for all, what eviction costs.
//!
//! - `paths`: the paths, written without formatting; `crew`: the threads; `meter`: processors and memory;
//! - [`trees`]: computed ones, or real files, which the kernel's `stat(2)` then walks as well;
//! - `nodes`: in place of trees, their nodes by key in inode caches alone, which differ in how they
//!   are probed first, and in `peers`, which servers use instead;
//! - [`held`]: beside all that, probes of one bucket whose lock is held by a thread that sleeps.
//!
//! Every answer is checked: the inode numbers of a pass, folded in order, are those of the tree, or those that the kernel gave.
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

/// How the inode cache is probed first, before any lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probe {
    /// Without a lock: what ships.
    LockFree,
    /// Under the lock of the key's stripe.
    Locked,
    /// Under one lock for all, as Linux did.
    Global,
}

impl Probe {
    /// A name for tables and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Probe::LockFree => "lockfree",
            Probe::Locked => "locked",
            Probe::Global => "global",
        }
    }
}

/// Names for which there is room in any case: there is a least budget.
const LEAST_ROOM: u64 = 1000;

/// What pathwalk asks a file system for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ask {
    /// Whole directories, where it finds that to pay: what ships.
    #[default]
    ForSiblings,
    /// Names that are looked up.
    OneByOne,
}

/// How much is to find room in the caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// All files and directories.
    All,
    /// What finds room in so many bytes.
    Bytes(u64),
    /// So many files or directories.
    Entries(u64),
}

/// What the threads ask.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The engine, and the kernel if it can, for every file by path.
    Trees {
        /// What is walked.
        trees: Trees,
        /// Whether pathwalk asks for files beside those that are looked up.
        ask: Ask,
    },
    /// Inode caches alone, for the inode of every file by key: [`Who::Inodes`] and [`Who::Peer`], each with a cache of
    /// its own.
    Nodes(Vec<Who>),
}

/// What is to be asked for, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Threads, directories of each, files in each of those; none of them 0.
    pub shape: Shape,
    /// How large the caches are; not in bytes for [`Subject::Nodes`].
    pub room: Room,
    /// What is asked.
    pub subject: Subject,
    /// How often all of them take their turns, each with empty caches.
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

    /// How many files are asked for in all rounds.
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

    /// Returns for how many inodes there is room in an inode cache alone.
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

    /// Returns the room for so many: each thread reserves an inode before it asks.
    fn all(&self, nodes: u64) -> u64 {
        nodes.saturating_add(self.shape.threads().into())
    }
}
