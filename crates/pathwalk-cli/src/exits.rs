//! The exit codes of all commands, as their helps tell them.

use std::process::ExitCode;

pub(crate) use pathwalk_output::exits::{NOT_DONE, long, short};

/// The exit code of a command whose answer is no.
pub(crate) const NO: u8 = 1;

/// The exit code of `pathwalk try` if it fails itself.
pub(crate) const NOT_TRIED: u8 = 125;

/// Its exit code if the command cannot be run, as shells have it.
pub(crate) const NOT_RUNNABLE: u8 = 126;

/// Its exit code if the command is not there, as shells have it.
pub(crate) const NOT_FOUND: u8 = 127;

/// The codes of the program.
pub(crate) const PROGRAM: &str = "\
Exit codes:
  0  all is well
  1  replay: an answer differed from the kernel's;
     explain: the path is not reached, or --want is not granted;
     branch diff: there are changes;
     branch commit, branch undo, branch rebase: there are conflicts
  2  the command could not be carried out";

/// The codes of `pathwalk replay`.
pub(crate) const REPLAY: &str = "\
Exit codes:
  0  all answers agree with the kernel's
  1  some differ
  2  it could not be done";

/// The codes of `pathwalk explain`.
pub(crate) const EXPLAIN: &str = "\
Exit codes:
  0  the path is reached; with --want, that access is granted too
  1  the path is not reached, or the access is refused
  2  it could not be explained, or the answer is not known";

/// The codes of `pathwalk watch`.
pub(crate) const WATCH: &str = "\
Exit codes:
  0  it was interrupted, or --events have come
  2  it could not be watched";

/// The codes of `pathwalk mount`.
pub(crate) const MOUNT: &str = "\
Exit codes:
  0  it is mounted; with -f, it was unmounted
  2  it could not be mounted";

/// The codes of `pathwalk umount`.
pub(crate) const UMOUNT: &str = "\
Exit codes:
  0  it is unmounted
  2  it could not be unmounted";

/// The codes of `pathwalk stats`.
pub(crate) const STATS: &str = "\
Exit codes:
  0  they are printed; with --watch, it was interrupted or unmounted
  2  there are none";

/// The codes of `pathwalk branch` and of most commands below it.
pub(crate) const BRANCH: &str = "\
Exit codes:
  0  it is done
  2  it could not be done";

/// The codes of `pathwalk branch diff`.
pub(crate) const BRANCH_DIFF: &str = "\
Exit codes:
  0  nothing was changed
  1  there are changes
  2  it could not be done";

/// The codes of `pathwalk branch check`.
pub(crate) const BRANCH_CHECK: &str = "\
Exit codes:
  0  all is there, or is mended
  1  something is lost
  2  it could not be checked";

/// The codes of `pathwalk branch commit`.
pub(crate) const BRANCH_COMMIT: &str = "\
Exit codes:
  0  it is committed
  1  there are conflicts, and nothing was done
  2  it could not be done";

/// The codes of `pathwalk branch undo`.
pub(crate) const BRANCH_UNDO: &str = "\
Exit codes:
  0  the commit is taken back
  1  there are conflicts, and nothing was done
  2  it could not be done";

/// The codes of `pathwalk branch rebase`.
pub(crate) const BRANCH_REBASE: &str = "\
Exit codes:
  0  the branch has all of it
  1  there are conflicts, and nothing was done
  2  it could not be done";

/// The codes of `pathwalk try`.
pub(crate) const TRY: &str = "\
Exit codes:
  0    the command ended with 0; all its codes are passed on, but:
  2    the command line is not valid
  125  it could not be tried
  126  the command cannot be run
  127  the command is not there
  128  and the number of the signal that ended the command";

/// The codes of `pathwalk bench` and of all benches.
pub(crate) const BENCH: &str = "\
Exit codes:
  0  it was measured
  2  it could not be done";

/// The codes of the commands that write files for other programs.
pub(crate) const WRITE: &str = "\
Exit codes:
  0  it is written
  2  it could not be done";

/// Returns the code for an answer that is yes or no.
pub(crate) fn of_answer(is_yes: bool) -> ExitCode {
    if is_yes { ExitCode::SUCCESS } else { ExitCode::from(NO) }
}
