//! The `Vfs`: the owner of the caches and the file system. Its operations are in `context.rs`.

use crate::cache::budget::{DENTRY_BYTES, INODE_BYTES, LEAST, MOST, Split, whole_paths_beside};
use crate::locks::table::LockCounts;
use crate::mount::World;
use crate::stats::{FileSystemStats, Pool, Stats};
use crate::sync::Arc;

/// A virtual file system: one file system and the caches in front of it.
///
/// Cloning shares it; any thread may use it. Operations are on a [`Context`](crate::Context), see
/// [`context`](Self::context). Memory is reserved when it is built and never grows. It is given
/// back when the last clone, context and handle is dropped.
///
/// ```
/// use pathwalk::{Credentials, Errno, Vfs};
/// use pathwalk_memfs::MemFs;
/// let vfs = Vfs::builder().budget(Vfs::budget_for(10_000)).build(MemFs::new())?;
/// let context = vfs.context(Credentials::root());
/// context.write("/file", "data")?;
/// assert_eq!(context.stat("/absent"), Err(Errno::ENOENT));
///
/// let stats = vfs.stats();
/// assert!(stats.fs_lookups >= 1 && stats.dentries.used >= 2);
/// assert_eq!(vfs.file_systems().len(), 1);
/// assert!(vfs.owns(context.root()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Vfs(pub(crate) Arc<World>);

impl Vfs {
    /// Returns the [`budget`](crate::VfsBuilder::budget) in bytes that has room for so many cached
    /// files: a dentry and an inode each, the root's among them. At least the smallest possible
    /// budget.
    ///
    /// Names of up to 32 bytes need no more than that. A longer name takes a side line of 64 bytes
    /// for every 56 bytes, begun ones included, beyond the 32nd, and a cached link's body takes one
    /// for every 56 bytes. There is one side line for every seven files, and never fewer than 338.
    /// That is room for some 2,300 files of which each seventh has a name of 33 to 88 bytes, or for
    /// 338 of which all have. When side lines run out, an entry that has some is evicted.
    ///
    /// The smallest budget has 64 files. A path of 4,095 bytes can be walked with it, links on the
    /// way included, unless it is more than some 60 directories deep, because each directory is
    /// pinned by the next one.
    pub fn budget_for(files: u64) -> u64 {
        let split = Split::bytes(files.clamp(LEAST, MOST));
        split + whole_paths_beside(split)
    }

    /// Returns how many lookups of the calling thread were walked, since it began, of those that a
    /// memo of whole paths could have answered: in all `Vfs` that have one.
    ///
    /// A hit is not counted, since a count would cost a good part of the rest. A caller that counts
    /// its calls knows the hits: they are the calls by which this number did not rise. A call that
    /// asks a file system, or is repeated because of a change, may count more than once.
    ///
    /// Cost: one load. Never blocks.
    ///
    /// ```
    /// use pathwalk::{Access, Credentials, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.mkdir_all("/usr/bin", 0o755)?;
    /// # fs.file("/usr/bin/cc", 0o755)?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let calls = 1000;
    /// let before = Vfs::walked_by_this_thread();
    /// for _ in 0..calls {
    ///     context.access("/usr/bin/cc", Access::EXECUTE)?;
    /// }
    /// let hits = calls - (Vfs::walked_by_this_thread() - before);
    /// assert!(hits > 900, "{hits} of {calls}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn walked_by_this_thread() -> u64 {
        crate::memo::walked()
    }

    /// Returns the counters and the sizes of the caches. Cost: some loads, and the cost of the file
    /// system's [`memory`](crate::FileSystem::memory).
    pub fn stats(&self) -> Stats {
        let (world, caches) = (&*self.0, self.0.caches());
        let pool = |capacity: u32, used: u32, slot_bytes: u64, table_bytes: u64| Pool {
            capacity: capacity.into(),
            used: used.into(),
            slot_bytes,
            table_bytes,
        };
        let mut stats = caches.counters.snapshot();
        stats.dentries =
            pool(caches.dentries.free().capacity(), caches.dentries.used(), DENTRY_BYTES, caches.dentries.table_bytes());
        stats.inodes = pool(caches.inodes.free().capacity(), caches.inodes.used(), INODE_BYTES, caches.inodes.table_bytes());
        stats.side = pool(caches.side.free().capacity(), caches.side.used(), 64, 0);
        stats.whole_paths = world.memo.stats();
        stats.budget = world.budget;
        stats.mounts = world.mounts.count().into();
        for superblock in world.trees.superblocks.all() {
            stats.fs_lookups += superblock.lookups();
            stats.siblings += superblock.siblings();
            stats.file_system += superblock.fs.memory();
        }
        stats
    }

    /// Returns the counters and the memory of each file system. Cost: some loads for each, and the
    /// cost of its [`memory`](crate::FileSystem::memory).
    pub fn file_systems(&self) -> Vec<FileSystemStats> {
        self.0.trees.superblocks.all().map(|superblock| superblock.stats()).collect()
    }

    /// Returns the counts of locks on files that it keeps, and of requests that wait. Cost: a lock,
    /// and a look at each request that waits.
    ///
    /// ```
    /// use pathwalk::{Credentials, LockKind, LockWait, OpenFlags, Vfs};
    /// let vfs = Vfs::builder().build(pathwalk_memfs::MemFs::new())?;
    /// let file = vfs.context(Credentials::root()).open("/file", OpenFlags::READ | OpenFlags::CREATE)?;
    /// file.flock(LockKind::Exclusive, LockWait::Yes)?;
    /// assert_eq!((vfs.locks().held, vfs.locks().waiting), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn locks(&self) -> LockCounts {
        self.0.locks.counts()
    }

    #[inline(always)]
    pub(crate) fn world(&self) -> &World {
        &self.0
    }

    /// Returns whether both are the same.
    pub(crate) fn is(&self, other: &Vfs) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::fmt::Debug for Vfs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vfs({} dentries)", self.0.caches().dentries.used())
    }
}

#[cfg(not(any(loom, shuttle)))]
const _: () = {
    const fn shared<T: Clone + Send + Sync>() {}
    shared::<Vfs>();
};
