//! What many threads write, kept apart: each on a cache line of its own, and where it pays, several of it, so that each thread has its own.
//!
//! Two processors that write to one line wait for each other, also where they write to different words of it. A lock of one byte, sixty-four to
//! a line, is then as slow as one lock for all.
//!
//! What it does not do: threads share what is *theirs* where there are more threads than [`SHARES`]. So it is for speed only, and whatever lies in it
//! is made of atomics.

use std::ops::Deref;

use crate::sync::{share, shares};

/// Of how many things each thread finds its own.
pub(crate) const SHARES: usize = shares(32);

/// Away from others.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct Alone<T>(pub(crate) T);

impl<T> Deref for Alone<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// `count` of them, each away from the others.
pub(crate) fn apart<T>(count: usize, each: impl Fn() -> T) -> Box<[Alone<T>]> {
    (0..count).map(|_| Alone(each())).collect()
}

/// The one that is this thread's. There is at least one.
pub(crate) fn mine<T>(all: &[Alone<T>]) -> &T {
    &all[share() % all.len()]
}
