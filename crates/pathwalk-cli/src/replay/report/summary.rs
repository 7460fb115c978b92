//! The summary, and the speed of both sides.

use pathwalk_bench::machine::escaped;
use pathwalk_recording::Call;

use super::{Report, of, percent};
use crate::enclosure::Enclosure;
use crate::output::{grouped, number, spread, table};
use crate::replay::timing::{Side, Timing};

impl Report<'_> {
    pub(super) fn summary(&self) -> String {
        let figures = self.figures;
        let mut table = table(&["replay", ""], &[1]);
        let mut row = |what: &str, figure: &str| {
            table.add_row([what, figure]);
        };
        let enclosure = match self.enclosure {
            Enclosure::None => String::new(),
            other => format!(" ({})", other.name()),
        };
        row(self.source.kind.name(), &self.trace_name());
        if let Some(read) = self.read() {
            row("read", &read);
        }
        row("root", &format!("{}{enclosure}", escaped(&self.args.root)));
        let lookups = figures.lookups();
        row("lookups", &grouped(lookups as i64));
        if figures.outside() > 0 {
            row("outside the tree of files", &of(figures.outside(), lookups));
        }
        row("answered of the others", &format!("{} ({})", grouped(figures.answered as i64), percent(figures.answered_share())));
        row("absent", &of(figures.absent, figures.answered));
        row("repeats", &of(figures.repeats(), figures.answered));
        row("distinct paths", &grouped(figures.distinct_paths as i64));
        row("disagreements", &self.disagreements().to_string());
        row("changed meanwhile", &self.interview.changed().count().to_string());
        if figures.answers_changed > 0 {
            row("answered otherwise when recorded", &of(figures.answers_changed, figures.answered));
        }
        if let Some((kernel, ours)) = self.seconds() {
            row("time in the kernel now", &seconds(kernel));
            row("time with the cache", &seconds(ours));
        }
        if let Some(timing) = self.timing {
            self.timing_rows(timing, &mut row);
        }
        let notes: String = self.notes.iter().map(|note| format!("note: {note}\n")).collect();
        format!("{table}\n{notes}")
    }

    fn timing_rows(&self, timing: &Timing, row: &mut dyn FnMut(&str, &str)) {
        let threads = self.args.threads;
        row("ratio", &format!("{} ({})", number(timing.ratio.median), spread(timing.ratio)));
        if threads > 1 {
            let (scaling, ceiling) = (timing.ours.scaling.median, timing.ceiling.median);
            row(&format!("gain of {threads} threads"), &format!("{scaling:.3} (ceiling {ceiling:.3})"));
        }
        row("gain by whole paths", &format!("{} ({})", number(timing.gain.median), spread(timing.gain)));
        row("answered from whole paths", &percent(timing.remembered));
        row("fast share", &timing.fast_share().to_string());
        row("hand-overs", &hand_overs(timing));
    }

    /// Returns the size of the input, if it is a recording.
    fn read(&self) -> Option<String> {
        let tally = &self.source.recording.tally;
        let counted =
            |count: u64, one: &str, more: &str| format!("{} {}", grouped(count as i64), if count == 1 { one } else { more });
        (tally.lines > 0)
            .then(|| format!("{}, {}", counted(tally.lines, "line", "lines"), counted(tally.processes, "process", "processes")))
    }

    pub(super) fn times(&self) -> String {
        let Some(timing) = self.timing else { return "No lookup was answered, so nothing was timed.\n".into() };
        let threads = self.args.threads;
        let unit = if threads == 1 { "1 thread" } else { &format!("{threads} threads") };
        let mut table = table(&[unit, "ns a lookup", "quartiles", "lookups/s"], &[]);
        let mut row = |name: &str, side: &Side| {
            table.add_row([name, &number(side.ns.median), &spread(side.ns), &number(side.per_second.median)]);
        };
        row("pathwalk", &timing.ours);
        row("the same, each path walked", &timing.walking);
        row(self.kernel_name(), &timing.kernel);
        format!("{table}\n")
    }

    /// Returns the name of the kernel's calls.
    fn kernel_name(&self) -> &'static str {
        let is_access = self.figures.calls.keys().all(|call| *call == Call::Access);
        if is_access { "access(2)" } else { "the kernel" }
    }
}

fn hand_overs(timing: &Timing) -> String {
    let some: Vec<_> = timing.hand_overs.iter().filter(|(_, count)| *count > 0).collect();
    let told: Vec<_> = some.iter().map(|(reason, count)| format!("{} {count}", reason.name())).collect();
    if told.is_empty() { "none".into() } else { told.join(", ") }
}

/// Returns a time in the unit that suits it.
fn seconds(time: f64) -> String {
    match time {
        time if time >= 1.0 => format!("{} s", number(time)),
        time if time >= 1e-3 => format!("{} ms", number(time * 1e3)),
        time => format!("{} µs", number(time * 1e6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_suits_them() {
        assert_eq!([seconds(12.345), seconds(0.0123), seconds(4.5e-5)], ["12.3 s", "12.3 ms", "45.0 µs"]);
    }
}
