//! The time of the last change of a node, which is its change cookie, too.
//!
//! The clock may stand still between two changes. So a time that was given out as a cookie is
//! marked, and the next change gets a later one, by a nanosecond if need be. That one keeps the
//! mark until the clock has passed it. A node that is not asked for its cookie pays one test for
//! each change, and no memory. That is what Linux does with the flag of `i_version` and of times
//! with several grains (`I_CTIME_QUERIED`).
//!
//! What always holds: a cookie is greater than all that were given out before the last change. The
//! clock may go back; the time of a change goes back with it only if no time since was given out
//! that the clock had not passed.
//!
//! Locks: a change holds the node's lock exclusively, and a request for the cookie holds it shared.
//! A thread that adds or removes a name of the node has only its directory's lock, and so uses
//! [`touch_by_name`](ChangeTime::touch_by_name).

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use pathwalk::Timestamp;

/// The mark of a time that was given out as a cookie, or that follows one which the clock has not
/// passed.
const GIVEN_OUT: u64 = 1 << 63;

/// The number of bits of the nanoseconds.
const NANOSECOND_BITS: u32 = 30;

/// The greatest number of seconds: 33 bits.
const SECONDS_MAX: i64 = (1 << 33) - 1;

/// The word with the time of the last change and its mark.
#[derive(Default)]
pub(super) struct ChangeTime(AtomicU64);

impl ChangeTime {
    /// Stores the time of a new node, which no other thread has.
    pub(super) fn begin(&self, now: Timestamp) {
        self.0.store(packed(now), Relaxed);
    }

    /// Records a change under the node's lock.
    #[inline]
    pub(super) fn touch(&self, now: Timestamp) {
        self.0.store(following(self.0.load(Relaxed), now), Relaxed);
    }

    /// Records that a name of the node was added or removed, without the node's lock.
    #[inline]
    pub(super) fn touch_by_name(&self, now: Timestamp) {
        let mut before = self.0.load(Relaxed);
        while let Err(other) = self.0.compare_exchange_weak(before, following(before, now), Relaxed, Relaxed) {
            before = other;
        }
    }

    /// Records a change that leaves the time, unless it was given out. The caller has the node's
    /// lock exclusively.
    pub(super) fn touch_if_given_out(&self) {
        self.touch(self.time());
    }

    pub(super) fn time(&self) -> Timestamp {
        unpacked(self.0.load(Relaxed) & !GIVEN_OUT)
    }

    /// Returns the cookie, and marks it as given out. The caller has the node's lock.
    pub(super) fn give_out(&self) -> u64 {
        self.0.fetch_or(GIVEN_OUT, Relaxed) & !GIVEN_OUT
    }
}

/// Returns the word of a change that follows the one with this word.
#[inline]
fn following(before: u64, now: Timestamp) -> u64 {
    let now = packed(now);
    if before & GIVEN_OUT == 0 {
        return now;
    }
    let least = after(before & !GIVEN_OUT);
    if now > least { now } else { least | GIVEN_OUT }
}

/// Returns the time of a nanosecond later.
#[cold]
fn after(word: u64) -> u64 {
    match unpacked(word) {
        Timestamp { seconds, nanoseconds: 999_999_999 } => (seconds as u64 + 1) << NANOSECOND_BITS,
        _ => word + 1,
    }
}

/// Returns a time of the clock in 63 bits: those of seconds last from 1970 to 2242, and 30 bits
/// are of nanoseconds.
pub(super) fn packed(time: Timestamp) -> u64 {
    let seconds = time.seconds.clamp(0, SECONDS_MAX) as u64;
    seconds << NANOSECOND_BITS | u64::from(time.nanoseconds)
}

pub(super) fn unpacked(word: u64) -> Timestamp {
    let nanoseconds = (word & ((1 << NANOSECOND_BITS) - 1)) as u32;
    Timestamp { seconds: (word >> NANOSECOND_BITS) as i64, nanoseconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64, nanoseconds: u32) -> Timestamp {
        Timestamp { seconds, nanoseconds }
    }

    #[test]
    fn times_of_the_clock_fit_into_a_word() {
        for seconds in [0, 1, 1_800_000_000, SECONDS_MAX] {
            let time = at(seconds, 999_999_999);
            assert_eq!((unpacked(packed(time)), packed(time) & GIVEN_OUT), (time, 0));
        }
        let odd = [-1, SECONDS_MAX + 1].map(|seconds| unpacked(packed(at(seconds, 5))).seconds);
        assert_eq!(odd, [0, SECONDS_MAX]);
    }

    #[test]
    fn a_time_that_was_given_out_does_not_come_again() {
        for touch in [ChangeTime::touch, ChangeTime::touch_by_name] {
            let time = ChangeTime::default();
            time.begin(at(5, 999_999_998));
            touch(&time, at(5, 999_999_998));
            assert_eq!(time.time(), at(5, 999_999_998), "no cookie was asked for");
            let first = time.give_out();
            assert_eq!((time.give_out(), time.time()), (first, at(5, 999_999_998)), "nothing has changed");
            touch(&time, at(5, 0));
            assert_eq!(time.time(), at(5, 999_999_999), "the clock went back");
            touch(&time, at(4, 0));
            assert_eq!(time.time(), at(6, 0), "it follows one that was");
            touch(&time, at(7, 0));
            touch(&time, at(4, 0));
            assert_eq!(time.time(), at(4, 0), "the clock had passed it");
            touch(&time, at(8, 999_999_999));
            let second = time.give_out();
            touch(&time, at(8, 999_999_999));
            assert_eq!(time.time(), at(9, 0));
            assert!(first < second && second < time.give_out());
            touch(&time, at(10, 1));
            assert_eq!(time.time(), at(10, 1));
            time.touch_if_given_out();
            assert_eq!(time.time(), at(10, 1));
            time.give_out();
            time.touch_if_given_out();
            assert_eq!(time.time(), at(10, 2));
        }
    }

    #[test]
    fn a_cookie_does_not_come_again_after_several_changes() {
        let time = ChangeTime::default();
        time.begin(at(5, 0));
        let mut last = time.give_out();
        for changes in 1..5 {
            (0..changes).for_each(|_| time.touch(at(5, 0)));
            let cookie = time.give_out();
            assert!(cookie > last, "{changes} changes: {cookie} after {last}");
            last = cookie;
        }
    }

    /// Checks that a change beside a request for the cookie is seen by the next request, on a clock
    /// that stands still.
    #[test]
    fn each_change_beside_requests_is_seen() {
        let (time, rounds) = (ChangeTime::default(), if cfg!(miri) { 20 } else { 20_000 });
        std::thread::scope(|scope| {
            let names = scope.spawn(|| (0..rounds).for_each(|_| time.touch_by_name(at(1, 0))));
            let mut last = 0;
            while !names.is_finished() {
                let cookie = time.give_out();
                assert!(cookie >= last, "{cookie} after {last}");
                last = cookie;
            }
        });
        let last = time.give_out();
        time.touch_by_name(at(0, 0));
        assert!(time.give_out() > last);
    }
}
