//! The cache that is simulated: slots of which each holds one entry, and the walks that fill them.
//!
//! It keeps the engine's rules, whatever the policy: a walk is a hit if all that it touches is cached, and only its end is told to the
//! policy; a miss puts each missing component, directories first; a directory with cached children stays, and so does the one that the
//! walk stands in; a new entry takes the slot that was freed for it. Where nothing can go, the walk is answered without being cached.
//!
//! What it does not do: time, threads, and changes of names.

use super::slots::Slots;
use super::trace::{EntryId, ROOT, Walk, Walks};

const NONE: u32 = u32::MAX;

/// Which slot to give up.
pub trait Policy {
    /// A walk ended at this slot's entry, which was cached.
    fn hit(&mut self, slot: usize);

    /// An entry was put into this slot.
    fn put(&mut self, slot: usize, entry: EntryId, is_absent: bool);

    /// A slot to give up, to which [`Slots::may_go`] said yes; `None` if there is none.
    fn victim(&mut self, slots: &mut Slots) -> Option<usize>;

    /// The same of an absent entry, where these have had their share. A policy that cannot tell them from others has none.
    fn absent_victim(&mut self, _slots: &mut Slots) -> Option<usize> {
        None
    }

    /// The slot was given up.
    fn gone(&mut self, slot: usize, is_absent: bool);
}

/// How much of a cache absent entries may take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AbsentShare {
    /// All of it.
    All,
    /// All of what is free; but when they have this share of the slots, 0 to 1, one of them goes first.
    AtMost(f64),
}

/// What came of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Walks to what is present.
    pub present: Ratio,
    /// Walks to what is absent.
    pub absent: Ratio,
    /// Names that the file system was asked for.
    pub questions: u64,
    /// Entries that were evicted.
    pub evictions: u64,
    /// Slots that were looked at in order to find them.
    pub looks: u64,
    /// Names that were not cached since nothing could go.
    pub refused: u64,
}

/// Hits among walks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ratio {
    /// How many walks there were.
    pub walks: u64,
    /// How many of them were hits.
    pub hits: u64,
}

impl Ratio {
    /// Hits in percent, 0 to 100; 100 of nothing.
    pub fn percent(self) -> f64 {
        if self.walks == 0 { 100.0 } else { self.hits as f64 * 100.0 / self.walks as f64 }
    }

    pub(super) fn add(&mut self, is_hit: bool) {
        self.walks += 1;
        self.hits += u64::from(is_hit);
    }
}

impl Outcome {
    /// Of all walks.
    pub fn all(&self) -> Ratio {
        Ratio { walks: self.present.walks + self.absent.walks, hits: self.present.hits + self.absent.hits }
    }

    /// Slots that were looked at for each entry that was evicted.
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
    /// An empty one with so many slots.
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

    /// Makes all walks, and tells what came of them. `progress` is called now and then with the number of walks since the last call.
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

    /// What came of the walks so far.
    pub fn outcome(&self) -> Outcome {
        Outcome { looks: self.slots.looks(), ..self.outcome }
    }

    /// Is it?
    pub fn is_cached(&self, entry: EntryId) -> bool {
        entry == ROOT || self.slot_of[entry as usize] != NONE
    }

    /// The slots.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Makes a walk.
    pub fn walk(&mut self, walk: Walk<'_>) {
        let end = walk.end();
        // Links go no other way than directories: they are not told to the policy.
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

    /// Puts an entry and all that is missing above it. `None` if there was no room.
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

    /// Where it is; nowhere, if it is the root.
    fn slot(&self, entry: EntryId) -> Option<usize> {
        (entry != ROOT).then(|| self.slot_of[entry as usize] as usize)
    }

    /// Puts one entry, whose parent is cached, and stands in it.
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
        // Whether the entry to come is absent is not asked: the engine takes the slot before it asks the file system.
        let too_many = self.slots.absent() >= self.most_absent;
        let absent = if too_many { self.policy.absent_victim(&mut self.slots) } else { None };
        let victim = absent.or_else(|| self.policy.victim(&mut self.slots))?;
        self.evict(victim);
        self.slots.take()
    }

    fn evict(&mut self, slot: usize) {
        assert!(!self.slots.is_held(slot), "a policy gave up what is held");
        let entry = self.slots.entry(slot);
        let parent = self.slot(self.walks.parent(entry));
        self.slots.free(slot, parent);
        self.slot_of[entry as usize] = NONE;
        self.outcome.evictions += 1;
        self.policy.gone(slot, self.walks.is_absent(entry));
    }
}
