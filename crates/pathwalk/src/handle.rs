//! An owned handle on a place in the tree.

use crate::Errno;
use crate::attr::{Attributes, FileType};
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::cache::icache::inode::{Record, WORD, key_of, kind_of};
use crate::fs_api::StatFs;
use crate::memory::slot::{DentryId, InodeId};
use crate::mount::{MountPin, PinnedPlace, Place, World};
use crate::node::NodeKey;
use crate::ops::stat::statfs_at;
use crate::sync::Ordering;
use crate::vfs::Vfs;

/// A pinned place in the tree, as an `O_PATH` descriptor is: any kind of node, no right to read or write it.
///
/// It stays what it is when it is renamed or unlinked. Dropping one never blocks: it gives a count back, and what has become
/// garbage is collected by whoever next needs the memory. (The last of all handles, contexts and clones of a `Vfs` takes the caches with
/// it, which tells the file system of every node; and the last of what is on a file system that is
/// mounted nowhere any more lets go of that.)
pub struct Handle {
    vfs: Vfs,
    place: Place,
    when_dropped: WhenDropped,
}

/// What becomes of a node that has no name any more when a handle on it is dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WhenDropped {
    /// It is collected by whoever next needs the memory.
    Leave,
    /// It is collected at once, if this was the last.
    Collect,
}

impl Handle {
    /// Takes over a pin of a dentry of this `Vfs`.
    pub(crate) fn from_pinned(vfs: &Vfs, pinned: PinnedPlace<'_>) -> Handle {
        Handle { vfs: vfs.clone(), place: pinned.into_place(), when_dropped: WhenDropped::Leave }
    }

    /// The same of a file that is open: when it is closed and has no name any more, what it takes is freed.
    pub(crate) fn of_file(vfs: &Vfs, pinned: PinnedPlace<'_>) -> Handle {
        Handle { vfs: vfs.clone(), place: pinned.into_place(), when_dropped: WhenDropped::Collect }
    }

    /// Returns a handle on what was found from here, in the same mount.
    pub(crate) fn beside(&self, node: Pinned<'_>) -> Handle {
        let mount = MountPin::again(self.world(), self.place.mount());
        Handle::from_pinned(&self.vfs, PinnedPlace { node, mount })
    }

    #[inline(always)]
    pub(crate) fn dentry(&self) -> DentryId {
        self.place.dentry()
    }

    #[inline(always)]
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    #[inline(always)]
    pub(crate) fn vfs(&self) -> &Vfs {
        &self.vfs
    }

    /// What it is.
    pub fn kind(&self) -> FileType {
        kind_of(self.record()[WORD].load(Ordering::Relaxed))
    }

    /// Its attributes, with owners as its mount shows them; asks the file system only if the cached ones are out of date. Source: `fstat(2)`.
    pub fn attributes(&self) -> Result<Attributes, Errno> {
        let attributes = self.world().trees.stat(self.inode())?;
        Ok(self.world().mounts.shown(self.place.mount(), attributes))
    }

    /// Returns size and limits of its file system, and the switches of its mount. Errors are those
    /// of the file system, which is asked each time. Source: `fstatfs(2)`.
    pub fn statfs(&self) -> Result<StatFs, Errno> {
        statfs_at(self.world(), self.place)
    }

    /// Returns the key by which the file system knows it: to tell the file system about a node that
    /// has several names, or none.
    pub fn key(&self) -> NodeKey {
        key_of(self.record())
    }

    /// The path from the root of the `Vfs`, as `/proc/self/fd` would show it; `ENOENT` once it, or
    /// a directory above, was removed. Another moment, another answer: for messages, not for
    /// decisions. What was invalidated while it was held keeps the path that it had.
    pub fn path(&self) -> Result<Vec<u8>, Errno> {
        self.world().path_of(self.place)
    }

    pub(crate) fn world(&self) -> &World {
        self.vfs.world()
    }

    pub(crate) fn inode(&self) -> InodeId {
        self.world().caches().dentries.inode(self.dentry())
    }

    fn record(&self) -> &Record {
        self.world().caches().inodes.record(self.inode())
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        PinnedPlace::again(self.world(), self.place).into_place();
        Handle { vfs: self.vfs.clone(), place: self.place, when_dropped: WhenDropped::Leave }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let (world, dentry) = (self.vfs.world(), self.dentry());
        let caches = world.caches();
        caches.dentries.unpin(dentry);
        // The slot may be another dentry's by now: this is a guess.
        if self.when_dropped == WhenDropped::Collect && caches.dentries.word(dentry) & flags::UNHASHED != 0 {
            caches.try_evict(dentry);
        }
        world.mounts.used(self.place.mount());
        world.unpin_mount(self.place.mount());
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.path() {
            Ok(path) => write!(f, "Handle(\"{}\")", path.escape_ascii()),
            Err(errno) => write!(f, "Handle({errno:?})"),
        }
    }
}

#[cfg(not(any(loom, shuttle)))]
const _: () = {
    const fn shared<T: Clone + Send + Sync>() {}
    shared::<Handle>();
};
