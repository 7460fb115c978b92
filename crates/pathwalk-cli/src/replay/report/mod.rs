//! The results of a replay, as tables and as JSON.
//!
//! Empty tables are left out. Names are escaped as in a byte string of Rust.

mod absent;
mod calls;
mod costliest;
mod findings;
mod json;
mod left_out;
mod summary;

use pathwalk_bench::machine::escaped;

use super::costly::Costly;
use super::figures::Figures;
use super::source::Source;
use super::timing::Timing;
use super::verdict::Interview;
use crate::args::ReplayArgs;
use crate::enclosure::Enclosure;
use crate::output::wrap::cut;

/// The largest number of rows of a list.
const ROWS: usize = 20;

/// The data of the report.
pub(crate) struct Report<'a> {
    pub(crate) args: &'a ReplayArgs,
    pub(crate) enclosure: Enclosure,
    pub(crate) source: &'a Source,
    pub(crate) interview: &'a Interview<'a>,
    pub(crate) figures: &'a Figures,
    /// The times, or `None` if there was nothing to time.
    pub(crate) timing: Option<&'a Timing>,
    pub(crate) costliest: &'a [Costly],
    /// The notes that a reader of the figures needs.
    pub(crate) notes: Vec<String>,
}

impl Report<'_> {
    /// Returns the whole report, as tables.
    pub(crate) fn text(&self) -> String {
        let tables = [
            self.summary(),
            self.times(),
            self.calls(),
            self.absent_directories(),
            self.costliest(),
            self.left_out(),
            self.changes(),
            self.unreadable(),
            self.findings(),
        ];
        let tables: Vec<_> = tables.into_iter().filter(|table| !table.is_empty()).collect();
        tables.join("\n")
    }

    /// Returns the seconds that all answered lookups take: in the kernel now, and with the cache.
    fn seconds(&self) -> Option<(f64, f64)> {
        let all = |ns: f64| ns * self.figures.answered as f64 / 1e9;
        self.timing.map(|timing| (all(timing.kernel.ns.median), all(timing.ours.ns.median)))
    }

    fn trace_name(&self) -> String {
        self.args.trace.as_deref().map_or_else(|| "a compiler's lookups (built in)".into(), |path| escaped(path).to_string())
    }
}

/// Returns a path for a table: a long one without its middle. JSON has it whole.
fn shown(path: &[u8]) -> String {
    const MOST: usize = 100;
    cut(&path.escape_ascii().to_string(), MOST)
}

/// Returns a share as a percentage. A share below 1 is never shown as 100 %, and a share above 0
/// never as 0 %.
fn percent(share: f64) -> String {
    match (share * 1000.0).round() / 10.0 {
        100.0 if share < 1.0 => format!("{} %", (share * 1e5).floor() / 1e3),
        0.0 if share > 0.0 => "<0.1 %".into(),
        rounded => format!("{rounded} %"),
    }
}

/// Returns a count, and its share of `all`.
fn of(count: u64, all: u64) -> String {
    let count_text = crate::output::grouped(count as i64);
    if all == 0 { count_text } else { format!("{count_text} ({})", percent(count as f64 / all as f64)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_lose_their_middle() {
        assert_eq!(shown(b"/a\xff"), "/a\\xff");
        let long = shown(&[&b"/start"[..], &[b'x'; 4000], b"/end"].concat());
        assert!(long.starts_with("/start") && long.ends_with("/end") && long.chars().count() == 100, "{long}");
    }

    #[test]
    fn almost_all_is_not_all() {
        assert_eq!([1.0, 0.5, 0.99999, 0.0001, 0.0].map(percent), ["100 %", "50 %", "99.999 %", "<0.1 %", "0 %"]);
        assert_eq!([of(3, 4), of(0, 0), of(1999, 2000)], ["3 (75 %)", "0", "1,999 (99.95 %)"]);
    }
}
