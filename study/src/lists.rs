//! The policies of the papers, over linked lists: the reference for the policies over slots.
//!
//! A slot that is held is passed over. FIFO, LRU and SIEVE leave it in its place, with its mark.
//! S3-FIFO moves it from the small queue to the main one, or to the newest end of the main queue.
//!
//! Sources: SIEVE, Zhang and others, "SIEVE is Simpler than LRU", NSDI 2024; S3-FIFO, Yang and
//! others, "FIFO queues are all you need for cache eviction", SOSP 2023, with the constants of that
//! paper.

use std::collections::{HashMap, VecDeque};

use super::cache::Policy;
use super::list::List;
use super::slots::Slots;
use super::trace::EntryId;

/// A policy that evicts the entry that was put first.
#[derive(Default)]
pub(super) struct Fifo(List);

impl Policy for Fifo {
    fn hit(&mut self, _slot: usize) {}

    fn put(&mut self, slot: usize, _entry: EntryId, _is_absent: bool) {
        self.0.put(slot);
    }

    fn victim(&mut self, slots: &mut Slots) -> Option<usize> {
        self.0.oldest_first().find(|slot| slots.may_go(*slot))
    }

    fn gone(&mut self, slot: usize, _is_absent: bool) {
        self.0.remove(slot);
    }
}

/// A policy that evicts the entry whose last hit, or else whose arrival, is the longest ago.
#[derive(Default)]
pub(super) struct Lru(Fifo);

impl Policy for Lru {
    fn hit(&mut self, slot: usize) {
        self.0.0.renew(slot);
    }

    fn put(&mut self, slot: usize, entry: EntryId, is_absent: bool) {
        self.0.put(slot, entry, is_absent);
    }

    fn victim(&mut self, slots: &mut Slots) -> Option<usize> {
        self.0.victim(slots)
    }

    fn gone(&mut self, slot: usize, is_absent: bool) {
        self.0.gone(slot, is_absent);
    }
}

/// A policy whose hand goes from the oldest entry to the newest, again and again. Where an entry
/// has a mark, because it was hit, the hand clears the mark and goes on.
#[derive(Default)]
pub(super) struct Sieve {
    list: List,
    hand: Option<usize>,
    hit: Vec<bool>,
}

impl Policy for Sieve {
    fn hit(&mut self, slot: usize) {
        self.hit[slot] = true;
    }

    fn put(&mut self, slot: usize, _entry: EntryId, _is_absent: bool) {
        self.list.put(slot);
        set(&mut self.hit, slot, false);
    }

    fn victim(&mut self, slots: &mut Slots) -> Option<usize> {
        for _ in 0..2 * self.list.len() {
            let slot = self.hand.or(self.list.oldest())?;
            if slots.may_go(slot) {
                if !self.hit[slot] {
                    self.hand = Some(slot);
                    return Some(slot);
                }
                self.hit[slot] = false;
            }
            self.hand = self.list.newer(slot);
        }
        None
    }

    fn gone(&mut self, slot: usize, _is_absent: bool) {
        if self.hand == Some(slot) {
            self.hand = self.list.newer(slot);
        }
        self.list.remove(slot);
    }
}

/// A policy with three queues: a small one for new entries, a main one for entries that were hit
/// twice in the small one or came back after leaving it, and the names that were evicted from the
/// small one.
pub(super) struct S3Fifo {
    small: List,
    main: List,
    small_target: usize,
    hits: Vec<u8>,
    is_main: Vec<bool>,
    entries: Vec<EntryId>,
    ghosts: Ghosts,
}

impl S3Fifo {
    /// Creates the policy. The small queue gets a tenth of the slots, as in the paper.
    pub(super) fn new(capacity: usize) -> S3Fifo {
        let small_target = (capacity / 10).max(1);
        S3Fifo {
            small: List::default(),
            main: List::default(),
            small_target,
            hits: Vec::new(),
            is_main: Vec::new(),
            entries: Vec::new(),
            ghosts: Ghosts::new(capacity - small_target),
        }
    }

    fn promote(&mut self, slot: usize) {
        self.small.remove(slot);
        self.main.put(slot);
        self.is_main[slot] = true;
        self.hits[slot] = 0;
    }

    /// Returns the oldest entry of the small queue that was not hit twice.
    /// Entries that were hit twice move to the main queue on the way, and so do held ones, which
    /// are in use.
    fn small_victim(&mut self, slots: &mut Slots) -> Option<usize> {
        let mut next = self.small.oldest();
        while let Some(slot) = next {
            next = self.small.newer(slot);
            let may_go = slots.may_go(slot);
            if slots.is_held(slot) || may_go && self.hits[slot] > 1 {
                self.promote(slot);
            } else if may_go {
                self.ghosts.put(self.entries[slot]);
                return Some(slot);
            }
        }
        None
    }

    fn main_victim(&mut self, slots: &mut Slots) -> Option<usize> {
        // A slot has three hits at most, so the fourth round finds a victim if any slot may go.
        for _ in 0..4 * self.main.len() {
            let slot = self.main.oldest()?;
            if slots.may_go(slot) {
                if self.hits[slot] == 0 {
                    return Some(slot);
                }
                self.hits[slot] -= 1;
            }
            self.main.renew(slot);
        }
        None
    }
}

impl Policy for S3Fifo {
    fn hit(&mut self, slot: usize) {
        self.hits[slot] = (self.hits[slot] + 1).min(3);
    }

    fn put(&mut self, slot: usize, entry: EntryId, _is_absent: bool) {
        let was_here = self.ghosts.take(entry);
        if was_here { &mut self.main } else { &mut self.small }.put(slot);
        set(&mut self.hits, slot, 0);
        set(&mut self.is_main, slot, was_here);
        set(&mut self.entries, slot, entry);
    }

    fn victim(&mut self, slots: &mut Slots) -> Option<usize> {
        if self.small.len() >= self.small_target {
            self.small_victim(slots).or_else(|| self.main_victim(slots))
        } else {
            self.main_victim(slots).or_else(|| self.small_victim(slots))
        }
    }

    fn gone(&mut self, slot: usize, _is_absent: bool) {
        if self.is_main[slot] { &mut self.main } else { &mut self.small }.remove(slot);
    }
}

/// The names that were evicted last, up to a fixed number.
struct Ghosts {
    most: usize,
    order: VecDeque<(EntryId, u64)>,
    /// The time of each name's eviction.
    /// An element of `order` with another time is out of date: its name came back after that
    /// eviction.
    went: HashMap<EntryId, u64>,
    time: u64,
}

impl Ghosts {
    fn new(most: usize) -> Ghosts {
        Ghosts { most, order: VecDeque::new(), went: HashMap::new(), time: 0 }
    }

    fn put(&mut self, entry: EntryId) {
        self.time += 1;
        self.order.push_back((entry, self.time));
        self.went.insert(entry, self.time);
        while self.order.len() > self.most {
            let Some((oldest, time)) = self.order.pop_front() else { return };
            if self.went.get(&oldest) == Some(&time) {
                self.went.remove(&oldest);
            }
        }
    }

    /// Removes a name, and returns whether it was present.
    fn take(&mut self, entry: EntryId) -> bool {
        self.went.remove(&entry).is_some()
    }
}

/// Sets the value of a slot. Grows the vector where needed: slots are first used one after the
/// other.
pub(super) fn set<T: Copy + Default>(values: &mut Vec<T>, slot: usize, value: T) {
    if values.len() <= slot {
        values.resize(slot + 1, T::default());
    }
    values[slot] = value;
}
