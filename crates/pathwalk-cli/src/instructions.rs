//! Instructions a lookup, counted in valgrind's simulator.
//!
//! The program runs itself there twice, once with few passes over the questions and once with more: the difference is what the
//! passes cost, and all that comes before and after cancels out. The engine stands on a listing in memory then, since the
//! simulator does not know all system calls; a cached lookup never sees its file system, so nothing is changed by that.

use std::collections::HashMap;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context as _;
use pathwalk_bench::Bench;
use pathwalk_bench::field::Gain;
use pathwalk_bench::machine::Backing;

use crate::args::CountArgs;
use crate::bench;

const FEW: u64 = 10;
const MORE: u64 = 510;

/// Instructions a lookup, by entrant. Empty where there is no valgrind.
#[derive(Default, Debug)]
pub(crate) struct Counts(HashMap<&'static str, f64>);

impl Counts {
    /// Of this entrant.
    pub(crate) fn of(&self, what: &str) -> Option<f64> {
        self.0.get(what).copied()
    }

    /// How many per cent fewer instructions there were.
    pub(crate) fn saved(&self, gain: &Gain) -> Option<f64> {
        Some((1.0 - self.of(gain.of.with)? / self.of(gain.of.without)?) * 100.0)
    }
}

/// Counts all entrants of a bench that can run on a listing; nothing where valgrind is missing or fails.
pub(crate) fn count(bench: &Bench) -> Counts {
    if !valgrind_is_there() {
        return Counts::default();
    }
    let Ok(field) = (bench.set_up)(Backing::Listing) else { return Counts::default() };
    let counted = field.entrants.iter().filter_map(|entrant| {
        let cost = collected(bench.name, entrant.what, MORE)?.checked_sub(collected(bench.name, entrant.what, FEW)?)?;
        Some((entrant.what, cost as f64 / ((MORE - FEW) * entrant.work.lookups()) as f64))
    });
    Counts(counted.collect())
}

fn valgrind_is_there() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Instructions of a whole run with so many passes.
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

/// What runs in the simulator.
pub(crate) fn run_counted(args: &CountArgs) -> anyhow::Result<ExitCode> {
    let field = (bench::find(&args.bench)?.set_up)(Backing::Listing)?;
    let work = field.work(&args.what).with_context(|| format!("no entrant is called \"{}\"", args.what.escape_default()))?;
    work.run(args.passes);
    Ok(ExitCode::SUCCESS)
}
