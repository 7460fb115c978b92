//! The states of an object that one thread changes and others read: those that it went through
//! during a read.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

/// A count of changes: odd during a change. `n` completed changes are state `n`.
#[derive(Default)]
pub(crate) struct Phase(AtomicU64);

impl Phase {
    /// Goes from state `n` to state `n + 1` at some instant of `change`, which gets `n + 1`.
    ///
    /// One thread at a time may do this.
    pub(crate) fn advance<R>(&self, change: impl FnOnce(u64) -> R) -> R {
        let before = self.0.fetch_add(1, Ordering::SeqCst);
        assert_eq!(before % 2, 0, "two threads change one thing");
        let result = change(before / 2 + 1);
        self.0.fetch_add(1, Ordering::SeqCst);
        result
    }

    /// Runs `look` and returns the states during it. Each of them was true at some instant of
    /// `look`, or may have been: a change in progress may or may not have happened.
    pub(crate) fn during<R>(&self, look: impl FnOnce() -> R) -> (RangeInclusive<u64>, R) {
        let first = self.0.load(Ordering::SeqCst);
        let result = look();
        let last = self.0.load(Ordering::SeqCst);
        (first / 2..=last.div_ceil(2), result)
    }

    /// Returns the number of changes that were begun.
    pub(crate) fn begun(&self) -> u64 {
        self.0.load(Ordering::SeqCst).div_ceil(2)
    }
}

/// Returns whether `is_true` holds in any of the states. All states here repeat after a few, so
/// that a long look need not test millions of them.
pub(crate) fn any(states: RangeInclusive<u64>, mut is_true: impl FnMut(u64) -> bool) -> bool {
    states.take(64).any(&mut is_true)
}
