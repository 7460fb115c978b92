//! The frame of a program: its command line, its errors, and its end.
//!
//! What always holds: the option `--quiet` stands before or after any command. A command line that
//! is not valid ends the program with [`NOT_DONE`], as clap does.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{Arg, ArgAction, Command, CommandFactory, Parser};

use crate::exits::NOT_DONE;
use crate::progress::{Reports, set_reports};
use crate::wrap;

/// The id of the option `--quiet`.
const QUIET: &str = "quiet";

static NAME: OnceLock<String> = OnceLock::new();

/// Returns the command line of a program: its own, and the option `--quiet`.
pub fn command<A: CommandFactory>() -> Command {
    let quiet = Arg::new(QUIET).long(QUIET).short('q').action(ArgAction::SetTrue).global(true).display_order(900);
    A::command().arg(
        quiet.help("Do not report progress: on a terminal it is a bar on standard error, elsewhere a line every few seconds"),
    )
}

/// Runs a program: parses its command line and passes it to `work`. Reports an error of `work` on
/// standard error. Ends the process where help is asked for, or where the command line is not
/// valid.
pub fn run<A: Parser>(work: impl FnOnce(A) -> anyhow::Result<ExitCode>) -> ExitCode {
    let command = command::<A>();
    NAME.get_or_init(|| command.get_name().to_owned());
    let mut command = command.term_width(wrap::measure());
    let matches = command.get_matches_mut();
    set_reports(if matches.get_flag(QUIET) { Reports::Quiet } else { Reports::Shown });
    let args = A::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit());
    work(args).unwrap_or_else(|error| {
        complain(&error);
        ExitCode::from(NOT_DONE)
    })
}

/// Returns a line of the program on standard error, which begins with the program's name.
pub(crate) fn signed(text: &str) -> String {
    NAME.get().map_or_else(|| text.to_owned(), |name| format!("{name}: {text}"))
}

/// Writes an error to standard error. On a terminal its lines are broken to fit.
pub fn complain(error: &anyhow::Error) {
    let mut stderr = std::io::stderr().lock();
    let text = format!("{}\n", signed(&chain(error)));
    let text = if stderr.is_terminal() { wrap::fitted(&text, wrap::width_of(&stderr)) } else { text };
    // Without a reader of the error, the exit code has to do.
    let _ = stderr.write_all(text.as_bytes());
}

/// Returns an error with its causes, without those that the text before already contains.
pub fn chain(error: &anyhow::Error) -> String {
    error.chain().skip(1).fold(error.to_string(), |mut text, cause| {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            let _ = write!(text, ": {cause}");
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_once() {
        let error = anyhow::anyhow!("no such file").context("opening it: no such file; name another").context("starting");
        assert_eq!(chain(&error), "starting: opening it: no such file; name another");
    }
}
