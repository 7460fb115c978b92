//! A reader-writer lock of four bytes, one for each dentry. It is held during calls of the file
//! system, so waiting threads sleep.
//!
//! The word: bits 0..30 are the number of readers (all ones: a writer). Bit 30: a writer waits, so
//! new readers queue behind it. Bit 31: a thread sleeps. The lock is not recursive. A zeroed word
//! is unlocked. Order among locks: `docs/lock-order.md`.
//!
//! Pairs: every acquisition's Acquire with every release's Release.

use crate::sync::{AtomicU32, Ordering, wait_on, wake_all};

const WRITER: u32 = (1 << 30) - 1;
const WRITER_WAITS: u32 = 1 << 30;
const SLEEPERS: u32 = 1 << 31;

/// A lock that is held shared until this is dropped.
pub(crate) struct Shared<'a>(&'a AtomicU32);

/// A lock that is held exclusively until this is dropped.
pub(crate) struct Exclusive<'a>(&'a AtomicU32);

/// Takes a lock shared; waits until no writer holds it or waits for it.
pub(crate) fn shared(lock: &AtomicU32) -> Shared<'_> {
    let mut now = lock.load(Ordering::Relaxed);
    loop {
        if now & WRITER_WAITS == 0 && now & WRITER < WRITER - 1 {
            match lock.compare_exchange_weak(now, now + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Shared(lock),
                Err(other) => now = other,
            }
        } else {
            now = sleep(lock, now, SLEEPERS);
        }
    }
}

/// Takes a lock exclusively; waits until it has no holder.
pub(crate) fn exclusive(lock: &AtomicU32) -> Exclusive<'_> {
    let mut now = lock.load(Ordering::Relaxed);
    loop {
        if now & WRITER == 0 {
            // The sleepers' mark stays, so they are woken at release. Other writers set their mark
            // again.
            let held = (now & SLEEPERS) | WRITER;
            match lock.compare_exchange_weak(now, held, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Exclusive(lock),
                Err(other) => now = other,
            }
        } else {
            now = sleep(lock, now, SLEEPERS | WRITER_WAITS);
        }
    }
}

/// Returns whether a thread holds a lock exclusively. If not, each thread that takes it so later
/// sees all that the caller did before: this is an exchange, which comes before or after theirs.
pub(crate) fn is_held_exclusively(lock: &AtomicU32) -> bool {
    lock.fetch_or(0, Ordering::AcqRel) & WRITER == WRITER
}

/// Marks the word and sleeps until it changes; returns its new value.
fn sleep(lock: &AtomicU32, now: u32, marks: u32) -> u32 {
    let marked = now | marks;
    if now == marked || lock.compare_exchange_weak(now, marked, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        wait_on(lock, marked);
    }
    lock.load(Ordering::Relaxed)
}

impl Drop for Shared<'_> {
    fn drop(&mut self) {
        let before = self.0.fetch_sub(1, Ordering::Release);
        // The last reader wakes all sleepers and lets them queue anew.
        if before & WRITER == 1 && before & SLEEPERS != 0 {
            let marks = SLEEPERS | WRITER_WAITS;
            let cleared = |now: u32| (now & WRITER == 0).then_some(now & !marks);
            if self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, cleared).is_ok() {
                wake_all(self.0);
            }
        }
    }
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        if self.0.swap(0, Ordering::Release) & SLEEPERS != 0 {
            wake_all(self.0);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn writers_are_alone_and_readers_see_whole_writes() {
        let lock = AtomicU32::new(0);
        let (left, right) = (AtomicU64::new(0), AtomicU64::new(0));
        let rounds = if cfg!(miri) { 30 } else { 3000 };
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..rounds {
                        let _held = exclusive(&lock);
                        left.store(left.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                        right.store(right.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    }
                });
                scope.spawn(|| {
                    for _ in 0..rounds {
                        let _held = shared(&lock);
                        assert_eq!(left.load(Ordering::Relaxed), right.load(Ordering::Relaxed));
                    }
                });
            }
        });
        assert_eq!(left.load(Ordering::Relaxed), 2 * rounds);
        assert_eq!(lock.load(Ordering::Relaxed), 0);
    }
}
