//! A sequence count in a record's first word.
//!
//! The word: bit 0 is set while a thread writes (the count is "odd"), bits 1 to 31 are the record's
//! flags, bits 32 to 63 count writes. Every write moves the count, and so does every reuse of the
//! slot. Count and flags are one word, so one load gives both and one compare checks both. The
//! flags are in the low half, so the masks that test them fit into instructions as constants.
//!
//! Reader: [`sample`] (Acquire), data (Relaxed), [`unchanged`] (fence Acquire, load Relaxed).
//! `unchanged` does not reject an odd sample: a reader must test [`ODD`] in its sample. Readers
//! never spin, since a writer can be descheduled.
//!
//! Writer: [`write`] makes the count odd (compare-and-swap, Acquire: one writer at a time, which
//! sees what the last one wrote), fence Release, data (Relaxed), [`Writing::end`] (store Release).
//! A write lasts for a few stores and a table's entry; no lock is taken and no file system is
//! called meanwhile. If something else keeps writers apart (a lock that all of them hold, or a slot
//! that belongs to one thread), [`write_alone`] does the same with a store.
//!
//! Pairs: the reader's Acquire sample with `end`'s Release store: the reader sees all of that
//! write. The reader's Acquire fence with the writer's Release fence: a reader that saw any word of
//! a newer write sees the odd count, or a later one, in its recheck.
//!
//! Limit: a reader that sleeps through exactly 2^32 writes of one slot would not notice. Code that
//! keeps words for longer than a read takes drops them when [`laps`] moves.

use crate::sync::{AtomicU64, Ordering, fence, spin_loop, yield_now};

/// The bit that is set in a word that is being written.
pub(crate) const ODD: u64 = 1;

/// The value that one write adds.
const ONE: u64 = 1 << 32;

/// The number of writes of a record that are one lap.
const LAP: u64 = 1 << 27;

/// The number of laps of all records of the process. It only counts and publishes no data, so it is
/// `Relaxed`, and is not modelled by loom or shuttle.
static LAPS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// The bits that are flags.
const FLAGS: u64 = ONE - 1 - ODD;

const SPINS: u32 = 64;

/// Samples a word, to compare it later.
#[inline(always)]
pub(crate) fn sample(word: &AtomicU64) -> u64 {
    word.load(Ordering::Acquire)
}

/// Returns whether nothing was written since `sampled`: count and flags are the same. Call it after
/// the last data load.
#[inline(always)]
pub(crate) fn unchanged(word: &AtomicU64, sampled: u64) -> bool {
    fence(Ordering::Acquire);
    word.load(Ordering::Relaxed) == sampled
}

/// Samples a word and waits until it is even. A writer waits for nothing, so the caller may hold
/// any lock.
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
    /// The word before the write, which is even.
    before: u64,
}

/// Makes the count odd, after any other writer has finished.
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

/// Makes the count odd, unless another thread writes just now.
pub(crate) fn try_write(word: &AtomicU64) -> Option<Writing<'_>> {
    try_write_from(word, word.load(Ordering::Relaxed))
}

/// Makes the count odd if the word is still the one that was sampled, and even.
pub(crate) fn try_write_from(word: &AtomicU64, sampled: u64) -> Option<Writing<'_>> {
    if sampled & ODD != 0 || word.compare_exchange(sampled, sampled | ODD, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return None;
    }
    fence(Ordering::Release);
    Some(Writing { word, before: sampled })
}

/// Returns the word behind a write, from the word before it and the flags with which it ends.
pub(crate) fn written(before: u64, flags: u64) -> u64 {
    before.wrapping_add(ONE) & !FLAGS | flags
}

/// Counts a lap of a record, or of another count that is kept in 32 bits.
pub(crate) fn count_lap() {
    LAPS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
}

/// Returns the number of laps of all records. Between two laps of one record there are 2^27 writes
/// of it. So code that drops its words when this number moves keeps no word whose count has wrapped
/// around.
#[inline(always)]
pub(crate) fn laps() -> u64 {
    LAPS.load(std::sync::atomic::Ordering::Relaxed)
}

/// Changes a record as this many writes would that change no flag.
#[cfg(all(test, not(any(loom, shuttle))))]
pub(crate) fn write_more(word: &AtomicU64, writes: u32) {
    let before = word.load(Ordering::Relaxed);
    let after = (before / ONE) + u64::from(writes);
    LAPS.fetch_add(after / LAP - before / ONE / LAP, std::sync::atomic::Ordering::Relaxed);
    word.store(before & (ONE - 1) | after << 32, Ordering::Relaxed);
}

/// Makes the count odd, where no other thread may write. Whatever keeps the writers apart also
/// makes each see what the last one wrote.
pub(crate) fn write_alone(word: &AtomicU64) -> Writing<'_> {
    let before = word.load(Ordering::Relaxed);
    debug_assert_eq!(before & ODD, 0, "two write");
    word.store(before | ODD, Ordering::Relaxed);
    fence(Ordering::Release);
    Writing { word, before }
}

/// Continues a write that its writer left.
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
    /// Returns the flags before the write.
    pub(crate) fn flags(&self) -> u64 {
        self.before & FLAGS
    }

    /// Leaves the record odd, with these flags. The write is to be [resumed](resume).
    pub(crate) fn leave(self, flags: u64) {
        debug_assert_eq!(flags & !FLAGS, 0);
        self.word.store(self.before & !FLAGS | flags | ODD, Ordering::Relaxed);
    }

    /// Ends the write with these flags.
    pub(crate) fn end(self, flags: u64) {
        debug_assert_eq!(flags & !FLAGS, 0);
        let after = written(self.before, flags);
        if (after / ONE).is_multiple_of(LAP) {
            count_lap();
        }
        self.word.store(after, Ordering::Release);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_odd_and_keeps_its_flags_until_its_write_ends() {
        let begins: [fn(&AtomicU64) -> Writing<'_>; 3] =
            [write, write_alone, |word| try_write(word).expect("nothing else writes")];
        for begin in begins {
            let word = AtomicU64::new(7 << 32 | 0b110);
            let writing = begin(&word);
            assert_eq!((word.load(Ordering::Relaxed), writing.flags()), (7 << 32 | 0b111, 0b110));
            writing.end(0b1010);
            assert_eq!(word.load(Ordering::Relaxed), 8 << 32 | 0b1010);
        }
    }

    #[test]
    fn a_lap_is_counted_by_the_write_that_ends_it() {
        let word = AtomicU64::new(0);
        write_more(&word, LAP as u32 - 2);
        let step = || {
            let before = laps();
            write(&word).end(0);
            laps() - before
        };
        // Records of other threads may complete a lap meanwhile.
        let counted: Vec<_> = (0..4).map(|_| step() != 0).collect();
        assert!(counted[1], "{counted:?}");
        assert_eq!(word.load(Ordering::Relaxed), (LAP + 2) << 32);
    }
}
