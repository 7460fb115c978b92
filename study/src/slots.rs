//! The slots of the simulated cache, as a policy sees them: the slots that are held, and the cost
//! of a look.

use super::trace::EntryId;

/// The entry of a slot that is free.
const FREE: EntryId = EntryId::MAX;

/// An array of slots, each of which is free or holds one entry.
#[derive(Debug)]
pub struct Slots {
    entries: Vec<EntryId>,
    is_absent: Vec<bool>,
    children: Vec<u32>,
    free: Vec<usize>,
    /// The slot of the directory in which the walk stands.
    stand: Option<usize>,
    absent: usize,
    looks: u64,
}

impl Slots {
    /// Creates an array of free slots. The first slot is taken first.
    pub(super) fn new(capacity: usize) -> Slots {
        Slots {
            entries: vec![FREE; capacity],
            is_absent: vec![false; capacity],
            children: vec![0; capacity],
            free: (0..capacity).rev().collect(),
            stand: None,
            absent: 0,
            looks: 0,
        }
    }

    /// Returns the number of slots.
    pub fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of slots in use.
    pub fn used(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Returns the number of slots that hold absent entries.
    pub fn absent(&self) -> usize {
        self.absent
    }

    /// Returns whether a slot holds an absent entry.
    pub fn is_absent(&self, slot: usize) -> bool {
        self.is_absent[slot]
    }

    /// Looks at a slot, and returns whether it is in use and not held. The number of looks is the
    /// cost of a policy.
    pub fn may_go(&mut self, slot: usize) -> bool {
        self.looks += 1;
        self.entries[slot] != FREE && !self.is_held(slot)
    }

    /// Returns whether a slot's entry is a directory with cached children, or the directory in
    /// which the walk stands.
    pub fn is_held(&self, slot: usize) -> bool {
        self.children[slot] > 0 || self.stand == Some(slot)
    }

    pub(super) fn looks(&self) -> u64 {
        self.looks
    }

    pub(super) fn entry(&self, slot: usize) -> EntryId {
        self.entries[slot]
    }

    pub(super) fn stand(&mut self, slot: Option<usize>) {
        self.stand = slot;
    }

    /// Takes a free slot, and returns it.
    pub(super) fn take(&mut self) -> Option<usize> {
        self.free.pop()
    }

    pub(super) fn put(&mut self, slot: usize, entry: EntryId, parent: Option<usize>, is_absent: bool) {
        self.entries[slot] = entry;
        self.is_absent[slot] = is_absent;
        self.absent += usize::from(is_absent);
        if let Some(parent) = parent {
            self.children[parent] += 1;
        }
    }

    pub(super) fn free(&mut self, slot: usize, parent: Option<usize>) {
        self.entries[slot] = FREE;
        self.absent -= usize::from(std::mem::take(&mut self.is_absent[slot]));
        if let Some(parent) = parent {
            self.children[parent] -= 1;
        }
        self.free.push(slot);
    }
}
