//! When a thread asks the memo, and when it lets it learn.
//!
//! A thread has a credit. A hit adds to it, a miss takes one; a thread whose credit is used up does
//! not ask for a while, and neither lets the memo learn; then it tries again. So where the memo never
//! hits, it costs a look at the credit. A thread whose credit is full stores nothing when it hits.
//!
//! Of the paths that could be learned, one in [`LEARNED`] is: a recording walk takes five times as
//! long as another.
//!
//! What it does not do: it tells no `Vfs` from another. It decides what is fast, and never what is
//! right.

use std::cell::Cell;

/// The most credit; each thread begins with it.
const FULL: i32 = 1024;

/// What a hit adds: it saves five times what a miss costs.
const GAIN: i32 = 5;

/// Lookups for which a thread without credit does not ask.
const REST: i32 = 256;

/// What it begins with thereafter.
const TRIAL: i32 = 32;

/// Of so many paths that could be learned, one is.
const LEARNED: u32 = 4;

/// Paths that are not learned after one that could not be.
const REFUSED: u32 = 64;

/// What a thread knows of its luck.
struct Pace {
    /// Below zero: so many lookups until it asks again.
    credit: Cell<i32>,
    /// Paths that could be learned until one is.
    left: Cell<u32>,
}

thread_local!(static PACE: Pace = const { Pace { credit: Cell::new(FULL), left: Cell::new(LEARNED) } });

/// Returns whether the thread asks the memo.
#[inline(always)]
pub(super) fn asks() -> bool {
    PACE.with(|pace| {
        let credit = pace.credit.get();
        if credit < 0 {
            pace.credit.set(if credit == -1 { TRIAL } else { credit + 1 });
        }
        credit >= 0
    })
}

/// Returns whether the thread will ask the memo the next time, and counts nothing.
#[inline(always)]
pub(super) fn will_ask() -> bool {
    PACE.with(|pace| pace.credit.get() >= 0)
}

/// Notes a hit.
#[inline(always)]
pub(super) fn hit() {
    PACE.with(|pace| {
        let credit = pace.credit.get();
        if credit < FULL {
            pace.credit.set(credit + GAIN);
        }
    });
}

/// Notes a miss.
#[inline(always)]
pub(super) fn missed() {
    PACE.with(|pace| {
        let credit = pace.credit.get();
        pace.credit.set(if credit == 0 { -REST } else { credit - 1 });
    });
}

/// Returns whether a path that could be learned is.
#[inline(always)]
pub(super) fn learns() -> bool {
    PACE.with(|pace| {
        let left = pace.left.get().wrapping_sub(1);
        pace.left.set(if left == 0 { LEARNED } else { left });
        left == 0 && pace.credit.get() >= 0
    })
}

/// Notes that a path could not be learned.
pub(super) fn refused() {
    PACE.with(|pace| pace.left.set(REFUSED));
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and minutes there")]
    fn a_thread_that_never_hits_asks_once_in_a_while() {
        let asked = (0..100_000).filter(|_| asks()).inspect(|_| missed()).count();
        assert!(asked < 100_000 / 6, "{asked}");
        assert!(asked > 100_000 / 16, "{asked}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and minutes there")]
    fn a_thread_that_hits_one_time_in_three_always_asks() {
        let mut times = 0;
        for round in 0..100_000 {
            times += u32::from(asks());
            if round % 3 == 0 { hit() } else { missed() }
        }
        assert_eq!(times, 100_000);
    }

    #[test]
    fn one_path_in_four_is_learned_and_fewer_after_a_refusal() {
        assert_eq!((0..400).filter(|_| learns()).count(), 100);
        refused();
        assert_eq!((0..64).filter(|_| learns()).count(), 1);
    }
}
