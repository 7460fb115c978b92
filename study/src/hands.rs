//! Policies over an array of slots, as the engine could have them: a few bits for each slot, and
//! hands that go round the slots.
//!
//! A hit needs one store at most, and none if the slot is already marked. Nothing is linked: a new
//! entry takes the slot of the evicted one, just behind the hand, and so the hand reaches it after
//! all others.
//!
//! - [`Clock`], [`CountingClock`]: one hand, which treats all slots alike;
//! - [`Rounds`]: SIEVE without its list.
//!
//! S3-FIFO without its lists is in `two_hands`.

use super::cache::Policy;
use super::slots::Slots;
use super::trace::EntryId;

/// A position that goes round the slots.
#[derive(Default)]
pub(super) struct Hand(pub(super) usize);

impl Hand {
    /// Returns the next slot, and moves past it. A turn begins with the first slot.
    pub(super) fn next(&mut self, capacity: usize) -> usize {
        let slot = self.0 % capacity;
        self.0 = slot + 1;
        slot
    }
}

/// The state of a new entry of a [`Clock`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum New {
    Marked,
    Unmarked,
}

/// A policy whose hand clears marks, and evicts the first entry without one.
pub(super) struct Clock {
    hand: Hand,
    is_marked: Vec<bool>,
    new: New,
}

impl Clock {
    pub(super) fn new(capacity: usize, new: New) -> Clock {
        Clock { hand: Hand::default(), is_marked: vec![false; capacity], new }
    }

    fn turn(&mut self, slots: &mut Slots, is_wanted: impl Fn(&Slots, usize) -> bool) -> Option<usize> {
        for _ in 0..2 * slots.capacity() {
            let slot = self.hand.next(slots.capacity());
            if slots.may_go(slot) && is_wanted(slots, slot) && !std::mem::take(&mut self.is_marked[slot]) {
                return Some(slot);
            }
        }
        None
    }
}

impl Policy for Clock {
    fn hit(&mut self, slot: usize) {
        self.is_marked[slot] = true;
    }

    fn put(&mut self, slot: usize, _entry: EntryId, _is_absent: bool) {
        self.is_marked[slot] = self.new == New::Marked;
    }

    fn victim(&mut self, slots: &mut Slots) -> Option<usize> {
        self.turn(slots, |_, _| true)
    }

    fn absent_victim(&mut self, slots: &mut Slots) -> Option<usize> {
        self.turn(slots, Slots::is_absent)
    }

    fn gone(&mut self, _slot: usize, _is_absent: bool) {}
}

/// A mark, and a count up to three. The hand turns the mark into a count.
/// An entry without mark and with a count of 0 is evicted.
#[derive(Clone, Copy, Default)]
pub(super) struct Uses {
    pub(super) is_marked: bool,
    count: u8,
}

impl Uses {
    /// Takes one use when the hand comes by, and returns whether there was one.
    /// A mark is cleared and raises the count by one, to three at most. Without a mark, the count
    /// is lowered by one.
    pub(super) fn take_one(&mut self) -> bool {
        if std::mem::take(&mut self.is_marked) {
            self.count = (self.count + 1).min(3);
            return true;
        }
        let had_one = self.count > 0;
        self.count = self.count.saturating_sub(1);
        had_one
    }
}

/// A clock that counts uses up to three.
pub(super) struct CountingClock {
    hand: Hand,
    uses: Vec<Uses>,
}

impl CountingClock {
    pub(super) fn new(capacity: usize) -> CountingClock {
        CountingClock { hand: Hand::default(), uses: vec![Uses::default(); capacity] }
    }

    fn turn(&mut self, slots: &mut Slots, is_wanted: impl Fn(&Slots, usize) -> bool) -> Option<usize> {
        for _ in 0..5 * slots.capacity() {
            let slot = self.hand.next(slots.capacity());
            if slots.may_go(slot) && is_wanted(slots, slot) && !self.uses[slot].take_one() {
                return Some(slot);
            }
        }
        None
    }
}

impl Policy for CountingClock {
    fn hit(&mut self, slot: usize) {
        self.uses[slot].is_marked = true;
    }

    fn put(&mut self, slot: usize, _entry: EntryId, _is_absent: bool) {
        self.uses[slot] = Uses::default();
    }

    fn victim(&mut self, slots: &mut Slots) -> Option<usize> {
        self.turn(slots, |_, _| true)
    }

    fn absent_victim(&mut self, slots: &mut Slots) -> Option<usize> {
        self.turn(slots, Slots::is_absent)
    }

    fn gone(&mut self, _slot: usize, _is_absent: bool) {}
}

/// SIEVE without its list. An entry that the hand finds in use is kept for a round. A round lasts
/// many turns: until a turn evicts less than one slot in [`ENOUGH`](Self::ENOUGH). So, as long as
/// there are enough new entries, the hand evicts from these and passes over the kept ones.
pub(super) struct Rounds {
    hand: Hand,
    uses: Vec<Uses>,
    /// For each slot, the last round for which its entry is kept; 0 if none.
    kept: Vec<u32>,
    round: u32,
    /// The number of slots evicted in this turn.
    found: usize,
}

impl Rounds {
    const ENOUGH: usize = 8;

    pub(super) fn new(capacity: usize) -> Rounds {
        Rounds { hand: Hand::default(), uses: vec![Uses::default(); capacity], kept: vec![0; capacity], round: 1, found: 0 }
    }

    fn turn(&mut self, slots: &mut Slots, is_wanted: impl Fn(&Slots, usize) -> bool) -> Option<usize> {
        for _ in 0..8 * slots.capacity() {
            let slot = self.hand.next(slots.capacity());
            if slot == 0 {
                self.round += u32::from(self.found * Self::ENOUGH < slots.capacity());
                self.found = 0;
            }
            if !slots.may_go(slot) || !is_wanted(slots, slot) {
                continue;
            }
            if self.kept[slot] == self.round {
                // The mark is left for the next round.
            } else if self.uses[slot].take_one() {
                self.kept[slot] = self.round;
            } else {
                self.found += 1;
                return Some(slot);
            }
        }
        None
    }
}

impl Policy for Rounds {
    fn hit(&mut self, slot: usize) {
        self.uses[slot].is_marked = true;
    }

    fn put(&mut self, slot: usize, _entry: EntryId, _is_absent: bool) {
        self.uses[slot] = Uses::default();
        self.kept[slot] = 0;
    }

    fn victim(&mut self, slots: &mut Slots) -> Option<usize> {
        self.turn(slots, |_, _| true)
    }

    fn absent_victim(&mut self, slots: &mut Slots) -> Option<usize> {
        self.turn(slots, Slots::is_absent)
    }

    fn gone(&mut self, _slot: usize, _is_absent: bool) {}
}
