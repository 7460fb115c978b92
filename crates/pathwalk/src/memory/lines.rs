//! An array of records of `N` words, each starting at a cache line.
//!
//! It is reserved once and zeroed by the allocator, which touches nothing: a record costs memory when it is first written.
//! What it does not do: it knows nothing of what the words mean.

use crate::sync::{AtomicU64, zeroed};

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Words of a cache line.
pub(crate) const LINE_WORDS: usize = LINE / 8;

/// A cache line of words.
pub(crate) type Line = [AtomicU64; LINE_WORDS];

/// `N` words a record; `N` is a multiple of eight.
pub(crate) struct Records<const N: usize> {
    words: Box<[AtomicU64]>,
    /// Index of the first word on a line boundary.
    start: usize,
}

impl<const N: usize> Records<N> {
    const WHOLE_LINES: () = assert!(N.is_multiple_of(LINE_WORDS));

    /// `count` zeroed records, or `None` where there is no room.
    pub(crate) fn new(count: usize) -> Option<Self> {
        let () = Self::WHOLE_LINES;
        let words = zeroed::<AtomicU64>(count.checked_mul(N)?.checked_add(LINE_WORDS - 1)?)?;
        let misaligned = words.as_ptr().addr() % LINE / 8;
        Some(Records { words, start: (LINE_WORDS - misaligned) % LINE_WORDS })
    }

    /// All records. A walk takes this once: it is two registers, where the fields behind it would be loaded again after every
    /// acquire.
    #[inline(always)]
    pub(crate) fn all(&self) -> &[[AtomicU64; N]] {
        // What the alignment left over is less than a record.
        self.words[self.start..].as_chunks().0
    }

    /// One record.
    #[inline(always)]
    pub(crate) fn at(&self, index: u32) -> &[AtomicU64; N] {
        &self.all()[index as usize]
    }

    /// Where the records lie: first and one past the last address.
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
