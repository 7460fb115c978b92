//! The slots that hands skip, since they are pinned.
//!
//! A hand that meets a pinned slot parks it: it sets a bit here and a note in the slot's `life`
//! word ([`pin`](super::pin)). The holder that gives the last pin back finds the note and clears
//! both. Hands skip parked slots, however many there are. Over the bits lies a tree of bits, each
//! of which says that a whole word below it is parked, so a skip costs a few loads.
//!
//! Invariants, once no thread is in the middle of a call:
//!
//! - a slot that is alive and idle is not parked;
//! - a bit of the tree is set only if all bits below it are.
//!
//! The first: a hand sets the bit, and then the note, by compare-and-swap on a word that shows a
//! pin. If there is no pin any more, the hand clears the bit. A holder that gives back the last pin
//! reads the note from that same word. So either the hand sees that there is no pin, or the holder
//! sees the note. The holder clears the bit after the note. So a bit without a note is about to be
//! cleared, and a note without a bit does no harm.
//!
//! The second: each thread that fills a word sets the bit above it, and then checks again whether
//! the word is full. Each thread that makes a full word not full clears the bit above. Both are
//! read-modify-writes of the word above, so one comes first. If the setting one does, the other
//! clears the bit. If the clearing one does, the setter checks again and sees that the word is not
//! full.
//!
//! Pairs: the release of each read-modify-write with the acquire of the next one of the same word,
//! and of `life`.
//!
//! What it does not do: an idle slot may be parked for the duration of a call. So parked bits do
//! not prove that all slots are pinned, unless [`settled`](Parked::settled) returns the same count
//! before and after.

use std::ops::Range;

use super::alone::Alone;
use super::pin;
use super::sample::Sample;
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence, zeroed};

/// The number of bits of a word that are used. It is smaller in models, so that few slots fill
/// words.
const BITS: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 64 };
/// A word all of whose bits are set.
const FULL: u64 = u64::MAX >> (64 - BITS);

/// The set of parked slots.
pub(crate) struct Parked {
    /// The levels of the tree. The first has a bit for each slot, each other one a bit for each
    /// word of the level before. The last level has one word.
    levels: Vec<Box<[AtomicU64]>>,
    sample: Sample,
    /// The number of parked slots in the sample. A hint, so `Relaxed`.
    count: Alone<AtomicU32>,
    /// The number of calls of [`park`](Self::park) that began; the next field counts those that
    /// ended.
    begun: Alone<AtomicU32>,
    ended: Alone<AtomicU32>,
}

impl Parked {
    /// Creates the set for slots 0 to `capacity`; returns `None` if there is no memory.
    pub(crate) fn new(capacity: u32) -> Option<Parked> {
        let mut levels = Vec::new();
        let mut words = (capacity / BITS + 1) as usize;
        loop {
            levels.push(zeroed(words)?);
            if words == 1 {
                break;
            }
            words = words.div_ceil(BITS as usize);
        }
        let (count, begun, ended) = Default::default();
        Some(Parked { levels, sample: Sample::of(capacity), count, begun, ended })
    }

    /// Returns the bytes that the set takes for this many slots.
    pub(crate) const fn bytes(capacity: u64) -> u64 {
        let (mut words, mut bytes) = (capacity / BITS as u64 + 1, 0);
        while words > 1 {
            bytes += words * 8;
            words = words.div_ceil(BITS as u64);
        }
        bytes + 8
    }

    /// Parks a slot if it is alive and pinned.
    #[cold]
    pub(crate) fn park(&self, slot: u32, life: &AtomicU64) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.set(slot);
        // After the bit: a holder that finds the note clears a bit that is set.
        if !pin::park(life) {
            self.clear(slot);
        }
        self.ended.fetch_add(1, Ordering::Release);
    }

    /// Clears note and bit of a slot whose last pin was given back.
    #[cold]
    pub(crate) fn unpark(&self, slot: u32, life: &AtomicU64) {
        // Before the bit: if a hand parks the slot anew meanwhile, its note stays.
        pin::unpark(life);
        self.clear(slot);
    }

    fn set(&self, slot: u32) {
        if self.word(slot).fetch_or(bit(slot), Ordering::AcqRel) & bit(slot) != 0 {
            return;
        }
        self.counted(slot, |count| _ = count.fetch_add(1, Ordering::Relaxed));
        let (mut below, mut at) = (self.word(slot), slot / BITS);
        for (level, words) in self.levels.iter().enumerate().skip(1) {
            if below.load(Ordering::Relaxed) != FULL {
                return;
            }
            let word = &words[(at / BITS) as usize];
            word.fetch_or(bit(at), Ordering::AcqRel);
            if below.load(Ordering::Relaxed) != FULL {
                return self.clear_above(level, at);
            }
            (below, at) = (word, at / BITS);
        }
    }

    fn clear(&self, slot: u32) {
        let before = self.word(slot).fetch_and(!bit(slot), Ordering::AcqRel);
        if before & bit(slot) != 0 {
            self.counted(slot, |count| _ = count.fetch_sub(1, Ordering::Relaxed));
        }
        if before == FULL {
            self.clear_above(1, slot / BITS);
        }
    }

    /// Clears a bit at a level of the tree, and the bits above it where a word was full.
    fn clear_above(&self, level: usize, at: u32) {
        let mut at = at;
        for words in &self.levels[level..] {
            if words[(at / BITS) as usize].fetch_and(!bit(at), Ordering::AcqRel) != FULL {
                return;
            }
            at /= BITS;
        }
    }

    fn word(&self, slot: u32) -> &AtomicU64 {
        &self.levels[0][(slot / BITS) as usize]
    }

    fn counted(&self, slot: u32, change: impl FnOnce(&AtomicU32)) {
        if self.sample.has(slot) {
            change(&self.count);
        }
    }

    /// Returns the approximate number of slots of the sample that are not parked.
    pub(crate) fn others_sampled(&self) -> u32 {
        self.sample.size().saturating_sub(self.count.load(Ordering::Relaxed))
    }

    /// Returns the approximate number of slots that are not parked.
    pub(crate) fn others(&self) -> u32 {
        self.others_sampled().saturating_mul(self.sample.each())
    }

    /// Returns the number of calls of [`park`](Self::park) so far, or `None` while one runs. If it
    /// is the same before and after a search, the search skipped an idle slot only if the slot's
    /// last pin was being given back.
    pub(crate) fn settled(&self) -> Option<u32> {
        // After the bits that were read: a thread that set one of them had counted its call as
        // begun.
        fence(Ordering::Acquire);
        let ended = self.ended.load(Ordering::Acquire);
        (self.begun.load(Ordering::Relaxed) == ended).then_some(ended)
    }

    /// Returns the range of the first slots from `from` on that are not parked, up to `wanted` of
    /// them, with the parked ones between them; the range ends at `end` at the latest. Adds these
    /// slots, and the words that were read to find them, to `looks`.
    pub(crate) fn piece(&self, from: u32, wanted: u32, end: u32, looks: &mut u64) -> Range<u32> {
        let begin = self.next(from, end, looks);
        let (mut at, mut wanted) = (begin, wanted);
        while at < end && wanted > 0 {
            let others = self.others_from(at);
            *looks += u64::from(1 + wanted.min(others.count_ones()));
            if others.count_ones() >= wanted {
                at += nth_one(others, wanted) + 1;
                break;
            }
            wanted -= others.count_ones();
            at = self.next((at / BITS + 1).saturating_mul(BITS), end, looks);
        }
        begin..at.min(end)
    }

    /// Returns the slots of a range that are not parked.
    pub(crate) fn others_in(&self, range: Range<u32>) -> impl Iterator<Item = u32> {
        let (mut at, mut bits, mut words) = (range.start, 0, 0);
        std::iter::from_fn(move || {
            while bits == 0 {
                at = self.next(at, range.end, &mut words);
                if at >= range.end {
                    return None;
                }
                bits = self.others_from(at) << (at % BITS);
                at = at / BITS * BITS;
                if bits == 0 {
                    // They were parked meanwhile.
                    at += BITS;
                }
            }
            let slot = at + bits.trailing_zeros();
            bits &= bits - 1;
            if bits == 0 {
                at += BITS;
            }
            (slot < range.end).then_some(slot)
        })
    }

    /// Returns the bits of the slots that are not parked, from `at` to the end of its word; the
    /// lowest bit is `at`'s.
    fn others_from(&self, at: u32) -> u64 {
        (!self.word(at).load(Ordering::Relaxed) & FULL) >> (at % BITS)
    }

    /// Returns the first slot from `from` on that is not parked, or `end`.
    fn next(&self, from: u32, end: u32, looks: &mut u64) -> u32 {
        let (mut level, mut at) = (0, u64::from(from));
        loop {
            let bits = u64::from(BITS);
            let Some(word) = self.levels[level].get((at / bits) as usize) else { return end };
            *looks += 1;
            let others = (!word.load(Ordering::Relaxed) & FULL) >> (at % bits);
            if others != 0 {
                at += u64::from(others.trailing_zeros());
                if level == 0 {
                    return end.min(u32::try_from(at).unwrap_or(end));
                }
                (level, at) = (level - 1, at * bits);
            } else if level + 1 < self.levels.len() {
                (level, at) = (level + 1, at / bits + 1);
            } else {
                return end;
            }
        }
    }
}

/// Returns the bit of a slot, or of a word, in its word.
fn bit(at: u32) -> u64 {
    1 << (at % BITS)
}

/// Returns the position of the `n`th set bit, counted from 1. There must be that many.
fn nth_one(bits: u64, n: u32) -> u32 {
    (1..n).fold(bits, |bits, _| bits & (bits - 1)).trailing_zeros()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
