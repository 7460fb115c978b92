//! The results as tables and as JSON.

use pathwalk::HandOver;
use pathwalk_bench::rounds::Quartiles;
use pathwalk_bench::walktrees::trees::Trees;
use pathwalk_bench::walktrees::{Ask, Memory, Pass, Plan, Probe, Report, Run, Served, Subject, Which, Who};
use serde_json::{Map, Value, json};

use crate::output::{Table, grouped, number, rounded, spread, spread_json, table};

/// Returns the results as tables.
pub(super) fn text(plan: &Plan, report: &Report) -> String {
    let shape = plan.shape;
    let (threads, dirs, files) = (shape.threads(), shape.directories_each(), shape.files_each());
    let of = match &plan.subject {
        Subject::Trees { trees: from, .. } => trees(from),
        Subject::Nodes(_) => "in inode caches alone".into(),
    };
    let title = format!("walktrees: {threads} threads × {dirs} directories × {files} files, {of}");
    let notes: String = report.notes.iter().map(|note| format!("Note: {note}.\n")).collect();
    format!("{title}\n{}\n{}{}{notes}", passes(plan, report), memory(plan, report), ratios(report))
}

fn trees(trees: &Trees) -> String {
    match trees {
        Trees::Synth => "synth".into(),
        Trees::Host(dir) => format!("host:{}", dir.as_os_str().as_encoded_bytes().escape_ascii()),
    }
}

/// Returns a name that tells all contestants of a plan apart.
pub(super) fn named(who: Who) -> String {
    match who {
        Who::Kernel | Who::Pathwalk | Who::Peer(_) => who.name().to_owned(),
        Who::Inodes(probe) => format!("{}, {}", who.name(), probe.name()),
    }
}

/// Returns the contestant's name, and the round if there are several.
fn name(plan: &Plan, run: &Run) -> String {
    let who = named(run.who);
    if plan.rounds > 1 { format!("{who}, round {}", run.round + 1) } else { who }
}

fn passes(plan: &Plan, report: &Report) -> Table {
    let header = [
        "",
        "pass",
        "seconds",
        "files a second",
        "user",
        "system",
        "lock-free",
        "handed over",
        "asked",
        "unasked",
        "waited",
        "evicted",
    ];
    let mut rows = table(&header, &[1]).keys(2);
    for run in &report.runs {
        for which in Which::BOTH {
            let pass = run.pass(which);
            let name = if which == Which::First { name(plan, run) } else { String::new() };
            let rate = number(pass.files_per_second());
            let times = [seconds(pass.seconds), rate, seconds(pass.used.user), seconds(pass.used.system)];
            let served = pass.served.map(|served| counts(&served).map(|count| grouped(count as i64))).unwrap_or_default();
            rows.add_row([&[name, which.name().to_owned()][..], &times, &served].concat());
        }
    }
    rows
}

/// Returns the seconds as text, to a millisecond where that matters.
fn seconds(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.3}") } else { number(seconds) }
}

fn counts(served: &Served) -> [u64; 6] {
    let handed_over = served.hand_overs.iter().sum();
    [served.lock_free, handed_over, served.fs_lookups, served.siblings, served.waits, served.evictions]
}

/// Returns a table of the memory measurements, or nothing if memory was not measured.
fn memory(plan: &Plan, report: &Report) -> String {
    let header = ["", "budget, MiB", "room for", "names", "inodes", "grown by, MiB", "peak, MiB", "bytes a file", "held"];
    let mut rows = table(&header, &[8]);
    let mib = |bytes: u64| number(bytes as f64 / f64::from(1 << 20));
    for run in &report.runs {
        let Some(of) = &run.memory else { continue };
        let [room, names, inodes] = [of.capacity, of.names, of.inodes].map(|count| grouped(count as i64));
        let held = if of.budget_held() { "yes".into() } else { not_held(of) };
        let [now, peak] = of.growth.map(|growth| [growth.now, growth.peak].map(mib)).unwrap_or_default();
        let a_file = of.bytes_per_cached_file().map(|bytes| format!("{bytes:.1}")).unwrap_or_default();
        rows.add_row([name(plan, run), mib(of.budget), room, names, inodes, now, peak, a_file, held]);
    }
    if rows.is_empty() { String::new() } else { format!("\n{rows}\n") }
}

fn not_held(of: &Memory) -> String {
    format!("no: too many slots in {}, too many bytes in {} of {} samples", of.over_slots, of.over_bytes, of.looks)
}

/// Returns the ratio of the engine's files a second to the kernel's, by pass.
fn over_kernel(report: &Report) -> Option<[Quartiles; 2]> {
    let of = |which| report.ratio(Who::Pathwalk, Who::Kernel, which);
    Some([of(Which::First)?, of(Which::Repeated)?])
}

fn ratios(report: &Report) -> String {
    let Some(ratios) = over_kernel(report) else { return String::new() };
    let [first, repeated] = ratios.map(|ratio| format!("{} ({})", number(ratio.median), spread(ratio)));
    format!("\nfiles a second, pathwalk over stat(2): first {first}, repeated {repeated}\n")
}

/// Returns the results as JSON. Sizes are in bytes, times in seconds. Rounds count from 1. A value
/// that was not measured is null.
pub(super) fn json(plan: &Plan, report: &Report) -> Value {
    let ratio = |[first, repeated]: [Quartiles; 2]| {
        json!({
            "probe": Who::Pathwalk.probe().map(Probe::name),
            "first": rounded(first.median),
            "first_quartiles": spread_json(first),
            "repeated": rounded(repeated.median),
            "repeated_quartiles": spread_json(repeated),
        })
    };
    let (fs, one_by_one) = match &plan.subject {
        Subject::Trees { trees: from, ask } => (Some(trees(from)), Some(*ask == Ask::OneByOne)),
        Subject::Nodes(_) => (None, None),
    };
    json!({
        "name": "walktrees",
        "threads": plan.shape.threads(),
        "dirs": plan.shape.directories_each(),
        "files": plan.shape.files_each(),
        "fs": fs,
        "one_by_one": one_by_one,
        "rounds": plan.rounds,
        "runs": report.runs.iter().map(run_json).collect::<Vec<_>>(),
        "ratios": over_kernel(report).map(ratio).into_iter().collect::<Vec<_>>(),
        "notes": report.notes,
    })
}

fn run_json(run: &Run) -> Value {
    let mut value = json!({
        "who": run.who.name(),
        "round": run.round + 1,
        "first": pass_json(&run.first),
        "repeated": pass_json(&run.repeated),
    });
    if let Some(probe) = run.who.probe() {
        value["probe"] = probe.name().into();
    }
    if let (Some(memory), Some(fields)) = (&run.memory, value.as_object_mut()) {
        fields.extend(memory_fields(memory));
    }
    value
}

fn pass_json(pass: &Pass) -> Value {
    let mut value = json!({
        "seconds": rounded(pass.seconds),
        "files": pass.files,
        "files_per_second": pass.files_per_second().round(),
        "user_seconds": rounded(pass.used.user),
        "system_seconds": rounded(pass.used.system),
        "sleeps": pass.used.sleeps,
    });
    if let Some(served) = &pass.served {
        let reasons =
            HandOver::ALL.iter().map(|reason| (reason.name().replace(' ', "_"), served.hand_overs[*reason as usize].into()));
        value["hits"] = json!({
            "lock_free": served.lock_free,
            "hand_overs": reasons.collect::<Map<_, _>>(),
            "fs_lookups": served.fs_lookups,
            "fs_siblings": served.siblings,
            "waits": served.waits,
        });
        value["evictions"] = served.evictions.into();
    }
    value
}

fn memory_fields(memory: &Memory) -> Map<String, Value> {
    let fields = [
        ("budget", memory.budget.into()),
        ("room", memory.capacity.into()),
        ("entries_cached", memory.names.into()),
        ("inodes_cached", memory.inodes.into()),
        ("peak_entries", memory.peak_names.into()),
        ("resident_bytes", memory.growth.map(|growth| growth.now).into()),
        ("peak_resident_bytes", memory.growth.map(|growth| growth.peak).into()),
        ("file_system_bytes", memory.file_system.into()),
        ("bytes_per_cached_file", memory.bytes_per_cached_file().map(rounded).into()),
        ("samples", memory.looks.into()),
        ("samples_over_slots", memory.over_slots.into()),
        ("samples_over_bytes", memory.over_bytes.into()),
        ("budget_held", memory.budget_held().into()),
    ];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use pathwalk_bench::walktrees::{Room, Shape, run, trees::make};

    use super::*;

    fn walked(trees: Trees, rounds: u32) -> (Plan, Report) {
        let shape = Shape::new(2, 3, 40).unwrap();
        let subject = Subject::Trees { trees, ask: Ask::default() };
        let plan = Plan { shape, room: Room::Entries(500), subject, rounds };
        let report = run(&plan, &mut |_, _, _| ()).unwrap();
        (plan, report)
    }

    #[test]
    fn json_has_what_is_reported() {
        let (plan, report) = walked(Trees::Synth, 1);
        let value = json(&plan, &report);
        assert_eq!((&value["threads"], &value["dirs"], &value["files"]), (&2.into(), &3.into(), &40.into()));
        assert_eq!((&value["fs"], &value["ratios"], &value["notes"]), (&"synth".into(), &json!([]), &json!([])));
        let run = &value["runs"][0];
        assert_eq!((&run["who"], &run["probe"], &run["round"]), (&"pathwalk".into(), &"lockfree".into(), &1.into()));
        for pass in ["first", "repeated"] {
            for key in ["seconds", "files_per_second", "user_seconds", "system_seconds"] {
                assert!(run[pass][key].is_f64(), "{pass} {key}: {run:#}");
            }
            assert_eq!((&run[pass]["files"], &run[pass]["evictions"]), (&240.into(), &0.into()));
        }
        assert_eq!(run["first"]["hits"]["hand_overs"]["miss"], 240);
        assert_eq!(run["first"]["hits"]["hand_overs"]["link_body"], 0);
        assert_eq!((&run["first"]["hits"]["fs_lookups"], &run["repeated"]["hits"]["lock_free"]), (&248.into(), &240.into()));
        assert_eq!(
            (&run["entries_cached"], &run["inodes_cached"], &run["peak_entries"]),
            (&249.into(), &249.into(), &249.into())
        );
        for key in ["budget", "room", "resident_bytes", "peak_resident_bytes", "file_system_bytes", "samples"] {
            assert!(run[key].is_u64(), "{key}: {run:#}");
        }
        assert!(run["bytes_per_cached_file"].is_f64() && run["budget_held"].is_boolean());
    }

    #[test]
    fn the_kernel_stands_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        make(dir.path(), Shape::new(2, 3, 40).unwrap(), &mut |_| ()).unwrap();
        let (plan, report) = walked(Trees::Host(dir.path().to_owned()), 2);
        let value = json(&plan, &report);
        assert_eq!(value["fs"], format!("host:{}", dir.path().display()));
        assert_eq!((&value["runs"][0]["who"], &value["runs"][0]["probe"]), (&"stat(2)".into(), &Value::Null));
        assert_eq!(value["runs"][0]["first"]["hits"], Value::Null);
        let ratio = &value["ratios"][0];
        assert!(ratio["first"].is_f64() && ratio["repeated_quartiles"][1].is_f64(), "{ratio:#}");
        let text = text(&plan, &report);
        for word in ["stat(2), round 1", "pathwalk, round 2", "repeated", "pathwalk over stat(2): first", "bytes a file"] {
            assert!(text.contains(word), "{word}:\n{text}");
        }
    }

    #[test]
    fn a_budget_that_did_not_hold_is_told() {
        let (plan, mut report) = walked(Trees::Synth, 1);
        report.notes.push("something".into());
        let memory = report.runs[0].memory.as_mut().unwrap();
        (memory.over_slots, memory.over_bytes, memory.looks) = (2, 0, 7);
        let text = text(&plan, &report);
        assert!(
            text.contains("no: too many slots in 2, too many bytes in 0 of 7 samples") && text.ends_with("Note: something.\n"),
            "{text}"
        );
        assert_eq!(json(&plan, &report)["runs"][0]["budget_held"], false);
    }
}
