//! The steps of a branch: the branch as each command has left it, as a copy beside it.
//!
//! What always holds: step 0 is the branch before the first command. A step has the next number
//! that no other one has, also after a way back.

use pathwalk_branch::{Branches, Error};
use serde_json::Value;

use super::message::{Failure, Kind, Step};

/// What is between the name of a branch and the number of a step, in the name of its copy.
const BETWEEN: &str = ".step-";

fn name_of(branch: &str, step: u64) -> String {
    format!("{branch}{BETWEEN}{step}")
}

/// Returns whether a branch is a step of another one that is there.
pub(super) fn is_step(name: &str, is_branch: impl Fn(&str) -> bool) -> bool {
    name.rsplit_once(BETWEEN).is_some_and(|(branch, step)| step.parse::<u64>().is_ok() && is_branch(branch))
}

/// Returns the steps of a branch, by their numbers.
pub(super) fn list(branches: &Branches, branch: &str) -> Result<Vec<Step>, Error> {
    let step = |of: pathwalk_branch::BranchInfo| {
        let number = of.name.strip_prefix(branch)?.strip_prefix(BETWEEN)?.parse().ok()?;
        // A note that the user has set says nothing about the command.
        let read = serde_json::from_str(&of.note).ok().filter(|step: &Step| step.step == number);
        Some(read.unwrap_or(Step { step: number, command: Value::Null, exit_code: None }))
    };
    let mut steps: Vec<Step> = branches.list()?.into_iter().filter_map(step).collect();
    steps.sort_by_key(|step| step.step);
    Ok(steps)
}

/// Makes step 0, if there is no step.
pub(super) fn begin(branches: &Branches, branch: &str) -> Result<(), Error> {
    if list(branches, branch)?.is_empty() { add(branches, branch, Value::Null, None).map(drop) } else { Ok(()) }
}

/// Makes the next step. Returns its number.
pub(super) fn add(branches: &Branches, branch: &str, command: Value, exit_code: Option<u8>) -> Result<u64, Error> {
    let step = list(branches, branch)?.last().map_or(0, |last| last.step + 1);
    let note = serde_json::to_string(&Step { step, command, exit_code }).unwrap_or_default();
    branches.copy(branch, &name_of(branch, step), &note)?;
    Ok(step)
}

/// Makes a branch what it was after a step.
pub(super) fn back(branches: &Branches, branch: &str, step: u64) -> Result<(), Failure> {
    branches.reset(branch, &name_of(branch, step)).map_err(|error| match error {
        Error::NoBranch(name) if name != branch => {
            Failure::new(Kind::NotThere, format!("the branch \"{branch}\" has no step {step}"))
        }
        error => error.into(),
    })
}

/// Forgets steps, or all.
pub(super) fn forget(branches: &Branches, branch: &str, steps: Option<&[u64]>) -> Result<usize, Failure> {
    let there: Vec<u64> = list(branches, branch)?.into_iter().map(|step| step.step).collect();
    if let Some(missing) = steps.into_iter().flatten().find(|step| !there.contains(step)) {
        return Err(Failure::new(Kind::NotThere, format!("the branch \"{branch}\" has no step {missing}")));
    }
    let gone: Vec<u64> = there.into_iter().filter(|step| steps.is_none_or(|steps| steps.contains(step))).collect();
    gone.iter().try_for_each(|step| branches.drop(&name_of(branch, *step)))?;
    Ok(gone.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_by_their_names() {
        assert_eq!(name_of("work", 3), "work.step-3");
        let is_branch = |name: &str| name == "work";
        assert!(is_step("work.step-3", is_branch));
        assert!(!is_step("work.step-x", is_branch) && !is_step("other.step-1", is_branch) && !is_step("work", is_branch));
    }
}
