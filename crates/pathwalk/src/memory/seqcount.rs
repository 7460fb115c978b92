//! A sequence count in a record's first word.
//!
//! The word: bit 0 is set while somebody writes (the count is "odd"), bits 1 to 31 are the record's flags, bits 32 to 63 count
//! writes. Every write moves the count, and so does every reuse of the slot. Since count and flags are one word, one load gives
//! both and one compare checks both; since the flags are in the low half, testing them takes constants that fit into
//! instructions.
//!
//! Reader: [`sample`] (Acquire), data (Relaxed), [`unchanged`] (fence Acquire, load Relaxed). An odd sample never counts as
//! unchanged: whoever uses one must test [`ODD`] in it. Readers never spin: a writer can be descheduled.
//!
//! Writer: [`write`] makes the count odd (compare-and-swap, Acquire: one writer at a time, who sees what the last one wrote),
//! fence Release, data (Relaxed), [`Writing::end`] (store Release). It is held for a few stores and a table's entry, never over a lock or a call of the file system.
//! Where writers are kept apart by something else (a lock that all of them hold, a slot that is one's own), [`write_alone`] does the same with a store.
//!
//! Pairs: the reader's Acquire sample with `end`'s Release store: it sees all of that write. The reader's Acquire fence with
//! the writer's Release fence: a reader that saw any word of a newer write sees the odd count, or a later one, in its recheck.
//!
//! Limit: a reader that sleeps through exactly 2^32 writes of one slot would not notice.

use crate::sync::{AtomicU64, Ordering, fence, spin_loop, yield_now};

/// Set in a word that is being written.
pub(crate) const ODD: u64 = 1;

/// One write.
const ONE: u64 = 1 << 32;

/// The bits that are flags.
const FLAGS: u64 = ONE - 1 - ODD;

const SPINS: u32 = 64;

/// A word to hold against later.
#[inline(always)]
pub(crate) fn sample(word: &AtomicU64) -> u64 {
    word.load(Ordering::Acquire)
}

/// Whether nothing was written since `sampled`: count and flags are the same. To be called after the last data load.
#[inline(always)]
pub(crate) fn unchanged(word: &AtomicU64, sampled: u64) -> bool {
    fence(Ordering::Acquire);
    word.load(Ordering::Relaxed) == sampled
}

/// A sample that is even; waits for a writer to finish. Writers wait for nothing, so any lock may be held.
pub(crate) fn sample_even(word: &AtomicU64) -> u64 {
    let mut tries = 0;
    loop {
        let sampled = sample(word);
        if sampled & ODD == 0 {
            return sampled;
        }
        pause(&mut tries);
    }
}

/// The right to write a record.
pub(crate) struct Writing<'a> {
    word: &'a AtomicU64,
    /// The word before, even.
    before: u64,
}

/// Makes the count odd, after any other writer.
pub(crate) fn write(word: &AtomicU64) -> Writing<'_> {
    let mut tries = 0;
    loop {
        let before = word.load(Ordering::Relaxed);
        let even = before & ODD == 0;
        if even && word.compare_exchange_weak(before, before | ODD, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            fence(Ordering::Release);
            return Writing { word, before };
        }
        pause(&mut tries);
    }
}

/// Makes the count odd, where nobody else may: what keeps writers apart also shows each what the last one wrote.
pub(crate) fn write_alone(word: &AtomicU64) -> Writing<'_> {
    let before = word.load(Ordering::Relaxed);
    debug_assert_eq!(before & ODD, 0, "two write");
    word.store(before | ODD, Ordering::Relaxed);
    fence(Ordering::Release);
    Writing { word, before }
}

/// Goes on with a write that its writer left.
pub(crate) fn resume(word: &AtomicU64) -> Writing<'_> {
    let left = word.load(Ordering::Relaxed);
    debug_assert_ne!(left & ODD, 0, "no write was left");
    Writing { word, before: left & !ODD }
}

fn pause(tries: &mut u32) {
    *tries += 1;
    if *tries < SPINS && !cfg!(any(loom, shuttle)) { spin_loop() } else { yield_now() }
}

impl Writing<'_> {
    /// The flags before.
    pub(crate) fn flags(&self) -> u64 {
        self.before & FLAGS
    }

    /// Leaves the record as one that is being written, with these flags, to be [resumed](resume).
    pub(crate) fn leave(self, flags: u64) {
        debug_assert_eq!(flags & !FLAGS, 0);
        self.word.store(self.before & !FLAGS | flags | ODD, Ordering::Relaxed);
    }

    /// Ends the write with these flags.
    pub(crate) fn end(self, flags: u64) {
        debug_assert_eq!(flags & !FLAGS, 0);
        self.word.store(self.before.wrapping_add(ONE) & !FLAGS | flags, Ordering::Release);
    }
}
