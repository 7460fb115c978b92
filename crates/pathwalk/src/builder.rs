//! The builder of a `Vfs`: budget, mount flags, options, and the errors of building.

use std::time::Duration;

use crate::Errno;
use crate::abi::MountFlags;
use crate::cache::Caches;
use crate::cache::budget::{Split, whole_paths_of};
use crate::cache::counters::Counters;
use crate::cache::dcache::dentry::Dentries;
use crate::cache::dcache::doubt::Doubts;
use crate::cache::dcache::moves::Moves;
use crate::cache::dcache::waiters::Waiters;
use crate::cache::dcache::watch::Watches;
use crate::cache::icache::pool::Inodes;
use crate::cache::icache::versions::Versions;
use crate::cache::promises::SearchRules;
use crate::cache::reclaim::left::Left;
use crate::cache::reclaim::uses::Uses;
use crate::events::Hub;
use crate::fs_api::{FileSystem, Relay};
use crate::locks::leases::LeaseTable;
use crate::locks::table::LockTable;
use crate::memo::{Learning, Memo};
use crate::memory::side::Side;
use crate::mount::{HardlinkProtection, MountRecords, Policy, SymlinkProtection, World};
use crate::security::SecurityHook;
use crate::special::Specials;
use crate::special::driver::{Driver, Drivers};
use crate::superblock::superblocks::Superblocks;
use crate::superblock::trees::NoRoot;
use crate::superblock::{AskedFor, Dropped, Trees};
use crate::sync::{Arc, zeroed};
use crate::text::hash::NameHash;
use crate::vfs::Vfs;

/// The configuration of a [`Vfs`] to be built.
///
/// ```
/// use pathwalk::{BuildError, Credentials, Errno, MountFlags, Vfs};
/// use pathwalk_memfs::MemFs;
/// let vfs = Vfs::builder()
///     .budget(Vfs::budget_for(100_000)) // in bytes
///     .mount_flags(MountFlags::READ_ONLY)
///     .protect_symlinks()
///     .protect_hardlinks()
///     .one_by_one()
///     .whole_paths(256 << 10)
///     .seed(1) // for runs that have to be the same each time
///     .build(MemFs::new())?;
/// assert_eq!(vfs.context(Credentials::root()).mkdir("/new", 0o755), Err(Errno::EROFS));
/// assert!(matches!(Vfs::builder().budget(1).build(MemFs::new()), Err(BuildError::BudgetTooSmall { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    locks: u64,
    leases: Option<Duration>,
    security: Option<Hook>,
    drivers: Drivers,
}

/// The security hook. It is shared by clones of the builder.
#[derive(Clone)]
struct Hook(std::sync::Arc<dyn SecurityHook>);

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hook").finish_non_exhaustive()
    }
}

/// The start value of the hash of names. It is secret: it is never printed.
#[derive(Clone, Copy)]
struct Seed(u64);

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seed").finish_non_exhaustive()
    }
}

/// The names for which a file system is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asking {
    /// Names that are looked up, and their siblings where that is likely to pay.
    ForSiblings,
    /// Names that are looked up.
    OneByOne,
}

impl Vfs {
    /// Creates a builder with a budget of 64 MiB.
    ///
    /// [`VfsBuilder`] has an example.
    pub fn builder() -> VfsBuilder {
        VfsBuilder {
            budget: 64 << 20,
            mount: MountFlags::empty(),
            symlinks: SymlinkProtection::Off,
            hardlinks: HardlinkProtection::Off,
            asking: Asking::ForSiblings,
            seed: None,
            whole_paths: None,
            security: None,
            learning: if cfg!(any(loom, shuttle)) { Learning::AtOnce } else { Learning::Paced },
            locks: u64::MAX,
            leases: None,
            drivers: Drivers::default(),
        }
    }
}

impl VfsBuilder {
    /// Sets the maximum memory of the caches, in bytes, tables and locks included. A cached file
    /// takes about 250. Memory that is not used costs address space only (where transparent huge
    /// pages are on for all memory, up to 2 MiB for each of the eight arrays). Default: 64 MiB.
    ///
    /// That holds for memory that is new from the kernel. Once a `Vfs` was dropped, glibc keeps its
    /// arrays of up to 32 MiB each for the next one, and clears all of them, which takes some 10 ms
    /// for 64 MiB and makes them resident. So a process that builds one `Vfs` after the other does
    /// well with a [small budget](Vfs::budget_for). Source: `mallopt(3)`, `M_MMAP_THRESHOLD`.
    #[must_use]
    pub fn budget(mut self, bytes: u64) -> Self {
        self.budget = bytes;
        self
    }

    /// Sets the flags of the mount. Default: none.
    #[must_use]
    pub fn mount_flags(mut self, flags: MountFlags) -> Self {
        self.mount = flags;
        self
    }

    /// Sets the maximum number of locks on files at once, of all owners; above it, a request that
    /// would add one is `ENOLCK`. A lock takes some 60 bytes, which are not part of the budget.
    /// Locks that a file system keeps itself do not count. Default: no limit.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, LockKind, LockWait, OpenFlags, Vfs};
    /// let vfs = Vfs::builder().locks(1).build(pathwalk_memfs::MemFs::new())?;
    /// let context = vfs.context(Credentials::root());
    /// let flags = OpenFlags::READ | OpenFlags::CREATE;
    /// let (one, other) = (context.open("/file", flags)?, context.open("/file", flags)?);
    /// one.flock(LockKind::Shared, LockWait::No)?;
    /// assert_eq!(other.flock(LockKind::Shared, LockWait::No), Err(Errno::ENOLCK));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn locks(mut self, most: u64) -> Self {
        self.locks = most;
        self
    }

    /// Has files leased ([`File::lease`](crate::File::lease)). A holder of a lease that an open
    /// breaks has `break_time` to give way; after that, the lease is taken away. Zero: as long as
    /// it takes. Linux grants [`LEASE_BREAK_TIME`](crate::LEASE_BREAK_TIME). Default: no leases.
    ///
    /// Cost: each open and close counts the files that are open on the node, and looks whether it
    /// has leases: an atomic addition and a load. For that, 8 bytes an inode are reserved, and
    /// touched when a file is opened. They are not part of the budget.
    ///
    /// [`Lease`](crate::Lease) has an example.
    #[must_use]
    pub fn leases(mut self, break_time: Duration) -> Self {
        self.leases = Some(break_time);
        self
    }

    /// Turns `protected_symlinks` on: in a sticky directory that all users may write to, a link in
    /// the last component is followed only by its owner, or if the directory's owner owns it; else
    /// `EACCES`. Source: `proc(5)`.
    #[must_use]
    pub fn protect_symlinks(mut self) -> Self {
        self.symlinks = SymlinkProtection::On;
        self
    }

    /// Turns `protected_hardlinks` on: a user that does not own a file may give it another name
    /// only with the right to read and write it, and if it has no suid bit, nor sgid together with
    /// the group's x bit; else `EPERM`. Source: `proc(5)`.
    #[must_use]
    pub fn protect_hardlinks(mut self) -> Self {
        self.hardlinks = HardlinkProtection::On;
        self
    }

    /// Sets the security hook, which may refuse what permissions allow. Default: none.
    ///
    /// [`SecurityHook`] has an example.
    #[must_use]
    pub fn security(mut self, hook: impl SecurityHook + 'static) -> Self {
        self.security = Some(Hook(std::sync::Arc::new(hook)));
        self
    }

    /// Asks the file system for no name that is not looked up. Otherwise, after many names of a
    /// directory had to be looked up, the engine also requests the others
    /// ([`FileSystem::lookup_siblings`]). That makes scans of whole trees faster, and one lookup in
    /// some slower. For callers that look up few names of each directory, or need each miss to cost
    /// the same.
    #[must_use]
    pub fn one_by_one(mut self) -> Self {
        self.asking = Asking::OneByOne;
        self
    }

    /// Sets the maximum memory within the budget, in bytes, for whole paths. For each, it records
    /// the entries that a walk of the path passed. A path that is looked up again is answered by
    /// one probe as long as none of these has changed, at about a quarter of the cost of a walk. A
    /// path takes 192 bytes. One of more than 96 bytes, or through more than 14 entries, is walked
    /// each time.
    ///
    /// 0 turns it off, at no cost. Default: a 64th of the budget, at most 1 MiB. With much more
    /// than fits into a processor's near caches, it is slower than the walk. The minimum memory of
    /// the caches is not taken from them.
    #[must_use]
    pub fn whole_paths(mut self, bytes: u64) -> Self {
        self.whole_paths = Some(bytes);
        self
    }

    /// Sets what opens devices. Without one, the open of a device is `ENXIO`.
    ///
    /// [`Driver`] has an example.
    #[must_use]
    pub fn driver(mut self, driver: impl Driver + 'static) -> Self {
        self.drivers = Drivers::of(driver);
        self
    }

    /// Sets when the memo of whole paths learns.
    pub(crate) fn learning(mut self, when: Learning) -> Self {
        self.learning = when;
        self
    }

    /// Sets the seed of the hash of names: for tests and benches that have to be repeatable.
    /// Default: random, so that no user can choose names that collide.
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
            doubts: Doubts::new(),
            watches: Watches::new(),
            left: Left::default(),
            uses: Uses::new(split.dentries).ok_or(BuildError::OutOfMemory)?,
            counters: Counters::new(),
            search: SearchRules::new(self.security.as_ref().is_some_and(|hook| hook.0.cares_about_search())),
            owner: Box::new(superblocks.clone()),
        };
        let asked_for = (self.asking == Asking::ForSiblings).then(AskedFor::new);
        let relay = std::sync::Arc::new(Relay::default());
        let trees = Trees { caches, superblocks, relay, events: Hub::default(), dropped: Dropped::default(), asked_for };
        let mounts = MountRecords::new(split.dentries.min(MountRecords::MOST), seed).ok_or(BuildError::OutOfMemory)?;
        let memo = Memo::new(whole_paths, seed, self.learning).ok_or(BuildError::OutOfMemory)?;
        let security = self.security.map(|hook| hook.0);
        let policy = Policy { symlinks: self.symlinks, hardlinks: self.hardlinks, security };
        let leases = |break_time| LeaseTable::new(split.inodes as usize + 1, break_time).ok_or(BuildError::OutOfMemory);
        let locks = LockTable::new(self.locks).with_leases(self.leases.map(leases).transpose()?);
        let mut world = World::new(trees, mounts, policy, memo, locks, Specials::new(self.drivers), self.budget);
        world.mount_root(std::sync::Arc::new(fs), self.mount).map_err(|why| match why {
            NoRoot::Failed(errno) => BuildError::Root(errno),
            NoRoot::NotADirectory => BuildError::RootNotADirectory,
        })?;
        let vfs = Vfs(Arc::new(world));
        vfs.take_reports();
        Ok(vfs)
    }
}

fn random_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

/// The reason why a `Vfs` could not be built.
///
/// [`VfsBuilder`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The budget is below that of the minimum number of slots.
    BudgetTooSmall {
        /// The bytes given.
        given: u64,
        /// The minimum in bytes.
        least: u64,
    },
    /// The budget allows more slots than handles can distinguish.
    BudgetTooLarge {
        /// The bytes given.
        given: u64,
        /// The maximum in bytes.
        most: u64,
    },
    /// The allocator could not reserve the budget.
    OutOfMemory,
    /// The file system could not return its root.
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
