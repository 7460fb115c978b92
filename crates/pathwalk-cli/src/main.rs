//! The `pathwalk` program: mounts trees, replays recorded lookups through the engine and through
//! the kernel, explains one lookup, watches a directory, and runs benches.
//!
//! - [`args`]: the command line;
//! - [`replay`]: every lookup answered twice, compared and timed;
//! - [`explain`]: one lookup step by step, and the reason for its end;
//! - [`mount`]: a tree on a directory, served through `/dev/fuse`;
//! - [`watch`]: what changes below a directory, as it happens;
//! - [`enclosure`]: another root, by privilege or by a user namespace;
//! - [`bench`]: the benches of `pathwalk-bench` as tables or JSON, with [`instructions`] counted
//!   where valgrind is installed;
//! - [`output`]: tables and progress, as `pathwalk-output` has them;
//! - [`pages`]: completions for shells, and manual pages;
//! - [`exits`]: the exit codes.

mod args;
mod bench;
mod enclosure;
mod exits;
mod explain;
mod instructions;
mod mount;
mod output;
mod pages;
mod replay;
mod watch;

use std::process::ExitCode;

use pathwalk_output::program;

use args::{Args, Command};

fn main() -> ExitCode {
    program::run(|args: Args| match args.command {
        Command::Replay(args) => replay::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Mount(args) => mount::run(&args),
        Command::Completions(args) => pages::complete(&args),
        Command::Man(args) => pages::write_pages(&args),
        Command::Count(args) => instructions::run_counted(&args),
    })
}
