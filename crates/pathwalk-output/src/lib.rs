//! The output of the project's programs.
//!
//! - [`program`]: the command line of a program, its errors and its end;
//! - [`exits`]: the exit code of what could not be done, and the ends of helps;
//! - [`wrap`]: the width of the output, and text that fits into it;
//! - [`Table`]: tables that do;
//! - [`Progress`]: how far a long job is, on standard error.
//!
//! What always holds: lines are broken only in a program that [`program::run`] runs. So unit tests
//! find whole sentences.
//!
//! What it does not do: know what the programs are for.

#![forbid(unsafe_code)]

pub mod exits;
mod numbers;
pub mod program;
mod progress;
mod table;
pub mod wrap;

use std::io::{ErrorKind, Write as _};

use anyhow::Context as _;
use serde_json::Value;

pub use numbers::{grouped, number, rounded};
pub use progress::{Progress, bytes_progress, progress};
pub use table::{Table, table};

/// Writes text to standard output, with lines broken that are wider than it. A reader that has
/// closed its end is not an error.
///
/// # Errors
///
/// Returns an error if standard output cannot be written to.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_unbroken(&wrap::fitted(text, wrap::width()))
}

/// Writes text for a program to standard output, as it is.
///
/// # Errors
///
/// Returns an error if standard output cannot be written to.
pub fn print_unbroken(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("writing to standard output"),
    }
}

/// Writes JSON and a newline.
///
/// # Errors
///
/// Returns an error if standard output cannot be written to.
pub fn print_json(value: &Value) -> anyhow::Result<()> {
    print_unbroken(&format!("{value:#}\n"))
}
