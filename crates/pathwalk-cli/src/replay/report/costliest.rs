//! The table of the names that cost the kernel most.

use super::{Report, shown};
use crate::output::{grouped, number, table};

impl Report<'_> {
    pub(super) fn costliest(&self) -> String {
        if self.costliest.is_empty() {
            return String::new();
        }
        let mut table = table(&["costliest names", "lookups", "now", "ns each", "µs in the kernel", "µs with the cache"], &[2]);
        for name in self.costliest {
            table.add_row([
                shown(&name.path),
                grouped(name.lookups as i64),
                name.answer.clone(),
                number(name.kernel_ns / name.lookups as f64),
                number(name.kernel_ns / 1e3),
                number(name.ours_ns / 1e3),
            ]);
        }
        format!("{table}\n")
    }
}
