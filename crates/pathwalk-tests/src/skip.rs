//! Saying what a test leaves out, and why.
//!
//! The same for what a test counts, in lines `told: what`.
//!
//! Every skip of every crate is one line `skipped: what: why` on standard error, so that a search finds them all.

use std::io::{self, Write};

/// What each such line begins with.
pub const SKIPPED: &str = "skipped: ";

/// What each line begins with that tells what a test counts.
pub const TOLD: &str = "told: ";

/// Says what is left out, and why; past the test harness, which swallows what `eprintln!` writes in tests that pass.
pub fn skipped(what: &str, why: &str) {
    // In one write, so that lines of several processes stay whole. Where nobody listens there is nobody to tell.
    let _ = io::stderr().write_all(format!("{SKIPPED}{what}: {why}\n").as_bytes());
}

/// Tells what a test counts, from a child to the test that started it.
pub fn told(what: &str) {
    eprintln!("{TOLD}{what}");
}
