//! Progress on standard error: a bar on a terminal, a line every few seconds elsewhere, nothing
//! with `--quiet`.
//!
//! What always holds: a short job writes no line. What it does not do: run a thread. A line is
//! written at a step, so that a step of a minute has no line within it.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use crate::numbers::grouped;
use crate::program::signed;

/// The shortest time between two lines, and before the first.
const INTERVAL: Duration = Duration::from_secs(2);

/// The permission to report progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reports {
    /// Reports of progress.
    Shown,
    /// No reports of progress.
    Quiet,
}

static REPORTS: OnceLock<Reports> = OnceLock::new();

/// Sets whether progress is reported. Only the first call has an effect.
pub(crate) fn set_reports(reports: Reports) {
    let _ = REPORTS.set(reports);
}

/// The progress of a job.
pub struct Progress(Face);

enum Face {
    Bar(ProgressBar),
    Lines(Mutex<Lines>),
    Nothing,
}

/// Returns the progress of a job of so many steps. `unit` is the name of the steps.
pub fn progress(steps: u64, what: &str, unit: &'static str) -> Progress {
    let template = format!("{{msg}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit}");
    Progress::new(ProgressBar::new(steps), what, &template, Lines::new(what, Some(steps), Unit::Steps(unit)))
}

/// Returns the progress of a job over bytes, whose total number may be unknown.
pub fn bytes_progress(bytes: Option<u64>, what: &str) -> Progress {
    let (bar, template) = match bytes {
        Some(bytes) => (ProgressBar::new(bytes), "{msg} {wide_bar} {bytes}/{total_bytes}"),
        None => (ProgressBar::no_length(), "{msg} {bytes}"),
    };
    Progress::new(bar, what, template, Lines::new(what, bytes, Unit::Bytes))
}

impl Progress {
    fn new(bar: ProgressBar, what: &str, template: &str, lines: Lines) -> Progress {
        if REPORTS.get() == Some(&Reports::Quiet) {
            return Progress::hidden();
        }
        if !std::io::stderr().is_terminal() {
            return Progress(Face::Lines(Mutex::new(lines)));
        }
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        Progress(Face::Bar(bar.with_style(style).with_message(what.to_owned())))
    }

    /// Returns a progress that is not reported.
    pub fn hidden() -> Progress {
        Progress(Face::Nothing)
    }

    /// Counts steps that are done.
    pub fn inc(&self, steps: u64) {
        self.change(|bar| bar.inc(steps), |lines| lines.done += steps);
    }

    /// Sets the number of steps that are done.
    pub fn set_position(&self, steps: u64) {
        self.change(|bar| bar.set_position(steps), |lines| lines.done = steps);
    }

    /// Sets the number of steps of the whole job.
    pub fn set_length(&self, steps: u64) {
        self.change(|bar| bar.set_length(steps), |lines| lines.all = Some(steps));
    }

    /// Sets the name of the job.
    pub fn set_message(&self, what: String) {
        self.change(|bar| bar.set_message(what.clone()), |lines| lines.what = what.clone());
    }

    /// Ends the reports, and removes the bar.
    pub fn finish(self) {
        if let Face::Bar(bar) = self.0 {
            bar.finish_and_clear();
        }
    }

    fn change(&self, of_bar: impl FnOnce(&ProgressBar), of_lines: impl FnOnce(&mut Lines)) {
        match &self.0 {
            Face::Bar(bar) => of_bar(bar),
            Face::Lines(lines) => {
                let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                of_lines(&mut lines);
                if let Some(line) = lines.due(Instant::now()) {
                    // Without a reader of the progress, the job goes on.
                    let _ = writeln!(std::io::stderr().lock(), "{}", signed(&line));
                }
            }
            Face::Nothing => {}
        }
    }
}

/// The unit of the steps.
#[derive(Clone, Copy, Debug)]
enum Unit {
    Steps(&'static str),
    Bytes,
}

/// The state of a job, as lines tell it.
#[derive(Debug)]
struct Lines {
    what: String,
    done: u64,
    all: Option<u64>,
    unit: Unit,
    /// The time of the last line, or of the start.
    last: Instant,
}

impl Lines {
    fn new(what: &str, all: Option<u64>, unit: Unit) -> Lines {
        Lines { what: what.to_owned(), done: 0, all, unit, last: Instant::now() }
    }

    /// Returns the line that is due at this time, if one is.
    fn due(&mut self, now: Instant) -> Option<String> {
        if now.saturating_duration_since(self.last) < INTERVAL {
            return None;
        }
        self.last = now;
        Some(self.line())
    }

    fn line(&self) -> String {
        let (of, unit) = match self.unit {
            Unit::Steps(unit) => ((|count: u64| grouped(count as i64)) as fn(u64) -> String, unit),
            Unit::Bytes => ((|bytes: u64| HumanBytes(bytes).to_string()) as fn(u64) -> String, ""),
        };
        let all = self.all.map(|all| format!(" of {}", of(all))).unwrap_or_default();
        format!("{}: {}{all} {unit}", self.what, of(self.done)).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_due_every_few_seconds() {
        let mut lines = Lines::new("timing all", Some(21), Unit::Steps("rounds"));
        let start = lines.last;
        lines.done = 12;
        assert_eq!(lines.due(start), None);
        assert_eq!(lines.due(start + INTERVAL / 2), None, "a short job writes nothing");
        assert_eq!(lines.due(start + INTERVAL).as_deref(), Some("timing all: 12 of 21 rounds"));
        assert_eq!(lines.due(start + INTERVAL * 3 / 2), None);
        assert!(lines.due(start + INTERVAL * 2).is_some());
    }

    #[test]
    fn lines_have_units() {
        let line = |done, all, unit| {
            let mut lines = Lines::new("it", all, unit);
            lines.done = done;
            lines.line()
        };
        assert_eq!(line(1 << 20, Some(3 << 20), Unit::Bytes), "it: 1.00 MiB of 3.00 MiB");
        assert_eq!(line(1 << 20, None, Unit::Bytes), "it: 1.00 MiB");
        assert_eq!(line(1234, Some(5_000_000), Unit::Steps("walks")), "it: 1,234 of 5,000,000 walks");
        assert_eq!(line(0, Some(1), Unit::Steps("")), "it: 0 of 1");
    }
}
