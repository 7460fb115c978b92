//! What is true of something that one thread changes and others look at: the states that it went through while they looked.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts changes: odd while one is under way. `n` changes done is state `n`.
#[derive(Default)]
pub(crate) struct Phase(AtomicU64);

impl Phase {
    /// Goes from state `n` to state `n + 1`, somewhere in `change`, which gets `n + 1`.
    ///
    /// One thread at a time may do this.
    pub(crate) fn advance<R>(&self, change: impl FnOnce(u64) -> R) -> R {
        let before = self.0.fetch_add(1, Ordering::SeqCst);
        assert_eq!(before % 2, 0, "two threads change one thing");
        let result = change(before / 2 + 1);
        self.0.fetch_add(1, Ordering::SeqCst);
        result
    }

    /// Looks, and says which states there were meanwhile. Each of them was true at some instant of `look`, or may have
    /// been: a change that is under way has happened or has not.
    pub(crate) fn during<R>(&self, look: impl FnOnce() -> R) -> (RangeInclusive<u64>, R) {
        let first = self.0.load(Ordering::SeqCst);
        let result = look();
        let last = self.0.load(Ordering::SeqCst);
        (first / 2..=last.div_ceil(2), result)
    }

    /// How many changes were begun.
    pub(crate) fn begun(&self) -> u64 {
        self.0.load(Ordering::SeqCst).div_ceil(2)
    }
}

/// Whether any state holds in which `is_true`. Everything here repeats after a few states, so that a look that took long need not
/// go through millions of them.
pub(crate) fn any(states: RangeInclusive<u64>, mut is_true: impl FnMut(u64) -> bool) -> bool {
    states.take(64).any(&mut is_true)
}
