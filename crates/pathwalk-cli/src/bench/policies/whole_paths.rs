//! `pathwalk bench policies --whole-paths`: policies of the memo of whole paths.

use pathwalk_bench::policies::trace::Walks;
use pathwalk_bench::policies::whole_paths::{Outcome, POLICIES, Policy, SHIPPED, SIZES, Study};
use serde_json::{Value, json};

use crate::output::{self, grouped, rounded, table};

/// Runs all policies on these walks, and prints what came of it.
pub(super) fn run(all: &[(&str, &Walks)], is_json: bool) -> anyhow::Result<()> {
    let bar = output::progress(all.len() as u64 * Study::runs(), "whole paths", "runs");
    let studies: Vec<_> = all.iter().map(|(name, walks)| Study::run(name, walks, &mut || bar.inc(1))).collect();
    bar.finish();
    if is_json {
        return output::print_json(&Value::Array(studies.iter().map(study_json).collect()));
    }
    for study in &studies {
        output::print(&study_text(study))?;
    }
    if studies.len() > 1 {
        output::print(&mean_text(&studies))?;
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
