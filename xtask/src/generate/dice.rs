//! The source of what is drawn: numbers that follow from a seed, or the bytes of a fuzzer.
//!
//! A number that is made from bytes takes as few of them as its range needs, so that a mutation of
//! one byte changes one thing. Once the bytes are used up, each number is the first of its range.

use std::collections::VecDeque;
use std::ops::{Bound, RangeBounds};

use fastrand::Rng;

/// A source of numbers.
pub(crate) enum Dice {
    Seed(Rng),
    Bytes(VecDeque<u8>),
}

macro_rules! numbers {
    ($($type:ident),*) => { $(
        /// Draws a number of a range, which must not be empty.
        pub(crate) fn $type(&mut self, range: impl RangeBounds<$type>) -> $type {
            let bytes = match self {
                Dice::Seed(rng) => return rng.$type(range),
                Dice::Bytes(bytes) => bytes,
            };
            let first = match range.start_bound() {
                Bound::Included(first) => *first,
                Bound::Excluded(before) => *before + 1,
                Bound::Unbounded => $type::MIN,
            };
            let last = match range.end_bound() {
                Bound::Included(last) => *last,
                Bound::Excluded(end) => *end - 1,
                Bound::Unbounded => $type::MAX,
            };
            first + taken(bytes, (last - first) as u64) as $type
        }
    )* };
}

impl Dice {
    /// Returns a source of numbers that follow from this seed.
    pub(crate) fn with_seed(seed: u64) -> Dice {
        Dice::Seed(Rng::with_seed(seed))
    }

    /// Returns whether no more choice is left.
    pub(crate) fn is_used_up(&self) -> bool {
        matches!(self, Dice::Bytes(bytes) if bytes.is_empty())
    }

    numbers!(u8, u32, u64, usize);

    pub(crate) fn bool(&mut self) -> bool {
        self.u8(..2) == 1
    }
}

/// Takes a number from 0 to `most` from bytes.
fn taken(bytes: &mut VecDeque<u8>, most: u64) -> u64 {
    let length = u64::from(u64::BITS - most.leading_zeros()).div_ceil(8);
    let number = (0..length).fold(0, |number, _| number << 8 | u64::from(bytes.pop_front().unwrap_or(0)));
    most.checked_add(1).map_or(number, |count| number % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_as_few_bytes_as_they_need() {
        let mut dice = Dice::Bytes([7, 250, 1, 2, 255].into());
        assert_eq!((dice.u8(..5), dice.u8(b'a'..=b'z')), (2, b'a' + 250 % 26));
        assert_eq!((dice.u64(3..4), dice.usize(100..400), dice.u8(..)), (3, 100 + 0x102, 255));
        assert!(dice.is_used_up());
        assert_eq!((dice.u32(5..9), dice.bool(), dice.u64(..)), (5, false, 0));
    }
}
