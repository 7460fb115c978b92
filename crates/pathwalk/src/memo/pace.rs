//! When a thread asks the memo, and when it lets it learn.
//!
//! Each thread has a credit. A hit adds to it, and a miss takes one. A thread without credit asks
//! nothing for a while, and lets the memo learn nothing; then it tries again. So where the memo
//! never hits, it costs a test of the credit. A thread with full credit stores nothing when it
//! hits.
//!
//! Of the walks of which something could be learned, one in [`LEARNED`] is recorded, since a
//! recorded walk takes longer than another. In turns, the path is learned and the directory in
//! which it ends.
//!
//! What it does not do: it does not keep one `Vfs` apart from another. It decides what is fast, and
//! never what is right.

use std::cell::Cell;

/// The most credit. Each thread begins with it.
const FULL: i32 = 1024;

/// The credit that a hit adds: it saves five times the cost of a miss.
const GAIN: i32 = 5;

/// The credit that a remembered directory adds.
const GAIN_OF_DIRECTORY: i32 = 3;

/// The lookups for which a thread without credit does not ask.
const REST: i32 = 256;

/// The credit of a thread that asks again.
const TRIAL: i32 = 32;

/// The walks, of which something could be learned, of which one is recorded.
const LEARNED: u32 = 4;

/// The walks of which none is recorded after one that could not be learned.
const REFUSED: u32 = 64;

/// The hits for which words are compared, of which one stamps its entry. Other threads read the
/// entry meanwhile, so it is seldom written.
const STAMPED: u32 = 16;

/// The state of one thread.
struct Pace {
    /// Below zero, the lookups until the thread asks again.
    credit: Cell<i32>,
    /// The walks until one is recorded.
    left: Cell<u32>,
    /// What is learned of that walk.
    next: Cell<Taught>,
    /// The hits until one stamps its entry.
    until_stamp: Cell<u32>,
    /// The lookups that were walked: without asking, or after asking in vain.
    walked: Cell<u64>,
}

impl Pace {
    /// Counts a lookup that is walked.
    #[inline(always)]
    fn count_walked(&self) {
        self.walked.set(self.walked.get().wrapping_add(1));
    }
}

/// The part of a walk that is learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taught {
    /// The path.
    Path,
    /// The path of the directory in which the walk ends.
    Directory,
}

thread_local!(static PACE: Pace = const {
    Pace {
        credit: Cell::new(FULL),
        left: Cell::new(LEARNED),
        next: Cell::new(Taught::Path),
        until_stamp: Cell::new(STAMPED),
        walked: Cell::new(0),
    }
});

/// The credit of a thread that asks.
#[derive(Clone, Copy)]
pub(super) struct Credit(i32);

impl Credit {
    /// The credit of a thread that always asks.
    pub(super) const ALWAYS: Credit = Credit(FULL);

    /// Notes a hit.
    #[inline(always)]
    pub(super) fn hit(self) {
        if self.0 < FULL {
            PACE.with(|pace| pace.credit.set(self.0 + GAIN));
        }
    }

    /// Notes a miss. The lookup is walked.
    #[inline(always)]
    pub(super) fn missed(self) {
        PACE.with(|pace| {
            pace.credit.set(if self.0 == 0 { -REST } else { self.0 - 1 });
            pace.count_walked();
        });
    }
}

/// Returns the thread's credit if the thread asks the memo; else, the lookup is walked.
#[inline(always)]
pub(super) fn asks() -> Option<Credit> {
    PACE.with(|pace| {
        let credit = pace.credit.get();
        if credit < 0 {
            pace.credit.set(if credit == -1 { TRIAL } else { credit + 1 });
            pace.count_walked();
        }
        (credit >= 0).then_some(Credit(credit))
    })
}

/// Adds to the credit of a thread that found no path, but its directory.
pub(super) fn found_directory() {
    PACE.with(|pace| {
        let credit = pace.credit.get();
        if credit < FULL {
            pace.credit.set(credit + GAIN_OF_DIRECTORY);
        }
    });
}

/// Counts a lookup that is walked without asking.
pub(super) fn count_walked() {
    PACE.with(Pace::count_walked);
}

/// Returns the number of lookups of the thread that were walked.
pub(crate) fn walked() -> u64 {
    PACE.with(|pace| pace.walked.get())
}

/// Returns whether the thread will ask the memo next time. Counts nothing.
#[inline(always)]
pub(super) fn will_ask() -> bool {
    PACE.with(|pace| pace.credit.get() >= 0)
}

/// Returns what is learned of a walk, if the walk is to be recorded.
#[inline(always)]
pub(super) fn teaches() -> Option<Taught> {
    PACE.with(|pace| {
        if pace.credit.get() < 0 {
            return None;
        }
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
        Some(now)
    })
}

/// Returns whether a hit stamps its entry.
pub(super) fn stamps() -> bool {
    PACE.with(|pace| {
        let left = pace.until_stamp.get() - 1;
        pace.until_stamp.set(if left == 0 { STAMPED } else { left });
        left == 0
    })
}

/// Lets the thread record nothing for a while, after a walk that could not be learned.
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
    fn one_hit_in_16_stamps() {
        assert_eq!((0..160).filter(|_| stamps()).count(), 10);
    }

    #[test]
    fn one_walk_in_four_teaches_and_fewer_after_a_refusal() {
        let taught: Vec<_> = (0..400).filter_map(|_| teaches()).collect();
        assert_eq!((taught.len(), taught.iter().filter(|one| **one == Taught::Path).count()), (100, 50));
        refused();
        assert_eq!((0..64).filter_map(|_| teaches()).count(), 1);
    }
}
