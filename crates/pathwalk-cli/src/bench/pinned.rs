//! The command `pathwalk bench pinned`: the arguments, the run, the table and the JSON.

use std::process::ExitCode;

use clap::{Args as ClapArgs, value_parser};
use pathwalk_bench::pinned::{BASE, Cost, Plan, Row, Unlinked, run as measure, unlink_all};
use serde_json::{Value, json};

use crate::exits;
use crate::output::{self, grouped, number, rounded, spread, spread_json, table};

/// The smallest number of slots that may be requested. Even if 99 % of them are pinned, a change
/// still finds some.
const LEAST_SLOTS: i64 = 1000;
/// The largest number of slots that may be requested.
const MOST_SLOTS: i64 = 10_000_000;
/// The largest number of rounds that may be requested.
const MOST_ROUNDS: i64 = 100_000;

const EXAMPLES: &str = "\
What does a change of a name cost where most slots of the caches are pinned,
since handles are open on them? Each change that needs a slot has to find one
among the others. The shares take turns; each has caches of its own over a file
system in memory.

Examples:
  pathwalk bench pinned
      eight shares of 1,000 to 1,000,000 slots; takes some 3 GB of memory
  pathwalk bench pinned --slots 10000 --pinned 50,99
      two shares of one size
  pathwalk bench pinned --unlink-all 25000,100000
      open so many files with 5,000 slots more, and take all names away
  pathwalk bench pinned --json | jq '.rows[] | [.slots, .pinned, .mknod.ns]'

What the figures say:
  pinned %  how many of the slots are held
  mknod     making a file
  unlink    taking away the name of a file that is open; an absence, which needs
            a slot, takes its place
  ns        of one change, median of the rounds
  of 50 %   the same in relation to half of the slots pinned, round by round
  looks     slots that were looked at for one change, in the mean";

/// Changes of names where a share of the slots is pinned
#[derive(ClapArgs, Debug)]
#[command(after_help = exits::short(exits::BENCH), after_long_help = exits::long(EXAMPLES, exits::BENCH))]
pub(crate) struct PinnedArgs {
    /// Number of slots of the caches
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1000,10000,100000,1000000", value_parser = value_parser!(u32).range(LEAST_SLOTS..=MOST_SLOTS))]
    slots: Vec<u32>,
    /// Percent of the slots that are pinned
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', default_value = "0,25,50,75,80,90,95,99", value_parser = value_parser!(u32).range(0..=99))]
    pinned: Vec<u32>,
    /// Remove the names of this many open files instead, with 5,000 slots more
    #[arg(long, value_name = "FILES,…", value_delimiter = ',', conflicts_with_all = ["slots", "pinned", "rounds"], value_parser = value_parser!(u32).range(1..=MOST_SLOTS))]
    unlink_all: Vec<u32>,
    /// Number of alternating rounds that are timed
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = value_parser!(u32).range(1..=MOST_ROUNDS))]
    rounds: u32,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// Runs the bench and prints the results.
pub(super) fn run(args: &PinnedArgs) -> anyhow::Result<ExitCode> {
    if !args.unlink_all.is_empty() {
        return run_unlink_all(&args.unlink_all, args.json);
    }
    let plan = Plan { slots: args.slots.clone(), pinned: args.pinned.clone(), rounds: args.rounds };
    let bar = output::progress(plan.steps(), "pinned", "turns");
    let rows = measure(&plan, &mut || bar.inc(1));
    bar.finish();
    let rows = rows?;
    if args.json {
        let rows: Vec<_> = rows.iter().map(row_json).collect();
        output::print_json(&json!({ "name": "pinned", "rounds": plan.rounds, "rows": rows }))?;
    } else {
        output::print(&text(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn run_unlink_all(files: &[u32], json: bool) -> anyhow::Result<ExitCode> {
    let all = files.iter().map(|files| unlink_all(*files)).collect::<Result<Vec<_>, _>>()?;
    if json {
        output::print_json(&Value::Array(all.iter().map(unlinked_json).collect()))?;
    } else {
        output::print(&unlinked_text(&all))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn unlinked_text(all: &[Unlinked]) -> String {
    let mut rows = table(&["open files", "slots", "all, ms", "each, ns"], &[]);
    for unlinked in all {
        let cells = [grouped(unlinked.files.into()), grouped(unlinked.slots.into())];
        rows.add_row(cells.into_iter().chain([number(unlinked.time.as_secs_f64() * 1e3), number(each(unlinked))]));
    }
    format!("pinned: taking away the names of all open files\n{rows}\n")
}

fn unlinked_json(unlinked: &Unlinked) -> Value {
    let seconds = rounded(unlinked.time.as_secs_f64());
    json!({ "files": unlinked.files, "slots": unlinked.slots, "seconds": seconds, "ns": rounded(each(unlinked)) })
}

/// Returns the nanoseconds for one file.
fn each(unlinked: &Unlinked) -> f64 {
    unlinked.time.as_secs_f64() * 1e9 / f64::from(unlinked.files)
}

fn text(rows: &[Row]) -> String {
    let of_base = format!("of {BASE} %");
    let header = ["slots", "pinned %", "mknod, ns", "quartiles", &of_base, "looks", "unlink, ns", "quartiles", &of_base, "looks"];
    let mut all = table(&header, &[]).keys(2);
    for row in rows {
        let mut cells = vec![grouped(row.slots.into()), row.pinned.to_string()];
        for cost in [row.mknod, row.unlink] {
            let of_base = cost.of_base.map(|times| number(times.median)).unwrap_or_default();
            cells.extend([number(cost.ns.median), spread(cost.ns), of_base, number(cost.looks)]);
        }
        all.add_row(cells);
    }
    format!("pinned: making files, and taking away the names of open ones, where a share of the slots is pinned\n{all}\n")
}

fn row_json(row: &Row) -> Value {
    json!({ "slots": row.slots, "pinned": row.pinned, "mknod": cost_json(row.mknod), "unlink": cost_json(row.unlink) })
}

fn cost_json(cost: Cost) -> Value {
    json!({
        "ns": rounded(cost.ns.median),
        "ns_quartiles": spread_json(cost.ns),
        "of_base": cost.of_base.map(|times| rounded(times.median)),
        "looks": rounded(cost.looks),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, BenchArgs, Command};
    use crate::bench::Own;

    fn parsed(args: &[&str]) -> Result<PinnedArgs, String> {
        let line = ["pathwalk", "bench", "pinned"].iter().chain(args);
        match Args::try_parse_from(line).map_err(|error| error.to_string())?.command {
            Command::Bench(BenchArgs { own: Some(Own::Pinned(args)), .. }) => Ok(args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_asked_for_is_taken_over() {
        let args = parsed(&[]).unwrap();
        assert_eq!((args.slots.len(), args.pinned.len(), args.rounds), (4, 8, 21));
        let args = parsed(&["--slots", "1000", "--pinned", "0,99", "--rounds", "3"]).unwrap();
        assert_eq!((args.slots, args.pinned, args.rounds), (vec![1000], vec![0, 99], 3));
    }

    #[test]
    fn bad_arguments_are_refused() {
        for args in [["--slots", "999"], ["--slots", "many"], ["--pinned", "100"], ["--rounds", "0"]] {
            let error = parsed(&args).expect_err("bad arguments");
            assert!(error.contains(args[1]), "{args:?}: {error}");
        }
    }

    #[test]
    fn all_names_taken_away_are_told() {
        assert!(parsed(&["--unlink-all", "10", "--slots", "1000"]).is_err());
        let unlinked = unlink_all(parsed(&["--unlink-all", "10"]).unwrap().unlink_all[0]).unwrap();
        assert!(unlinked_text(&[unlinked]).contains("5,010"));
        assert_eq!(unlinked_json(&unlinked)["files"], 10);
    }

    #[test]
    fn a_row_has_all_its_figures() {
        let rows = measure(&Plan { slots: vec![1000], pinned: vec![50, 99], rounds: 1 }, &mut || ()).unwrap();
        let text = text(&rows);
        assert!(text.contains("1,000") && text.contains("of 50 %"), "{text}");
        let json = row_json(&rows[1]);
        assert!(json["mknod"]["of_base"].as_f64().unwrap() > 0.0 && json["pinned"] == 99, "{json}");
    }
}
