//! An array of records of `N` words, each starting at a cache line.
//!
//! It is reserved once and zeroed by the allocator, which touches nothing: a record costs memory when
//! it is first written. An allocator that aligns to cache lines would touch all of it, so the records
//! begin at the first line within what was reserved. Where that is, is found once: a walk has to load
//! no more than a slice's address and length.
//!
//! What it does not do: it knows nothing of what the words mean.

use yoke::Yoke;

use crate::sync::{AtomicU64, zeroed};

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Words of a cache line.
pub(crate) const LINE_WORDS: usize = LINE / 8;

/// A cache line of words.
pub(crate) type Line = [AtomicU64; LINE_WORDS];

/// `N` words a record; `N` is a multiple of eight.
pub(crate) struct Records<const N: usize>(
    /// The records, and the words that they lie in.
    Yoke<&'static [[AtomicU64; N]], Vec<AtomicU64>>,
);

impl<const N: usize> Records<N> {
    const WHOLE_LINES: () = assert!(N.is_multiple_of(LINE_WORDS));

    /// Returns `count` zeroed records, or `None` where there is no room.
    pub(crate) fn new(count: usize) -> Option<Self> {
        let () = Self::WHOLE_LINES;
        let words = zeroed::<AtomicU64>(count.checked_mul(N)?.checked_add(LINE_WORDS - 1)?)?;
        let misaligned = words.as_ptr().addr() % LINE / 8;
        let start = (LINE_WORDS - misaligned) % LINE_WORDS;
        // What the alignment leaves over is less than a record.
        Some(Records(Yoke::attach_to_cart(words.into_vec(), |words| words[start..].as_chunks().0)))
    }

    /// Returns all records. A walk takes this once: it is two registers, where the fields behind it
    /// would be loaded again after every acquire.
    #[inline(always)]
    pub(crate) fn all(&self) -> &[[AtomicU64; N]] {
        self.0.get()
    }

    /// Returns one record.
    #[inline(always)]
    pub(crate) fn at(&self, index: u32) -> &[AtomicU64; N] {
        &self.all()[index as usize]
    }

    /// Returns where the records lie: first and one past the last address.
    pub(crate) fn range(&self) -> (usize, usize) {
        let range = self.all().as_ptr_range();
        (range.start.addr(), range.end.addr())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn records_start_at_lines() {
        for count in [1, 3, 100] {
            let records = Records::<16>::new(count).unwrap();
            let (start, end) = records.range();
            assert_eq!((start % LINE, end - start), (0, count * 128));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri stops where memory is short")]
    fn too_much_is_none() {
        assert!(Records::<8>::new(usize::MAX / 8).is_none());
        assert!(Records::<8>::new(usize::MAX / 128).is_none());
    }
}
