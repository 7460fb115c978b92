//! The numbers of peer groups.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The numbers of peer groups. The lowest free one is given out next. Linux: `mnt_group_ida`.
#[derive(Default)]
pub(super) struct GroupNumbers {
    last: u32,
    free: BinaryHeap<Reverse<u32>>,
}

impl GroupNumbers {
    /// Returns a number that no group has.
    pub(super) fn take(&mut self) -> u32 {
        if let Some(Reverse(number)) = self.free.pop() {
            return number;
        }
        self.last += 1;
        self.last
    }

    /// Frees a number, so that it can be given out again.
    pub(super) fn give_back(&mut self, number: u32) {
        self.free.push(Reverse(number));
    }
}
