//! `study whole-paths`: policies of the memo of whole paths, on recorded walks.

use clap::Args as ClapArgs;
use pathwalk_output::{exits, grouped, print, print_json, progress, rounded, table};
use pathwalk_study::whole_paths::{Outcome, POLICIES, Policy, SHIPPED, SIZES, Study};
use serde_json::{Value, json};

use crate::CODES;
use crate::files::Files;

const EXAMPLES: &str = "\
A simulation. The memo answers a whole path at once. A policy chooses the walks
that it records, and the entry that makes room for a new one.

Examples:
  study whole-paths
      all policies on the built-in walks
  study whole-paths build.strace --cwd .
      a recording

What the figures say:
  25 %  hits in percent of the lookups, with room for 25 % of the paths
  all   means over all FILEs: hits, and instructions of a lookup";

/// Compare policies of the memo of whole paths: the walks that it records, and the entry that makes
/// room
#[derive(ClapArgs, Debug)]
#[command(after_help = exits::short(CODES), after_long_help = exits::long(EXAMPLES, CODES))]
pub(crate) struct WholePathsArgs {
    #[command(flatten)]
    files: Files,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// Runs all policies, and prints the results.
pub(crate) fn run(args: &WholePathsArgs) -> anyhow::Result<()> {
    let all = args.files.read_all()?;
    let bar = progress(all.len() as u64 * Study::runs(), "whole paths", "runs");
    let studies: Vec<_> = all.iter().map(|named| Study::run(&named.name, &named.walks, &mut || bar.inc(1))).collect();
    bar.finish();
    if args.json {
        return print_json(&Value::Array(studies.iter().map(study_json).collect()));
    }
    for study in &studies {
        print(&study_text(study))?;
    }
    if studies.len() > 1 {
        print(&mean_text(&studies))?;
    }
    Ok(())
}

/// Returns the name of a policy as tables show it.
fn shown(policy: &Policy) -> String {
    if *policy == SHIPPED { format!("{} (the engine's)", policy.name) } else { policy.name.to_owned() }
}

fn sizes() -> impl Iterator<Item = String> {
    SIZES.iter().map(|size| format!("{size} %"))
}

/// Returns a table of a recording's hits.
fn study_text(study: &Study) -> String {
    let header: Vec<String> = [study.name.clone()].into_iter().chain(sizes()).collect();
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
    for (policy, outcomes) in POLICIES.iter().zip(&study.rows) {
        table.add_row([shown(policy)].into_iter().chain(outcomes.iter().map(|outcome| format!("{:.2}", outcome.percent()))));
    }
    let lookups = study.rows.first().map_or(0, |row| row[0].lookups);
    let (lookups, paths) = (grouped(lookups as i64), grouped(study.distinct as i64));
    format!("{}: hits in percent of {lookups} lookups of {paths} paths, by room for so many of them\n{table}\n", study.name)
}

/// Returns a table of the means over all recordings: hits, and instructions a lookup.
fn mean_text(studies: &[Study]) -> String {
    let header: Vec<String> = ["all".into()].into_iter().chain(sizes()).collect();
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
    for (row, policy) in POLICIES.iter().enumerate() {
        let mean = |size: usize, of: fn(Outcome) -> f64| {
            studies.iter().map(|study| of(study.rows[row][size])).sum::<f64>() / studies.len() as f64
        };
        let cell = |size| format!("{:.1} %, {:.0}", mean(size, Outcome::percent), mean(size, Outcome::instructions));
        table.add_row([shown(policy)].into_iter().chain((0..SIZES.len()).map(cell)));
    }
    format!("all: means of hits, and of instructions a lookup\n{table}\n")
}

fn study_json(study: &Study) -> Value {
    let outcome = |(size, outcome): (&u32, &Outcome)| {
        json!({
            "room_percent": size,
            "hit_percent": rounded(outcome.percent()),
            "fills": outcome.fills,
            "instructions": rounded(outcome.instructions()),
        })
    };
    let rows = POLICIES.iter().zip(&study.rows).map(|(policy, outcomes)| {
        let outcomes: Vec<_> = SIZES.iter().zip(outcomes).map(outcome).collect();
        json!({ "policy": policy.name, "outcomes": outcomes })
    });
    json!({ "name": study.name, "paths": study.distinct, "policies": rows.collect::<Vec<_>>() })
}
