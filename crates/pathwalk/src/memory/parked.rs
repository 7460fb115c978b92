//! Which slots a hand need not look at, since they are pinned.
//!
//! A hand that meets a pinned slot parks it: a bit here, and a note in the slot's `life` word
//! ([`pin`](super::pin)). The holder that gives the last pin back finds the note and takes both
//! away. Hands skip what is parked, however much that is: over the bits lies a tree of bits, each
//! of which says that a whole word below it is parked, so that a skip costs a few loads.
//!
//! Invariants, once no thread is in the middle of a call:
//!
//! - a slot that lives and is idle is not parked;
//! - a bit of the tree is set only if all bits below it are.
//!
//! The first: a hand sets the bit, then the note, by compare-and-swap on a word that shows a pin;
//! where there is none any more it takes the bit away. A holder that gives back the last pin takes
//! the note from that same word, so either the hand sees that there is no pin, or the holder sees
//! the note. It takes the bit away after the note. So a bit without a note is about to go, and a
//! note without a bit does no harm.
//!
//! The second: each thread that fills a word sets the bit above it and looks again whether it is
//! full; each thread that makes a full word not full takes the bit above away. Both are
//! read-modify-writes of the word above, so one comes first: if the setter does, the other takes
//! the bit away; if the other does, the setter looks again and sees what it did.
//!
//! Pairs: the release of each read-modify-write with the acquire of the next one of the same word,
//! and of `life`.
//!
//! What it does not do: a slot that is idle may be parked for the moment that a call takes. So it
//! is no proof that all is pinned, unless [`settled`](Parked::settled) says so before and after.

use std::ops::Range;

use super::alone::Alone;
use super::pin;
use super::sample::Sample;
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence, zeroed};

/// Bits of a word that are used. In models fewer, so that few slots fill words.
const BITS: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 64 };
/// A word all of whose bits are set.
const FULL: u64 = u64::MAX >> (64 - BITS);

/// See the module.
pub(crate) struct Parked {
    /// The first has a bit for each slot, each other one a bit for each word of the one before; the
    /// last has one word.
    levels: Vec<Box<[AtomicU64]>>,
    sample: Sample,
    /// Of the sample. A hint, so `Relaxed`.
    count: Alone<AtomicU32>,
    /// Calls of [`park`](Self::park) that were begun, and that ended.
    begun: Alone<AtomicU32>,
    ended: Alone<AtomicU32>,
}

impl Parked {
    /// Makes it for slots 0 to `capacity`, or `None` where there is no room.
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

    /// Returns the bytes that this takes for so many slots.
    pub(crate) const fn bytes(capacity: u64) -> u64 {
        let (mut words, mut bytes) = (capacity / BITS as u64 + 1, 0);
        while words > 1 {
            bytes += words * 8;
            words = words.div_ceil(BITS as u64);
        }
        bytes + 8
    }

    /// Parks a slot, if what lives in it is pinned.
    #[cold]
    pub(crate) fn park(&self, slot: u32, life: &AtomicU64) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.set(slot);
        // Behind the bit: the holder that finds the note takes a bit away that is there.
        if !pin::park(life) {
            self.clear(slot);
        }
        self.ended.fetch_add(1, Ordering::Release);
    }

    /// Takes note and bit of a slot away whose last pin was given back.
    #[cold]
    pub(crate) fn unpark(&self, slot: u32, life: &AtomicU64) {
        // Before the bit: a hand that parks it anew meanwhile leaves its note.
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

    /// Takes a bit away at a level of the tree, and those above it where a word was full.
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

    /// Returns how many slots of the sample are not parked, about.
    pub(crate) fn others_sampled(&self) -> u32 {
        self.sample.size().saturating_sub(self.count.load(Ordering::Relaxed))
    }

    /// Returns how many slots are not parked, about.
    pub(crate) fn others(&self) -> u32 {
        self.others_sampled().saturating_mul(self.sample.each())
    }

    /// Returns how many slots were ever parked, or `None` while one is being parked. If it is the
    /// same before and after a search, an idle slot was hidden from it only if its last pin was
    /// being given back.
    pub(crate) fn settled(&self) -> Option<u32> {
        // After the bits that were read: the thread that set one of them had begun.
        fence(Ordering::Acquire);
        let ended = self.ended.load(Ordering::Acquire);
        (self.begun.load(Ordering::Relaxed) == ended).then_some(ended)
    }

    /// Returns the first slots from `from` on that are not parked, up to `wanted`, and the parked
    /// ones between them; below `end`. These slots, and words that were read to find them, are
    /// added to `looks`.
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
                    // Parked meanwhile.
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

    /// Returns those of the word that `at` lies in that are not parked: the lowest bit is `at`'s.
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

/// Returns where the `n`th bit that is set is, counted from 1; there are as many.
fn nth_one(bits: u64, n: u32) -> u32 {
    (1..n).fold(bits, |bits, _| bits & (bits - 1)).trailing_zeros()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
