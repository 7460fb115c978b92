//! The `pathwalk` program: mounts trees, replays recorded lookups through the engine and through
//! the kernel, explains one lookup, watches a directory, keeps branches of one, tries commands on
//! them, and runs benches.
//!
//! - [`args`]: the command line;
//! - [`replay`]: every lookup answered twice, compared and timed;
//! - [`explain`]: one lookup step by step, and the reason for its end;
//! - [`mount`]: a tree on a directory, served through `/dev/fuse`, and [`umount`]: its end;
//! - [`stats`]: what a mounted tree has done, and [`control`]: the socket of its program;
//! - [`branch`]: writable branches of a directory, and what they changed;
//! - [`trial`]: a command on a branch, and what becomes of its changes;
//! - [`watch`]: what changes below a directory, as it happens;
//! - [`enclosure`]: another root, by privilege or by a user namespace;
//! - [`bench`]: the benches of `pathwalk-bench` as tables or JSON, with [`instructions`] counted
//!   where valgrind is installed;
//! - [`output`]: tables and progress, as `pathwalk-output` has them;
//! - [`pages`]: completions for shells, and manual pages;
//! - [`exits`]: the exit codes.

mod args;
mod bench;
mod branch;
mod control;
mod enclosure;
mod exits;
mod explain;
mod instructions;
mod mount;
mod output;
mod pages;
mod replay;
mod stats;
mod trial;
mod umount;
mod watch;

use std::process::ExitCode;

use pathwalk_output::program;

use args::{Args, Command};
use mount::helper;

fn main() -> ExitCode {
    if helper::is_called(std::env::args_os().next().as_deref()) {
        return program::run(helper::run_helper);
    }
    program::run(|args: Args| match args.command {
        Command::Replay(args) => replay::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Branch(args) => branch::run(&args),
        Command::Try(args) => trial::run(&args),
        Command::TryInside(args) => trial::inside(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Mount(args) => mount::run(&args),
        Command::Umount(args) => umount::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Completions(args) => pages::complete(&args),
        Command::Man(args) => pages::write_pages(&args),
        Command::Count(args) => instructions::run_counted(&args),
    })
}
