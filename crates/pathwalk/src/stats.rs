//! Counts of what the caches did, and of what they hold.

mod debug;

/// The reason for which the lock-free walk handed over to the locked walk.
///
/// ```
/// use pathwalk::{Credentials, HandOver, Vfs};
/// # let fs = pathwalk_memfs::MemFs::new();
/// # fs.file("/file", 0o644)?;
/// let vfs = Vfs::builder().build(fs)?;
/// vfs.context(Credentials::root()).stat("/file")?;
/// let stats = vfs.stats();
/// for reason in HandOver::ALL {
///     if stats.hand_overs_for(reason) > 0 {
///         println!("{}: {}", reason.name(), stats.hand_overs_for(reason));
///     }
/// }
/// assert!(HandOver::ALL.iter().map(|reason| stats.hand_overs_for(*reason)).sum::<u64>() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[non_exhaustive]
pub enum HandOver {
    /// A name is not cached, or another thread is looking it up.
    Miss = 0,
    /// A dentry has to be revalidated by its file system.
    Revalidate = 1,
    /// The file system has a permission check of its own, or an ACL that is not cached.
    Permission = 2,
    /// A link's body is not cached, or a rule of the walk needs the place to which the link leads.
    LinkBody = 3,
    /// Attributes are known to be out of date.
    Attributes = 4,
    /// Something changed during the walk, which starts again.
    Changed = 5,
    /// Mounts changed where the walk crosses to one, or the walk begins at a place on which
    /// something is mounted and does not cross to that.
    Mount = 6,
    /// A link's time of access is due.
    AccessTime = 7,
}

impl HandOver {
    /// All reasons, in the order of their numbers.
    pub const ALL: [HandOver; 8] = [
        HandOver::Miss,
        HandOver::Revalidate,
        HandOver::Permission,
        HandOver::LinkBody,
        HandOver::Attributes,
        HandOver::Changed,
        HandOver::Mount,
        HandOver::AccessTime,
    ];

    /// Returns a short name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            HandOver::Miss => "miss",
            HandOver::Revalidate => "revalidate",
            HandOver::Permission => "permission",
            HandOver::LinkBody => "link body",
            HandOver::Attributes => "attributes",
            HandOver::Changed => "changed",
            HandOver::Mount => "mount",
            HandOver::AccessTime => "access time",
        }
    }
}

/// The slots of one pool.
///
/// ```
/// use pathwalk::Vfs;
/// let dentries = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.stats().dentries;
/// assert!(dentries.used <= dentries.capacity);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Pool {
    /// The number that the budget allows.
    pub capacity: u64,
    /// The number in use.
    pub used: u64,
    /// Bytes of one slot in all arrays, without its share of the hash table.
    pub slot_bytes: u64,
    /// Bytes of the pool's hash table.
    pub table_bytes: u64,
}

/// Counts of one file system of a `Vfs`. Returned by
/// [`Vfs::file_systems`](crate::Vfs::file_systems).
///
/// ```
/// use pathwalk::Vfs;
/// let vfs = Vfs::builder().build(pathwalk_memfs::MemFs::new())?;
/// for file_system in vfs.file_systems() {
///     println!("{file_system:?}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FileSystemStats {
    /// The number of the file system, as in
    /// [`MountInfo::file_system`](crate::MountInfo::file_system). The number may be reused when the
    /// file system is gone.
    pub file_system: u16,
    /// Mounts of it in all namespaces, with those that are unmounted and still in use.
    pub mounts: u32,
    /// Cached nodes of it.
    pub nodes: u64,
    /// Calls of its `lookup`.
    pub lookups: u64,
    /// Names that it reported beside those that it was asked for.
    pub siblings: u64,
    /// Bytes that it reports as held.
    pub memory: u64,
}

/// Counts of the memo of whole paths. In [`Stats::whole_paths`].
///
/// [`Vfs::walked_by_this_thread`](crate::Vfs::walked_by_this_thread) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WholePaths {
    /// The number of paths for which there is room.
    pub capacity: u64,
    /// The number of paths stored, stale ones included.
    pub used: u64,
    /// Bytes of one path.
    pub entry_bytes: u64,
    /// The number of times that a path was stored.
    pub fills: u64,
    /// The number of recorded walks that could not be stored: because of too many directories on
    /// the way, of a dentry that is revalidated each time, or of a change during the walk.
    pub refusals: u64,
}

/// A snapshot of the counters. They are read one after the other, so sums may be off by what
/// happened meanwhile.
///
/// Hits are not counted: a counter in shared memory would cost more than the lookup. A caller that
/// counts its calls knows the hits: those that were not handed over. For the memo of whole paths
/// there is [`Vfs::walked_by_this_thread`](crate::Vfs::walked_by_this_thread).
///
/// ```
/// use pathwalk::{Credentials, Errno, Vfs};
/// let vfs = Vfs::builder().build(pathwalk_memfs::MemFs::new())?;
/// let context = vfs.context(Credentials::root());
/// assert_eq!(context.stat("/absent"), Err(Errno::ENOENT));
/// let before = vfs.stats();
/// assert_eq!(context.stat("/absent"), Err(Errno::ENOENT));
/// assert_eq!(vfs.stats().fs_lookups, before.fs_lookups, "the absence is cached");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Mounts in all namespaces, with those that are unmounted and still in use.
    pub mounts: u64,
    /// Hand-overs by reason, in the order of [`HandOver::ALL`].
    pub hand_overs: [u64; HandOver::ALL.len()],
    /// Calls of the file systems' `lookup`.
    pub fs_lookups: u64,
    /// Names that file systems reported beside those that they were asked for.
    pub siblings: u64,
    /// Names that were answered as absent because all names of their directory were cached.
    pub known_absent: u64,
    /// Walks that waited for another thread's `lookup` of the same name.
    pub waits: u64,
    /// Dentries evicted.
    pub evictions: u64,
    /// Slots that were examined to find those to evict, and words of the bitmaps that say which
    /// slots to examine.
    pub looks: u64,
    /// Dentries: names and absences.
    pub dentries: Pool,
    /// Inodes.
    pub inodes: Pool,
    /// Lines of 64 bytes for link bodies, and for names of more than 32 bytes.
    pub side: Pool,
    /// The memo of whole paths.
    pub whole_paths: WholePaths,
    /// The budget, in bytes, as given.
    pub budget: u64,
    /// Bytes that the file systems report as held. Not part of the budget.
    pub file_system: u64,
}

impl Stats {
    /// Returns the number of hand-overs for a reason.
    ///
    /// [`HandOver`] has an example.
    pub fn hand_overs_for(&self, reason: HandOver) -> u64 {
        self.hand_overs[reason as usize]
    }
}
