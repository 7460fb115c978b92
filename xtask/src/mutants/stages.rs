//! The stages: the tests that a mutant is run against, the cheapest first.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::sample::{Mutant, PACKAGES};

/// A set of tests.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Stage {
    /// The tests of the engine and of the ring.
    Engine,
    /// The tests with failing file systems and threads, and a short differential against the model.
    Short,
    /// The kernel's tables, the comparison of mounts with the kernel's, and the memory budget.
    Tables,
    /// The scenarios under shuttle.
    Races,
}

/// The mutants of a stage that tests caught or that do not compile, by name.
#[derive(Default, Debug)]
pub(super) struct Outcome {
    pub(super) caught: HashSet<String>,
    pub(super) unviable: HashSet<String>,
}

/// The exit codes of `cargo mutants` after which its lists are complete: all caught, some missed,
/// some timed out.
const COMPLETE: [i32; 3] = [0, 2, 3];

impl Stage {
    pub(super) fn all() -> impl Iterator<Item = Stage> {
        [Stage::Engine, Stage::Short, Stage::Tables, Stage::Races].into_iter()
    }

    /// Returns a description of the tests for messages.
    pub(super) fn what(self) -> &'static str {
        match self {
            Stage::Engine => "the tests of the engine and the ring",
            Stage::Short => "failing file systems, threads, and a short differential",
            Stage::Tables => "the kernel's tables, mounts and the memory budget",
            Stage::Races => "the scenarios under shuttle",
        }
    }

    fn packages(self) -> &'static [&'static str] {
        match self {
            Stage::Engine | Stage::Races => &PACKAGES,
            Stage::Short | Stage::Tables => &["pathwalk-tests"],
        }
    }

    /// Returns the arguments of `cargo test`.
    fn tests(self) -> &'static [&'static str] {
        match self {
            Stage::Engine => &[],
            Stage::Short => &["--test=differential", "--test=failing", "--test=last_component", "--test=stress"],
            Stage::Tables => &[
                "--test=kernel_rows",
                "--test=mounts",
                "--test=escape",
                "--test=kernel_table",
                "--test=memory_budget",
                "--test=storm",
                "--test=read_only_memory",
            ],
            Stage::Races => &["--lib", "scenarios"],
        }
    }

    /// Returns the arguments that limit the time of a test. Only the first stage tests the
    /// unmutated tree: `cargo-mutants` tests that tree with the mutated packages only, which do not
    /// have the tests of the later stages.
    fn patience(self, jobs: usize, timeout: Option<u64>) -> Vec<String> {
        let skips = |seconds| vec!["--baseline=skip".into(), format!("--timeout={seconds}")];
        match (self, timeout) {
            (Stage::Engine, Some(seconds)) => skips(seconds),
            // The unmutated tree is tested alone, which takes some ten seconds.
            (Stage::Engine, None) => vec![format!("--timeout-multiplier={}", 2 * (jobs + 1)), "--minimum-test-timeout=30".into()],
            _ => skips(900),
        }
    }

    /// Returns the flags of the compiler.
    fn flags(self) -> &'static str {
        if self == Stage::Races { "--cfg shuttle" } else { "" }
    }
}

/// Runs one stage over `mutants`; the logs go below `out`.
pub(super) fn run(stage: Stage, mutants: &[&Mutant], (jobs, timeout): (usize, Option<u64>), out: &Path) -> Result<Outcome> {
    let out = out.join(format!("{stage:?}").to_lowercase());
    let mut command = Command::new("cargo");
    command.args(["mutants", "--output"]).arg(&out).args(stage.patience(jobs, timeout));
    command.arg(format!("--jobs={jobs}"));
    command.args(PACKAGES.iter().flat_map(|package| ["-p", package]));
    command.args(stage.packages().iter().flat_map(|package| ["--test-package", package]));
    // The files are given as well: deleted fields of structs are listed whatever the expression is.
    let files: HashSet<&str> = mutants.iter().map(|mutant| mutant.file.as_str()).collect();
    command.args(files.iter().flat_map(|file| ["--file", file]));
    command.args(mutants.iter().map(|mutant| format!("--re=^{}$", regex_syntax::escape(&mutant.name))));
    command.arg("--").args(stage.tests()).env("RUSTFLAGS", stage.flags());
    // Progress goes to standard error, since standard output is for the report.
    command.stdout(std::io::stderr());
    std::fs::create_dir_all(&out).with_context(|| format!("create {}", out.display()))?;
    let status = command.status().context("run cargo mutants")?;
    ensure!(
        status.code().is_some_and(|code| COMPLETE.contains(&code)),
        "cargo mutants did not finish ({status}); see {}",
        out.join("mutants.out/debug.log").display()
    );
    let list = |name: &str| -> Result<HashSet<String>> {
        let path = out.join("mutants.out").join(name);
        let text = std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    let caught = &list("caught.txt")? | &list("timeout.txt")?;
    Ok(Outcome { caught, unviable: list("unviable.txt")? })
}
