//! The command `pathwalk try`: runs a command on a branch, at the path of the branch's base, and
//! asks what becomes of the changes.
//!
//! - [`options`]: the command line;
//! - [`chosen`]: the branch, which is made or gone on with;
//! - [`run`](mod@run): the command, while the branch is served, or with [`overlay`] in its place;
//! - [`after`]: what becomes of the branch; [`question`] asks, [`told`] tells;
//! - [`notable`]: what is told first;
//! - [`server`]: requests of other programs, and [`mcp`]: those of agents.
//!
//! What always holds: the exit code is that of the command, also if a commit has conflicts. What
//! fails before the command runs, or keeps the branch from being compared, is [`NOT_TRIED`].

mod after;
mod chosen;
mod mcp;
mod notable;
pub(crate) mod options;
mod overlay;
mod question;
mod run;
mod server;
mod told;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use pathwalk_bench::machine::escaped;
use pathwalk_output::program;
use pathwalk_try::Ended;

use crate::branch::place::{self, Place};
use crate::exits::{NOT_FOUND, NOT_RUNNABLE, NOT_TRIED};
use options::{InsideArgs, TryArgs};

/// Runs the command, and does with the branch what is wished.
pub(crate) fn run(args: &TryArgs) -> anyhow::Result<ExitCode> {
    match attempt(args) {
        Ok(code) => Ok(ExitCode::from(code)),
        Err(error) => {
            program::complain(&error);
            Ok(ExitCode::from(NOT_TRIED))
        }
    }
}

/// Becomes the process inside.
pub(crate) fn inside(args: &InsideArgs) -> anyhow::Result<ExitCode> {
    pathwalk_try::inside(args.descriptor)
}

fn attempt(args: &TryArgs) -> anyhow::Result<u8> {
    let directory = std::env::current_dir().context("the working directory")?;
    let base = if args.everything { Path::new("/") } else { args.base.as_deref().unwrap_or(&directory) };
    let place = Place::find(base, args.store.as_deref())?;
    if args.server || args.mcp {
        return server::serve(args, &place, &directory);
    }
    let ran = run::run(args, &place, &directory)?;
    let code = match ran.outcome.how {
        Ended::Exited(code) => code,
        Ended::Killed(signal) => 128 + signal as u8,
        Ended::NotFound => not_run(args, "it is not there", NOT_FOUND),
        Ended::NotRunnable(errno) => not_run(args, &std::io::Error::from_raw_os_error(errno).to_string(), NOT_RUNNABLE),
        _ => NOT_TRIED,
    };
    warn_of(&ran.changed);
    told::met(ran.outcome.met)?;
    let settled = after::settle(args, &place, ran, code);
    overlay::remove_taken(&place);
    settled.map(|()| code)
}

/// Reports paths of the base that changed under a layer of overlayfs.
fn warn_of(changed: &[Box<[u8]>]) {
    /// The most paths that are shown.
    const MOST: usize = 5;
    if changed.is_empty() {
        return;
    }
    let shown: Vec<_> = changed.iter().take(MOST).map(|path| format!("\"{}\"", path.escape_ascii())).collect();
    let more = changed.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    program::complain(&anyhow::anyhow!(
        "the base changed while the command ran: {}{more}; what it saw there is not defined, so look before you commit, \
         or run it with --engine fuse",
        shown.join(", ")
    ));
}

/// Reports that the command was not run, and returns the exit code for that.
fn not_run(args: &TryArgs, why: &str, code: u8) -> u8 {
    let command = escaped(Path::new(&args.command[0])).to_string();
    program::complain(&anyhow::anyhow!("running \"{command}\": {why}"));
    code
}

/// Returns the directories of branches, which the command is not to see: in their places are empty
/// ones, in which another `try` can keep its branches as long as the command runs.
fn stores(place: &Place) -> Vec<PathBuf> {
    let own = place::state().ok().map(|state| state.join("pathwalk"));
    let all = own.into_iter().chain([place.store.clone()]);
    let mut found: Vec<PathBuf> = Vec::new();
    for dir in all.filter_map(|dir| dir.canonicalize().ok()) {
        // One that has the base in it cannot be hidden.
        if !place.base.starts_with(&dir) && !found.iter().any(|other| dir.starts_with(other)) {
            found.push(dir);
        }
    }
    found
}
