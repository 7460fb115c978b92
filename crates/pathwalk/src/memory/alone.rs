//! Data that many threads write, kept apart: each item has a cache line of its own. Where it pays,
//! there are several shares of it, so that each thread has one of its own.
//!
//! Two processors that write to one line wait for each other, even if they write to different words
//! of it. With sixty-four one-byte locks to a line, the locks are as slow as one lock for all.
//!
//! What it does not do: threads share a share if there are more threads than [`SHARES`]. So this is
//! for speed only, and everything in a share is made of atomics.

use std::ops::Deref;

use crate::sync::{share, shares};

/// The number of shares of which each thread finds its own.
pub(crate) const SHARES: usize = shares(32);

/// A value on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct Alone<T>(pub(crate) T);

impl<T> Deref for Alone<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Returns `count` values, each on a cache line of its own.
pub(crate) fn apart<T>(count: usize, each: impl Fn() -> T) -> Box<[Alone<T>]> {
    (0..count).map(|_| Alone(each())).collect()
}

/// Returns this thread's share. `all` must not be empty.
pub(crate) fn mine<T>(all: &[Alone<T>]) -> &T {
    &all[share() % all.len()]
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "there, all threads share one")]
    fn threads_have_shares_of_their_own() {
        use std::collections::HashSet;
        let all = apart(SHARES, || 0u8);
        let mine = || std::thread::spawn(share).join().unwrap() % SHARES;
        let theirs: HashSet<_> = (0..SHARES).map(|_| mine()).collect();
        assert!(theirs.len() > 1);
        let found = std::thread::scope(|scope| {
            let found = || std::ptr::from_ref(super::mine(&all)).addr();
            let threads: Vec<_> = (0..SHARES).map(|_| scope.spawn(found)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<HashSet<_>>()
        });
        assert!(found.len() > 1, "all threads write to one share");
        assert!(all.windows(2).all(|two| two.as_ptr_range().end.addr() - two.as_ptr().addr() == 128));
    }
}
