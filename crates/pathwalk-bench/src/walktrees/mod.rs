//! `walktrees`: threads that each `stat` every file of a tree of their own, by path: first with cold caches, then again.
//!
//! It is what a backup does: millions of names, each asked for once, from many threads. The first pass makes all entries, so it measures what that
//! costs; the second measures hits, or, where there is not room for all, what eviction costs.
//!
//! - `paths`: the paths, written without formatting; `crew`: the threads; `meter`: processors and memory;
//! - [`trees`]: computed ones, or real files, which the kernel's `stat(2)` then walks as well;
//! - [`held`]: beside all that, probes of one bucket whose lock is held by somebody who sleeps.
//!
//! Every answer is checked: the inode numbers of a pass, folded in order, are those of the tree, or those that the kernel gave.
//!
//! What it does not do: open, list or read anything.

mod crew;
pub mod held;
mod meter;
mod paths;
mod report;
mod run;
#[cfg(test)]
mod tests;
pub mod trees;

pub use meter::{Growth, Memory, Used};
pub use pathwalk_synthfs::Shape;
pub use report::{Pass, Report, Run, Served, Which, Who};
pub use run::run;

use pathwalk::Vfs;
use pathwalk::internals::FirstProbe;

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

/// Names for which there is room in any case.
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

/// What is to be walked, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Threads, directories of each, files in each of those; none of them 0.
    pub shape: Shape,
    /// How large the caches are.
    pub room: Room,
    /// What is walked.
    pub trees: Trees,
    /// Whether pathwalk asks for files beside those that are looked up.
    pub ask: Ask,
    /// The engine's variants that take part.
    pub probes: Vec<Probe>,
    /// How often all of them take their turns, each with empty caches.
    pub rounds: u32,
}

impl Plan {
    /// Who takes part: the kernel first, where there are files for it.
    pub fn contestants(&self) -> Vec<Who> {
        let kernel = matches!(self.trees, Trees::Host(_)).then_some(Who::Kernel);
        kernel.into_iter().chain(self.probes.iter().copied().map(Who::Pathwalk)).collect()
    }

    /// How many files are asked for in all rounds.
    pub fn lookups(&self) -> u64 {
        let passes = self.contestants().len() as u64 * u64::from(self.rounds) * 2;
        passes.saturating_mul(self.shape.files())
    }

    /// The budget in bytes.
    pub(crate) fn budget(&self) -> u64 {
        match self.room {
            // Each thread reserves an inode before it asks; and there is a least budget.
            Room::All => Vfs::budget_for(self.shape.nodes().saturating_add(self.shape.threads().into()).max(LEAST_ROOM)),
            Room::Bytes(bytes) => bytes,
            Room::Entries(entries) => Vfs::budget_for(entries),
        }
    }
}

impl From<Probe> for FirstProbe {
    fn from(probe: Probe) -> FirstProbe {
        match probe {
            Probe::LockFree => FirstProbe::LockFree,
            Probe::Locked => FirstProbe::Locked,
            Probe::Global => FirstProbe::Global,
        }
    }
}
