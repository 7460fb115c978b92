//! How a `Vfs` is built: budget, mount, switches; and what can go wrong.

use crate::Errno;
use crate::abi::MountFlags;
use crate::cache::Caches;
use crate::cache::budget::{Split, whole_paths_of};
use crate::cache::counters::Counters;
use crate::cache::dcache::dentry::Dentries;
use crate::cache::dcache::moves::Moves;
use crate::cache::dcache::waiters::Waiters;
use crate::cache::dcache::watch::Watches;
use crate::cache::icache::pool::Inodes;
use crate::cache::icache::versions::Versions;
use crate::cache::reclaim::uses::Uses;
use crate::fs_api::FileSystem;
use crate::memo::{Learning, Memo};
use crate::memory::side::Side;
use crate::mount::{HardlinkProtection, MountRecords, SymlinkProtection, World};
use crate::superblock::superblocks::Superblocks;
use crate::superblock::trees::NoRoot;
use crate::superblock::{AskedFor, Dropped, Trees};
use crate::sync::{Arc, zeroed};
use crate::text::hash::NameHash;
use crate::vfs::Vfs;

/// How a [`Vfs`] is to be.
#[derive(Clone, Debug)]
pub struct VfsBuilder {
    budget: u64,
    mount: MountFlags,
    symlinks: SymlinkProtection,
    hardlinks: HardlinkProtection,
    asking: Asking,
    seed: Option<Seed>,
    whole_paths: Option<u64>,
    learning: Learning,
}

/// What the hash of names starts from. A secret: it is never shown.
#[derive(Clone, Copy)]
struct Seed(u64);

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seed").finish_non_exhaustive()
    }
}

/// What a file system is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asking {
    /// For names that are looked up, and where that promises to pay for those beside them.
    ForSiblings,
    /// For names that are looked up.
    OneByOne,
}

impl Vfs {
    /// A builder with a budget of 64 MiB.
    pub fn builder() -> VfsBuilder {
        VfsBuilder {
            budget: 64 << 20,
            mount: MountFlags::empty(),
            symlinks: SymlinkProtection::Off,
            hardlinks: HardlinkProtection::Off,
            asking: Asking::ForSiblings,
            seed: None,
            whole_paths: None,
            learning: if cfg!(any(loom, shuttle)) { Learning::AtOnce } else { Learning::Paced },
        }
    }
}

impl VfsBuilder {
    /// The most memory that the caches may take, in bytes, tables and locks included; a cached file takes about 250. What is not
    /// used costs address space only (where transparent huge pages are on for everything, up to 2 MiB for each of the eight arrays). Default:
    /// 64 MiB.
    #[must_use]
    pub fn budget(mut self, bytes: u64) -> Self {
        self.budget = bytes;
        self
    }

    /// The switches of the mount. Default: none.
    #[must_use]
    pub fn mount_flags(mut self, flags: MountFlags) -> Self {
        self.mount = flags;
        self
    }

    /// Turns `protected_symlinks` on: in a sticky directory that everyone may write to, a link in the last component is followed
    /// only by its owner, or if the directory's owner owns it; else `EACCES`. Source: `proc(5)`.
    #[must_use]
    pub fn protect_symlinks(mut self) -> Self {
        self.symlinks = SymlinkProtection::On;
        self
    }

    /// Turns `protected_hardlinks` on: who does not own a file may give it another name only if he may read and write it and it has
    /// no suid bit, nor sgid together with the group's x bit; else `EPERM`. Source: `proc(5)`.
    #[must_use]
    pub fn protect_hardlinks(mut self) -> Self {
        self.hardlinks = HardlinkProtection::On;
        self
    }

    /// Asks the file system for no name that is not looked up. Else, once many names of a directory had to be asked for, it is offered to tell of the others
    /// unasked ([`FileSystem::lookup_siblings`]): that makes scans of whole trees faster, and one lookup in some slower. For those who look up few
    /// names of each directory, or want each miss to cost the same.
    #[must_use]
    pub fn one_by_one(mut self) -> Self {
        self.asking = Asking::OneByOne;
        self
    }

    /// The most memory within the budget, in bytes, that is for whole paths: for each, which entries a walk of it went through. A path that is
    /// asked again is answered by one probe as long as none of these has changed, at about a quarter of the cost of a walk. A
    /// path takes 192 bytes; one of more than 96 bytes, or through more than 14 entries, is walked each time.
    ///
    /// 0: none, at no cost. Default: a 64th of the budget, at most 1 MiB; much more than a processor keeps near makes it slower than the walk.
    /// What the caches must have at least is not taken from them.
    #[must_use]
    pub fn whole_paths(mut self, bytes: u64) -> Self {
        self.whole_paths = Some(bytes);
        self
    }

    /// Says when the memo of whole paths learns.
    pub(crate) fn learning(mut self, when: Learning) -> Self {
        self.learning = when;
        self
    }

    /// The seed of the hash of names: for tests and benches that have to be repeatable. Default: random, so that nobody can choose names that
    /// collide.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(Seed(seed));
        self
    }

    /// Reserves the memory and asks the file system for its root.
    pub fn build(self, fs: impl FileSystem + 'static) -> Result<Vfs, BuildError> {
        let (least, most) = (Split::least(), Split::most());
        if self.budget < least {
            return Err(BuildError::BudgetTooSmall { given: self.budget, least });
        }
        if self.budget > most {
            return Err(BuildError::BudgetTooLarge { given: self.budget, most });
        }
        let room = self.budget - least;
        let whole_paths = self.whole_paths.map_or_else(|| whole_paths_of(self.budget), |bytes| bytes.min(room));
        let split = Split::of(self.budget - whole_paths);
        let seed = self.seed.map_or_else(random_seed, |seed| seed.0);
        let superblocks = std::sync::Arc::new(Superblocks::new());
        let caches = Caches {
            dentries: Dentries::new(split.dentries).ok_or(BuildError::OutOfMemory)?,
            inodes: Inodes::new(split.inodes).ok_or(BuildError::OutOfMemory)?,
            superblocks: zeroed(split.inodes as usize + 1).ok_or(BuildError::OutOfMemory)?,
            side: Side::new(split.side).ok_or(BuildError::OutOfMemory)?,
            hash: NameHash::new(seed),
            inode_seed: seed ^ 0x5bd1_e995_7b93_1a6f,
            moves: Moves::new(),
            waiters: Waiters::new(),
            versions: Versions::new(),
            watches: Watches::new(),
            uses: Uses::new(split.dentries).ok_or(BuildError::OutOfMemory)?,
            counters: Counters::new(),
            owner: Box::new(superblocks.clone()),
        };
        let asked_for = (self.asking == Asking::ForSiblings).then(AskedFor::new);
        let trees = Trees { caches, superblocks, dropped: Dropped::default(), asked_for };
        let mounts = MountRecords::new(split.dentries.min(MountRecords::MOST), seed).ok_or(BuildError::OutOfMemory)?;
        let memo = Memo::new(whole_paths, seed, self.learning).ok_or(BuildError::OutOfMemory)?;
        let (symlinks, hardlinks, budget) = (self.symlinks, self.hardlinks, self.budget);
        let mut world = World::new(trees, mounts, symlinks, hardlinks, memo, budget);
        world.mount_root(std::sync::Arc::new(fs), self.mount).map_err(|why| match why {
            NoRoot::Failed(errno) => BuildError::Root(errno),
            NoRoot::NotADirectory => BuildError::RootNotADirectory,
        })?;
        Ok(Vfs(Arc::new(world)))
    }
}

fn random_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

/// Why a `Vfs` could not be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The budget does not buy the least number of slots.
    BudgetTooSmall {
        /// Bytes given.
        given: u64,
        /// Bytes that are enough.
        least: u64,
    },
    /// The budget buys more slots than handles can tell apart.
    BudgetTooLarge {
        /// Bytes given.
        given: u64,
        /// Bytes that are not too many.
        most: u64,
    },
    /// The allocator could not reserve the budget.
    OutOfMemory,
    /// The file system could not say what its root is.
    Root(Errno),
    /// The file system's root is no directory.
    RootNotADirectory,
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuildError::BudgetTooSmall { given, least } => {
                write!(f, "a budget of {given} bytes is too small: give at least {least}")
            }
            BuildError::BudgetTooLarge { given, most } => {
                write!(f, "a budget of {given} bytes is too large: give at most {most}")
            }
            BuildError::OutOfMemory => f.write_str("the budget could not be reserved: give a smaller one"),
            BuildError::Root(errno) => write!(f, "the file system could not give its root directory: {errno}"),
            BuildError::RootNotADirectory => f.write_str("the file system's root is not a directory"),
        }
    }
}

impl std::error::Error for BuildError {}
