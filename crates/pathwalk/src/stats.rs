//! What the caches did and what they hold.

/// Why the lock-free walk gave up and the locked one went on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[non_exhaustive]
pub enum HandOver {
    /// A name is not cached, or somebody is looking it up just now.
    Miss = 0,
    /// An entry must be revalidated by its file system.
    Revalidate = 1,
    /// The file system's own permission check, or an ACL not asked for yet.
    Permission = 2,
    /// A link's body is not cached; or the rules of the walk take a closer look at where it leads.
    LinkBody = 3,
    /// Attributes are known to be out of date.
    Attributes = 4,
    /// Something changed underneath: the walk starts over.
    Changed = 5,
    /// Mounts came or went just now where the walk crosses to one; or what is mounted on the place
    /// where the walk begins is not to be crossed to.
    Mount = 6,
}

impl HandOver {
    /// All reasons, in the order of their numbers.
    pub const ALL: [HandOver; 7] = [
        HandOver::Miss,
        HandOver::Revalidate,
        HandOver::Permission,
        HandOver::LinkBody,
        HandOver::Attributes,
        HandOver::Changed,
        HandOver::Mount,
    ];

    /// A short name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            HandOver::Miss => "miss",
            HandOver::Revalidate => "revalidate",
            HandOver::Permission => "permission",
            HandOver::LinkBody => "link body",
            HandOver::Attributes => "attributes",
            HandOver::Changed => "changed",
            HandOver::Mount => "mount",
        }
    }
}

/// Slots of one pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pool {
    /// How many the budget allows.
    pub capacity: u64,
    /// How many are in use.
    pub used: u64,
    /// Bytes of one, all its arrays together, without its share of the hash table.
    pub slot_bytes: u64,
    /// Bytes of this pool's hash table.
    pub table_bytes: u64,
}

/// What one file system of a `Vfs` was asked and holds. Of [`Vfs::file_systems`](crate::Vfs::file_systems).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FileSystemStats {
    /// Its number, as [`MountInfo::file_system`](crate::MountInfo::file_system) has it. It may be
    /// another's when this one is gone.
    pub file_system: u16,
    /// Its mounts, in all namespaces, those included that are in use though they are unmounted.
    pub mounts: u32,
    /// Nodes of it that are cached.
    pub nodes: u64,
    /// `lookup` calls.
    pub lookups: u64,
    /// Names that it told unasked.
    pub siblings: u64,
    /// Bytes that it says it holds.
    pub memory: u64,
}

/// The memo of whole paths. Of [`Stats::whole_paths`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct WholePaths {
    /// How many paths it has room for.
    pub capacity: u64,
    /// How many it has, those included that have changed since.
    pub used: u64,
    /// Bytes of one.
    pub entry_bytes: u64,
    /// How often it learned a path, also one that it had.
    pub fills: u64,
    /// How often it was to learn one and could not: too many directories on the way, an entry that is asked about each
    /// time, or a change meanwhile.
    pub refusals: u64,
}

/// A snapshot of the counters. They are read one after the other: sums may be off by what happened meanwhile.
///
/// A hit is not counted: a counter in shared memory would cost more than the lookup. Count calls where you make them; those
/// that were not handed over were hits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Mounts, in all namespaces, those included that are in use though they are unmounted.
    pub mounts: u64,
    /// Hand-overs by reason, in the order of [`HandOver::ALL`].
    pub hand_overs: [u64; HandOver::ALL.len()],
    /// `lookup` calls to the file system.
    pub fs_lookups: u64,
    /// Names that the file system told of without being asked, together with others that it was asked for.
    pub siblings: u64,
    /// Names that were said to be absent without asking, since all names of their directory were cached.
    pub known_absent: u64,
    /// Walks that waited for another thread's `lookup` of the same name.
    pub waits: u64,
    /// Dentries evicted.
    pub evictions: u64,
    /// Slots that were looked at to find those that could be evicted, and words of bits that tell
    /// which of them to look at.
    pub looks: u64,
    /// Dentries: names and absences.
    pub dentries: Pool,
    /// Inodes.
    pub inodes: Pool,
    /// Lines of 64 bytes for link bodies and for names over 32 bytes.
    pub side: Pool,
    /// Whole paths and where they lead to.
    pub whole_paths: WholePaths,
    /// The budget, in bytes, as given.
    pub budget: u64,
    /// Bytes the file system says it holds; not part of the budget.
    pub file_system: u64,
}

impl Stats {
    /// Hand-overs for this reason.
    pub fn hand_overs_for(&self, reason: HandOver) -> u64 {
        self.hand_overs[reason as usize]
    }
}
