//! The command `pathwalk stats`: what a mount has done, and what it holds.
//!
//! - [`report`]: the statistics, as the program of the mount sends them;
//! - [`prometheus`]: the format of Prometheus.

mod prometheus;
pub(crate) mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Args as ClapArgs;

use crate::control::{self, Connection};
use crate::mount::place;
use crate::output::{self, grouped, number, table};
use report::Report;

/// The text below the options of `pathwalk stats`.
pub(crate) const STATS_EXAMPLES: &str = "\
Examples:
  pathwalk stats /mnt
      all since it was mounted
  pathwalk stats /mnt --watch
      what was asked in each second, until it is interrupted (Ctrl-C)
  pathwalk stats /mnt --prometheus > /var/lib/node_exporter/pathwalk.prom
      for the textfile collector of Prometheus
  pathwalk stats /mnt --json | jq '.memory.used / .memory.budget'

What the figures say:
  count, errors     requests of the kernel, by kind, and those that were answered
                    with an error
  mean, half, 99 %  microseconds from the read of a request to its answer: the
                    mean, and the ends of the ranges in which half of them, and
                    99 of 100, ended; the ranges double
  hits              lookups for which no file system was asked
  hand-overs        walks that left the fast walk, by reason
  used              memory of the caches, of the budget; what file systems hold
                    is beside it
  the kernel holds  nodes that stay since the kernel has not forgotten them

Statistics are for the user that mounted, and for root.";

/// The time from one report to the next.
const SECOND: Duration = Duration::from_secs(1);

/// The time after which an interruption is noticed, at the latest.
const PATIENCE: Duration = Duration::from_millis(50);

#[derive(ClapArgs, Debug)]
pub(crate) struct StatsArgs {
    /// Directory on which a tree is mounted
    #[arg(value_name = "MOUNTPOINT")]
    at: PathBuf,
    /// Print each second what was asked in it, until interrupted or unmounted
    #[arg(long)]
    watch: bool,
    /// Print the text format of Prometheus
    #[arg(long, conflicts_with_all = ["json", "watch"])]
    prometheus: bool,
    /// Print JSON; with --watch one object a line, with all since the beginning
    #[arg(long)]
    json: bool,
}

/// Prints the statistics of a mount.
pub(crate) fn run(args: &StatsArgs) -> anyhow::Result<ExitCode> {
    let (line, _) = place::find_own(&args.at)?;
    let mut connection = control::connect(line.device)?;
    if args.watch {
        return watch(&mut connection, args.json);
    }
    let Some(value) = connection.stats()? else { bail!("the program of the mount has ended; unmount it by pathwalk umount") };
    if args.json {
        output::print_json(&value)?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = read(value)?;
    if args.prometheus {
        output::print_unbroken(&prometheus::text(&report))?;
    } else {
        output::print(&text(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn read(value: serde_json::Value) -> anyhow::Result<Report> {
    serde_json::from_value(value).context("reading the statistics; is the mount's program of another version?")
}

/// Prints what was asked in each second, until the mount ends or there is an interruption.
fn watch(connection: &mut Connection, json: bool) -> anyhow::Result<ExitCode> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("waiting for an interruption")?;
    }
    let mut before: Option<Report> = None;
    while let Some(value) = connection.stats()? {
        if json {
            output::print_unbroken(&format!("{value}\n"))?;
        } else {
            let now = read(value)?;
            if let Some(before) = &before {
                output::print(&format!("{}\n", brief(&now.since(before))))?;
            }
            before = Some(now);
        }
        let begun = Instant::now();
        while begun.elapsed() < SECOND {
            if stop.load(Ordering::SeqCst) {
                return Ok(ExitCode::SUCCESS);
            }
            std::thread::sleep(PATIENCE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the report of a second.
fn brief(report: &Report) -> String {
    let (requests, errors) = report.totals();
    let rate = |count: u64| grouped((count as f64 / report.seconds.max(1e-9)).round() as i64);
    let line = format!(
        "{} requests/s, {} errors/s; caches {}; kernel: {} nodes, {} files",
        rate(requests),
        rate(errors),
        of_budget(report),
        count(report.kernel.nodes),
        count(report.kernel.open_files)
    );
    if report.operations.is_empty() { format!("{line}\n") } else { format!("{line}\n{}\n", operations(report)) }
}

/// Returns the whole report.
fn text(report: &Report) -> String {
    let (requests, errors) = report.totals();
    let caches = &report.caches;
    let mut rows = table(&["figure", "value"], &[]);
    let mut row = |name: &str, value: String| rows.add_row([name.to_owned(), value]);
    row("requests", count(requests));
    row("errors", count(errors));
    row("hits", count(caches.hits));
    row("lookups of file systems", count(caches.asked));
    row("absences known", count(caches.known_absent));
    row("names reported unasked", count(caches.siblings));
    row("waits for another lookup", count(caches.waits));
    row("evictions", count(caches.evictions));
    for (reason, number) in caches.hand_overs.iter().filter(|(_, number)| **number > 0) {
        row(&format!("hand-overs: {reason}"), count(*number));
    }
    row("used", of_budget(report));
    row("held by file systems", mebibytes(report.memory.file_systems));
    row("names cached", format!("{} of {}", count(report.memory.names), count(report.memory.most_names)));
    row("nodes cached", format!("{} of {}", count(report.memory.nodes), count(report.memory.most_nodes)));
    row("the kernel holds: nodes", format!("{} of {}", count(report.kernel.nodes), count(report.kernel.most_nodes)));
    row("the kernel holds: lookups", count(report.kernel.lookups));
    row("nodes that it was asked to forget", count(report.kernel.asked_to_forget));
    row("notices to the kernel", count(report.kernel.notices));
    row("open files", count(report.kernel.open_files));
    let head = format!(
        "{} on {}, by process {}, for {} s",
        report.source,
        report.mount_point,
        report.pid,
        grouped(report.seconds as i64)
    );
    format!("{head}\n\n{rows}\n\n{}\n", operations(report))
}

/// Returns the table of the requests by kind, the most frequent ones first.
fn operations(report: &Report) -> String {
    let mut rows = table(&["kind", "count", "errors", "mean µs", "half ≤ µs", "99 % ≤ µs"], &[]);
    let mut kinds: Vec<_> = report.operations.iter().collect();
    kinds.sort_by_key(|of| std::cmp::Reverse(of.count));
    for of in kinds {
        let times = [of.mean(), of.quantile(0.5), of.quantile(0.99)].map(|nanoseconds| number(nanoseconds / 1e3));
        rows.add_row([of.kind.clone(), count(of.count), count(of.errors)].into_iter().chain(times));
    }
    rows.to_string()
}

fn count(number: u64) -> String {
    grouped(i64::try_from(number).unwrap_or(i64::MAX))
}

fn of_budget(report: &Report) -> String {
    format!("{} of {}", mebibytes(report.memory.used), mebibytes(report.memory.budget))
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", number(bytes as f64 / f64::from(1 << 20)))
}
