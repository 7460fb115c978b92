//! Tasks of the repository.
//!
//! - `differential`: random programs of operations, through the kernel and through the engine; what differs is shrunk to a few lines;
//! - `table`: the kernel's answers to a table of operations, written down;
//! - `mutants`: small changes to the engine, each of which a test has to notice;
//! - `rooms`: the engine's imports point one way.
//!
//! # Layout
//!
//! `words`, `op`, `composite`, `program` and `cast` are the language of programs; `outcome` is what
//! comes of one, `listing` what of a listing in parts. `kernel`, `engine` and `model` carry
//! programs out, the engine asked through a `face`; `generate` draws them; `times` and `watch` say what of them is looked at and how;
//! `compare` and `shrink` find what differs; `census` counts what was drawn and which rules it met;
//! `threads` looks for an order in what threads did at once.

mod cast;
mod census;
mod compare;
mod composite;
mod differential;
mod engine;
pub mod face;
mod generate;
pub mod id_maps;
mod kernel;
mod listing;
mod model;
pub mod mount_attr;
mod mounts;
mod mutants;
mod op;
mod outcome;
mod program;
mod rooms;
mod shrink;
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

/// The engine's words in the kernel's numbers: for tests that ask the kernel themselves.
pub mod system_calls {
    pub use crate::kernel::{at_flags, errno, faccessat2, link_flags, open_flags, rename_flags};
}

#[derive(Parser, Debug)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Random operations through an oracle and through the engine: every answer must be the same.
    ///
    /// The kernel is asked on a tmpfs in a mount namespace of its own, by a thread for each of several users; `fs.protected_*`, which are switches
    /// of the whole machine, are set meanwhile and given back. A mismatch is shrunk to the fewest operations and printed as a program for
    /// `--replay`. Exit codes: 0 all is well, 1 something differs, 2 it could not be done.
    Differential(differential::Args),
    /// Asks the kernel a table of operations, and writes its answers down.
    Table(table::Args),
    /// Draws small changes to the engine and the ring; a test has to fail for each.
    ///
    /// Needs `cargo-mutants`, and root for the kernel's tables. Takes hours. A survivor is printed in the form of an
    /// entry of docs/mutants.md. Exit codes: 0 the bar is met, 1 it is not, 2 it could not be done.
    Mutants(mutants::Args),
    /// Checks that the engine's imports point one way: from each room to those below it, and in no circle.
    ///
    /// Exit codes: 0 they do, 1 some do not, 2 the sources could not be read.
    Rooms(rooms::Args),
}

/// Carries out what the command line says.
pub fn main() -> ExitCode {
    let outcome = match Task::parse() {
        Task::Differential(args) => differential::run(&args),
        Task::Table(args) => table::run(&args),
        Task::Mutants(args) => mutants::run(&args),
        Task::Rooms(args) => rooms::run(&args),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::from(2)
    })
}

/// Carries out a program, given as text, by the model and by the engine; tells where they first differ. For fuzzers.
///
/// An error is a line that cannot be read, or an interpreter that could not do its work. No file
/// may grow past a MiB: the model keeps no more.
pub fn difference_from_model(program: &str) -> anyhow::Result<Option<String>> {
    let program: program::Program = program.parse()?;
    let left = model::ModelInterpreter.run(&program).context("by the model")?;
    let right = engine::Engine.run(&program).context("by the engine")?;
    Ok(compare::first_mismatch(&program, ["model", "engine"], &left, &right).map(|mismatch| mismatch.text))
}

/// Draws programs of `ops` operations in all from `seed`, and carries each out by the model and by the engine; tells the first that
/// differs, with what differs. For tests.
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

/// Draws rounds of `threads` threads from `seed`, `ops` operations in all; tells the first that no order of the model explains. For tests.
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
