//! The command `pathwalk branch`: writable branches of a directory, and what they changed.
//!
//! - [`answers`]: what is done about conflicts;
//! - [`place`]: the directory, and the store of its branches;
//! - [`shown`]: branches, changes and conflicts as text and as JSON;
//! - [`written`]: changes in the formats of `pathwalk-changes`.
//!
//! What always holds: the directory itself is changed by `commit`, `undo` and `apply` alone, and by
//! nothing if there are conflicts.

pub(crate) mod answers;
pub(crate) mod place;
pub(crate) mod shown;
pub(crate) mod written;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use pathwalk_branch::{Branches, Damage, Error};

use crate::exits;
use crate::output;
use answers::Answers;
use place::{Missing, Place};

/// The text below the options of `pathwalk branch`.
pub(crate) const BRANCH_EXAMPLES: &str = "\
A branch is a writable view of a directory, the base. What is changed in it is
kept beside the base, which stays as it is until the branch is committed. What
was not changed shows the base as it is now.

Examples:
  pathwalk branch fork work
      a branch of the working directory
  pathwalk mount branch:work /mnt
      on /mnt, so that programs work in it
  sync -f /mnt; pathwalk branch diff work
      what they changed; without sync, up to five seconds before
  pathwalk umount /mnt && pathwalk branch commit work
      makes that the content of the directory
  pathwalk branch commit work src/main.rs docs
      of these alone; the rest stays in the branch
  pathwalk branch commit work --undoable; pathwalk branch undo work
      commits it, and takes that back
  pathwalk branch rebase work
      takes over what the directory has got since
  pathwalk branch commit work --merge --resolve /config=ours
      where both changed the same: merges texts, and keeps the branch's /config
  pathwalk branch diff work --base /srv/www
      of a branch of another directory
  pathwalk branch fork step --from work
      a branch of the branch: of the same cost at any depth
  pathwalk branch drop step
      forgets what was changed in it

A commit is whole or not there, also after a crash. It reports what both the
branch and the base have changed, and does nothing then.

Branches are in $XDG_STATE_HOME/pathwalk/branches, or where --store says.";

#[derive(ClapArgs, Debug)]
pub(crate) struct BranchArgs {
    #[command(subcommand)]
    command: Command,
    /// Directory of which there are branches
    #[arg(long, value_name = "DIR", default_value = ".", global = true)]
    base: PathBuf,
    /// Directory in which the branches are kept [default: one for each base, in $XDG_STATE_HOME]
    #[arg(long, value_name = "DIR", global = true)]
    store: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
#[command(defer = true)]
enum Command {
    /// List all branches of the base
    #[command(after_help = exits::short(exits::BRANCH), after_long_help = exits::short(exits::BRANCH))]
    List {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Print what is known of a branch, and how much was changed in it
    #[command(after_help = exits::short(exits::BRANCH), after_long_help = exits::short(exits::BRANCH))]
    Show {
        /// Name of the branch
        #[arg(value_name = "NAME")]
        name: String,
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Make a branch, of the base as it is or of another branch as it is now
    #[command(after_help = exits::short(exits::BRANCH), after_long_help = exits::short(exits::BRANCH))]
    Fork {
        /// Name of the new branch
        #[arg(value_name = "NAME")]
        name: String,
        /// Branch of which it is made [default: the base]
        #[arg(long, value_name = "NAME")]
        from: Option<String>,
        /// Text that is kept with it
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Set the text that is kept with a branch
    #[command(after_help = exits::short(exits::BRANCH), after_long_help = exits::short(exits::BRANCH))]
    Note {
        /// Name of the branch
        #[arg(value_name = "NAME")]
        name: String,
        /// The text
        #[arg(value_name = "TEXT")]
        note: String,
    },
    /// Print what a branch changed since it was made
    #[command(after_help = exits::short(exits::BRANCH_DIFF), after_long_help = exits::short(exits::BRANCH_DIFF))]
    Diff {
        /// Name of the branch
        #[arg(value_name = "NAME")]
        name: String,
        /// Form in which it is printed
        #[arg(long = "as", value_name = "FORM", value_enum, default_value_t = Form::Lines)]
        form: Form,
        /// Print the names and kinds of changes as JSON
        #[arg(long, conflicts_with = "form")]
        json: bool,
    },
    /// Apply changes that were printed to the base, of this branch or another one
    #[command(after_help = exits::short(exits::BRANCH), after_long_help = exits::short(exits::BRANCH))]
    Apply {
        /// Form of the changes
        #[arg(long = "as", value_name = "FORM", value_enum, default_value_t = Applied::Patch)]
        form: Applied,
        /// File that has them
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Apply what a branch changed to the branch of which it was made, or to the base; then the
    /// branch is gone, or has the rest
    #[command(after_help = exits::short(exits::BRANCH_COMMIT), after_long_help = exits::short(exits::BRANCH_COMMIT))]
    Commit {
        /// Name of the branch
        #[arg(value_name = "NAME")]
        name: String,
        /// Paths from the root of the branch on, of which it is committed what was changed there
        /// and below; all else stays in the branch [default: all]
        #[arg(value_name = "PATH")]
        paths: Vec<OsString>,
        #[command(flatten)]
        answers: Answers,
        /// Make a branch that takes the commit back [default name: NAME.undo]
        #[arg(long, value_name = "UNDO", conflicts_with = "paths", num_args = 0..=1, require_equals = true, default_missing_value = "")]
        undoable: Option<String>,
        /// Print conflicts as JSON
        #[arg(long)]
        json: bool,
    },
    /// Take back the commit of a branch that was made with --undoable
    #[command(after_help = exits::short(exits::BRANCH_UNDO), after_long_help = exits::short(exits::BRANCH_UNDO))]
    Undo {
        /// Name of the branch that was committed: NAME.undo is committed. With a name of its own,
        /// commit that one
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        answers: Answers,
        /// Print conflicts as JSON
        #[arg(long)]
        json: bool,
    },
    /// Take over what the branch of which it was made, or the base, has changed since
    #[command(after_help = exits::short(exits::BRANCH_REBASE), after_long_help = exits::short(exits::BRANCH_REBASE))]
    Rebase {
        /// Name of the branch
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        answers: Answers,
        /// Print conflicts as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove from the store what no branch refers to any more; branches may be in use
    #[command(after_help = exits::short(exits::BRANCH), after_long_help = exits::short(exits::BRANCH))]
    Gc,
    /// Check that the store has all that its branches refer to, and mend what can be mended
    #[command(after_help = exits::short(exits::BRANCH_CHECK), after_long_help = exits::short(exits::BRANCH_CHECK))]
    Check,
    /// Forget a branch, with all that was changed in it
    #[command(after_help = exits::short(exits::BRANCH), after_long_help = exits::short(exits::BRANCH))]
    Drop {
        /// Name of the branch
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// The form in which changes are printed.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// A letter and a path on each line, as git status has it
    Lines,
    /// A table with sizes, in which renames are found by what files contain
    Summary,
    /// A patch in git's format, binary files too; what it cannot hold is told
    Patch,
    /// All that nodes have, as one JSON object on each line
    Json,
    /// A tar archive of what was added and changed, with the names that were removed in its header
    Tar,
    /// A layer of an OCI image, with whiteouts
    Oci,
}

/// The form in which changes are applied.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Applied {
    /// A patch, as git diff and diff --as patch print it
    Patch,
    /// What diff --as json prints
    Json,
    /// What diff --as tar prints
    Tar,
    /// A layer of an OCI image
    Oci,
}

/// Does what one of the commands says.
pub(crate) fn run(args: &BranchArgs) -> anyhow::Result<ExitCode> {
    carry_out(args).map_err(|error| match error.downcast_ref() {
        Some(Error::InUse(_)) => anyhow::anyhow!("{error}; if it is mounted: pathwalk umount MOUNTPOINT"),
        _ => error,
    })
}

fn carry_out(args: &BranchArgs) -> anyhow::Result<ExitCode> {
    let place = Place::find(&args.base, args.store.as_deref())?;
    // Each command asks the base once, and ends.
    let open = |missing| place.open_unmounted(missing);
    let there = || open(Missing::Fail);
    match &args.command {
        Command::List { json } => return list(&there()?, &place.base, *json),
        Command::Show { name, json } => return show(&there()?, name, *json),
        Command::Fork { name, from, note } => {
            let branches = open(Missing::Make)?;
            branches.fork_only(from.as_deref(), name)?;
            if let Some(note) = note {
                branches.set_note(name, note)?;
            }
        }
        Command::Note { name, note } => there()?.set_note(name, note)?,
        Command::Diff { name, form, json } => return diff(&there()?, name, *form, *json),
        Command::Apply { form, file } => written::apply(&place.base, *form, file)?,
        Command::Commit { name, paths, answers, undoable, json } => {
            let (resolution, branches) = (answers.resolution()?, there()?);
            let paths: Vec<_> = paths.iter().map(|path| answers::rooted(path.as_bytes())).collect();
            let committed = match (undoable.as_deref(), &paths[..]) {
                (None, []) => branches.commit_with(name, &resolution),
                (None, paths) => branches.commit_paths(name, paths, &resolution),
                (Some(""), _) => branches.commit_undoable(name, &resolution, &undo_of(name)),
                (Some(undo), _) => branches.commit_undoable(name, &resolution, undo),
            };
            return answered(committed, *json);
        }
        Command::Undo { name, answers, json } => {
            let (resolution, undo) = (answers.resolution()?, undo_of(name));
            return match there()?.commit_with(&undo, &resolution) {
                Err(Error::NoBranch(of)) if of == undo => {
                    bail!("no commit of \"{name}\" can be taken back: commit with --undoable, and undo that once")
                }
                undone => answered(undone, *json),
            };
        }
        Command::Rebase { name, answers, json } => {
            let resolution = answers.resolution()?;
            return answered(there()?.rebase(name, &resolution), *json);
        }
        Command::Drop { name } => there()?.drop(name)?,
        Command::Gc => output::print(&shown::collected(there()?.collect()?))?,
        Command::Check => {
            let found = there()?.check()?;
            output::print(&shown::damages(&found))?;
            return Ok(exits::of_answer(found.iter().all(Damage::is_mended)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the name of the branch that takes back the commit of another.
fn undo_of(name: &str) -> String {
    format!("{name}.undo")
}

fn diff(branches: &Branches, name: &str, form: Form, json: bool) -> anyhow::Result<ExitCode> {
    let changes = branches.diff(name)?;
    match form {
        _ if json => output::print_json(&shown::changes_json(&changes))?,
        Form::Lines => output::print_unbroken(&shown::changes(&changes))?,
        form => written::write(branches, name, &changes, form)?,
    }
    Ok(exits::of_answer(changes.is_empty()))
}

fn list(branches: &Branches, base: &Path, json: bool) -> anyhow::Result<ExitCode> {
    let all = branches.list()?;
    if json {
        output::print_json(&shown::branches_json(&all))?;
    } else {
        output::print(&shown::branches(&all, base))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(branches: &Branches, name: &str, json: bool) -> anyhow::Result<ExitCode> {
    let all = branches.list()?;
    let found = all.into_iter().find(|branch| branch.name == name).ok_or_else(|| Error::NoBranch(name.to_owned()))?;
    let changes = branches.diff(name)?;
    if json {
        output::print_json(&shown::branch_json(&found, &changes))?;
    } else {
        output::print(&shown::branch(&found, &changes))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the conflicts of a commit or a rebase, if there are any.
fn answered(result: Result<(), Error>, json: bool) -> anyhow::Result<ExitCode> {
    match result {
        Ok(()) => {
            if json {
                output::print_json(&shown::conflicts_json(&[]))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(Error::Conflicts { name, conflicts }) => {
            if json {
                output::print_json(&shown::conflicts_json(&conflicts))?;
            } else {
                output::print(&shown::conflicts(&name, &conflicts))?;
            }
            Ok(exits::of_answer(false))
        }
        Err(error) => Err(error.into()),
    }
}
