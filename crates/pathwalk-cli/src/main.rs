//! The `pathwalk` program: replays recorded lookups through the engine and through the kernel,
//! explains one lookup, and runs benches.
//!
//! - [`args`]: the command line;
//! - [`replay`]: every lookup answered twice, compared and timed;
//! - [`explain`]: one lookup step by step, and the reason for its end;
//! - [`enclosure`]: another root, by privilege or by a user namespace;
//! - [`bench`]: the benches of `pathwalk-bench` as tables or JSON, with [`instructions`] counted
//!   where valgrind is installed;
//! - [`output`]: tables, progress, and a standard output that may have been closed;
//! - [`pages`]: completions for shells, and manual pages;
//! - [`exits`]: the exit codes.

mod args;
mod bench;
mod enclosure;
mod exits;
mod explain;
mod instructions;
mod output;
mod pages;
mod replay;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use args::{Args, Command};
use output::progress::{Reports, set_reports};

fn main() -> ExitCode {
    let args = parsed();
    set_reports(if args.quiet { Reports::Quiet } else { Reports::Shown });
    let outcome = match args.command {
        Command::Replay(args) => replay::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Completions(args) => pages::complete(&args),
        Command::Man(args) => pages::write_pages(&args),
        Command::Count(args) => instructions::run_counted(&args),
    };
    outcome.unwrap_or_else(|error| {
        output::complain(&error);
        ExitCode::from(exits::NOT_DONE)
    })
}

/// Parses the command line. Leaves the program where help is asked for, or where it is not valid.
fn parsed() -> Args {
    let mut command = Args::command().term_width(output::wrap::width());
    let matches = command.get_matches_mut();
    Args::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
}
