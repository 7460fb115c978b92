//! The simulated cache: slots that each hold one entry, and the walks that fill them.
//!
//! The cache keeps the engine's rules under every policy:
//!
//! - A walk is a hit if everything that it touches is cached. The policy gets a call for the end of
//!   the walk only.
//! - A miss puts each missing component, directories first.
//! - A directory with cached children is not evicted, and neither is the directory in which the
//!   walk stands.
//! - A new entry takes the slot that was freed for it.
//! - If no slot can be evicted, the walk is answered without being cached.
//!
//! What it does not do: simulate time, threads, or changes of names.

use super::slots::Slots;
use super::trace::{EntryId, ROOT, Walk, Walks};

const NONE: u32 = u32::MAX;

/// A policy, which chooses the slot to evict.
pub trait Policy {
    /// Records a walk that ended at this slot's entry, which was cached.
    fn hit(&mut self, slot: usize);

    /// Records an entry that was put into this slot.
    fn put(&mut self, slot: usize, entry: EntryId, is_absent: bool);

    /// Returns a slot to evict, for which [`Slots::may_go`] returned true, or `None` if there is
    /// none.
    fn victim(&mut self, slots: &mut Slots) -> Option<usize>;

    /// Returns a slot to evict among those with absent entries, for use when these have reached
    /// their share.
    /// Returns `None` under a policy that does not distinguish absent entries from others.
    fn absent_victim(&mut self, _slots: &mut Slots) -> Option<usize> {
        None
    }

    /// Records that the slot was evicted.
    fn gone(&mut self, slot: usize, is_absent: bool);
}

/// The share of a cache that absent entries may take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AbsentShare {
    /// All slots.
    All,
    /// All free slots. But when absent entries have this share of the slots, 0 to 1, the next
    /// victim is one of them.
    AtMost(f64),
}

/// The counts of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Walks to present entries.
    pub present: Ratio,
    /// Walks to absent entries.
    pub absent: Ratio,
    /// The number of names that the file system was asked for.
    pub questions: u64,
    /// The number of entries that were evicted.
    pub evictions: u64,
    /// The number of slots that were looked at to find the evicted ones.
    pub looks: u64,
    /// The number of names that the file system was asked for and that were not cached, because no
    /// slot could be evicted.
    pub refused: u64,
}

/// The number of hits among a number of walks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ratio {
    /// The number of walks.
    pub walks: u64,
    /// The number of walks that were hits.
    pub hits: u64,
}

impl Ratio {
    /// Returns the hits in percent of the walks, 0 to 100; 100 if there were no walks.
    pub fn percent(self) -> f64 {
        if self.walks == 0 { 100.0 } else { self.hits as f64 * 100.0 / self.walks as f64 }
    }

    pub(super) fn add(&mut self, is_hit: bool) {
        self.walks += 1;
        self.hits += u64::from(is_hit);
    }
}

impl Outcome {
    /// Returns the ratio for all walks, to present and absent entries.
    pub fn all(&self) -> Ratio {
        Ratio { walks: self.present.walks + self.absent.walks, hits: self.present.hits + self.absent.hits }
    }

    /// Returns the number of slots that were looked at for each evicted entry.
    pub fn looks_per_eviction(&self) -> f64 {
        self.looks as f64 / self.evictions.max(1) as f64
    }
}

/// A cache under a policy.
pub struct Cache<'a> {
    walks: &'a Walks,
    policy: Box<dyn Policy>,
    most_absent: usize,
    slots: Slots,
    slot_of: Vec<u32>,
    path: Vec<EntryId>,
    outcome: Outcome,
}

impl<'a> Cache<'a> {
    /// Creates an empty cache with this many slots.
    pub fn new(walks: &'a Walks, capacity: usize, share: AbsentShare, policy: Box<dyn Policy>) -> Cache<'a> {
        let most_absent = match share {
            AbsentShare::All => usize::MAX,
            AbsentShare::AtMost(share) => ((capacity as f64 * share) as usize).max(1),
        };
        Cache {
            walks,
            policy,
            most_absent,
            slots: Slots::new(capacity),
            slot_of: vec![NONE; walks.entries() + 1],
            path: Vec::new(),
            outcome: Outcome::default(),
        }
    }

    /// Runs all walks, and returns the outcome.
    /// Calls `progress` now and then with the number of walks since the last call.
    pub fn run(mut self, progress: &mut dyn FnMut(u64)) -> Outcome {
        const PIECE: u64 = 1 << 16;
        let mut since = 0;
        for walk in self.walks.iter() {
            self.walk(walk);
            since += 1;
            if since == PIECE {
                progress(since);
                since = 0;
            }
        }
        progress(since);
        self.outcome()
    }

    /// Returns the outcome of the walks so far.
    pub fn outcome(&self) -> Outcome {
        Outcome { looks: self.slots.looks(), ..self.outcome }
    }

    /// Returns whether an entry is cached; the root always is.
    pub fn is_cached(&self, entry: EntryId) -> bool {
        entry == ROOT || self.slot_of[entry as usize] != NONE
    }

    /// Returns the slots.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Runs one walk.
    pub fn walk(&mut self, walk: Walk<'_>) {
        let end = walk.end();
        // A walk passes a link as it passes a directory: the policy gets no call for it.
        let is_hit = walk.links().all(|link| self.is_cached(link)) & self.is_cached(end);
        if is_hit {
            self.policy.hit(self.slot_of[end as usize] as usize);
        } else {
            let mut missing = walk.links().chain([end]);
            let _ = missing.try_for_each(|target| self.fetch(target));
        }
        let ratio = if self.walks.is_absent(end) { &mut self.outcome.absent } else { &mut self.outcome.present };
        ratio.add(is_hit);
    }

    /// Puts an entry, and everything that is missing above it. Returns `None` if there was no room.
    fn fetch(&mut self, target: EntryId) -> Option<()> {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        let mut entry = target;
        while !self.is_cached(entry) {
            path.push(entry);
            entry = self.walks.parent(entry);
        }
        let stand = self.slot(entry);
        self.slots.stand(stand);
        let done = path.iter().rev().try_for_each(|entry| self.put(*entry));
        self.slots.stand(None);
        self.path = path;
        done
    }

    /// Returns the slot of a cached entry, or `None` for the root.
    fn slot(&self, entry: EntryId) -> Option<usize> {
        (entry != ROOT).then(|| self.slot_of[entry as usize] as usize)
    }

    /// Puts one entry whose parent is cached, and lets the walk stand in it.
    fn put(&mut self, entry: EntryId) -> Option<()> {
        self.outcome.questions += 1;
        let Some(slot) = self.slots.take().or_else(|| self.make_room()) else {
            self.outcome.refused += 1;
            return None;
        };
        let parent = self.slot(self.walks.parent(entry));
        self.slots.put(slot, entry, parent, self.walks.is_absent(entry));
        self.slot_of[entry as usize] = slot as u32;
        self.policy.put(slot, entry, self.walks.is_absent(entry));
        self.slots.stand(Some(slot));
        Some(())
    }

    fn make_room(&mut self) -> Option<usize> {
        // It does not matter here whether the new entry is absent: the engine takes the slot before
        // it asks the file system.
        let too_many = self.slots.absent() >= self.most_absent;
        let absent = if too_many { self.policy.absent_victim(&mut self.slots) } else { None };
        let victim = absent.or_else(|| self.policy.victim(&mut self.slots))?;
        self.evict(victim);
        self.slots.take()
    }

    fn evict(&mut self, slot: usize) {
        assert!(!self.slots.is_held(slot), "a policy chose a held slot");
        let entry = self.slots.entry(slot);
        let parent = self.slot(self.walks.parent(entry));
        self.slots.free(slot, parent);
        self.slot_of[entry as usize] = NONE;
        self.outcome.evictions += 1;
        self.policy.gone(slot, self.walks.is_absent(entry));
    }
}
