//! The `Vfs`: it owns the caches and the file system; and its builder.

use crate::Errno;
use crate::attr::{Attributes, FileType};
use crate::context::Context;
use crate::dcache::dentry::{Dentries, DentryId, flags};
use crate::dcache::in_lookup::Waiters;
use crate::dcache::rename::Moves;
use crate::fs_api::{FileSystem, Name};
use crate::handle::Handle;
use crate::icache::inode::{INODE_WORDS, Inodes};
use crate::icache::refresh::Versions;
use crate::memory::budget::{DENTRY_BYTES, INODE_BYTES, Split};
use crate::memory::reclaim::Hand;
use crate::memory::side::Side;
use crate::mount::MountFlags;
use crate::permission::{Access, Credentials};
use crate::stats::{Counters, Pool, Stats};
use crate::sync::Arc;
use crate::walk::component::NameHash;

/// All that a `Vfs` is, shared by its handles.
pub(crate) struct Core {
    pub(crate) dentries: Dentries,
    pub(crate) inodes: Inodes,
    pub(crate) side: Side,
    pub(crate) hash: NameHash,
    pub(crate) inode_seed: u64,
    pub(crate) fs: Box<dyn FileSystem>,
    /// The root's dentry, pinned for as long as this lives; its own parent.
    pub(crate) root: DentryId,
    pub(crate) mount: MountFlags,
    /// What everyone may do and still has to ask the mount for.
    pub(crate) asks_mount: Access,
    symlinks: SymlinkProtection,
    pub(crate) moves: Moves,
    pub(crate) waiters: Waiters,
    pub(crate) versions: Versions,
    pub(crate) hand: Hand,
    pub(crate) counters: Counters,
    budget: u64,
}

/// The `protected_symlinks` switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SymlinkProtection {
    Off,
    On,
}

impl Core {
    pub(crate) fn protects_symlinks(&self) -> bool {
        self.symlinks == SymlinkProtection::On
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.forget_all();
    }
}

/// A pin on a dentry, given back when dropped.
pub(crate) struct Pinned<'a> {
    core: &'a Core,
    id: DentryId,
}

impl<'a> Pinned<'a> {
    /// Takes over a pin that the caller holds.
    pub(crate) fn new(core: &'a Core, id: DentryId) -> Self {
        Pinned { core, id }
    }

    /// Another pin of a dentry that somebody holds one of.
    pub(crate) fn again(core: &'a Core, id: DentryId) -> Self {
        core.dentries.pin_again(id);
        Pinned { core, id }
    }

    pub(crate) fn id(&self) -> DentryId {
        self.id
    }

    /// Hands the pin over.
    pub(crate) fn into_id(self) -> DentryId {
        let id = self.id;
        std::mem::forget(self);
        id
    }
}

impl Clone for Pinned<'_> {
    fn clone(&self) -> Self {
        Pinned::again(self.core, self.id)
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        self.core.dentries.unpin(self.id);
    }
}

/// A virtual file system: one file system and the caches in front of it.
///
/// Cloning shares it; any thread may use it. Operations are on a [`Context`], see [`context`](Self::context). Memory is reserved when it is
/// built and never grows; it is given back when the last clone, context and handle is dropped.
#[derive(Clone)]
pub struct Vfs(Arc<Core>);

impl Vfs {
    /// A builder with a budget of 64 MiB.
    pub fn builder() -> VfsBuilder {
        VfsBuilder { budget: 64 << 20, mount: MountFlags::empty(), symlinks: SymlinkProtection::Off, seed: None }
    }

    /// Somebody who asks, at the root.
    pub fn context(&self, credentials: Credentials) -> Context {
        Context { vfs: self.clone(), root: self.root(), cwd: self.root(), credentials }
    }

    fn root(&self) -> Handle {
        Handle::from_pinned(self, Pinned::again(&self.0, self.0.root).into_id())
    }

    /// What the caches did and what they hold. Cost: some loads, and whatever the file system's
    /// [`memory`](FileSystem::memory) costs.
    pub fn stats(&self) -> Stats {
        let core = &*self.0;
        let pool = |free: &crate::memory::free_list::FreeList, slot_bytes: u64, table_bytes: u64| Pool {
            capacity: free.capacity().into(),
            used: free.used().into(),
            slot_bytes,
            table_bytes,
        };
        let mut stats = core.counters.snapshot();
        stats.dentries = pool(core.dentries.free(), DENTRY_BYTES, core.dentries.table_bytes());
        stats.inodes = pool(core.inodes.free(), INODE_BYTES, core.inodes.table_bytes());
        stats.side = pool(core.side.free(), 64, 0);
        stats.budget = core.budget;
        stats.file_system = core.fs.memory();
        stats
    }

    /// Drops what is cached of `name` in `dir` and everything below, because the file system changed by itself; the next lookup
    /// asks it. Waits for lookups in `dir` that are under way. `EBADF` if `dir` is of another `Vfs`, `ENOTDIR` if it is no directory.
    pub fn invalidate(&self, dir: &Handle, name: Name<'_>) -> Result<(), Errno> {
        self.directory(dir)?;
        self.0.invalidate_name(dir.dentry(), name.bytes());
        Ok(())
    }

    /// Drops everything cached below `dir`. Errors as [`invalidate`](Self::invalidate).
    pub fn invalidate_subtree(&self, dir: &Handle) -> Result<(), Errno> {
        self.directory(dir)?;
        self.0.invalidate_below(dir.dentry());
        Ok(())
    }

    /// Asks the file system for the attributes of a node anew, because they changed by themselves. Its errors are returned.
    pub fn refresh(&self, node: &Handle) -> Result<Attributes, Errno> {
        self.own(node)?;
        self.0.refresh(self.0.dentries.inode(node.dentry()))
    }

    fn own(&self, handle: &Handle) -> Result<(), Errno> {
        if handle.vfs().is(self) { Ok(()) } else { Err(Errno::EBADF) }
    }

    fn directory(&self, handle: &Handle) -> Result<(), Errno> {
        self.own(handle)?;
        let is_directory = self.0.dentries.word(handle.dentry()) & flags::DIRECTORY != 0;
        if is_directory { Ok(()) } else { Err(Errno::ENOTDIR) }
    }

    #[inline(always)]
    pub(crate) fn core(&self) -> &Core {
        &self.0
    }

    /// Whether they are the same.
    pub(crate) fn is(&self, other: &Vfs) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::fmt::Debug for Vfs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vfs({} dentries)", self.0.dentries.free().used())
    }
}

/// How a [`Vfs`] is to be.
#[derive(Clone, Debug)]
pub struct VfsBuilder {
    budget: u64,
    mount: MountFlags,
    symlinks: SymlinkProtection,
    seed: Option<u64>,
}

impl VfsBuilder {
    /// The most memory that the caches may take, in bytes, tables and locks included; a cached file takes about 250. What is not
    /// used costs address space only (where transparent huge pages are on for everything, up to 2 MiB for each of the seven arrays). Default:
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

    /// The seed of the hash of names: for tests and benches that have to be repeatable. Default: random, so that nobody can choose names that
    /// collide.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
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
        let split = Split::of(self.budget);
        let seed = self.seed.unwrap_or_else(random_seed);
        let mut asks_mount = Access::empty();
        asks_mount.set(Access::WRITE, self.mount.contains(MountFlags::READ_ONLY));
        asks_mount.set(Access::EXECUTE, self.mount.contains(MountFlags::NOEXEC));
        let mut core = Core {
            dentries: Dentries::new(split.dentries).ok_or(BuildError::OutOfMemory)?,
            inodes: Inodes::new(split.inodes).ok_or(BuildError::OutOfMemory)?,
            side: Side::new(split.side).ok_or(BuildError::OutOfMemory)?,
            hash: NameHash::new(seed),
            inode_seed: seed ^ 0x5bd1_e995_7b93_1a6f,
            fs: Box::new(fs),
            root: DentryId::NONE,
            mount: self.mount,
            asks_mount,
            symlinks: self.symlinks,
            moves: Moves::new(),
            waiters: Waiters::new(),
            versions: Versions::new(),
            hand: Hand::new(),
            counters: Counters::new(),
            budget: self.budget,
        };
        core.root = core.make_root()?;
        Ok(Vfs(Arc::new(core)))
    }
}

impl Core {
    /// The root's dentry: pinned, its own parent, in no list and no table.
    fn make_root(&self) -> Result<DentryId, BuildError> {
        let root = self.dentries.take().ok_or(BuildError::OutOfMemory)?;
        let reserved = self.reserve_inode().map_err(|_| BuildError::OutOfMemory)?;
        let node = self.fs.root().map_err(BuildError::Root)?;
        if node.attributes.kind != FileType::Directory {
            self.fs.forget(node.key);
            return Err(BuildError::RootNotADirectory);
        }
        let inode = self.iget(&node, reserved, None).map_err(BuildError::Root)?;
        self.fill_root(root);
        self.instantiate(root, inode, crate::Freshness::Stable).map_err(|_| BuildError::Root(Errno::ELOOP))?;
        Ok(root)
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

const _: () = assert!(INODE_WORDS as u64 * 8 == INODE_BYTES);

#[cfg(not(any(loom, shuttle)))]
const _: () = {
    const fn shared<T: Clone + Send + Sync>() {}
    shared::<Vfs>();
    shared::<Context>();
    shared::<Handle>();
};
