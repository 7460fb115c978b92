//! Reports of what a test leaves out, with the reason, and of what a test counts.
//!
//! Every skip of every crate is one line `skipped: what: why` on standard error, so that a search
//! finds them all. A count is a line `told: what`.

use std::io::{self, Write};

/// The prefix of each line that reports a skip.
pub const SKIPPED: &str = "skipped: ";

/// The prefix of each line that reports a count of a test.
pub const TOLD: &str = "told: ";

/// Reports what is left out, and why. Bypasses the test harness, which captures the output of
/// `eprintln!` in tests that pass.
pub fn skipped(what: &str, why: &str) {
    // One write keeps the lines of several processes whole. An error is ignored, since there is no
    // other place to report to.
    let _ = io::stderr().write_all(format!("{SKIPPED}{what}: {why}\n").as_bytes());
}

/// Reports a count of a test, from a child to the test that started it.
pub fn told(what: &str) {
    eprintln!("{TOLD}{what}");
}
