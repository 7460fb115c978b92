//! What reclaim remembers of each dentry, which hits neither read nor write; and of names that it evicted.
//!
//! A byte a dentry: whether the slot is in use, whether the dentry was promoted ([`MAIN`]), whether it stands for an absent name, and a count of 0
//! to 3. A ghost is what is left of a name that was evicted before it was promoted: a fingerprint, in one place for two dentries.
//!
//! The counts are those of the bits: whoever changes a bit, by compare-and-swap on the byte, changes the count. They are hints and stand beside
//! each other, so `Relaxed`: if one is read while it changes, another slot is looked at first.

use crate::dcache::dentry::DentryId;
use crate::memory::alone::{self, Alone, SHARES, apart};
use crate::sync::{AtomicU8, AtomicU32, Ordering, zeroed};

/// The slot is in use.
const LIVE: u8 = 1 << 7;
/// It was hit while it was new, or came again soon after it went.
const MAIN: u8 = 1 << 6;
/// It stands for an absent name.
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

/// How many there are of what, as some of the threads counted. What one adds another may take away, so only the sum says something.
#[derive(Default)]
struct Counts {
    new: AtomicU32,
    new_absent: AtomicU32,
    absent: AtomicU32,
}

/// From so many dentries on, each thread counts for itself; of fewer, the sum would cost more than it saves.
const MANY: u32 = 1 << 16;

/// See the module.
pub(crate) struct Uses {
    bytes: Box<[AtomicU8]>,
    ghosts: Box<[AtomicU32]>,
    /// Where the hands stand: over new and promoted dentries, of any kind and absent.
    hands: [[Alone<AtomicU32>; 2]; 2],
    counts: Box<[Alone<Counts>]>,
}

impl Uses {
    pub(crate) fn new(capacity: u32) -> Option<Uses> {
        Some(Uses {
            bytes: zeroed(capacity as usize + 1)?,
            ghosts: zeroed(capacity as usize / DENTRIES_A_GHOST as usize + 1)?,
            hands: std::array::from_fn(|_| std::array::from_fn(|_| Alone::default())),
            counts: apart(if capacity < MANY { 1 } else { SHARES }, Counts::default),
        })
    }

    /// A dentry begins, of a name with this hash. Its slot is the caller's.
    pub(crate) fn begin(&self, id: DentryId, hash: u64, is_absent: bool) {
        let ghost = &self.ghosts[self.place(hash)];
        let came_again = ghost.load(Ordering::Relaxed) == fingerprint(hash);
        if came_again {
            ghost.store(0, Ordering::Relaxed);
        }
        let byte = LIVE | if came_again { MAIN } else { 0 } | if is_absent { ABSENT } else { 0 };
        self.byte(id).store(byte, Ordering::Relaxed);
        self.count(0, byte);
    }

    /// What stands in the place of a name with this hash: so that it is near when the dentry begins.
    pub(crate) fn peek(&self, hash: u64) -> u32 {
        self.ghosts[self.place(hash)].load(Ordering::Relaxed)
    }

    /// It stands for an absent name by now, or no more. The caller has a pin on it.
    pub(crate) fn turned(&self, id: DentryId, is_absent: bool) {
        let turn = |byte: u8| if is_absent { byte | ABSENT } else { byte & !ABSENT };
        self.change(id, |byte| Some(turn(byte)).filter(|turned| *turned != byte));
    }

    /// It ended; the slot is the caller's. A new one leaves a ghost, if it had a name.
    pub(crate) fn end(&self, id: DentryId, hash: Option<u64>) {
        let byte = self.byte(id).swap(0, Ordering::Relaxed);
        self.count(byte, 0);
        if let Some(hash) = hash.filter(|_| byte & MAIN == 0) {
            self.ghosts[self.place(hash)].store(fingerprint(hash), Ordering::Relaxed);
        }
    }

    /// Whether there is a dentry of this kind in this half.
    pub(super) fn is(&self, id: DentryId, kind: Kind, half: Half) -> bool {
        let of_kind = if kind == Kind::Absent { ABSENT } else { 0 };
        let in_half = if half == Half::Main { MAIN } else { 0 };
        self.byte(id).load(Ordering::Relaxed) & (LIVE | MAIN | of_kind) == LIVE | in_half | of_kind
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
    pub(super) fn too_many_new(&self, kind: Kind) -> bool {
        const SHARE: u32 = 6;
        match kind {
            Kind::Any => self.sum(|counts| &counts.new) >= (self.bytes.len() as u32 - 1) / SHARE,
            Kind::Absent => self.sum(|counts| &counts.new_absent) >= self.sum(|counts| &counts.absent) / SHARE,
        }
    }

    /// Whether absent names have the half that they may have.
    pub(super) fn too_many_absent(&self) -> bool {
        self.sum(|counts| &counts.absent) >= (self.bytes.len() as u32 - 1) / 2
    }

    /// What all threads counted together. Read one after the other: what moves meanwhile may seem to be less than none.
    fn sum(&self, of: fn(&Counts) -> &AtomicU32) -> u32 {
        let sum = self.counts.iter().fold(0, |sum: u32, counts| sum.wrapping_add(of(counts).load(Ordering::Relaxed)));
        (sum as i32).max(0) as u32
    }

    /// The next `piece` slots below `end` for a hand: nobody else gets them in this round.
    pub(super) fn next(&self, kind: Kind, half: Half, piece: u32, end: u32) -> impl Iterator<Item = DentryId> + use<> {
        let hand = &self.hands[usize::from(kind == Kind::Absent)][usize::from(half == Half::Main)];
        let begin = hand.fetch_add(piece, Ordering::Relaxed);
        (0..piece).map(move |at| DentryId(begin.wrapping_add(at) % end.max(1)))
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
                self.count(before, how(before).unwrap_or(before));
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
        let counts = alone::mine(&self.counts);
        turn(&counts.new, is_new(before), is_new(after));
        turn(&counts.absent, is_absent(before), is_absent(after));
        turn(&counts.new_absent, is_new(before) && is_absent(before), is_new(after) && is_absent(after));
    }
}

/// Never 0, which is no ghost.
fn fingerprint(hash: u64) -> u32 {
    hash as u32 | 1
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const ONE: DentryId = DentryId(1);
    const HASH: u64 = 0x1234_5678_9abc_def0;

    fn counts(uses: &Uses) -> [u32; 3] {
        [uses.sum(|counts| &counts.new), uses.sum(|counts| &counts.new_absent), uses.sum(|counts| &counts.absent)]
    }

    #[test]
    fn counts_follow_the_bits() {
        let uses = Uses::new(10).unwrap();
        uses.begin(ONE, HASH, false);
        assert_eq!((counts(&uses), uses.is(ONE, Kind::Any, Half::New)), ([1, 0, 0], true));
        uses.turned(ONE, true);
        assert_eq!((counts(&uses), uses.is(ONE, Kind::Absent, Half::New)), ([1, 1, 1], true));
        uses.promote(ONE);
        uses.promote(ONE);
        assert_eq!((counts(&uses), uses.is(ONE, Kind::Any, Half::Main)), ([0, 0, 1], true));
        uses.turned(ONE, false);
        assert_eq!((counts(&uses), uses.is(ONE, Kind::Absent, Half::Main)), ([0, 0, 0], false));
        uses.end(ONE, None);
        uses.promote(ONE);
        uses.turned(ONE, true);
        assert_eq!((counts(&uses), uses.is(ONE, Kind::Any, Half::New)), ([0, 0, 0], false));
    }

    #[test]
    fn what_comes_again_is_promoted_once() {
        let uses = Uses::new(10).unwrap();
        for promoted in [false, true, false] {
            uses.begin(ONE, HASH, false);
            assert_eq!(uses.is(ONE, Kind::Any, Half::Main), promoted);
            uses.end(ONE, Some(HASH));
        }
    }

    #[test]
    fn it_is_counted_to_three() {
        let uses = Uses::new(10).unwrap();
        uses.begin(ONE, HASH, true);
        (0..5).for_each(|_| uses.count_up(ONE));
        assert_eq!([(); 4].map(|()| uses.count_down(ONE)), [true, true, true, false]);
        assert!(uses.is(ONE, Kind::Absent, Half::New));
    }
}
