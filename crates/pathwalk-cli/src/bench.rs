//! The command `pathwalk bench`: runs benches and prints the results. Benches with arguments of
//! their own have a module each.

mod open_cached;
mod pinned;
mod resolver;
mod walktrees;
mod wide;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Subcommand;
use pathwalk_bench::field::{Gain, Report, Row};
use pathwalk_bench::machine::Backing;
use pathwalk_bench::rounds::Pace;
use pathwalk_bench::{BENCHES, Bench};
use serde_json::{Value, json};

use crate::args::BenchArgs;
use crate::instructions::{self, Counts};
use crate::output::{self, number, rounded, spread, spread_json, table};

/// The length of an entrant's turn in a round.
const TURN: Duration = Duration::from_millis(20);

/// The benches with arguments of their own.
#[derive(Subcommand, Debug)]
pub(crate) enum Own {
    OpenCached(open_cached::OpenCachedArgs),
    Pinned(pinned::PinnedArgs),
    Resolver(resolver::ResolverArgs),
    Walktrees(walktrees::WalktreesArgs),
    Wide(wide::WideArgs),
}

/// Runs the requested benches.
pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    match &args.own {
        Some(Own::OpenCached(args)) => open_cached::run(args),
        Some(Own::Pinned(args)) => pinned::run(args),
        Some(Own::Resolver(args)) => resolver::run(args),
        Some(Own::Walktrees(args)) => walktrees::run(args),
        Some(Own::Wide(args)) => wide::run(args),
        None => run_races(args),
    }
}

/// Runs the benches that are races of entrants.
fn run_races(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    let benches = chosen(&args.names)?;
    let mut reports = Vec::new();
    for bench in benches {
        let field = (bench.set_up)(Backing::Machine)?;
        let bar = output::progress(u64::from(args.rounds), bench.name, "rounds");
        let pace = Pace { rounds: args.rounds as usize, turn: TURN };
        let report = field.run(pace, &mut || bar.inc(1));
        bar.finish();
        let counts = instructions::count(&bench);
        if !args.json {
            output::print(&text(&bench, &report, &counts))?;
        }
        reports.push(json(&report, &counts));
    }
    if args.json {
        output::print_json(&Value::Array(reports))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the benches of these names, or all if there are no names.
fn chosen(names: &[String]) -> anyhow::Result<Vec<Bench>> {
    if names.is_empty() {
        return Ok(BENCHES.to_vec());
    }
    names.iter().map(|name| find(name)).collect()
}

/// Returns the bench of this name.
pub(crate) fn find(name: &str) -> anyhow::Result<Bench> {
    match BENCHES.iter().find(|bench| bench.name == name) {
        Some(bench) => Ok(*bench),
        None if Own::has_subcommand(name) => {
            bail!(
                "the bench \"{name}\" has arguments of its own and runs alone, with nothing before its name: pathwalk bench {name}"
            )
        }
        None => {
            let known: Vec<_> = BENCHES.iter().map(|bench| bench.name).collect();
            bail!(
                "no bench is called \"{}\"; there are {}, and with arguments of their own {}",
                name.escape_default(),
                known.join(", "),
                own_names().join(", ")
            )
        }
    }
}

/// Returns the names of the benches with arguments of their own.
fn own_names() -> Vec<String> {
    Own::augment_subcommands(clap::Command::new("bench")).get_subcommands().map(|own| own.get_name().to_owned()).collect()
}

fn json(report: &Report, counts: &Counts) -> Value {
    let rows: Vec<_> = report.rows.iter().map(|row| row_json(row, counts)).collect();
    let gains: Vec<_> = report.gains.iter().map(|gain| gain_json(gain, counts)).collect();
    json!({ "name": report.name, "rows": rows, "gains": gains, "notes": report.notes })
}

fn row_json(row: &Row, counts: &Counts) -> Value {
    let mut value = json!({
        "what": row.what,
        "threads": row.threads,
        "ns": rounded(row.ns.median),
        "ns_quartiles": spread_json(row.ns),
        "per_second": row.per_second.round(),
    });
    let optional = [
        ("gets_wrong", row.gets_wrong.map(Value::from)),
        ("hook_calls", row.hook_calls.map(Value::from)),
        ("instructions", counts.of(row.what).map(|count| rounded(count).into())),
    ];
    for (key, field) in optional {
        if let Some(field) = field {
            value[key] = field;
        }
    }
    value
}

fn gain_json(gain: &Gain, counts: &Counts) -> Value {
    json!({
        "what": gain.of.what,
        "with": gain.of.with,
        "without": gain.of.without,
        "percent": rounded(gain.percent.median),
        "percent_quartiles": spread_json(gain.percent),
        "instructions_saved_percent": counts.saved(gain).map(rounded),
        "linux_percent": gain.of.linux_percent,
    })
}

fn text(bench: &Bench, report: &Report, counts: &Counts) -> String {
    let mut rows = table(&[bench.name, "threads", "ns", "quartiles", "per second", "instructions", "gets wrong"], &[6]).keys(2);
    for row in &report.rows {
        let first = row.threads == 1;
        let hook = row.hook_calls.filter(|_| first).map(|calls| format!("{calls} hook calls a lookup"));
        let remark = row.gets_wrong.filter(|_| first).map(str::to_owned).or(hook).unwrap_or_default();
        let instructions = counts.of(row.what).filter(|_| first).map(number).unwrap_or_default();
        let (threads, ns, per_second) = (row.threads.to_string(), number(row.ns.median), number(row.per_second));
        rows.add_row([row.what, &threads, &ns, &spread(row.ns), &per_second, &instructions, &remark]);
    }
    let mut gains = table(&["what it gave", "per second", "quartiles", "instructions", "in Linux"], &[]);
    for gain in &report.gains {
        let linux = gain.of.linux_percent.map(percent).unwrap_or_default();
        let instructions = counts.saved(gain).map(|saved| percent(-saved)).unwrap_or_default();
        gains.add_row([gain.of.what, &percent(gain.percent.median), &spread(gain.percent), &instructions, &linux]);
    }
    let notes: String = report.notes.iter().map(|note| format!("Note: {note}.\n")).collect();
    format!("{}: {}\n{rows}\n\n{gains}\n{notes}\n", bench.name, bench.about)
}

fn percent(value: f64) -> String {
    format!("{value:+.1} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bench_that_runs_alone_is_told_from_one_that_is_not_there() {
        assert!(find("walktrees").unwrap_err().to_string().contains("runs alone"));
        assert!(find("walktree").unwrap_err().to_string().contains("there are gcc-trace"));
        for name in own_names() {
            assert!(Own::has_subcommand(&name) && find("nosuch").unwrap_err().to_string().contains(&name), "{name}");
        }
        assert_eq!(own_names().len(), 5);
        assert_eq!(find("crtends").unwrap().name, "crtends");
    }
}
