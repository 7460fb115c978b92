//! Tables, progress and standard output.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};

use anyhow::Context as _;
use comfy_table::{CellAlignment, Table, TableComponent, presets};
use indicatif::{ProgressBar, ProgressStyle};
use pathwalk_bench::rounds::Quartiles;
use serde_json::{Value, json};

/// Writes to standard output. That whoever reads it went away is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("writing to standard output"),
    }
}

/// Writes JSON and a line's end.
pub(crate) fn print_json(value: &Value) -> anyhow::Result<()> {
    print(&format!("{value:#}\n"))
}

/// An error with its causes, leaving out those that the text before already tells.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    error.chain().skip(1).fold(error.to_string(), |mut text, cause| {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            let _ = write!(text, ": {cause}");
        }
        text
    })
}

/// A bar on standard error, if that is a terminal; `unit` is what the steps are.
pub(crate) fn progress(steps: u64, what: &str, unit: &str) -> ProgressBar {
    bar(ProgressBar::new(steps), what, &format!("{{msg}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit}"))
}

/// The same of bytes; of how many may not be known.
pub(crate) fn bytes_progress(bytes: Option<u64>, what: &str) -> ProgressBar {
    match bytes {
        Some(bytes) => bar(ProgressBar::new(bytes), what, "{msg} {wide_bar} {bytes}/{total_bytes}"),
        None => bar(ProgressBar::no_length(), what, "{msg} {bytes}"),
    }
}

fn bar(bar: ProgressBar, what: &str, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style).with_message(what.to_owned())
}

/// A table with this header, whose columns are aligned to the right but for the first and those in `text`.
pub(crate) fn table(header: &[&str], text: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header.iter().copied());
    for line in [TableComponent::HeaderLines, TableComponent::MiddleHeaderIntersections] {
        table.set_style(line, '─');
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        if i > 0 && !text.contains(&i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Three digits, or as many as it takes.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude >= 1000.0 => grouped(value.round() as i64),
        magnitude if magnitude >= 100.0 => format!("{value:.0}"),
        magnitude if magnitude >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// With a comma every three digits.
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

/// Lower and upper quartile.
pub(crate) fn spread(quartiles: Quartiles) -> String {
    format!("{} .. {}", number(quartiles.lower), number(quartiles.upper))
}

/// Lower and upper quartile, for JSON.
pub(crate) fn spread_json(quartiles: Quartiles) -> Value {
    json!([rounded(quartiles.lower), rounded(quartiles.upper)])
}

/// To four decimals, which is more than any clock gives.
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
