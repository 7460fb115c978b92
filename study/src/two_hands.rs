//! S3-FIFO without its lists: two hands over the same slots, one for new entries and one for
//! promoted entries.
//!
//! As long as there are enough new entries, the first hand evicts from these. On the way it
//! promotes new entries that were hit or are held. Otherwise the second hand evicts from the
//! promoted entries. The names of evicted new entries are remembered in a table, one name for each
//! place. Such a name is promoted at once when it comes back. Two more hands do the same among
//! absent entries alone, when there are too many of these.
//!
//! Several threads can evict at once: each takes a few slots from the common hand and goes through
//! them alone.

use super::cache::Policy;
use super::hands::{Hand, Uses};
use super::slots::Slots;
use super::trace::{EntryId, ROOT};

/// The features of a [`TwoHands`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Features {
    /// The memory for names of evicted new entries.
    pub(super) ghosts: Ghosts,
    /// The count of uses of promoted entries.
    pub(super) counts: Counts,
    /// The number of threads that evict.
    pub(super) threads: usize,
}

/// The choice whether the names of evicted new entries are remembered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ghosts {
    Kept,
    None,
}

/// The effect of a mark on a promoted entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// A count up to three. See [`Uses`].
    ToThree,
    /// One pass of the hand, in which the entry stays.
    One,
}

/// The most slots that a thread takes from a hand at once.
/// Of few slots it takes fewer, so that all threads together have an eighth of them at most, or one
/// slot each.
const PIECE: usize = 64;

/// S3-FIFO without its lists.
pub(super) struct TwoHands {
    features: Features,
    /// The hands for all entries, and the hands for absent entries.
    hands: [Hands; 2],
    uses: Vec<Uses>,
    is_main: Vec<bool>,
    /// The numbers of new entries: present ones, and absent ones.
    new: [usize; 2],
    entries: Vec<EntryId>,
    /// The entry that was evicted last from the new ones, by hash.
    /// There is one place for two slots; with more places, too many entries are promoted.
    ghosts: Vec<EntryId>,
    /// The thread whose turn it is.
    thread: usize,
}

impl TwoHands {
    /// The divisor of the share of new entries: one slot in this many.
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

    /// Returns the place for an entry's ghost, or `None` if ghosts are not kept.
    fn ghost(&mut self, entry: EntryId) -> Option<&mut EntryId> {
        let hash = u64::from(entry).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let place = (hash * self.ghosts.len() as u64) >> 32;
        self.ghosts.get_mut(place as usize)
    }

    /// Returns whether there are enough new entries to evict from them.
    fn has_enough_new(&self, slots: &Slots, wanted: Wanted) -> bool {
        let (new, all) = match wanted {
            Wanted::Any => (self.new[0] + self.new[1], slots.capacity()),
            Wanted::Absent => (self.new[1], slots.absent()),
        };
        new >= (all / Self::NEW).max(1)
    }

    /// Returns a victim among the new entries, while there are enough of them.
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

    /// Returns a victim among the promoted entries.
    /// The last of six turns considers new entries too, for the case that no promoted one may go.
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
            // A name is promoted once for one ghost: if it is evicted as a promoted entry, it is
            // new again.
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

/// The kind of entry to evict.
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

/// The two hands for one kind of entry.
struct Hands {
    of_new: Shared,
    of_main: Shared,
}

/// A hand from which each thread takes a piece of the slots at a time.
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
