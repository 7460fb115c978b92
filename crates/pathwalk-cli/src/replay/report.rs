//! What came out of a replay, as a table and as JSON.

use std::fmt::Write as _;

use pathwalk_bench::machine::escaped;
use pathwalk_bench::trace::{Trace, mode_text};
use serde_json::{Map, Value, json};

use super::timing::{Side, Timing};
use super::verdict::{Finding, Interview, word};
use crate::args::ReplayArgs;
use crate::enclosure::Enclosure;
use crate::output::{number, rounded, spread, spread_json, table};

/// Everything there is to tell.
pub(crate) struct Report<'a> {
    pub(crate) args: &'a ReplayArgs,
    pub(crate) enclosure: Enclosure,
    pub(crate) trace: &'a Trace,
    pub(crate) interview: &'a Interview<'a>,
    pub(crate) timing: &'a Timing,
}

impl Report<'_> {
    /// Everything, with names escaped as in a byte string of Rust.
    pub(crate) fn json(&self) -> Value {
        let (ours, kernel) = (&self.timing.ours, &self.timing.kernel);
        let hand_overs: Map<String, Value> =
            self.timing.hand_overs.iter().map(|(reason, count)| (reason.name().replace(' ', "_"), json!(count))).collect();
        json!({
            "trace": self.trace_name(),
            "root": escaped(&self.args.root).to_string(),
            "enclosure": self.enclosure.name(),
            "threads": self.args.threads,
            "rounds": self.args.rounds,
            "lookups": self.trace.questions().len(),
            "distinct": self.trace.distinct(),
            "absent": self.interview.absent(),
            "disagreements": self.interview.disagreements().count(),
            "changed": self.interview.changed().count(),
            "disagreement_list": self.interview.disagreements().map(finding_json).collect::<Vec<_>>(),
            "changed_list": self.interview.changed().map(finding_json).collect::<Vec<_>>(),
            "ours_ns": rounded(ours.ns.median),
            "ours_ns_quartiles": spread_json(ours.ns),
            "kernel_ns": rounded(kernel.ns.median),
            "kernel_ns_quartiles": spread_json(kernel.ns),
            "ours_per_second": ours.per_second.median.round(),
            "kernel_per_second": kernel.per_second.median.round(),
            "ours_per_second_alone": ours.per_second_alone.median.round(),
            "kernel_per_second_alone": kernel.per_second_alone.median.round(),
            "ratio": rounded(self.timing.ratio.median),
            "ratio_quartiles": spread_json(self.timing.ratio),
            "scaling": rounded(ours.scaling.median),
            "kernel_scaling": rounded(kernel.scaling.median),
            "ceiling": rounded(self.timing.ceiling.median),
            "ceiling_quartiles": spread_json(self.timing.ceiling),
            "fast_share": self.timing.fast_share(),
            "timed_lookups": self.timing.lookups,
            "hand_overs": hand_overs,
        })
    }

    /// Everything, as tables.
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}\n{}", self.summary(), self.times(), self.findings())
    }

    fn summary(&self) -> String {
        let threads = self.args.threads;
        let mut table = table(&["replay", ""], &[1]);
        let enclosure = match self.enclosure {
            Enclosure::None => String::new(),
            other => format!(" ({})", other.name()),
        };
        table.add_row(["trace", &self.trace_name()]);
        table.add_row(["root", &format!("{}{enclosure}", escaped(&self.args.root))]);
        table.add_row(["lookups", &self.trace.questions().len().to_string()]);
        table.add_row(["absent", &self.interview.absent().to_string()]);
        table.add_row(["distinct paths", &self.trace.distinct().to_string()]);
        table.add_row(["disagreements", &self.interview.disagreements().count().to_string()]);
        table.add_row(["changed meanwhile", &self.interview.changed().count().to_string()]);
        table.add_row(["ratio", &format!("{} ({})", number(self.timing.ratio.median), spread(self.timing.ratio))]);
        if threads > 1 {
            let (scaling, ceiling) = (self.timing.ours.scaling.median, self.timing.ceiling.median);
            table.add_row([&format!("gain of {threads} threads"), &format!("{scaling:.3} (ceiling {ceiling:.3})")]);
        }
        table.add_row(["fast share", &self.timing.fast_share().to_string()]);
        table.add_row(["hand-overs", &self.hand_overs()]);
        format!("{table}\n")
    }

    fn hand_overs(&self) -> String {
        let some: Vec<_> = self.timing.hand_overs.iter().filter(|(_, count)| *count > 0).collect();
        let told: Vec<_> = some.iter().map(|(reason, count)| format!("{} {count}", reason.name())).collect();
        if told.is_empty() { "none".into() } else { told.join(", ") }
    }

    fn times(&self) -> String {
        let threads = self.args.threads;
        let unit = if threads == 1 { "1 thread" } else { &format!("{threads} threads") };
        let mut table = table(&[unit, "ns a lookup", "quartiles", "lookups/s"], &[]);
        let mut row = |name: &str, side: &Side| {
            table.add_row([name, &number(side.ns.median), &spread(side.ns), &number(side.per_second.median)]);
        };
        row("pathwalk", &self.timing.ours);
        row("access(2)", &self.timing.kernel);
        format!("{table}\n")
    }

    fn findings(&self) -> String {
        let mut text = String::new();
        let mut list = |title: &str, findings: &mut dyn Iterator<Item = &Finding<'_>>| {
            let mut findings = findings.peekable();
            if findings.peek().is_none() {
                return;
            }
            let mut table = table(&["line", "path", "mode", "pathwalk", "kernel", "pathwalk, fresh"], &[1, 2, 3, 4, 5]);
            for finding in findings {
                table.add_row([
                    finding.question.line.to_string(),
                    finding.question.path.escape_ascii().to_string(),
                    mode_text(finding.question.want),
                    word(finding.ours),
                    word(finding.kernel),
                    word(finding.fresh),
                ]);
            }
            let _ = writeln!(text, "{title}\n{table}\n");
        };
        list("Disagreements:", &mut self.interview.disagreements());
        list("The tree changed meanwhile:", &mut self.interview.changed());
        if text.is_empty() { "pathwalk and the kernel agree on every lookup.\n".into() } else { text }
    }

    fn trace_name(&self) -> String {
        self.args.trace.as_deref().map_or_else(|| "a compiler's lookups (built in)".into(), |path| escaped(path).to_string())
    }
}

fn finding_json(finding: &Finding<'_>) -> Value {
    json!({
        "line": finding.question.line,
        "path": finding.question.path.escape_ascii().to_string(),
        "mode": mode_text(finding.question.want),
        "ours": word(finding.ours),
        "kernel": word(finding.kernel),
        "ours_fresh": word(finding.fresh),
    })
}
