//! What is told of a branch once the command has ended: on standard error, since standard output is
//! the command's; or as JSON, on the last line of standard output.

use std::io::Write as _;
use std::path::Path;

use pathwalk_branch::{Branches, Change};
use pathwalk_changes::summary;
use pathwalk_try::{Ended, Met};
use serde_json::json;

use super::after::Fate;
use super::chosen::Chosen;
use super::notable::{self, Notable};
use super::options::TryArgs;
use super::run::Ran;
use crate::branch::{shown, written};
use crate::output::wrap;

/// The option of the limit of memory.
const MEMORY: &str = "memory";

/// Writes which limits the command met.
pub(super) fn met(met: Met) -> anyhow::Result<()> {
    for option in limits(met) {
        writeln!(std::io::stderr(), "the command met --{option}: {}", of_limit(option))?;
    }
    Ok(())
}

/// Returns the limits that a command met, by their options.
pub(super) fn limits(met: Met) -> Vec<&'static str> {
    [(met.memory, MEMORY), (met.processes, "pids")].into_iter().filter_map(|(is, option)| is.then_some(option)).collect()
}

/// Returns what is said of a limit that a command met, by its option.
pub(super) fn of_limit(option: &str) -> &'static str {
    match option {
        MEMORY => "it was ended, since it needed more memory than it may take",
        _ => "it was refused a process, since it had as many as it may have",
    }
}

/// Writes what was changed.
pub(super) fn summary(branches: &Branches, name: &str, changes: &[Change], base: &Path) -> anyhow::Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let (old, new) = written::states(branches, name)?;
    let mut stderr = std::io::stderr();
    let width = wrap::width_of(&stderr);
    writeln!(stderr)?;
    notable::tell(&Notable::of(changes, &new, base))?;
    Ok(summary::write(changes, &old, &new, width, &mut stderr)?)
}

/// Returns what is to be looked at first.
pub(super) fn notable(branches: &Branches, name: &str, changes: &[Change], base: &Path) -> anyhow::Result<Notable> {
    if changes.is_empty() {
        return Ok(Notable::default());
    }
    let (_, new) = written::states(branches, name)?;
    Ok(Notable::of(changes, &new, base))
}

/// Writes what became of the branch, and how to go on.
pub(super) fn fate(args: &TryArgs, chosen: &Chosen, fate: &Fate) -> anyhow::Result<()> {
    let name = &chosen.name;
    let place = place(args);
    let text = match fate {
        Fate::Empty => "nothing was changed\n".to_owned(),
        Fate::Committed => "committed\n".to_owned(),
        Fate::Dropped => "dropped\n".to_owned(),
        Fate::Kept => format!(
            "kept as \"{name}\":\n  pathwalk try -b {name}{place} -- COMMAND\n  pathwalk branch diff {name}{place} --as patch\n  \
             pathwalk branch commit {name}{place}\n  pathwalk branch drop {name}{place}\n"
        ),
        Fate::Conflicts(conflicts) => shown::conflicts(name, conflicts),
    };
    std::io::stderr().write_all(text.as_bytes())?;
    Ok(())
}

/// Returns the options that name the base and the store, as they were given.
fn place(args: &TryArgs) -> String {
    let base = if args.everything { Some("/".as_ref()) } else { args.base.as_deref() };
    let option =
        |name: &str, path: Option<&Path>| path.map(|path| format!(" --{name} {}", shown::quoted(path))).unwrap_or_default();
    option("base", base) + &option("store", args.store.as_deref())
}

/// Writes all of it as JSON.
pub(super) fn json(
    Ran { chosen, outcome, .. }: &Ran,
    changes: &[Change],
    notable: &Notable,
    fate: &Fate,
    code: u8,
) -> anyhow::Result<()> {
    let mut value = shown::changes_json(changes);
    value["look_first"] = notable.json();
    value["branch"] = json!(chosen.name);
    value["exit_code"] = json!(code);
    value["signal"] = match outcome.how {
        Ended::Killed(signal) => json!(signal),
        _ => json!(null),
    };
    value["limits_met"] = limits(outcome.met).into();
    value["fate"] = json!(match fate {
        Fate::Empty => "nothing changed",
        Fate::Kept => "kept",
        Fate::Committed => "committed",
        Fate::Dropped => "dropped",
        Fate::Conflicts(_) => "conflicts",
    });
    if let Fate::Conflicts(conflicts) = fate {
        value["conflicts"] = shown::conflicts_json(conflicts)["conflicts"].take();
    }
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{value}")?;
    Ok(stdout.flush()?)
}
