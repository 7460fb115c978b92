//! The number of instructions for a lookup, counted in valgrind's simulator.
//!
//! The program runs itself in the simulator twice, once with few passes over the questions and once
//! with more. The difference is the cost of the additional passes. Everything before and after the
//! passes cancels out. The engine then uses a listing in memory as its file system, because the
//! simulator does not support all system calls. This changes nothing, because a cached lookup never
//! calls its file system.

use std::collections::HashMap;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context as _;
use pathwalk_bench::Bench;
use pathwalk_bench::field::Gain;
use pathwalk_bench::machine::Backing;

use crate::args::CountArgs;
use crate::{bench, output};

const FEW: u64 = 10;
const MORE: u64 = 510;

/// The instructions for a lookup, by entrant. Empty where there is no valgrind.
#[derive(Default, Debug)]
pub(crate) struct Counts(HashMap<&'static str, f64>);

impl Counts {
    /// Returns the number of this entrant.
    pub(crate) fn of(&self, what: &str) -> Option<f64> {
        self.0.get(what).copied()
    }

    /// Returns by how many percent a variant reduces the number of instructions.
    pub(crate) fn saved(&self, gain: &Gain) -> Option<f64> {
        Some((1.0 - self.of(gain.of.with)? / self.of(gain.of.without)?) * 100.0)
    }
}

/// Counts all entrants of a bench that can run on a listing. Returns no counts where valgrind is
/// missing or fails.
pub(crate) fn count(bench: &Bench) -> Counts {
    if !valgrind_is_there() {
        return Counts::default();
    }
    let Ok(field) = (bench.set_up)(Backing::Listing) else { return Counts::default() };
    let bar = output::progress(field.entrants.len() as u64, &format!("{}: counting instructions", bench.name), "entrants");
    let counted = field.entrants.iter().filter_map(|entrant| {
        bar.inc(1);
        let cost = collected(bench.name, entrant.what, MORE)?.checked_sub(collected(bench.name, entrant.what, FEW)?)?;
        Some((entrant.what, cost as f64 / ((MORE - FEW) * entrant.work.lookups()) as f64))
    });
    let counts = Counts(counted.collect());
    bar.finish();
    counts
}

fn valgrind_is_there() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Returns the instructions of a whole run with this number of passes.
fn collected(bench: &str, what: &str, passes: u64) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .args(["count", bench, what, &passes.to_string()])
        .stdin(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().find_map(|line| line.split_once("Collected : ")).and_then(|(_, count)| count.trim().parse().ok())
}

/// Runs the part of the program that is counted in the simulator.
pub(crate) fn run_counted(args: &CountArgs) -> anyhow::Result<ExitCode> {
    let field = (bench::find(&args.bench)?.set_up)(Backing::Listing)?;
    let work = field.work(&args.what).with_context(|| format!("no entrant is called \"{}\"", args.what.escape_default()))?;
    work.run(args.passes);
    Ok(ExitCode::SUCCESS)
}
