//! The table of directories with absent names.

use super::{ROWS, Report, of, shown};
use crate::output::{grouped, table};

impl Report<'_> {
    pub(super) fn absent_directories(&self) -> String {
        let directories = &self.figures.absent_directories;
        if directories.is_empty() {
            return String::new();
        }
        let mut table = table(&["absent, sought in", "lookups", "names"], &[]);
        for directory in directories.iter().take(ROWS) {
            table.add_row([
                shown(&directory.path),
                of(directory.lookups, self.figures.absent),
                grouped(directory.distinct as i64),
            ]);
        }
        if let Some(rest) = directories.get(ROWS..).filter(|rest| !rest.is_empty()) {
            let (lookups, names) = rest.iter().fold((0, 0), |sum, each| (sum.0 + each.lookups, sum.1 + each.distinct));
            table.add_row([
                format!("… {} more directories", grouped(rest.len() as i64)),
                of(lookups, self.figures.absent),
                grouped(names as i64),
            ]);
        }
        format!("{table}\n")
    }
}
