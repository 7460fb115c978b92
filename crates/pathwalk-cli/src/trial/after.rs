//! What becomes of the branch once the command has ended.
//!
//! What always holds: nothing is committed that the caller did not ask for. Where something fails,
//! the branch is kept.

use pathwalk_branch::{Branches, Change, Conflict, Error, Resolution};
use pathwalk_output::program;

use super::chosen::Origin;
use super::notable::Notable;
use super::options::TryArgs;
use super::question::{self, Answer};
use super::run::Ran;
use super::told;
use crate::branch::place::{Missing, Place};

/// What became of the branch.
#[derive(Debug)]
pub(super) enum Fate {
    /// It has no changes, and is dropped.
    Empty,
    Kept,
    Committed,
    Dropped,
    /// It could not be committed, and is kept.
    Conflicts(Vec<Conflict>),
}

/// Does with the branch what the options say, and tells what was done.
pub(super) fn settle(args: &TryArgs, place: &Place, mut ran: Ran, code: u8) -> anyhow::Result<()> {
    let branches = match ran.branches.take() {
        Some(branches) => branches,
        None => place.open_unmounted(Missing::Fail)?,
    };
    let chosen = &ran.chosen;
    let changes = branches.diff(&chosen.name)?;
    // Before the branch may be gone.
    let notable = if args.json { told::notable(&branches, &chosen.name, &changes, &place.base)? } else { Notable::default() };
    if !args.json {
        told::summary(&branches, &chosen.name, &changes, &place.base)?;
    }
    let fate = decide(args, &branches, &ran, &changes, code)?;
    if args.json { told::json(&ran, &changes, &notable, &fate, code) } else { told::fate(args, chosen, &fate) }
}

fn decide(
    args: &TryArgs,
    branches: &Branches,
    Ran { chosen, changed, outcome, .. }: &Ran,
    changes: &[Change],
    code: u8,
) -> anyhow::Result<Fate> {
    let name = &chosen.name;
    if args.drop {
        branches.drop(name)?;
        return Ok(Fate::Dropped);
    }
    if changes.is_empty() && chosen.origin == Origin::New && !args.keep {
        branches.drop(name)?;
        return Ok(Fate::Empty);
    }
    if args.commit_if_ok && code == 0 && changed.is_empty() {
        return commit(branches, name);
    }
    let is_said = args.keep || args.commit_if_ok || args.json || changes.is_empty() || outcome.asked_to_end.is_some();
    let answer = if is_said { None } else { question::ask(branches, name, changes)? };
    match answer {
        Some(Answer::Commit) => commit(branches, name),
        Some(Answer::Some(paths)) => commit_some(branches, name, &paths),
        Some(Answer::Drop) => {
            branches.drop(name)?;
            Ok(Fate::Dropped)
        }
        _ => Ok(Fate::Kept),
    }
}

/// Commits some paths. The rest is kept.
fn commit_some(branches: &Branches, name: &str, paths: &[Box<[u8]>]) -> anyhow::Result<Fate> {
    branches.look_anew()?;
    match branches.commit_paths(name, paths, &Resolution::default()) {
        Ok(()) if branches.diff(name)?.is_empty() => {
            branches.drop(name)?;
            Ok(Fate::Committed)
        }
        Ok(()) => {
            eprintln!("committed what was chosen; the rest is");
            Ok(Fate::Kept)
        }
        Err(Error::Conflicts { conflicts, .. }) => Ok(Fate::Conflicts(conflicts)),
        Err(error @ Error::Together { .. }) => {
            program::complain(&error.into());
            Ok(Fate::Kept)
        }
        Err(error) => Err(error.into()),
    }
}

/// Commits the branch. The base may have changed since it was asked, while an answer was waited for
/// above all.
fn commit(branches: &Branches, name: &str) -> anyhow::Result<Fate> {
    branches.look_anew()?;
    match branches.commit(name) {
        Ok(()) => Ok(Fate::Committed),
        Err(Error::Conflicts { conflicts, .. }) => Ok(Fate::Conflicts(conflicts)),
        Err(error) => Err(error.into()),
    }
}
