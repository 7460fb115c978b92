//! An array of records of `N` words, each starting at a cache line.
//!
//! The array is reserved once and zeroed by the allocator without touching it: a record costs
//! memory when it is first written. An allocator that aligns to cache lines would touch all of it,
//! so the records begin at the first line boundary within the reserved memory. That position is
//! computed once: a walk loads only a slice's address and length.
//!
//! What it does not do: it does not interpret the words.

use yoke::Yoke;

use crate::sync::{AtomicU64, zeroed};

/// The number of bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// The number of words of a cache line.
pub(crate) const LINE_WORDS: usize = LINE / 8;

/// A cache line of words.
pub(crate) type Line = [AtomicU64; LINE_WORDS];

/// Records of `N` words, where `N` is a multiple of eight.
pub(crate) struct Records<const N: usize>(
    /// The records, and the words that they lie in.
    Yoke<&'static [[AtomicU64; N]], Vec<AtomicU64>>,
);

impl<const N: usize> Records<N> {
    const WHOLE_LINES: () = assert!(N.is_multiple_of(LINE_WORDS));

    /// Reserves `count` zeroed records; returns `None` if there is no memory.
    pub(crate) fn new(count: usize) -> Option<Self> {
        let () = Self::WHOLE_LINES;
        let words = zeroed::<AtomicU64>(count.checked_mul(N)?.checked_add(LINE_WORDS - 1)?)?;
        let misaligned = words.as_ptr().addr() % LINE / 8;
        let start = (LINE_WORDS - misaligned) % LINE_WORDS;
        // What the alignment leaves over is less than a record.
        Some(Records(Yoke::attach_to_cart(words.into_vec(), |words| words[start..].as_chunks().0)))
    }

    /// Returns all records. A walk takes this slice once and keeps it in two registers; fields
    /// behind a reference would be loaded again after every acquire.
    #[inline(always)]
    pub(crate) fn all(&self) -> &[[AtomicU64; N]] {
        self.0.get()
    }

    /// Returns one record.
    #[inline(always)]
    pub(crate) fn at(&self, index: u32) -> &[AtomicU64; N] {
        &self.all()[index as usize]
    }

    /// Returns the address range of the records: first address, and one past the last.
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
