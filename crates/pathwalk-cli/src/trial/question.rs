//! The question what becomes of the branch, on the caller's terminal.
//!
//! What always holds: without an answer, at the end of the input and at an interrupt, the branch is
//! kept.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use pathwalk::FileType;
use pathwalk_branch::{Branches, Change};
use pathwalk_changes::patch;
use signal_hook::consts::SIGINT;

use crate::branch::{shown, written};

/// The exit code after an interrupt, as shells have it.
const INTERRUPTED: i32 = 130;

/// The answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    Keep,
    Commit,
    /// These paths are committed, and the rest is kept.
    Some(Vec<Box<[u8]>>),
    Drop,
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    Keep,
    Commit,
    Some,
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
        write!(terminal, "[k]eep, [c]ommit, [s]ome, [d]rop or [l]ook? ").context("writing to the terminal")?;
        let mut line = String::new();
        input.read_line(&mut line).context("reading from the terminal")?;
        let answer = match read(&line) {
            None => continue,
            Some(Asked::Keep) => Answer::Keep,
            Some(Asked::Commit) => Answer::Commit,
            Some(Asked::Drop) => Answer::Drop,
            Some(Asked::Some) => match choose(changes, &mut input, &mut terminal)? {
                Some(paths) => Answer::Some(paths),
                None => continue,
            },
            Some(Asked::Look) => {
                // Interrupts are the pager's.
                asks.store(false, Ordering::Relaxed);
                look(branches, name, changes, &terminal)?;
                asks.store(true, Ordering::Relaxed);
                continue;
            }
        };
        asks.store(false, Ordering::Relaxed);
        return Ok(Some(answer));
    }
}

/// Reads an answer; `None` for a line that is none.
fn read(line: &str) -> Option<Asked> {
    let word = line.trim().to_lowercase();
    let answers =
        [("keep", Asked::Keep), ("commit", Asked::Commit), ("some", Asked::Some), ("drop", Asked::Drop), ("look", Asked::Look)];
    if line.is_empty() {
        return Some(Asked::Keep);
    }
    answers.iter().find(|(name, _)| !word.is_empty() && name.starts_with(&*word)).map(|(_, answer)| *answer)
}

/// Asks which changes are committed, one by one. What is in a new directory is no question of its
/// own. `None` if none of them is, or the input ends.
fn choose(changes: &[Change], input: &mut impl BufRead, terminal: &mut File) -> anyhow::Result<Option<Vec<Box<[u8]>>>> {
    let mut chosen: Vec<Box<[u8]>> = Vec::new();
    let mut last: Option<&[u8]> = None;
    for change in changes {
        // It goes with the directory, which is new.
        if last.is_some_and(|dir| change.path().strip_prefix(dir).is_some_and(|rest| rest.first() == Some(&b'/'))) {
            continue;
        }
        let is_new_directory = matches!(change, Change::Added { kind: FileType::Directory, .. });
        last = is_new_directory.then(|| change.path());
        let shown = shown::changes(std::slice::from_ref(change));
        write!(terminal, "{}: commit? [y/N] ", shown.trim_end()).context("writing to the terminal")?;
        let mut line = String::new();
        if input.read_line(&mut line).context("reading from the terminal")? == 0 {
            return Ok(None);
        }
        if ["y", "yes"].contains(&&*line.trim().to_lowercase()) {
            chosen.push(change.path().into());
            if let Change::Renamed { from, .. } = change {
                chosen.push(from.clone());
            }
        }
    }
    Ok(Some(chosen).filter(|chosen| !chosen.is_empty()))
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
            [Asked::Keep, Asked::Commit, Asked::Drop, Asked::Look].map(Some)
        );
        assert_eq!((read("\n"), read("yes\n"), read("")), (None, None, Some(Asked::Keep)));
    }
}
