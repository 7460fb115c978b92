//! Standard output, and the form of numbers.
//!
//! - [`wrap`]: the width of the output, and text that fits into it;
//! - [`table`]: tables that do;
//! - [`progress`]: how far a long job is, on standard error.

pub(crate) mod progress;
pub(crate) mod table;
pub(crate) mod wrap;

use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal as _, Write as _};

use anyhow::Context as _;
use pathwalk_bench::rounds::Quartiles;
use serde_json::{Value, json};

pub(crate) use progress::{bytes_progress, progress};
pub(crate) use table::{Table, table};

/// Writes text to standard output, with lines broken that are wider than it. A reader that has
/// closed its end is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    print_unbroken(&wrap::fitted(text, wrap::width()))
}

/// Writes text for a program to standard output, as it is.
pub(crate) fn print_unbroken(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("writing to standard output"),
    }
}

/// Writes JSON and a newline.
pub(crate) fn print_json(value: &Value) -> anyhow::Result<()> {
    print_unbroken(&format!("{value:#}\n"))
}

/// Writes an error to standard error. On a terminal its lines are broken to fit.
pub(crate) fn complain(error: &anyhow::Error) {
    let mut stderr = std::io::stderr().lock();
    let text = format!("pathwalk: {}\n", chain(error));
    let text = if stderr.is_terminal() { wrap::fitted(&text, wrap::width_of(&stderr)) } else { text };
    // Without a reader of the error, the exit code has to do.
    let _ = stderr.write_all(text.as_bytes());
}

/// Returns an error with its causes, without those that the text before already contains.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    error.chain().skip(1).fold(error.to_string(), |mut text, cause| {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            let _ = write!(text, ": {cause}");
        }
        text
    })
}

/// Returns a number with three digits, or with more if its integer part has more.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude >= 1000.0 => grouped(value.round() as i64),
        magnitude if magnitude >= 100.0 => format!("{value:.0}"),
        magnitude if magnitude >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Returns a number with a comma every three digits.
pub(crate) fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::from(if value < 0 { "-" } else { "" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the lower and the upper quartile.
pub(crate) fn spread(quartiles: Quartiles) -> String {
    format!("{} .. {}", number(quartiles.lower), number(quartiles.upper))
}

/// Returns the lower and the upper quartile, for JSON.
pub(crate) fn spread_json(quartiles: Quartiles) -> Value {
    json!([rounded(quartiles.lower), rounded(quartiles.upper)])
}

/// Returns a number rounded to four decimals, which is more than any clock gives.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [(1.234, "1.23"), (56.78, "56.8"), (-812.3, "-812"), (1080.4, "1,080"), (21_876_543.0, "21,876,543")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn causes_are_told_once() {
        let error = anyhow::anyhow!("no such file").context("opening it: no such file; name another").context("starting");
        assert_eq!(chain(&error), "starting: opening it: no such file; name another");
    }
}
