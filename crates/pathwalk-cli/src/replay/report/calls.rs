//! The table of lookups by call.

use super::{Report, of};
use crate::output::{grouped, table};
use crate::replay::question::call_name;

impl Report<'_> {
    pub(super) fn calls(&self) -> String {
        let mut rows: Vec<_> = self.figures.calls.iter().collect();
        if rows.is_empty() {
            return String::new();
        }
        rows.sort_by_key(|(call, count)| (std::cmp::Reverse(count.lookups), **call));
        let mut table = table(&["by call", "lookups", "absent", "distinct", "repeats"], &[]);
        for (call, count) in rows {
            table.add_row([
                call_name(*call),
                of(count.lookups, self.figures.answered),
                of(count.absent, count.lookups),
                grouped(count.distinct as i64),
                of(count.repeats(), count.lookups),
            ]);
        }
        format!("{table}\n")
    }
}
