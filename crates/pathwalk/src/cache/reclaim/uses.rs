//! The records of reclaim: about each dentry, which hits neither read nor write, and about names
//! that were evicted.
//!
//! Each dentry has a byte: whether the slot is in use, whether the dentry was promoted ([`MAIN`]),
//! and a count of 0 to 3. A ghost is the trace of a name that was evicted before it was promoted: a
//! fingerprint. There is one place for a ghost for every two dentries.
//!
//! The numbers of new and of absent dentries are estimated from a [sample](Sample) of the slots.
//! For a slot in the sample, the byte also says whether the dentry stands for an absent name. The
//! shares that new and absent dentries may have are shares of the slots that can be evicted: those
//! that are not parked, since parked dentries are pinned.
//!
//! The counts are those of the bits: a thread that changes a bit, by compare-and-swap on the byte,
//! changes the count. The counts are hints and independent of other data, so `Relaxed` is enough.
//! If a count is read while it changes, the hands look at another slot first.

use std::ops::Range;

use crate::memory::alone::Alone;
use crate::memory::parked::Parked;
use crate::memory::sample::Sample;
use crate::memory::slot::DentryId;
use crate::sync::{AtomicU8, AtomicU32, Ordering, zeroed};

/// The slot is in use.
const LIVE: u8 = 1 << 7;
/// The dentry was hit while it was new, or came again soon after it was evicted.
const MAIN: u8 = 1 << 6;
/// The dentry stands for an absent name, and its slot is in the sample.
const ABSENT: u8 = 1 << 5;
/// The number of turns in which the dentry was found marked, up to this value.
const COUNT: u8 = 3;

/// Returns the bytes that these records take for `dentries` dentries.
pub(crate) const fn bytes(dentries: u64) -> u64 {
    dentries + 1 + 4 * (dentries / DENTRIES_A_GHOST + 1)
}

const DENTRIES_A_GHOST: u64 = 2;

/// The kind of dentries that a hand looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Any,
    Absent,
}

/// The half that a dentry is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Half {
    New,
    Main,
}

/// The slots that a hand passed at once.
#[derive(Default)]
pub(super) struct Piece {
    /// The slots to look at, and parked ones between them.
    pub(super) slots: Range<u32>,
    /// The number of all slots passed, including parked ones before the first.
    pub(super) passed: u32,
    /// The number of slots to look at, and of words that were read to find them.
    pub(super) looks: u64,
}

/// The records of all dentries, and the hands over them.
pub(crate) struct Uses {
    bytes: Box<[AtomicU8]>,
    ghosts: Box<[AtomicU32]>,
    /// The positions of the hands: over new and over promoted dentries, of any kind and absent.
    hands: [[Alone<AtomicU32>; 2]; 2],
    sample: Sample,
    /// The number of new dentries in the sample. The next two fields count its new absent and its
    /// absent dentries.
    new: Alone<AtomicU32>,
    new_absent: Alone<AtomicU32>,
    absent: Alone<AtomicU32>,
}

impl Uses {
    pub(crate) fn new(capacity: u32) -> Option<Uses> {
        Some(Uses {
            bytes: zeroed(capacity as usize + 1)?,
            ghosts: zeroed(capacity as usize / DENTRIES_A_GHOST as usize + 1)?,
            sample: Sample::of(capacity),
            hands: std::array::from_fn(|_| std::array::from_fn(|_| Alone::default())),
            new: Alone::default(),
            new_absent: Alone::default(),
            absent: Alone::default(),
        })
    }

    /// Records a new dentry with a name of this hash. Its slot belongs to the caller.
    pub(crate) fn begin(&self, id: DentryId, hash: u64, is_absent: bool) {
        let ghost = &self.ghosts[self.place(hash)];
        let came_again = ghost.load(Ordering::Relaxed) == fingerprint(hash);
        if came_again {
            ghost.store(0, Ordering::Relaxed);
        }
        let in_sample = self.sample.has(id.0);
        let byte = LIVE | if came_again { MAIN } else { 0 } | if is_absent && in_sample { ABSENT } else { 0 };
        self.byte(id).store(byte, Ordering::Relaxed);
        if in_sample {
            self.count(0, byte);
        }
    }

    /// Reads the ghost's place for a name with this hash, to bring it into the processor's cache
    /// before the dentry begins.
    pub(crate) fn peek(&self, hash: u64) -> u32 {
        self.ghosts[self.place(hash)].load(Ordering::Relaxed)
    }

    /// Records that a dentry now stands for an absent name, or no longer does. The caller has a pin
    /// on it.
    pub(crate) fn turned(&self, id: DentryId, is_absent: bool) {
        if !self.sample.has(id.0) {
            return;
        }
        let turn = |byte: u8| if is_absent { byte | ABSENT } else { byte & !ABSENT };
        self.change(id, |byte| Some(turn(byte)).filter(|turned| *turned != byte));
    }

    /// Records that a dentry ended; the slot belongs to the caller. A new dentry leaves a ghost if
    /// it had a name.
    pub(crate) fn end(&self, id: DentryId, hash: Option<u64>) {
        let byte = self.byte(id).swap(0, Ordering::Relaxed);
        if self.sample.has(id.0) {
            self.count(byte, 0);
        }
        if let Some(hash) = hash.filter(|_| byte & MAIN == 0) {
            self.ghosts[self.place(hash)].store(fingerprint(hash), Ordering::Relaxed);
        }
    }

    /// Returns whether there is a dentry in this half at this slot.
    pub(super) fn is_in(&self, id: DentryId, half: Half) -> bool {
        let in_half = if half == Half::Main { MAIN } else { 0 };
        self.byte(id).load(Ordering::Relaxed) & (LIVE | MAIN) == LIVE | in_half
    }

    /// Promotes a dentry that was hit, or is pinned, while it was new.
    pub(super) fn promote(&self, id: DentryId) {
        self.change(id, |byte| (byte & (LIVE | MAIN) == LIVE).then_some((byte | MAIN) & !COUNT));
    }

    /// Counts a turn in which a dentry was hit since the hand passed.
    pub(super) fn count_up(&self, id: DentryId) {
        self.change(id, |byte| (byte & COUNT < COUNT).then_some(byte + 1));
    }

    /// Counts a turn in which a dentry was not hit. Returns false if its count was 0.
    pub(super) fn count_down(&self, id: DentryId) -> bool {
        self.change(id, |byte| (byte & COUNT > 0).then_some(byte - 1))
    }

    /// Returns whether more dentries are new than the sixth that may be.
    pub(super) fn too_many_new(&self, kind: Kind, parked: &Parked) -> bool {
        const SHARE: u32 = 6;
        match kind {
            Kind::Any => self.new.load(Ordering::Relaxed) >= parked.others_sampled() / SHARE,
            Kind::Absent => self.new_absent.load(Ordering::Relaxed) >= self.absent.load(Ordering::Relaxed) / SHARE,
        }
    }

    /// Returns whether absent names have the half that they may have.
    pub(super) fn too_many_absent(&self, parked: &Parked) -> bool {
        self.absent.load(Ordering::Relaxed) >= parked.others_sampled() / 2
    }

    /// Returns the number of dentries in the sample that stand for absent names.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn absent_sampled(&self) -> u32 {
        self.absent.load(Ordering::Relaxed)
    }

    /// Takes the next slots for a hand, below `end`, with up to `wanted` that are not parked. No
    /// other thread gets them in this turn.
    pub(super) fn next(&self, kind: Kind, half: Half, wanted: u32, end: u32, parked: &Parked) -> Piece {
        let mut piece = Piece::default();
        let pass = |stands: u32| {
            let from = if stands < end { stands } else { 0 };
            let mut looks = 0;
            let slots = parked.piece(from, wanted, end, &mut looks);
            piece = Piece { passed: slots.end - from, slots, looks };
            Some(piece.slots.end)
        };
        // The result is where the hand stood before; `pass` has put the slots into `piece`.
        let _ = self.hand(kind, half).fetch_update(Ordering::Relaxed, Ordering::Relaxed, pass);
        piece
    }

    /// Returns all slots below `end` as two ranges: from a hand's position to the end, and before
    /// it. The hand does not move.
    pub(super) fn round(&self, end: u32) -> [Range<u32>; 2] {
        let stands = self.hand(Kind::Any, Half::New).load(Ordering::Relaxed).min(end);
        [stands..end, 0..stands]
    }

    fn hand(&self, kind: Kind, half: Half) -> &AtomicU32 {
        &self.hands[usize::from(kind == Kind::Absent)][usize::from(half == Half::Main)]
    }

    fn byte(&self, id: DentryId) -> &AtomicU8 {
        &self.bytes[id.0 as usize]
    }

    fn place(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.ghosts.len() as u128) >> 64) as usize
    }

    /// Changes the byte of a slot in use, and the counts. Returns whether it did.
    fn change(&self, id: DentryId, how: impl Fn(u8) -> Option<u8>) -> bool {
        let in_use = |byte: u8| Some(byte).filter(|byte| byte & LIVE != 0).and_then(&how);
        match self.byte(id).fetch_update(Ordering::Relaxed, Ordering::Relaxed, in_use) {
            Ok(before) => {
                if self.sample.has(id.0) {
                    self.count(before, how(before).unwrap_or(before));
                }
                true
            }
            Err(_) => false,
        }
    }

    /// Updates the counts for a byte that changed from `before` to `after`.
    fn count(&self, before: u8, after: u8) {
        let is_new = |byte: u8| byte & (LIVE | MAIN) == LIVE;
        let is_absent = |byte: u8| byte & ABSENT != 0;
        let turn = |count: &AtomicU32, was: bool, is: bool| match (was, is) {
            (false, true) => _ = count.fetch_add(1, Ordering::Relaxed),
            (true, false) => _ = count.fetch_sub(1, Ordering::Relaxed),
            _ => {}
        };
        turn(&self.new, is_new(before), is_new(after));
        turn(&self.absent, is_absent(before), is_absent(after));
        turn(&self.new_absent, is_new(before) && is_absent(before), is_new(after) && is_absent(after));
    }
}

/// Returns the fingerprint of a hash. It is never 0, which means "no ghost".
fn fingerprint(hash: u64) -> u32 {
    hash as u32 | 1
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
