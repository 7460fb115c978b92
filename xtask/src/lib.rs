//! Tasks of the repository.
//!
//! - `differential`: random programs of operations, through the kernel and through the engine; what differs is shrunk to a few lines;
//! - `table`: the kernel's answers to a table of operations, written down.
//!
//! # Layout
//!
//! `words`, `op`, `composite`, `program` and `cast` are the language of programs; `outcome` is what
//! comes of one, `listing` what of a listing in parts. `kernel`, `engine` and `model` carry programs
//! out; `generate` draws them; `times` and `watch` say what of them is looked at and how; `compare`
//! and `shrink` find what differs; `census` counts what was drawn and which rules it met; `threads`
//! looks for an order in what threads did at once.

mod cast;
mod census;
mod compare;
mod composite;
mod differential;
mod engine;
mod generate;
mod kernel;
mod listing;
mod model;
mod op;
mod outcome;
mod program;
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
}

/// Carries out what the command line says.
pub fn main() -> ExitCode {
    let outcome = match Task::parse() {
        Task::Differential(args) => differential::run(&args),
        Task::Table(args) => table::run(&args),
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
