//! The slots, as a policy sees them: who holds which, and what a look costs.

use super::trace::EntryId;

/// A slot that was never used, or is free.
const FREE: EntryId = EntryId::MAX;

/// An array of slots.
#[derive(Debug)]
pub struct Slots {
    entries: Vec<EntryId>,
    is_absent: Vec<bool>,
    children: Vec<u32>,
    free: Vec<usize>,
    /// Where the walk stands.
    stand: Option<usize>,
    absent: usize,
    looks: u64,
}

impl Slots {
    /// All of them free. The first is taken first.
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

    /// How many there are.
    pub fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// How many are used.
    pub fn used(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// How many hold absent entries.
    pub fn absent(&self) -> usize {
        self.absent
    }

    /// Does it hold one?
    pub fn is_absent(&self, slot: usize) -> bool {
        self.is_absent[slot]
    }

    /// Looks at a slot: is it used, and does nobody hold it? This is what a policy pays with.
    pub fn may_go(&mut self, slot: usize) -> bool {
        self.looks += 1;
        self.entries[slot] != FREE && !self.is_held(slot)
    }

    /// Is it a directory with cached children, or the one in which the walk stands?
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

    /// A free slot.
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
