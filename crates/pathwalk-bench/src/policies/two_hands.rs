//! S3-FIFO without its lists: hands over the same slots, one for what is new and one for what was promoted.
//!
//! As long as there is enough that is new, the first hand takes from it, and promotes what was hit or is held. Otherwise the second takes
//! from what was promoted. What went from the new is remembered, one name for each place of a table, and is promoted at once when it comes
//! again. Two more hands do the same among absent entries alone, when there are too many of these.
//!
//! Several threads can evict at once: each takes a few slots from the common hand and goes through them alone.

use super::cache::Policy;
use super::hands::{Hand, Uses};
use super::slots::Slots;
use super::trace::{EntryId, ROOT};

/// How it is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Features {
    /// Is it remembered what went?
    pub(super) ghosts: Ghosts,
    /// Is it counted how often what was promoted was in use?
    pub(super) counts: Counts,
    /// How many threads evict.
    pub(super) threads: usize,
}

/// Are there names of what went?
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ghosts {
    Kept,
    None,
}

/// What a mark is worth to what was promoted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// See [`Uses`].
    ToThree,
    /// It stays once.
    One,
}

/// Most slots that a thread takes from a hand at once. Of few slots it takes fewer, so that all threads have an eighth of them.
const PIECE: usize = 64;

/// The policy.
pub(super) struct TwoHands {
    features: Features,
    /// For any, and for absent ones.
    hands: [Hands; 2],
    uses: Vec<Uses>,
    is_main: Vec<bool>,
    /// How many are new: present ones, and absent ones.
    new: [usize; 2],
    entries: Vec<EntryId>,
    /// By hash: the entry that went last. One place for two slots; with more, too much is promoted.
    ghosts: Vec<EntryId>,
    /// The thread whose turn it is.
    thread: usize,
}

impl TwoHands {
    /// What is new has one slot in so many.
    const NEW: usize = 6;

    pub(super) fn new(capacity: usize, features: Features) -> TwoHands {
        let hand = || Shared::new(capacity, features.threads);
        let hands = || Hands { of_new: hand(), of_main: hand() };
        TwoHands {
            features,
            hands: [hands(), hands()],
            uses: vec![Uses::default(); capacity],
            is_main: vec![false; capacity],
            new: [0; 2],
            entries: vec![ROOT; capacity],
            ghosts: vec![ROOT; if features.ghosts == Ghosts::Kept { capacity.div_ceil(2) } else { 0 }],
            thread: 0,
        }
    }

    /// The place of an entry's ghost.
    fn ghost(&mut self, entry: EntryId) -> Option<&mut EntryId> {
        let hash = u64::from(entry).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let place = (hash * self.ghosts.len() as u64) >> 32;
        self.ghosts.get_mut(place as usize)
    }

    /// Is there enough that is new to take from it?
    fn has_enough_new(&self, slots: &Slots, wanted: Wanted) -> bool {
        let (new, all) = match wanted {
            Wanted::Any => (self.new[0] + self.new[1], slots.capacity()),
            Wanted::Absent => (self.new[1], slots.absent()),
        };
        new >= (all / Self::NEW).max(1)
    }

    /// From what is new, while there is enough of it.
    fn new_victim(&mut self, slots: &mut Slots, wanted: Wanted) -> Option<usize> {
        for _ in 0..slots.capacity() {
            if !self.has_enough_new(slots, wanted) {
                return None;
            }
            let slot = self.hands[wanted as usize].of_new.next(self.thread, slots.capacity());
            let may_go = slots.may_go(slot);
            if self.is_main[slot] || !wanted.is(slots, slot) {
                continue;
            }
            if slots.is_held(slot) || may_go && std::mem::take(&mut self.uses[slot].is_marked) {
                self.is_main[slot] = true;
                self.new[usize::from(slots.is_absent(slot))] -= 1;
            } else if may_go {
                let entry = self.entries[slot];
                if let Some(ghost) = self.ghost(entry) {
                    *ghost = entry;
                }
                return Some(slot);
            }
        }
        None
    }

    /// From what was promoted, or from anything if there is nothing of it.
    fn main_victim(&mut self, slots: &mut Slots, wanted: Wanted) -> Option<usize> {
        for turn in 0..6 {
            for _ in 0..slots.capacity() {
                let slot = self.hands[wanted as usize].of_main.next(self.thread, slots.capacity());
                let may_go = slots.may_go(slot) && wanted.is(slots, slot);
                if may_go && (self.is_main[slot] || turn == 5) && !self.take_use(slot) {
                    return Some(slot);
                }
            }
        }
        None
    }

    fn take_use(&mut self, slot: usize) -> bool {
        match self.features.counts {
            Counts::ToThree => self.uses[slot].take_one(),
            Counts::One => std::mem::take(&mut self.uses[slot].is_marked),
        }
    }
}

impl Policy for TwoHands {
    fn hit(&mut self, slot: usize) {
        self.uses[slot].is_marked = true;
    }

    fn put(&mut self, slot: usize, entry: EntryId, is_absent: bool) {
        let was_here = self.ghost(entry).is_some_and(|ghost| *ghost == entry);
        if was_here && let Some(ghost) = self.ghost(entry) {
            // What was promoted and went from there is new again.
            *ghost = ROOT;
        }
        self.uses[slot] = Uses::default();
        self.is_main[slot] = was_here;
        self.entries[slot] = entry;
        self.new[usize::from(is_absent)] += usize::from(!was_here);
        self.thread = (self.thread + 1) % self.features.threads;
    }

    fn victim(&mut self, slots: &mut Slots) -> Option<usize> {
        self.new_victim(slots, Wanted::Any).or_else(|| self.main_victim(slots, Wanted::Any))
    }

    fn absent_victim(&mut self, slots: &mut Slots) -> Option<usize> {
        self.new_victim(slots, Wanted::Absent).or_else(|| self.main_victim(slots, Wanted::Absent))
    }

    fn gone(&mut self, slot: usize, is_absent: bool) {
        self.new[usize::from(is_absent)] -= usize::from(!self.is_main[slot]);
    }
}

/// What has to go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Any,
    Absent,
}

impl Wanted {
    fn is(self, slots: &Slots, slot: usize) -> bool {
        self == Wanted::Any || slots.is_absent(slot)
    }
}

/// Those that look for one kind of entries.
struct Hands {
    of_new: Shared,
    of_main: Shared,
}

/// A hand of which each thread takes a piece at a time.
struct Shared {
    common: Hand,
    piece: usize,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Default)]
struct Piece {
    next: usize,
    left: usize,
}

impl Shared {
    fn new(capacity: usize, threads: usize) -> Shared {
        let piece = if threads == 1 { 1 } else { (capacity / (8 * threads)).clamp(1, PIECE) };
        Shared { common: Hand::default(), piece, pieces: vec![Piece::default(); threads] }
    }

    fn next(&mut self, thread: usize, capacity: usize) -> usize {
        let piece = &mut self.pieces[thread];
        if piece.left == 0 {
            *piece = Piece { next: self.common.next(capacity), left: self.piece };
            self.common = Hand((piece.next + self.piece) % capacity);
        }
        let slot = piece.next % capacity;
        *piece = Piece { next: slot + 1, left: piece.left - 1 };
        slot
    }
}
