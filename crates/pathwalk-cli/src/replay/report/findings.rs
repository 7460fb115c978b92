//! The table of lookups about which the two sides differed.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Report;
use crate::output::table;
use crate::replay::answer::word;
use crate::replay::figures::shown_path;
use crate::replay::question::{call_name, question_text};
use crate::replay::verdict::Finding;

impl Report<'_> {
    /// Returns the number of lookups that one side answered wrongly, repeats included.
    pub(super) fn disagreements(&self) -> u64 {
        self.interview.disagreements().map(|finding| finding.recorded.answers.total()).sum()
    }

    /// Returns the number of lookups whose right answer changed meanwhile, repeats included.
    pub(super) fn changed(&self) -> u64 {
        self.interview.changed().map(|finding| finding.recorded.answers.total()).sum()
    }

    pub(super) fn findings(&self) -> String {
        let mut text = String::new();
        let mut list = |title: &str, findings: &mut dyn Iterator<Item = &Finding<'_>>| {
            let mut findings = findings.peekable();
            if findings.peek().is_none() {
                return;
            }
            let header = ["line", "call", "path", "asked", "pathwalk", "kernel", "pathwalk, fresh"];
            let mut table = table(&header, &[1, 2, 3, 4, 5, 6]);
            for finding in findings {
                table.add_row([
                    finding.recorded.line.to_string(),
                    call_name(finding.recorded.lookup.call),
                    self.path(finding),
                    question_text(finding.recorded.lookup.question),
                    word(&finding.ours, &finding.kernel),
                    word(&finding.kernel, &finding.ours),
                    word(&finding.fresh, &finding.kernel),
                ]);
            }
            let _ = writeln!(text, "{title}\n{table}\n");
        };
        list("Disagreements:", &mut self.interview.disagreements());
        list("The tree changed meanwhile:", &mut self.interview.changed());
        match text.is_empty() {
            true if self.figures.answered == 0 => String::new(),
            true => "pathwalk and the kernel agree on every lookup.\n".into(),
            false => text,
        }
    }

    fn path(&self, finding: &Finding<'_>) -> String {
        shown_path(&self.source.recording, finding.recorded).escape_ascii().to_string()
    }

    pub(super) fn finding_json(&self, finding: &Finding<'_>) -> Value {
        json!({
            "line": finding.recorded.line,
            "times": finding.recorded.answers.total(),
            "call": call_name(finding.recorded.lookup.call),
            "path": self.path(finding),
            "mode": question_text(finding.recorded.lookup.question),
            "ours": word(&finding.ours, &finding.kernel),
            "kernel": word(&finding.kernel, &finding.ours),
            "ours_fresh": word(&finding.fresh, &finding.kernel),
        })
    }
}
