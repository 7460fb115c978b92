//! `pathwalk replay`: every lookup of a trace answered by the engine and by the kernel.
//!
//! 1. The trace is read, then the root entered, then the kernel asked once.
//! 2. The engine starts empty and answers everything, loading what it needs: [`verdict`] compares.
//! 3. Both are timed in alternating rounds: [`timing`].
//! 4. Both answer everything once more, and are compared again.
//! 5. [`report`] prints.

mod report;
mod timing;
mod verdict;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use pathwalk_bench::machine::{self, LastLinks, escaped};
use pathwalk_bench::rounds::Pace;
use pathwalk_bench::trace::Trace;

use crate::args::ReplayArgs;
use crate::{enclosure, output};
use report::Report;
use verdict::Interview;

/// How long one side's turn in a round is.
const TURN: Duration = Duration::from_millis(20);

/// Runs it and prints what came out.
pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    let trace = read(args.trace.as_deref())?;
    let links = LastLinks::of_this_machine();
    let enclosure = enclosure::enter(&args.root)?;
    let mut interview = Interview::new(trace.questions(), links);
    let context = machine::host(links)?;
    interview.compare(&context)?;
    let pace = Pace { rounds: args.rounds as usize, turn: TURN };
    let bar = output::progress(u64::from(args.rounds), "replaying");
    let timing = timing::measure(&trace, &context, args.threads as usize, pace, &mut || bar.inc(1));
    bar.finish_and_clear();
    interview.compare(&context)?;
    let report = Report { args, enclosure, trace: &trace, interview: &interview, timing: &timing };
    if args.json {
        output::print_json(&report.json())?;
    } else {
        output::print(&report.text())?;
    }
    Ok(if interview.disagreements().next().is_some() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn read(path: Option<&Path>) -> anyhow::Result<Trace> {
    let Some(path) = path else { return Ok(Trace::gcc()) };
    let shown = escaped(path);
    let bytes = std::fs::read(path).with_context(|| format!("cannot read the trace \"{shown}\""))?;
    Trace::parse(&bytes).with_context(|| format!("in the trace \"{shown}\""))
}
