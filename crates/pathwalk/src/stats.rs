//! What the caches did and what they hold.

use crate::memory::alone::{self, Alone, SHARES, apart};
use crate::sync::{AtomicU64, Ordering};

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
    /// A link's body is not cached.
    LinkBody = 3,
    /// Attributes are known to be out of date.
    Attributes = 4,
    /// Something changed underneath: the walk starts over.
    Changed = 5,
}

impl HandOver {
    /// All reasons, in the order of their numbers.
    pub const ALL: [HandOver; 6] =
        [HandOver::Miss, HandOver::Revalidate, HandOver::Permission, HandOver::LinkBody, HandOver::Attributes, HandOver::Changed];

    /// A short name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            HandOver::Miss => "miss",
            HandOver::Revalidate => "revalidate",
            HandOver::Permission => "permission",
            HandOver::LinkBody => "link body",
            HandOver::Attributes => "attributes",
            HandOver::Changed => "changed",
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

/// A snapshot of the counters. They are read one after the other: sums may be off by what happened meanwhile.
///
/// A hit is not counted: a counter in shared memory would cost more than the lookup. Count calls where you make them; those
/// that were not handed over were hits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
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

/// The counters behind [`Stats`]. Touched on slow paths only, by each thread in its own share; each alone, so `Relaxed`.
pub(crate) struct Counters(Box<[Alone<Share>]>);

/// What some of the threads counted.
#[derive(Default)]
struct Share {
    hand_overs: [AtomicU64; HandOver::ALL.len()],
    fs_lookups: AtomicU64,
    siblings: AtomicU64,
    known_absent: AtomicU64,
    waits: AtomicU64,
    evictions: AtomicU64,
    looks: AtomicU64,
}

impl Counters {
    pub(crate) fn new() -> Counters {
        Counters(apart(SHARES, Share::default))
    }

    fn mine(&self) -> &Share {
        alone::mine(&self.0)
    }

    pub(crate) fn hand_over(&self, reason: HandOver) {
        self.mine().hand_overs[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn fs_lookup(&self) {
        self.mine().fs_lookups.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn siblings(&self, count: u64) {
        self.mine().siblings.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn known_absent(&self) {
        self.mine().known_absent.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn wait(&self) {
        self.mine().waits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn eviction(&self) {
        self.mine().evictions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn looks(&self, count: u64) {
        self.mine().looks.fetch_add(count, Ordering::Relaxed);
    }

    /// Evictions by all threads.
    pub(crate) fn evictions(&self) -> u64 {
        self.0.iter().map(|share| share.evictions.load(Ordering::Relaxed)).sum()
    }

    /// What they count; the pools are left for the caller to fill in.
    pub(crate) fn snapshot(&self) -> Stats {
        let sum = |of: fn(&Share) -> &AtomicU64| self.0.iter().map(|share| of(share).load(Ordering::Relaxed)).sum();
        let of_reason = |at: usize| self.0.iter().map(|share| share.hand_overs[at].load(Ordering::Relaxed)).sum();
        Stats {
            hand_overs: std::array::from_fn(of_reason),
            fs_lookups: sum(|share| &share.fs_lookups),
            siblings: sum(|share| &share.siblings),
            known_absent: sum(|share| &share.known_absent),
            waits: sum(|share| &share.waits),
            evictions: sum(|share| &share.evictions),
            looks: sum(|share| &share.looks),
            ..Stats::default()
        }
    }
}
