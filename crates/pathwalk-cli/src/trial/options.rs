//! The command line of `pathwalk try`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use pathwalk_try::Network;
use serde::Deserialize;

use crate::mount::options::bytes;

/// The text below the options of `pathwalk try`.
pub(crate) const TRY_EXAMPLES: &str = "\
The command runs in a branch of the directory, at the same path. All else is
read-only, /tmp and /run are empty, and programs outside are out of reach.
Afterwards there is a summary, and a question: keep, commit or drop.

Examples:
  pathwalk try -- make clean
      in the working directory; then the question
  pathwalk try -b work -- bash
      in the branch \"work\", which is made, or gone on with
  pathwalk try -b step --fork-of work -- ./migrate
      in a fork of it
  pathwalk try --commit-if-ok -- npm ci
      without a question: committed if the command ends with 0, else kept
  pathwalk try --everything -- sh install.sh
      the branch is of /, so that the command can write elsewhere
  pathwalk try --rw ~/.npm -- npm ci
      a cache that is written for real
  pathwalk try --hide ~/.ssh --net none -- ./unknown
      with less to see, and without a network
  pathwalk try --memory 2G --pids 200 -- ./unknown
      with limits, where cgroups of version 2 can be made
  pathwalk try --mcp
      for an agent; --server is for other programs: see docs/agents.md

What it protects from, and what not, is in docs/try.md. It is no virtual
machine.";

#[derive(ClapArgs, Debug)]
pub(crate) struct TryArgs {
    /// Branch in which it runs; one that was kept is gone on with [default: a new one]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) branch: Option<String>,
    /// Branch of which the new one is made [default: the base]
    #[arg(long, value_name = "NAME")]
    pub(crate) fork_of: Option<String>,
    /// Directory that the command sees as a branch [default: the working directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) base: Option<PathBuf>,
    /// Directory in which the branches are kept [default: one for each base, in $XDG_STATE_HOME]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Take / as the base, so that what is written elsewhere goes into the branch, too
    #[arg(long, conflicts_with = "base")]
    pub(crate) everything: bool,
    #[command(flatten)]
    pub(crate) sight: Sight,
    /// What shows the branch to the command: "overlay" is quicker where many files are made, and
    /// needs a base that stays as it is; "auto" is that where it is as a plain directory
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t = Wanted::Fuse)]
    pub(crate) engine: Wanted,
    /// Commit if the command ends with 0, else keep the branch
    #[arg(long, group = "then")]
    pub(crate) commit_if_ok: bool,
    /// Drop the branch, whatever was changed
    #[arg(long, group = "then")]
    pub(crate) drop: bool,
    /// Keep the branch
    #[arg(long, group = "then")]
    pub(crate) keep: bool,
    /// Print what was changed, and what became of it, as JSON on the last line of standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Take requests to run commands and to look at what they did, a JSON object a line, from
    /// standard input, and answer on standard output
    #[arg(long, group = "serves", conflicts_with_all = ["commit_if_ok", "json", "engine"])]
    pub(crate) server: bool,
    /// Do so on a socket that is made here, for several programs at once
    #[arg(long, value_name = "PATH", requires = "server")]
    pub(crate) socket: Option<PathBuf>,
    /// Be a server of the Model Context Protocol on standard input and standard output
    #[arg(long, group = "serves", conflicts_with_all = ["server", "commit_if_ok", "json", "engine"])]
    pub(crate) mcp: bool,
    /// Refuse requests to commit, so that it is left to you
    #[arg(long, requires = "serves")]
    pub(crate) no_commit: bool,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required_unless_present = "serves", conflicts_with = "serves", trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
}

/// What a command sees beside the branch, and what it may take of the machine.
#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Sight {
    /// Path that is written for real, a cache for example; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) rw: Vec<PathBuf>,
    /// Path that cannot be written, also within the base; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) ro: Vec<PathBuf>,
    /// Path that is empty for the command; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) hide: Vec<PathBuf>,
    /// Network of the command
    #[arg(long, value_name = "NETWORK", value_enum, default_value_t = Net::Host)]
    pub(crate) net: Net,
    /// Memory that it may take, with all that it starts; it is ended if it needs more: bytes, or a
    /// number that ends in K, M, G or T
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
    /// Processes and threads that it may have at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pids: Option<u64>,
}

/// The arguments of the process inside.
#[derive(ClapArgs, Debug)]
pub(crate) struct InsideArgs {
    /// The descriptor of the channel
    pub(crate) descriptor: i32,
}

/// The engine that is wished.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// FUSE
    Fuse,
    /// The kernel's overlayfs, for a new branch of the base
    Overlay,
    /// Overlayfs for root, where its answers are those of a plain directory; else FUSE
    Auto,
}

/// The network of the command.
#[derive(ValueEnum, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Net {
    /// That of the machine
    Host,
    /// None
    None,
}

impl Net {
    pub(crate) fn network(self) -> Network {
        match self {
            Net::Host => Network::Shared,
            Net::None => Network::None,
        }
    }
}
