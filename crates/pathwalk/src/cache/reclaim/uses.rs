//! What reclaim remembers of each dentry, which hits neither read nor write; and of names that it evicted.
//!
//! A byte a dentry: whether the slot is in use, whether the dentry was promoted ([`MAIN`]), and a count of 0 to 3. A ghost is what is left of a name
//! that was evicted before it was promoted: a fingerprint, in one place for two dentries.
//!
//! How many are new, and how many absent, is told from a [sample](Sample) of the slots. Of those in
//! the sample the byte also says whether they stand for an absent name. The shares that new and
//! absent ones may have are shares of what can go: of the slots that are not parked, since they are
//! pinned.
//!
//! The counts are those of the bits: whoever changes a bit, by compare-and-swap on the byte, changes the count. They are hints and stand beside
//! each other, so `Relaxed`: if one is read while it changes, another slot is looked at first.

use std::ops::Range;

use crate::memory::alone::Alone;
use crate::memory::parked::Parked;
use crate::memory::sample::Sample;
use crate::memory::slot::DentryId;
use crate::sync::{AtomicU8, AtomicU32, Ordering, zeroed};

/// The slot is in use.
const LIVE: u8 = 1 << 7;
/// It was hit while it was new, or came again soon after it went.
const MAIN: u8 = 1 << 6;
/// It stands for an absent name, and is in the sample.
const ABSENT: u8 = 1 << 5;
/// How often it was found marked, up to this.
const COUNT: u8 = 3;

/// Bytes of all this for `dentries` dentries.
pub(crate) const fn bytes(dentries: u64) -> u64 {
    dentries + 1 + 4 * (dentries / DENTRIES_A_GHOST + 1)
}

const DENTRIES_A_GHOST: u64 = 2;

/// Which dentries are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Any,
    Absent,
}

/// In which half a dentry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Half {
    New,
    Main,
}

/// What a hand passed at once.
#[derive(Default)]
pub(super) struct Piece {
    /// Those to look at, and parked ones between them.
    pub(super) slots: Range<u32>,
    /// All slots, parked ones before the first included.
    pub(super) passed: u32,
    /// Slots to look at, and words that were read to find them.
    pub(super) looks: u64,
}

/// See the module.
pub(crate) struct Uses {
    bytes: Box<[AtomicU8]>,
    ghosts: Box<[AtomicU32]>,
    /// Where the hands stand: over new and promoted dentries, of any kind and absent.
    hands: [[Alone<AtomicU32>; 2]; 2],
    sample: Sample,
    /// Of the sample.
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

    /// A dentry begins, of a name with this hash. Its slot is the caller's.
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

    /// What stands in the place of a name with this hash: so that it is near when the dentry begins.
    pub(crate) fn peek(&self, hash: u64) -> u32 {
        self.ghosts[self.place(hash)].load(Ordering::Relaxed)
    }

    /// It stands for an absent name by now, or no more. The caller has a pin on it.
    pub(crate) fn turned(&self, id: DentryId, is_absent: bool) {
        if !self.sample.has(id.0) {
            return;
        }
        let turn = |byte: u8| if is_absent { byte | ABSENT } else { byte & !ABSENT };
        self.change(id, |byte| Some(turn(byte)).filter(|turned| *turned != byte));
    }

    /// It ended; the slot is the caller's. A new one leaves a ghost, if it had a name.
    pub(crate) fn end(&self, id: DentryId, hash: Option<u64>) {
        let byte = self.byte(id).swap(0, Ordering::Relaxed);
        if self.sample.has(id.0) {
            self.count(byte, 0);
        }
        if let Some(hash) = hash.filter(|_| byte & MAIN == 0) {
            self.ghosts[self.place(hash)].store(fingerprint(hash), Ordering::Relaxed);
        }
    }

    /// Whether there is a dentry in this half.
    pub(super) fn is_in(&self, id: DentryId, half: Half) -> bool {
        let in_half = if half == Half::Main { MAIN } else { 0 };
        self.byte(id).load(Ordering::Relaxed) & (LIVE | MAIN) == LIVE | in_half
    }

    /// It was hit, or is held, while new.
    pub(super) fn promote(&self, id: DentryId) {
        self.change(id, |byte| (byte & (LIVE | MAIN) == LIVE).then_some((byte | MAIN) & !COUNT));
    }

    /// It was hit since the hand passed.
    pub(super) fn count_up(&self, id: DentryId) {
        self.change(id, |byte| (byte & COUNT < COUNT).then_some(byte + 1));
    }

    /// It was not. False if it has nothing left to lose.
    pub(super) fn count_down(&self, id: DentryId) -> bool {
        self.change(id, |byte| (byte & COUNT > 0).then_some(byte - 1))
    }

    /// Whether there are more new ones than the sixth that they may be.
    pub(super) fn too_many_new(&self, kind: Kind, parked: &Parked) -> bool {
        const SHARE: u32 = 6;
        match kind {
            Kind::Any => self.new.load(Ordering::Relaxed) >= parked.others_sampled() / SHARE,
            Kind::Absent => self.new_absent.load(Ordering::Relaxed) >= self.absent.load(Ordering::Relaxed) / SHARE,
        }
    }

    /// Whether absent names have the half that they may have.
    pub(super) fn too_many_absent(&self, parked: &Parked) -> bool {
        self.absent.load(Ordering::Relaxed) >= parked.others_sampled() / 2
    }

    /// Returns how many dentries of the sample stand for absent names.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn absent_sampled(&self) -> u32 {
        self.absent.load(Ordering::Relaxed)
    }

    /// Takes the next slots for a hand, below `end` and with up to `wanted` that are not parked: no
    /// other thread gets them in this round.
    pub(super) fn next(&self, kind: Kind, half: Half, wanted: u32, end: u32, parked: &Parked) -> Piece {
        let mut piece = Piece::default();
        let pass = |stands: u32| {
            let from = if stands < end { stands } else { 0 };
            let mut looks = 0;
            let slots = parked.piece(from, wanted, end, &mut looks);
            piece = Piece { passed: slots.end - from, slots, looks };
            Some(piece.slots.end)
        };
        // What it returns is where the hand stood: `pass` has put what is there into `piece`.
        let _ = self.hand(kind, half).fetch_update(Ordering::Relaxed, Ordering::Relaxed, pass);
        piece
    }

    /// Returns all slots below `end`, from where a hand stands, which stays: up to the end, and
    /// before it.
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

    /// Changes the byte of a slot in use, and the counts; whether it did.
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

    /// A byte was one and is the other.
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

/// Never 0, which is no ghost.
fn fingerprint(hash: u64) -> u32 {
    hash as u32 | 1
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
