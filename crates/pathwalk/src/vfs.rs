//! The `Vfs`: it owns the caches and the file system.

use crate::Errno;
use crate::attr::Attributes;
use crate::context::{self, Context};
use crate::dcache::complete::Watches;
use crate::dcache::dentry::{Dentries, DentryId, flags};
use crate::dcache::in_lookup::Waiters;
use crate::dcache::rename::Moves;
use crate::fs_api::{FileSystem, Name};
use crate::handle::Handle;
use crate::icache::inode::{INODE_WORDS, Inodes};
use crate::icache::refresh::Versions;
use crate::memory::budget::{DENTRY_BYTES, INODE_BYTES, LEAST, MOST, Split};
use crate::memory::reclaim::uses::Uses;
use crate::memory::side::Side;
use crate::mount::MountFlags;
use crate::permission::{Access, Credentials};
use crate::stats::{Counters, Pool, Stats};
use crate::sync::Arc;
use crate::walk::component::NameHash;
use crate::walk::siblings::AskedFor;

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
    pub(crate) symlinks: SymlinkProtection,
    pub(crate) hardlinks: HardlinkProtection,
    pub(crate) moves: Moves,
    pub(crate) waiters: Waiters,
    pub(crate) versions: Versions,
    pub(crate) watches: Watches,
    /// None: no names are asked for that nobody looks up.
    pub(crate) asked_for: Option<AskedFor>,
    pub(crate) uses: Uses,
    pub(crate) counters: Counters,
    pub(crate) budget: u64,
}

/// The `protected_symlinks` switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SymlinkProtection {
    Off,
    On,
}

/// The `protected_hardlinks` switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HardlinkProtection {
    Off,
    On,
}

impl Core {
    pub(crate) fn protects_symlinks(&self) -> bool {
        self.symlinks == SymlinkProtection::On
    }

    pub(crate) fn protects_hardlinks(&self) -> bool {
        self.hardlinks == HardlinkProtection::On
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
pub struct Vfs(pub(crate) Arc<Core>);

impl Vfs {
    /// Somebody who asks, at the root.
    pub fn context(&self, credentials: Credentials) -> Context {
        Context { vfs: self.clone(), root: self.root(), cwd: self.root(), credentials, umask: context::UMASK }
    }

    fn root(&self) -> Handle {
        Handle::from_pinned(self, Pinned::again(&self.0, self.0.root).into_id())
    }

    /// The [`budget`](crate::VfsBuilder::budget) in bytes that has room for so many cached files: a dentry and an inode each, the root's among
    /// them. At least the least there can be.
    ///
    /// Names of up to 32 bytes need no more than that. A longer name takes a side line of 64 bytes
    /// for every 56 bytes, begun ones included, beyond the 32nd, and a cached link's body one for
    /// every 56 bytes. There is one side line for every six files, and never fewer than 338: room
    /// for some 2,000 files of which each sixth has a name of 33 to 88 bytes, or for 338 of which
    /// all have. Where side lines run out, what has some is evicted.
    ///
    /// The least budget has 64 files. A path of 4,095 bytes can be walked with it, links on the way
    /// included, unless it is more than some 60 directories deep: each directory is kept by the
    /// next one.
    pub fn budget_for(files: u64) -> u64 {
        Split::bytes(files.clamp(LEAST, MOST))
    }

    /// What the caches did and what they hold. Cost: some loads, and whatever the file system's
    /// [`memory`](FileSystem::memory) costs.
    pub fn stats(&self) -> Stats {
        let core = &*self.0;
        let pool = |capacity: u32, used: u32, slot_bytes: u64, table_bytes: u64| Pool {
            capacity: capacity.into(),
            used: used.into(),
            slot_bytes,
            table_bytes,
        };
        let mut stats = core.counters.snapshot();
        stats.dentries = pool(core.dentries.free().capacity(), core.dentries.used(), DENTRY_BYTES, core.dentries.table_bytes());
        stats.inodes = pool(core.inodes.free().capacity(), core.inodes.used(), INODE_BYTES, core.inodes.table_bytes());
        stats.side = pool(core.side.free().capacity(), core.side.used(), 64, 0);
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

    /// Drops everything cached below `dir`, not what is known of `dir` itself. Errors as [`invalidate`](Self::invalidate).
    ///
    /// Handles stay what they are, and find their places again when their names are looked up. The file system is asked for the
    /// attributes of what is held when they are next needed. Cost: a list of what is below. Not to be called by the file system itself.
    pub fn invalidate_subtree(&self, dir: &Handle) -> Result<(), Errno> {
        self.directory(dir)?;
        self.0.invalidate_below(dir.dentry());
        Ok(())
    }

    /// Asks the file system for the attributes of a node anew, because they changed by themselves; not for a link's body. Its errors are
    /// returned; `EBADF` for a handle of another `Vfs`, `ESTALE` if the node has another type by now.
    pub fn refresh(&self, node: &Handle) -> Result<Attributes, Errno> {
        self.own(node)?;
        self.0.refresh(self.0.dentries.inode(node.dentry()))
    }

    /// Whether a handle is on a place of this `Vfs`.
    pub fn owns(&self, handle: &Handle) -> bool {
        handle.vfs().is(self)
    }

    fn own(&self, handle: &Handle) -> Result<(), Errno> {
        if self.owns(handle) { Ok(()) } else { Err(Errno::EBADF) }
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
        write!(f, "Vfs({} dentries)", self.0.dentries.used())
    }
}

const _: () = assert!(INODE_WORDS as u64 * 8 == INODE_BYTES);

#[cfg(not(any(loom, shuttle)))]
const _: () = {
    const fn shared<T: Clone + Send + Sync>() {}
    shared::<Vfs>();
    shared::<Context>();
    shared::<Handle>();
};
