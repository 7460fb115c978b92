//! An owned handle on a place in the tree.

use crate::Errno;
use crate::attr::{Attributes, FileType};
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::cache::icache::inode::{self, Record, WORD, key_of, kind_of};
use crate::fs_api::StatFs;
use crate::memory::slot::{DentryId, InodeId};
use crate::mount::{MountPin, PinnedPlace, Place, World};
use crate::node::{Freshness, NodeKey};
use crate::ops::stat::statfs_at;
use crate::security::NodeId;
use crate::sync::Ordering;
use crate::vfs::Vfs;

/// A pinned place in the tree, like an `O_PATH` descriptor: any kind of node, no right to read or
/// write it.
///
/// It stays valid when the place is renamed or unlinked. Dropping one never blocks: it gives a pin
/// back, and garbage is collected by the next thread that needs the memory. (Two drops do more. The
/// last of all handles, contexts and clones of a `Vfs` frees the caches, which tells the file
/// system to forget every node. The last use of a file system that is mounted nowhere any more
/// shuts it down.)
///
/// ```
/// use pathwalk::{AtFlags, Credentials, Errno, FileType, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.create_dir_all("/old/sub")?;
/// let place = context.lookup("/old")?;
/// context.rename("/old", "/new")?;
/// assert_eq!((place.path()?, place.kind()), (b"/new".to_vec(), FileType::Directory));
/// assert_eq!(context.lookup_at(&place, "sub", AtFlags::empty())?.path()?, b"/new/sub");
/// assert_eq!(place.attributes()?.nlink, 3);
/// assert_eq!(place.key(), context.lookup("/new")?.key());
/// assert_eq!(place.statfs()?.block_size, 4096);
///
/// context.remove_dir_all("/new")?;
/// assert_eq!(place.path(), Err(Errno::ENOENT));
/// assert_eq!(place.attributes()?.nlink, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Handle {
    vfs: Vfs,
    place: Place,
    when_dropped: WhenDropped,
}

/// The treatment of a node without a name when a handle on it is dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WhenDropped {
    /// The next thread that needs the memory collects the node.
    Leave,
    /// The node is collected at once, if this was the last handle.
    Collect,
}

impl Handle {
    /// Creates a handle from a pin of a dentry of this `Vfs`.
    pub(crate) fn from_pinned(vfs: &Vfs, pinned: PinnedPlace<'_>) -> Handle {
        Handle { vfs: vfs.clone(), place: pinned.into_place(), when_dropped: WhenDropped::Leave }
    }

    /// Creates the handle of an open file: if the file has no name when it is closed, its memory is
    /// freed.
    pub(crate) fn of_file(vfs: &Vfs, pinned: PinnedPlace<'_>) -> Handle {
        Handle { vfs: vfs.clone(), place: pinned.into_place(), when_dropped: WhenDropped::Collect }
    }

    /// Returns the handle, and has its clones do the same: when the last of them is dropped, and
    /// the node has no name any more, the file system is told at once to forget it.
    ///
    /// A handle leaves that to one of the next removals of names, or to the next thread that needs
    /// the memory; until then, the data of the node takes space. The drop of this one may wait for
    /// locks of the caches, and for the file system.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::with(pathwalk_memfs::Options::default().max_bytes(1 << 20));
    /// # let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let free = || Ok::<_, pathwalk::Errno>(context.root().statfs()?.blocks_free);
    /// let before = free()?;
    /// context.write("/file", "text")?;
    /// let file = context.lookup("/file")?.collecting();
    /// context.remove_file("/file")?;
    /// assert!(free()? < before);
    /// drop(file);
    /// assert_eq!(free()?, before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn collecting(mut self) -> Handle {
        self.when_dropped = WhenDropped::Collect;
        self
    }

    /// Creates a handle on a node that was found from here, in the same mount.
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

    /// Returns the type of the node.
    pub fn kind(&self) -> FileType {
        kind_of(self.record()[WORD].load(Ordering::Relaxed))
    }

    /// Returns its attributes, with owners as its mount shows them. Asks the file system only if
    /// the cached ones are out of date. Source: `fstat(2)`.
    pub fn attributes(&self) -> Result<Attributes, Errno> {
        let attributes = self.world().trees.stat(self.inode())?;
        Ok(self.world().mounts.shown(self.place.mount(), attributes))
    }

    /// Returns size and limits of its file system, and the flags of its mount. Errors are those of
    /// the file system, which is asked each time. Source: `fstatfs(2)`.
    pub fn statfs(&self) -> Result<StatFs, Errno> {
        statfs_at(self.world(), self.place)
    }

    /// Returns the key by which the file system knows the node: for messages to the file system
    /// about a node that has several names, or none.
    pub fn key(&self) -> NodeKey {
        key_of(self.record())
    }

    /// Returns the identity of the node among all file systems of the `Vfs`: the same for each of
    /// its names. It is valid as long as there is a handle on the node.
    ///
    /// [`NodeSubscription`](crate::NodeSubscription) has an example.
    pub fn node_id(&self) -> NodeId {
        NodeId::new(self.world().caches().superblock_of(self.inode()), self.key())
    }

    /// Returns the number of the mount through which it was reached, which no other mount ever has:
    /// [`Statx::mount_id`](crate::Statx::mount_id). A node that is bound to a second place has one
    /// identity and two such numbers.
    ///
    /// ```
    /// use pathwalk::{Credentials, Recursion, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.create_dir_all("/a/d")?;
    /// context.create_dir_all("/b")?;
    /// context.bind("/a", "/b", Recursion::Alone)?;
    /// let [one, other] = [context.lookup("/a/d")?, context.lookup("/b/d")?];
    /// assert!(one.node_id() == other.node_id() && one.mount_id() != other.mount_id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mount_id(&self) -> u64 {
        self.world().mounts.number(self.place.mount())
    }

    /// Returns how long the name by which it was found may be used without a question to the file
    /// system, as of now. What is [`Stable`](Freshness::Stable) is so until an event reports a
    /// change: [`Vfs::subscribe_nodes`](crate::Vfs::subscribe_nodes).
    ///
    /// This and the two next ones are for caches above the `Vfs`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Freshness, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/file", "text")?;
    /// let file = context.lookup("/file")?;
    /// file.attributes()?;
    /// // Others change a tree in memory by its `Vfs` alone.
    /// assert_eq!((file.name_freshness(), file.attributes_freshness()), (Freshness::Stable, Freshness::Stable));
    /// assert_eq!(context.root().absence_freshness(), Freshness::Stable);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name_freshness(&self) -> Freshness {
        let asks = self.world().caches().dentries.word(self.dentry()) & flags::REVALIDATE != 0;
        if asks { Freshness::AskEachTime } else { Freshness::Stable }
    }

    /// Returns how long what is cached of its attributes may be used without a question to the file
    /// system, as of now. What has to be asked for again is not [`Stable`](Freshness::Stable), so
    /// this is asked after [`attributes`](Self::attributes).
    ///
    /// [`name_freshness`](Self::name_freshness) has an example.
    pub fn attributes_freshness(&self) -> Freshness {
        let is_stale = self.record()[WORD].load(Ordering::Relaxed) & inode::flags::STALE != 0;
        if is_stale { Freshness::AskEachTime } else { Freshness::Stable }
    }

    /// Returns how long absences of names in this directory may be used without a question to the
    /// file system, as of now: [`FileSystem::absence_in`](crate::FileSystem::absence_in).
    ///
    /// [`name_freshness`](Self::name_freshness) has an example.
    pub fn absence_freshness(&self) -> Freshness {
        self.world().trees.absence_in(self.dentry())
    }

    /// Returns the path from the root of the `Vfs`, as `/proc/self/fd` would show it; `ENOENT` once
    /// the place, or a directory above, was removed. The path may change at any time, so use it for
    /// messages and not for decisions. A place that was invalidated while it was held keeps the
    /// path that it had.
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
        Handle { vfs: self.vfs.clone(), place: self.place, when_dropped: self.when_dropped }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let (world, dentry) = (self.vfs.world(), self.dentry());
        let caches = world.caches();
        caches.dentries.unpin(dentry);
        if self.when_dropped == WhenDropped::Collect {
            caches.collect_from(dentry);
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
