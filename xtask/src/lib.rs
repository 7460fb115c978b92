//! Tasks of the repository.
//!
//! - `differential`: carries out random programs of operations through the kernel and through the
//!   engine; a difference is shrunk to a few lines;
//! - `fsx`: carries out random operations on the data of two files, beside a buffer and the kernel;
//! - `table`: writes down the kernel's answers to a table of operations;
//! - `mutants`: makes small changes to the engine, each of which a test has to catch;
//! - `rooms`: checks that the engine's imports point one way;
//! - `prose`: checks that comments and pages are in plain English;
//! - `package` and `msrv`: check that crates can be published, and with the oldest compiler.
//! - `examples`: checks that each public item has an example, or leads to one.
//!
//! # Layout
//!
//! `words`, `op`, `composite`, `program` and `cast` are the language of programs. `outcome` has the
//! results of a program, and `listing` those of a directory that is listed in parts. `kernel`,
//! `engine` and `model` carry programs out; the engine is called through a `face`, and works on a
//! `base`. `generate` draws programs. `helpers` defines the operations that are functions of
//! `std::fs`. `times` and `watch` define which part of the result is looked at, and how. `compare`
//! and `shrink` find what differs. `census` counts what was drawn and which rules it met. `threads`
//! searches for an order that explains what concurrent threads observed.

mod base;
mod cast;
mod census;
mod compare;
mod composite;
mod differential;
mod engine;
mod examples;
pub mod face;
mod fsx;
mod generate;
mod helpers;
pub mod id_maps;
mod kernel;
mod listing;
mod model;
pub mod mount_attr;
mod mounted;
mod mounts;
mod mutants;
mod op;
mod open_files;
mod outcome;
mod package;
mod program;
mod prose;
mod rooms;
mod shrink;
mod suites;
mod table;
mod threads;
mod times;
mod watch;
mod words;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use outcome::Interpreter as _;

pub use table::engine_answers;
pub use words::read_flags;

/// The engine's flags and errors as the kernel's numbers, for tests that make system calls
/// themselves.
pub mod system_calls {
    pub use crate::kernel::{at_flags, errno, faccessat2, link_flags, open_flags, rename_flags};
}

#[derive(Parser, Debug)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Carries out random operations through an oracle and through the engine: every answer must be
    /// the same.
    ///
    /// The kernel runs on a tmpfs in a mount namespace of its own, with one thread for each of
    /// several users. `fs.protected_*` are switches of the whole machine: they are set for the run
    /// and restored afterwards. A mismatch is shrunk to the fewest operations and printed as a
    /// program for `--replay`. Exit codes: 0 all is well, 1 something differs, 2 it could not be
    /// done.
    Differential(differential::Args),
    /// Does random operations on the data of two files of a `MemFs`, checks them against a plain
    /// buffer, and does the same on files of the kernel's ext4.
    ///
    /// A mismatch is shrunk and printed with its seed. Exit codes: 0 nothing differs, 1 something
    /// does, 2 it could not be done.
    Fsx(fsx::Args),
    /// Asks the kernel for the answers to a table of operations, and writes them down.
    Table(table::Args),
    /// Draws small changes to the engine and the ring; a test has to fail for each.
    ///
    /// Needs `cargo-mutants`, and root for the kernel's tables. Takes hours. A survivor is printed
    /// in the form of an entry of docs/mutants.md. Exit codes: 0 the bar is met, 1 it is not, 2 it
    /// could not be done.
    Mutants(mutants::Args),
    /// Checks that the engine's imports point one way: from each room to those below it, and in no
    /// circle.
    ///
    /// Exit codes: 0 they do, 1 some do not, 2 the sources could not be read.
    Rooms(rooms::Args),
    /// Checks that comments and pages are in plain English, as far as that can be told by words.
    ///
    /// The rules are in CONTRIBUTING.md. Exit codes: 0 all are, 1 some are not, 2 the sources could
    /// not be read.
    Prose(prose::Args),
    /// Checks that the published crates can be published: manifests, READMEs, licences,
    /// documentation with the settings of docs.rs, and what `cargo publish --dry-run` verifies.
    ///
    /// Needs the registry of the dependencies and no token. Exit codes: 0 they can, 1 some cannot,
    /// 2 it could not be checked.
    Package,
    /// Builds the published crates with the oldest compiler that their manifests name.
    ///
    /// Needs rustup, which installs that compiler. Exit codes: 0 they build, 1 some do not, 2 it
    /// could not be checked.
    Msrv,
    /// Checks that each public item of the libraries has an example, or a link to an item that has.
    ///
    /// The rule is in CONTRIBUTING.md. Exit codes: 0 each has, 1 some have not, 2 the sources could
    /// not be read.
    Examples(examples::Args),
    /// Checks that each file of the crates' tests is part of a test program.
    ///
    /// Exit codes: 0 each is, 1 some are not, 2 the manifests or the directories could not be read.
    Suites,
}

/// Runs the task that the command line names.
pub fn main() -> ExitCode {
    let outcome = match Task::parse() {
        Task::Differential(args) => differential::run(&args),
        Task::Fsx(args) => fsx::run(&args),
        Task::Table(args) => table::run(&args),
        Task::Mutants(args) => mutants::run(&args),
        Task::Rooms(args) => rooms::run(&args),
        Task::Prose(args) => prose::run(&args),
        Task::Package => package::run(),
        Task::Msrv => package::run_msrv(),
        Task::Examples(args) => examples::run(&args),
        Task::Suites => suites::run(),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::from(2)
    })
}

/// Carries out a program, given as text, by the model and by the engine, and returns the first
/// difference. For fuzzers.
///
/// Fails if a line cannot be read, or if an interpreter could not do its work. No file may grow
/// past 1 MiB: the model keeps no more.
pub fn difference_from_model(program: &str) -> anyhow::Result<Option<String>> {
    let program: program::Program = program.parse()?;
    let left = model::ModelInterpreter.run(&program).context("by the model")?;
    let right = engine::Engine::in_memory().run(&program).context("by the engine")?;
    Ok(compare::first_mismatch(&program, ["model", "engine"], &left, &right).map(|mismatch| mismatch.text))
}

/// Draws a program of at most `steps` steps from bytes. It is text, as
/// [`difference_from_model`] takes it. For fuzzers.
pub fn program_of_bytes(bytes: &[u8], steps: usize) -> String {
    generate::program_of_bytes(bytes, steps).to_string()
}

/// Draws programs of `ops` operations in all from `seed`, and carries each out by the model and by
/// the engine. Returns the first program that differs, with the difference. For tests.
pub fn random_difference_from_model(seed: u64, ops: usize) -> anyhow::Result<Option<String>> {
    let mut seeds = fastrand::Rng::with_seed(seed);
    for _ in 0..ops.div_ceil(differential::PROGRAM) {
        let program = generate::program(seeds.u64(..), differential::PROGRAM, generate::Files::Short).to_string();
        if let Some(text) = difference_from_model(&program)? {
            return Ok(Some(format!("{program}# {text}")));
        }
    }
    Ok(None)
}

/// Draws rounds of `threads` threads from `seed`, `ops` operations in all. Returns the first round
/// that no order of the model explains. For tests.
pub fn unexplained_by_model(seed: u64, threads: usize, ops: u64) -> anyhow::Result<Option<String>> {
    let mut seeds = fastrand::Rng::with_seed(seed);
    let mut done = 0;
    while done < ops {
        let (ops, verdict) = threads::one(seeds.u64(..), threads)?;
        done += ops;
        if let threads::Verdict::Unexplained(history) = verdict {
            return Ok(Some(history));
        }
    }
    Ok(None)
}
