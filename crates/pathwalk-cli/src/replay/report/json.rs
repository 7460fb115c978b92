//! The report as JSON: one object, whose keys are stable.

use pathwalk_bench::machine::escaped;
use serde_json::{Map, Value, json};

use super::{ROWS, Report};
use crate::output::{rounded, spread_json};
use crate::replay::question::call_name;
use crate::replay::timing::Timing;

impl Report<'_> {
    /// Returns the whole report. A value that was not timed is null.
    pub(crate) fn json(&self) -> Value {
        let groups = [self.about_the_run(), self.about_the_lookups(), self.about_the_rest(), self.about_the_time()];
        Value::Object(groups.into_iter().flatten().collect())
    }

    fn about_the_run(&self) -> Map<String, Value> {
        let tally = &self.source.recording.tally;
        object(json!({
            "trace": self.trace_name(),
            "kind": self.source.kind.name(),
            "root": escaped(&self.args.root).to_string(),
            "enclosure": self.enclosure.name(),
            "threads": self.args.threads,
            "rounds": self.args.rounds,
            "lines": tally.lines,
            "processes": tally.processes,
            "cut_short": tally.cut_short,
            "notes": self.notes,
        }))
    }

    fn about_the_lookups(&self) -> Map<String, Value> {
        let figures = self.figures;
        let calls = figures.calls.iter().map(|(call, count)| {
            let count = json!({
                "lookups": count.lookups,
                "absent": count.absent,
                "distinct": count.distinct,
                "repeats": count.repeats(),
            });
            (call_name(*call), count)
        });
        let directories = figures.absent_directories.iter().take(ROWS).map(|directory| {
            json!({
                "path": directory.path.escape_ascii().to_string(),
                "lookups": directory.lookups,
                "names": directory.distinct,
            })
        });
        let costliest = self.costliest.iter().map(|name| {
            json!({
                "path": name.path.escape_ascii().to_string(),
                "lookups": name.lookups,
                "answer": name.answer,
                "kernel_ns": rounded(name.kernel_ns / name.lookups as f64),
                "ours_ns": rounded(name.ours_ns / name.lookups as f64),
                "kernel_us": rounded(name.kernel_ns / 1e3),
                "ours_us": rounded(name.ours_ns / 1e3),
            })
        });
        object(json!({
            "lookups": figures.lookups(),
            "answered": figures.answered,
            "outside": figures.outside(),
            "answered_share": figures.answered_share(),
            "distinct": figures.distinct_paths,
            "distinct_lookups": figures.distinct_lookups,
            "repeats": figures.repeats(),
            "absent": figures.absent,
            "calls": calls.collect::<Map<_, _>>(),
            "absent_directories": directories.collect::<Vec<_>>(),
            "absent_directories_in_all": figures.absent_directories.len(),
            "costliest": costliest.collect::<Vec<_>>(),
            "answers_changed": figures.answers_changed,
            "disagreements": self.disagreements(),
            "changed": self.changed(),
            "disagreement_list": self.interview.disagreements().map(|found| self.finding_json(found)).collect::<Vec<_>>(),
            "changed_list": self.interview.changed().map(|found| self.finding_json(found)).collect::<Vec<_>>(),
        }))
    }

    fn about_the_rest(&self) -> Map<String, Value> {
        let tally = &self.source.recording.tally;
        let left_out = self.figures.left_out.iter().map(|(reason, count)| {
            let examples: Vec<_> = count.examples.iter().map(|path| path.escape_ascii().to_string()).collect();
            (key(reason.name()), json!({ "lookups": count.lookups, "examples": examples }))
        });
        let unreadable =
            tally.first_unreadable.iter().map(|line| json!({ "line": line.line, "problem": line.problem, "text": line.text }));
        object(json!({
            "left_out": left_out.collect::<Map<_, _>>(),
            "changes": tally.changes,
            "other_calls": tally.other_calls,
            "no_name": tally.no_name,
            "unreadable": tally.unreadable,
            "first_unreadable": unreadable.collect::<Vec<_>>(),
        }))
    }

    fn about_the_time(&self) -> Map<String, Value> {
        let figure = |of: &dyn Fn(&Timing) -> Value| self.timing.map_or(Value::Null, of);
        let seconds = self.seconds();
        let hand_overs = |timing: &Timing| {
            let counts = timing.hand_overs.iter().map(|(reason, count)| (key(reason.name()), json!(count)));
            Value::Object(counts.collect())
        };
        object(json!({
            "kernel_seconds": seconds.map(|(kernel, _)| kernel),
            "ours_seconds": seconds.map(|(_, ours)| ours),
            "ours_ns": figure(&|timing| json!(rounded(timing.ours.ns.median))),
            "ours_ns_quartiles": figure(&|timing| spread_json(timing.ours.ns)),
            "walking_ns": figure(&|timing| json!(rounded(timing.walking.ns.median))),
            "walking_ns_quartiles": figure(&|timing| spread_json(timing.walking.ns)),
            "gain_by_whole_paths": figure(&|timing| json!(rounded(timing.gain.median))),
            "gain_by_whole_paths_quartiles": figure(&|timing| spread_json(timing.gain)),
            "answered_from_whole_paths": figure(&|timing| json!(timing.remembered)),
            "kernel_ns": figure(&|timing| json!(rounded(timing.kernel.ns.median))),
            "kernel_ns_quartiles": figure(&|timing| spread_json(timing.kernel.ns)),
            "ours_per_second": figure(&|timing| json!(timing.ours.per_second.median.round())),
            "kernel_per_second": figure(&|timing| json!(timing.kernel.per_second.median.round())),
            "ours_per_second_alone": figure(&|timing| json!(timing.ours.per_second_alone.median.round())),
            "kernel_per_second_alone": figure(&|timing| json!(timing.kernel.per_second_alone.median.round())),
            "ratio": figure(&|timing| json!(rounded(timing.ratio.median))),
            "ratio_quartiles": figure(&|timing| spread_json(timing.ratio)),
            "scaling": figure(&|timing| json!(rounded(timing.ours.scaling.median))),
            "kernel_scaling": figure(&|timing| json!(rounded(timing.kernel.scaling.median))),
            "ceiling": figure(&|timing| json!(rounded(timing.ceiling.median))),
            "ceiling_quartiles": figure(&|timing| spread_json(timing.ceiling)),
            "fast_share": figure(&|timing| json!(timing.fast_share())),
            "timed_lookups": figure(&|timing| json!(timing.lookups)),
            "hand_overs": figure(&hand_overs),
        }))
    }
}

fn key(name: &str) -> String {
    name.replace(' ', "_")
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
