//! When a thread asks the memo, and when it lets it learn.
//!
//! A thread has a credit. A hit adds to it, a miss takes one; a thread whose credit is used up does
//! not ask for a while, and neither lets the memo learn; then it tries again. So where the memo never
//! hits, it costs a look at the credit. A thread whose credit is full stores nothing when it hits.
//!
//! Of the walks of which something could be learned, one in [`LEARNED`] teaches: a recording walk takes
//! longer than another. In turns, the path is learned and the directory in which it ends.
//!
//! What it does not do: it tells no `Vfs` from another. It decides what is fast, and never what is
//! right.

use std::cell::Cell;

/// The most credit; each thread begins with it.
const FULL: i32 = 1024;

/// What a hit adds: it saves five times what a miss costs.
const GAIN: i32 = 5;

/// What a directory adds that is remembered.
const GAIN_OF_DIRECTORY: i32 = 3;

/// Lookups for which a thread without credit does not ask.
const REST: i32 = 256;

/// What it begins with thereafter.
const TRIAL: i32 = 32;

/// Of so many walks of which something could be learned, one teaches.
const LEARNED: u32 = 4;

/// Walks that teach nothing after one that could not be learned.
const REFUSED: u32 = 64;

/// What a thread knows of its luck.
struct Pace {
    /// Below zero: so many lookups until it asks again.
    credit: Cell<i32>,
    /// Walks until one teaches.
    left: Cell<u32>,
    /// What that one teaches.
    next: Cell<Taught>,
}

/// What is learned of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taught {
    /// The path.
    Path,
    /// The path of the directory in which it ends.
    Directory,
}

thread_local!(static PACE: Pace = const {
    Pace { credit: Cell::new(FULL), left: Cell::new(LEARNED), next: Cell::new(Taught::Path) }
});

/// The credit of a thread that asks the memo.
#[derive(Clone, Copy)]
pub(super) struct Credit(i32);

impl Credit {
    /// That of a thread that asks whatever its luck.
    pub(super) const ALWAYS: Credit = Credit(FULL);

    /// Notes a hit.
    #[inline(always)]
    pub(super) fn hit(self) {
        if self.0 < FULL {
            PACE.with(|pace| pace.credit.set(self.0 + GAIN));
        }
    }

    /// Notes a miss.
    #[inline(always)]
    pub(super) fn missed(self) {
        PACE.with(|pace| pace.credit.set(if self.0 == 0 { -REST } else { self.0 - 1 }));
    }
}

/// Returns the thread's credit if it asks the memo.
#[inline(always)]
pub(super) fn asks() -> Option<Credit> {
    PACE.with(|pace| {
        let credit = pace.credit.get();
        if credit < 0 {
            pace.credit.set(if credit == -1 { TRIAL } else { credit + 1 });
        }
        (credit >= 0).then_some(Credit(credit))
    })
}

/// Notes that the thread, which asked for a path in vain, found its directory.
pub(super) fn found_directory() {
    PACE.with(|pace| {
        let credit = pace.credit.get();
        if credit < FULL {
            pace.credit.set(credit + GAIN_OF_DIRECTORY);
        }
    });
}

/// Returns whether the thread will ask the memo the next time, and counts nothing.
#[inline(always)]
pub(super) fn will_ask() -> bool {
    PACE.with(|pace| pace.credit.get() >= 0)
}

/// Returns what a walk of which something could be learned teaches, if it does.
#[inline(always)]
pub(super) fn teaches() -> Option<Taught> {
    PACE.with(|pace| {
        let left = pace.left.get().wrapping_sub(1);
        if left != 0 {
            pace.left.set(left);
            return None;
        }
        pace.left.set(LEARNED);
        let now = pace.next.get();
        pace.next.set(match now {
            Taught::Path => Taught::Directory,
            Taught::Directory => Taught::Path,
        });
        (pace.credit.get() >= 0).then_some(now)
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
        let asked = (0..100_000).filter_map(|_| asks()).inspect(|credit| credit.missed()).count();
        assert!(asked < 100_000 / 6, "{asked}");
        assert!(asked > 100_000 / 16, "{asked}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and minutes there")]
    fn a_thread_that_hits_one_time_in_three_always_asks() {
        let mut times = 0;
        for round in 0..100_000 {
            let credit = asks();
            times += u32::from(credit.is_some());
            let credit = credit.unwrap_or(Credit::ALWAYS);
            if round % 3 == 0 { credit.hit() } else { credit.missed() }
        }
        assert_eq!(times, 100_000);
    }

    #[test]
    fn one_walk_in_four_teaches_and_fewer_after_a_refusal() {
        let taught: Vec<_> = (0..400).filter_map(|_| teaches()).collect();
        assert_eq!((taught.len(), taught.iter().filter(|one| **one == Taught::Path).count()), (100, 50));
        refused();
        assert_eq!((0..64).filter_map(|_| teaches()).count(), 1);
    }
}
