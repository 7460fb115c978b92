//! The command `pathwalk bench resolver`: the arguments, the run, the table and the JSON.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args as ClapArgs, value_parser};
use pathwalk_bench::resolver::{Beside, Plan, Report, run as measure};
use pathwalk_bench::rounds::Pace;
use serde_json::{Value, json};

use crate::exits;
use crate::output::{self, grouped, number, rounded, spread, spread_json, table};

/// The largest number of files, and of rounds, that may be requested.
const MOST: i64 = 10_000_000;

const EXAMPLES: &str = "\
What does a module resolver gain from pathwalk? The questions are those that the
modules below DIR ask themselves: each specifier of a require or import, in the
directory of its file. They are asked of the resolver of pathwalk-examples, and
of oxc_resolver, which has caches that are cleared as a whole.

Examples:
  pathwalk bench resolver node_modules
      the specifiers of 20,000 files
  pathwalk bench resolver node_modules --files 1000 --rounds 5
      fewer files, and less time
  pathwalk bench resolver node_modules --json | jq .warm.times

What the figures say:
  first run  with a resolver and caches that were just made
  warm       all questions again
  ns         of one question, median of the rounds
  times      how much longer oxc_resolver takes, round by round
  anew       answers that were found anew after a report that one file changed;
             all others were checked against the names that changed";

/// A module resolver on pathwalk beside another one
#[derive(ClapArgs, Debug)]
#[command(after_help = exits::short(exits::BENCH), after_long_help = exits::long(EXAMPLES, exits::BENCH))]
pub(crate) struct ResolverArgs {
    /// Directory with modules, such as a node_modules
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Number of files whose specifiers are taken
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = value_parser!(u32).range(1..=MOST))]
    files: u32,
    /// Number of first runs of each resolver
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..=MOST))]
    first_runs: u32,
    /// Number of alternating rounds that are timed
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = value_parser!(u32).range(1..=MOST))]
    rounds: u32,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// Runs the bench and prints the results.
pub(super) fn run(args: &ResolverArgs) -> anyhow::Result<ExitCode> {
    let plan = Plan {
        directory: args.directory.clone(),
        files: args.files as usize,
        first_runs: args.first_runs as usize,
        pace: Pace { rounds: args.rounds as usize, turn: Duration::from_millis(100) },
    };
    let bar = output::progress(u64::from(args.first_runs + args.rounds), "resolver", "turns");
    let report = measure(&plan, &mut || bar.inc(1));
    bar.finish();
    let report = report.with_context(|| format!("resolve the modules below {}", args.directory.display()))?;
    if args.json {
        output::print_json(&report_json(&report))?;
    } else {
        output::print(&text(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(report: &Report) -> String {
    let mut rows = table(&["", "pathwalk, ns", "oxc, ns", "times", "quartiles"], &[]).keys(1);
    for (name, figures) in [("first run", report.first), ("warm", report.warm)] {
        let medians = [figures.ours, figures.peer, figures.times].map(|of| number(of.median));
        rows.add_row([name.to_owned()].into_iter().chain(medians).chain([spread(figures.times)]));
    }
    let count = |count: usize| grouped(count as i64);
    let asked = format!(
        "{} questions of {} files; {} resolved by both, {} answered differently",
        count(report.questions),
        count(report.files),
        count(report.resolved),
        count(report.differ)
    );
    let after = report.after_change;
    let anew = format!(
        "after a report that one file changed: {} anew, {} checked",
        grouped(after.found as i64),
        grouped(after.checked as i64)
    );
    format!("resolver: {asked}\n{rows}\n{anew}\n")
}

fn report_json(report: &Report) -> Value {
    json!({
        "name": "resolver",
        "files": report.files,
        "questions": report.questions,
        "resolved": report.resolved,
        "differ": report.differ,
        "first": beside_json(report.first),
        "warm": beside_json(report.warm),
        "after_change": { "anew": report.after_change.found, "checked": report.after_change.checked },
    })
}

fn beside_json(of: Beside) -> Value {
    json!({
        "ns": rounded(of.ours.median),
        "ns_quartiles": spread_json(of.ours),
        "oxc_ns": rounded(of.peer.median),
        "oxc_ns_quartiles": spread_json(of.peer),
        "times": rounded(of.times.median),
        "times_quartiles": spread_json(of.times),
    })
}
