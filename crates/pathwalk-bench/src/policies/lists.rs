//! The policies as their papers have them, over linked lists: what the ones over slots are held against.
//!
//! Slots that are held are passed over: they keep their place and their mark.
//!
//! Sources: SIEVE, Zhang and others, "SIEVE is Simpler than LRU", NSDI 2024; S3-FIFO, Yang and others, "FIFO queues are all you need for
//! cache eviction", SOSP 2023, with the constants of that paper.

use std::collections::{HashMap, VecDeque};

use super::cache::Policy;
use super::list::List;
use super::slots::Slots;
use super::trace::EntryId;

/// The one that was put first goes first.
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

/// The one whose last hit is the longest ago goes first.
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

/// A hand goes from the oldest to the newest, over and over; what was hit stays where it is, once.
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

/// Three queues: a small one for what is new, a main one for what was hit there twice, and the names that went from the small one.
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
    /// The small queue has a tenth of the slots, as in the paper.
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

    /// The oldest of the small queue that was not hit twice. What is held is in use, and so moves on as well.
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
        // Three hits at most, so that the fourth round finds one, if any may go.
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

/// Names that went, the last so many.
struct Ghosts {
    most: usize,
    order: VecDeque<(EntryId, u64)>,
    /// When each went; what is in `order` with another time came back meanwhile.
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

    /// Was it there? Then it is no more.
    fn take(&mut self, entry: EntryId) -> bool {
        self.went.remove(&entry).is_some()
    }
}

/// Slots are first used one after the other.
pub(super) fn set<T: Copy + Default>(values: &mut Vec<T>, slot: usize, value: T) {
    if values.len() <= slot {
        values.resize(slot + 1, T::default());
    }
    values[slot] = value;
}
