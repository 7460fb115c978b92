//! The command `pathwalk bench wide`: the arguments, the run, the tables and the JSON.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args as ClapArgs, value_parser};
use pathwalk_bench::machine::file_system_at;
use pathwalk_bench::wide::tree::{Kind, MOST_FILES};
use pathwalk_bench::wide::{Plan, Report, Row, run as measure};
use serde_json::{Value, json};

use crate::exits;
use crate::output::{self, grouped, number, rounded, spread_json, table};

/// The largest number of rounds that may be requested.
const MOST_ROUNDS: i64 = 10_000;
/// The longest turn that may be requested, in milliseconds.
const MOST_TURN: i64 = 60_000;

const EXAMPLES: &str = "\
What does a lookup cost where the caches are larger than the processor's?
Trees of six components, and as many absent names as files, are cached whole;
then paths are asked for at random, one at a time and 32 at once, beside
caches of whole paths with the same room in bytes, and beside access(2).

Examples:
  pathwalk bench wide                        10,000, 100,000 and a million files
  pathwalk bench wide --paths 10000000       some 17 GB of memory, beside the
                                             kernel's: a few minutes
  pathwalk bench wide --on /dev/shm,/var/tmp real files for access(2) there
  pathwalk bench wide --json | jq '.[].rows[] | [.who, .kind, .ns]'

What the figures say:
  ns        of a lookup, median of the rounds
  times     as many lookups a second as access of one path at a time, median
            of the ratios of each round
  bytes     resident memory for a path, files and absent names together
  holds     percent of the paths that find room in as many bytes as pathwalk
            takes; what is not held is not found, which is quick";

/// Lookups at random among more names than a processor's caches hold
#[derive(ClapArgs, Debug)]
#[command(after_help = exits::short(exits::BENCH), after_long_help = exits::long(EXAMPLES, exits::BENCH))]
pub(crate) struct WideArgs {
    /// Number of files of a tree; there are as many absent names
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "10000,100000,1000000", value_parser = value_parser!(u64).range(1..=MOST_FILES))]
    paths: Vec<u64>,
    /// Directories in which files are made for access(2), and removed [default: a tmpfs and an
    /// ext4, if they are at the usual places]
    #[arg(long, value_name = "DIR,…", value_delimiter = ',')]
    on: Vec<PathBuf>,
    /// Number of alternating rounds that are timed
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = value_parser!(u32).range(1..=MOST_ROUNDS))]
    rounds: u32,
    /// Length of an entrant's turn in a round, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = value_parser!(u32).range(1..=MOST_TURN))]
    turn: u32,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

impl WideArgs {
    /// Returns the plan of the measurement, and notes about the file systems that were not found.
    fn plan(&self) -> (Plan, Vec<String>) {
        let (dirs, missing) = if self.on.is_empty() { usual_places() } else { (self.on.clone(), Vec::new()) };
        let turn = Duration::from_millis(self.turn.into());
        (Plan { files: self.paths.clone(), dirs, rounds: self.rounds, turn }, missing)
    }
}

/// Returns a directory on a tmpfs and one on an ext4, and a note for each of them that was not
/// found.
fn usual_places() -> (Vec<PathBuf>, Vec<String>) {
    let (mut dirs, mut missing) = (Vec::new(), Vec::new());
    let wanted = [("tmpfs", ["/dev/shm", "/run", "/tmp"]), ("ext4", ["/var/tmp", "/tmp", "/home"])];
    for (kind, places) in wanted {
        let is_it = |place: &&&str| file_system_at(Path::new(place)).is_some_and(|found| found == kind);
        match places.iter().find(is_it) {
            Some(place) => dirs.push(PathBuf::from(place)),
            None => missing.push(format!(
                "access(2) on {kind} is left out: neither of {} is on one; name a directory with --on",
                places.join(", ")
            )),
        }
    }
    (dirs, missing)
}

/// Runs the bench and prints the results.
pub(super) fn run(args: &WideArgs) -> anyhow::Result<ExitCode> {
    let (plan, missing) = args.plan();
    let bar = output::progress(1, "wide", "");
    let reports = measure(&plan, &mut |what, part, whole| {
        bar.set_message(what.to_owned());
        bar.set_length(whole);
        bar.set_position(part);
    });
    bar.finish();
    let mut reports = reports?;
    reports.iter_mut().for_each(|report| report.notes.extend(missing.iter().cloned()));
    if args.json {
        output::print_json(&Value::Array(reports.iter().map(json).collect()))?;
    } else {
        reports.iter().try_for_each(|report| output::print(&text(report)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(report: &Report) -> String {
    let files = grouped(report.tree.files() as i64);
    let mut lookups = String::new();
    for kind in Kind::ALL {
        let mut rows = table(&[&format!("ns a lookup, {}", kind.name()), "median", "quartiles", "times"], &[]);
        for row in report.rows.iter().filter(|row| row.kind == kind) {
            let quartiles = format!("{} .. {}", number(row.ns.lower), number(row.ns.upper));
            rows.add_row([row.who.clone(), number(row.ns.median), quartiles, number(row.times.median)]);
        }
        lookups += &format!("{rows}\n\n");
    }
    let mut held = table(&["", "bytes a path", "holds, %"], &[]);
    for one in &report.held {
        held.add_row([one.who.to_owned(), number(one.bytes), number(one.percent)]);
    }
    let notes: String = report.notes.iter().map(|note| format!("Note: {note}.\n")).collect();
    format!("wide: {files} files and {files} absent names, asked for at random\n{lookups}{held}\n{notes}\n")
}

fn json(report: &Report) -> Value {
    let row = |row: &Row| {
        json!({
            "who": row.who,
            "kind": row.kind.name(),
            "ns": rounded(row.ns.median),
            "ns_quartiles": spread_json(row.ns),
            "times": rounded(row.times.median),
            "times_quartiles": spread_json(row.times),
        })
    };
    let held = report.held.iter();
    let held = held.map(|held| json!({ "who": held.who, "bytes": rounded(held.bytes), "percent": rounded(held.percent) }));
    json!({
        "name": "wide",
        "files": report.tree.files(),
        "rows": report.rows.iter().map(row).collect::<Vec<_>>(),
        "held": held.collect::<Vec<_>>(),
        "notes": report.notes,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, BenchArgs, Command};
    use crate::bench::Own;

    fn parsed(args: &[&str]) -> Result<WideArgs, String> {
        let line = ["pathwalk", "bench", "wide"].iter().chain(args);
        match Args::try_parse_from(line).map_err(|error| error.to_string())?.command {
            Command::Bench(BenchArgs { own: Some(Own::Wide(args)), .. }) => Ok(args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_asked_for_is_planned() {
        let (plan, _) = parsed(&[]).unwrap().plan();
        assert_eq!((plan.files, plan.rounds, plan.turn), (vec![10_000, 100_000, 1_000_000], 11, Duration::from_millis(100)));
        let args = parsed(&["--paths", "5,10000000", "--on", "/a,/b", "--rounds", "3", "--turn", "7"]).unwrap();
        let dirs = vec!["/a".into(), "/b".into()];
        let plan = Plan { files: vec![5, 10_000_000], dirs, rounds: 3, turn: Duration::from_millis(7) };
        assert_eq!(args.plan(), (plan, Vec::new()));
    }

    #[test]
    fn bad_arguments_are_refused() {
        for args in [["--paths", "0"], ["--paths", "100000001"], ["--paths", "all"], ["--rounds", "0"], ["--turn", "0"]] {
            let error = parsed(&args).expect_err("bad arguments");
            assert!(error.contains(args[1]), "{args:?}: {error}");
        }
        let nowhere = parsed(&["--paths", "10", "--on", "/nowhere/at/all"]).unwrap();
        let error = format!("{:#}", run(&nowhere).unwrap_err());
        assert!(error.contains("/nowhere/at/all"), "{error}");
    }

    #[test]
    fn what_came_out_is_told_in_80_columns() {
        let temp = tempfile::tempdir().unwrap();
        let (dirs, turn) = (vec![temp.path().to_owned()], Duration::from_millis(1));
        let plan = Plan { files: vec![2000], dirs, rounds: 2, turn };
        let mut reports = measure(&plan, &mut |_, _, _| ()).unwrap();
        reports[0].notes.push("nothing".into());
        let text = text(&reports[0]);
        for word in
            ["2,000 files", "access, 32 at once", "papaya", "quick_cache", "moka", "access(2), ", "Note: nothing.", "holds"]
        {
            assert!(text.contains(word), "{word}:\n{text}");
        }
        let longest = text.lines().filter(|line| !line.starts_with("Note")).map(|line| line.chars().count()).max();
        assert!(longest <= Some(80), "{longest:?}:\n{text}");
        let json = json(&reports[0]);
        assert_eq!((&json["files"], json["rows"].as_array().unwrap().len()), (&2000.into(), 16));
        assert!(json["rows"].as_array().unwrap().iter().all(|row| row["ns"].as_f64() > Some(0.0)), "{json:#}");
        assert_eq!(json["held"][0]["percent"], 100.0);
    }
}
