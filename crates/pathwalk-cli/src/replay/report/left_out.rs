//! The tables of what was not replayed, and why: lookups left out, calls that change something,
//! lines that could not be read.

use std::fmt::Write as _;

use super::{ROWS, Report, of, shown};
use crate::output::{grouped, table};

impl Report<'_> {
    pub(super) fn left_out(&self) -> String {
        let mut rows: Vec<_> = self.figures.left_out.iter().filter(|(_, count)| count.lookups > 0).collect();
        if rows.is_empty() {
            return String::new();
        }
        rows.sort_by_key(|(reason, count)| (std::cmp::Reverse(count.lookups), **reason));
        let mut table = table(&["left out", "lookups", "why; such as"], &[2]);
        for (reason, count) in rows {
            let lookups = of(count.lookups, self.figures.lookups());
            table.add_row([reason.name(), &lookups, reason.meaning()]);
            for path in &count.examples {
                table.add_row(["", "", &format!("  {}", shown(path))]);
            }
        }
        format!("{table}\n")
    }

    /// Returns a table of the calls that change something, and of those without a name, which are
    /// counted beside the lookups.
    pub(super) fn changes(&self) -> String {
        let tally = &self.source.recording.tally;
        let mut rows: Vec<(&str, u64)> = tally.changes.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        if rows.is_empty() && tally.no_name == 0 {
            return String::new();
        }
        rows.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        let mut table = table(&["not lookups", "calls", ""], &[2]);
        let row = |name: &str, count: u64, what: &str| [name.to_owned(), grouped(count as i64), what.to_owned()];
        for (name, count) in rows.iter().take(ROWS) {
            table.add_row(row(name, *count, "changes something"));
        }
        if let Some(rest) = rows.get(ROWS..).filter(|rest| !rest.is_empty()) {
            let calls = rest.iter().map(|(_, count)| count).sum();
            table.add_row(row(&format!("… {} more", rest.len()), calls, "change something"));
        }
        if tally.no_name > 0 {
            table.add_row(row("without a name", tally.no_name, "on a descriptor alone, as fstat is made"));
        }
        format!("{table}\n")
    }

    pub(super) fn unreadable(&self) -> String {
        let tally = &self.source.recording.tally;
        if tally.unreadable == 0 {
            return String::new();
        }
        let first = if tally.unreadable > tally.first_unreadable.len() as u64 {
            format!(", of which the first {}", tally.first_unreadable.len())
        } else {
            String::new()
        };
        let noun = if tally.unreadable == 1 { "line" } else { "lines" };
        let mut text = format!("{} {noun} could not be read and were skipped{first}:\n", grouped(tally.unreadable as i64));
        for line in &tally.first_unreadable {
            let _ = writeln!(text, "  line {}: {}: {}", line.line, line.problem, line.text);
        }
        text
    }
}
