//! The question what becomes of the branch, on the caller's terminal.
//!
//! What always holds: without an answer, at the end of the input and at an interrupt, the branch is
//! kept.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, ErrorKind, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use pathwalk_branch::{Branches, Change};
use pathwalk_changes::patch;
use signal_hook::consts::SIGINT;

use crate::branch::written;

/// The exit code after an interrupt, as shells have it.
const INTERRUPTED: i32 = 130;

/// The answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    Keep,
    Commit,
    Drop,
    Look,
}

/// Asks until there is an answer; `None` where there is no terminal.
pub(super) fn ask(branches: &Branches, name: &str, changes: &[Change]) -> anyhow::Result<Option<Answer>> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(None);
    }
    let Ok(mut terminal) = OpenOptions::new().read(true).write(true).open("/dev/tty") else { return Ok(None) };
    let mut input = BufReader::new(terminal.try_clone().context("reading from the terminal")?);
    let asks = Arc::new(AtomicBool::new(true));
    // The branch is stored: nothing is lost.
    signal_hook::flag::register_conditional_shutdown(SIGINT, INTERRUPTED, Arc::clone(&asks)).context("handling signals")?;
    loop {
        write!(terminal, "[k]eep, [c]ommit, [d]rop or [l]ook? ").context("writing to the terminal")?;
        let mut line = String::new();
        input.read_line(&mut line).context("reading from the terminal")?;
        let Some(answer) = read(&line) else { continue };
        if answer != Answer::Look {
            asks.store(false, Ordering::Relaxed);
            return Ok(Some(answer));
        }
        // Interrupts are the pager's.
        asks.store(false, Ordering::Relaxed);
        look(branches, name, changes, &terminal)?;
        asks.store(true, Ordering::Relaxed);
    }
}

/// Reads an answer; `None` for a line that is none.
fn read(line: &str) -> Option<Answer> {
    let word = line.trim().to_lowercase();
    let answers = [("keep", Answer::Keep), ("commit", Answer::Commit), ("drop", Answer::Drop), ("look", Answer::Look)];
    if line.is_empty() {
        return Some(Answer::Keep);
    }
    answers.iter().find(|(name, _)| !word.is_empty() && name.starts_with(&*word)).map(|(_, answer)| *answer)
}

/// Shows the changes as a patch in the pager.
fn look(branches: &Branches, name: &str, changes: &[Change], terminal: &File) -> anyhow::Result<()> {
    let pager = std::env::var("PAGER").ok().filter(|pager| !pager.is_empty()).unwrap_or_else(|| "less".to_owned());
    let (old, new) = written::states(branches, name)?;
    let mut text = Vec::new();
    patch::write(changes, &old, &new, &mut text)?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &pager]).stdin(Stdio::piped()).stdout(terminal.try_clone().context("the terminal")?);
    let mut child = command.spawn().with_context(|| format!("starting the pager \"{pager}\""))?;
    let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(&text));
    child.wait().context("waiting for the pager")?;
    match written {
        // It was left before the end.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("writing to the pager"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_may_be_short() {
        assert_eq!(
            ["k\n", "COMMIT\n", " d \n", "lo\n"].map(read),
            [Answer::Keep, Answer::Commit, Answer::Drop, Answer::Look].map(Some)
        );
        assert_eq!((read("\n"), read("yes\n"), read("")), (None, None, Some(Answer::Keep)));
    }
}
