//! What becomes of the branch once the command has ended.
//!
//! What always holds: nothing is committed that the caller did not ask for. Where something fails,
//! the branch is kept: stored with what a layer has, or with the layer beside it.

use pathwalk_branch::{Branches, Change, Conflict, Error, Resolution};
use pathwalk_output::program;

use super::chosen::Origin;
use super::notable::Notable;
use super::options::TryArgs;
use super::overlay::Taken;
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
    let name = &ran.chosen.name;
    let changes = branches.diff(name)?;
    let mut taken = ran.taken.take();
    if !is_over_soon(args, &ran, &changes, code) {
        // A person may take long to answer.
        keep(taken.take(), place, &branches, name)?;
    }
    let (fate, notable) = match tell_and_decide(args, (place, &branches), &ran, &changes, code) {
        Ok(told) => told,
        // The next process finishes the commit, which needs no layer.
        Err(error) if matches!(error.downcast_ref(), Some(Error::Unfinished { .. })) => return Err(error),
        Err(error) => {
            keep(taken, place, &branches, name)?;
            return Err(error);
        }
    };
    match (&fate, taken) {
        (Fate::Kept | Fate::Conflicts(_), taken) => keep(taken, place, &branches, name)?,
        (_, Some(taken)) => taken.set_aside(place, name)?,
        (_, None) => {}
    }
    if args.json { told::json(&ran, &changes, &notable, &fate, code) } else { told::fate(args, &ran.chosen, &fate) }
}

/// Returns whether the branch is committed or dropped without a question.
fn is_over_soon(args: &TryArgs, ran: &Ran, changes: &[Change], code: u8) -> bool {
    let is_empty = changes.is_empty() && ran.chosen.origin == Origin::New && !args.keep;
    args.drop || is_empty || args.commit_if_ok && code == 0 && ran.changed.is_empty()
}

/// Stores the branch, if it shows a layer.
fn keep(taken: Option<Taken>, place: &Place, branches: &Branches, name: &str) -> anyhow::Result<()> {
    taken.map_or(Ok(()), |taken| taken.keep(place, branches, name))
}

fn tell_and_decide(
    args: &TryArgs,
    (place, branches): (&Place, &Branches),
    ran: &Ran,
    changes: &[Change],
    code: u8,
) -> anyhow::Result<(Fate, Notable)> {
    let name = &ran.chosen.name;
    // Before the branch may be gone.
    let notable = if args.json { told::notable(branches, name, changes, &place.base)? } else { Notable::default() };
    if !args.json {
        told::summary(branches, name, changes, &place.base)?;
    }
    Ok((decide(args, branches, ran, changes, code)?, notable))
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
