//! `cargo xtask mutants`: measures how good the tests are. It draws a sample of small changes to
//! the engine and the ring; a test has to fail for each of them.
//!
//! # What always holds
//!
//! - The same seed draws the same sample of the same sources, with the same share from each folder.
//! - A mutant that one stage catches goes to no later stage. The stages are ordered by their cost.
//! - A mutant counts as settled only if a test caught it, or if `docs/mutants.md` argues that it
//!   changes nothing that can be observed. The page names a mutant by its file, its description and
//!   its changed lines, so an entry ceases to hold when the code that it argues about changes. An
//!   entry that is about no mutant any more is an error.
//!
//! # What it does not do
//!
//! It mutates no memory orderings: those are checked against loom and Miri by hand.
//!
//! # How it does that
//!
//! `cargo-mutants` lists the mutants. All of the sample are built at once, in a copy of the tree.
//! There each is a switch that the environment selects. So a mutant costs the tests up to the first
//! that fails, and no build. Mutants that cannot be switches, as in a `const fn`, are checked and
//! built one by one in the same copy.

mod built;
mod bundle;
mod equal;
mod sample;
mod schema;
mod stages;
mod suite;
mod trial;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use bundle::Bundle;
use equal::Equal;
use sample::{FOLDERS, Mutant};
use stages::Stage;
use suite::Suite;

/// The arguments of the command.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The seed of the sample; a fresh one if it is not given. It is printed.
    #[arg(long)]
    seed: Option<u64>,
    /// The number of mutants, in equal shares from walk, dcache, icache, memory, ops and the ring.
    #[arg(long, default_value_t = 210)]
    sample: usize,
    /// The first stage to run, for mutants that are known to survive those before it.
    #[arg(long, value_enum, default_value_t = Stage::Engine)]
    from: Stage,
    /// The last stage to run: each later one costs more for each mutant that is left.
    #[arg(long, value_enum, default_value_t = Stage::Races)]
    until: Stage,
    /// A part of the names of the mutants to run; may be given several times. The others of the
    /// sample are built and count as survivors. So a new test is tried on what survived before it.
    #[arg(long)]
    only: Vec<String>,
    /// The least share of settled mutants, in percent, for exit code 0.
    #[arg(long, default_value_t = 95.0)]
    bar: f64,
    /// The directory for the copy of the tree, and its builds.
    #[arg(long, default_value = "target/mutants-out")]
    out: PathBuf,
    /// The number of mutants that are tested at once; that of the processors if it is not given.
    #[arg(long)]
    jobs: Option<usize>,
    /// Print the sample and run nothing.
    #[arg(long)]
    list: bool,
    /// Report as JSON.
    #[arg(long)]
    json: bool,
}

/// The end of a mutant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fate {
    /// The mutant does not compile, so it shows nothing about the tests.
    Unviable,
    /// Tests of this stage failed, or did not end.
    Caught(Stage),
    /// The mutant changes nothing, as `docs/mutants.md` argues.
    Equal,
    /// No test failed.
    Survived,
}

/// The page with the arguments.
const PAGE: &str = "docs/mutants.md";

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    eprintln!("xtask: seed {seed}");
    let all = sample::all()?;
    let page = std::fs::read_to_string(PAGE).with_context(|| format!("read {PAGE}"))?;
    let equal = equal::read(&page)?;
    let stale: Vec<&str> = equal.iter().filter(|entry| !all.iter().any(|mutant| entry.is(mutant))).map(Equal::title).collect();
    ensure!(stale.is_empty(), "entries of {PAGE} that are about no mutant:\n{}", stale.join("\n"));
    let sample = sample::draw(all, args.sample, seed);
    if args.list {
        sample.iter().for_each(|mutant| println!("{}", mutant.name));
        return Ok(ExitCode::SUCCESS);
    }
    let fates = fates(&sample, &equal, args)?;
    let share = settled_share(&fates);
    if args.json {
        report_json(&sample, &fates, seed, share);
    } else {
        report(&sample, &fates, seed, share);
    }
    Ok(ExitCode::from(u8::from(share < args.bar)))
}

/// Runs the stages; returns the fate of each mutant of the sample.
fn fates(sample: &[Mutant], equal: &[Equal], args: &Args) -> Result<Vec<Fate>> {
    let argued = |mutant: &Mutant| equal.iter().any(|entry| entry.is(mutant));
    let mut fates: Vec<Fate> = sample.iter().map(|mutant| if argued(mutant) { Fate::Equal } else { Fate::Survived }).collect();
    let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let mut built: Option<Bundle<'_>> = None;
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|part| name.contains(part));
    for stage in Stage::all().filter(|stage| (args.from..=args.until).contains(stage)) {
        let survived = |index: &usize| fates[*index] == Fate::Survived && wanted(&sample[*index].name);
        let left: Vec<usize> = (0..sample.len()).filter(survived).collect();
        if left.is_empty() {
            break;
        }
        let bundle = match built.take().filter(|bundle| bundle.is_for(stage)) {
            Some(bundle) => bundle,
            None => Bundle::new(sample, stage.flags(), &args.out)?,
        };
        let (held, alone): (Vec<usize>, Vec<usize>) = left.iter().partition(|index| bundle.holds(**index));
        eprintln!("xtask: {} mutants together and {} alone against {}", held.len(), alone.len(), stage.what());
        let suite = Suite::prove(stage, &bundle)?;
        suite.together(sample, &held, jobs)?.into_iter().for_each(|index| fates[index] = Fate::Caught(stage));
        for index in alone {
            if !bundle.compiles(index)? {
                // What compiles for the tests and not for the scenarios is no part of those.
                fates[index] = if bundle.is_for(Stage::Engine) { Fate::Unviable } else { Fate::Survived };
            } else if suite.alone(&bundle, &sample[index])? {
                fates[index] = Fate::Caught(stage);
            }
        }
        built = Some(bundle);
    }
    Ok(fates)
}

/// Returns the share of caught and argued mutants among those that compile, in percent.
fn settled_share(fates: &[Fate]) -> f64 {
    let viable = fates.iter().filter(|fate| **fate != Fate::Unviable).count();
    let survived = fates.iter().filter(|fate| **fate == Fate::Survived).count();
    100.0 * (viable - survived) as f64 / viable.max(1) as f64
}

fn report(sample: &[Mutant], fates: &[Fate], seed: u64, share: f64) {
    let survivors = || sample.iter().zip(fates).filter(|(_, fate)| **fate == Fate::Survived);
    for (mutant, _) in survivors() {
        println!("### {}\n\n```diff\n{}\n```\n", mutant.title(), mutant.changed().join("\n"));
    }
    println!("{:8} {:>7} {:>8} {:>6} {:>5} {:>8}", "folder", "sampled", "unviable", "caught", "equal", "survived");
    for folder in FOLDERS.iter().map(|folder| folder.0).chain(["all"]) {
        let here = |mutant: &Mutant| folder == "all" || mutant.folder == folder;
        let count = |wanted: &dyn Fn(&Fate) -> bool| {
            sample.iter().zip(fates).filter(|(mutant, fate)| here(mutant) && wanted(fate)).count()
        };
        println!(
            "{folder:8} {:>7} {:>8} {:>6} {:>5} {:>8}",
            count(&|_| true),
            count(&|fate| *fate == Fate::Unviable),
            count(&|fate| matches!(fate, Fate::Caught(_))),
            count(&|fate| *fate == Fate::Equal),
            count(&|fate| *fate == Fate::Survived),
        );
    }
    println!("seed {seed}: {share:.1} % of the mutants that compile are caught or argued in {PAGE}");
}

fn report_json(sample: &[Mutant], fates: &[Fate], seed: u64, share: f64) {
    let mut by_fate: BTreeMap<Fate, Vec<&str>> = BTreeMap::new();
    for (mutant, fate) in sample.iter().zip(fates) {
        by_fate.entry(*fate).or_default().push(&mutant.name);
    }
    let by_fate: BTreeMap<String, Vec<&str>> =
        by_fate.into_iter().map(|(fate, names)| (format!("{fate:?}").to_lowercase(), names)).collect();
    println!("{:#}", json!({ "seed": seed, "sample": sample.len(), "settled_percent": share, "mutants": by_fate }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_compile_does_not_count() {
        let fates = [Fate::Unviable, Fate::Caught(Stage::Engine), Fate::Equal, Fate::Survived, Fate::Survived];
        assert_eq!(settled_share(&fates), 50.0);
        assert_eq!(settled_share(&[]), 0.0);
    }
}
