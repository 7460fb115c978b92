//! The `pathwalk` program: replays recorded lookups through the engine and through the kernel, explains one, and benches.
//!
//! - [`args`]: what can be asked for;
//! - [`replay`]: every lookup answered twice, compared and timed;
//! - [`explain`]: one lookup step by step, and why it ends as it does;
//! - [`enclosure`]: another root, by privilege or by a user namespace;
//! - [`bench`]: the benches of `pathwalk-bench` as tables or JSON, with [`instructions`] counted where valgrind is;
//! - [`output`]: tables, progress, and a standard output that may have been closed.
//!
//! Exit codes: 0 all is well, 1 an answer differed from the kernel's, 2 it could not be done.

mod args;
mod bench;
mod enclosure;
mod explain;
mod instructions;
mod output;
mod replay;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Replay(args) => replay::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Count(args) => instructions::run_counted(&args),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("pathwalk: {}", output::chain(&error));
        ExitCode::from(2)
    })
}
