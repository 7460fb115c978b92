//! What came out of a replay, as tables and as JSON.
//!
//! A table that would be empty is left away. Names are escaped as in a byte string of Rust.

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

/// How many rows a list has at most.
const ROWS: usize = 20;

/// Everything there is to tell.
pub(crate) struct Report<'a> {
    pub(crate) args: &'a ReplayArgs,
    pub(crate) enclosure: Enclosure,
    pub(crate) source: &'a Source,
    pub(crate) interview: &'a Interview<'a>,
    pub(crate) figures: &'a Figures,
    /// `None` if there was nothing to time.
    pub(crate) timing: Option<&'a Timing>,
    pub(crate) costliest: &'a [Costly],
    /// What one should know when reading the figures.
    pub(crate) notes: Vec<String>,
}

impl Report<'_> {
    /// Everything, as tables.
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

    /// Seconds that all answered lookups take: in the kernel now, and with the cache.
    fn seconds(&self) -> Option<(f64, f64)> {
        let all = |ns: f64| ns * self.figures.answered as f64 / 1e9;
        self.timing.map(|timing| (all(timing.kernel.ns.median), all(timing.ours.ns.median)))
    }

    fn trace_name(&self) -> String {
        self.args.trace.as_deref().map_or_else(|| "a compiler's lookups (built in)".into(), |path| escaped(path).to_string())
    }
}

/// A path for a table: a long one without its middle.
fn shown(path: &[u8]) -> String {
    const MOST: usize = 100;
    const END: usize = 70;
    let text = path.escape_ascii().to_string();
    if text.len() <= MOST { text } else { format!("{}…{}", &text[..MOST - END - 1], &text[text.len() - END..]) }
}

/// A share as per cent; what is not all is not told as all, and what is something not as nothing.
fn percent(share: f64) -> String {
    match (share * 1000.0).round() / 10.0 {
        100.0 if share < 1.0 => format!("{} %", (share * 1e5).floor() / 1e3),
        0.0 if share > 0.0 => "<0.1 %".into(),
        rounded => format!("{rounded} %"),
    }
}

/// A count, and which share of `all` it is.
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
