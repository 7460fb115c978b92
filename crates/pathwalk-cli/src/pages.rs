//! The commands `pathwalk completions` and `pathwalk man`: completions for shells, and manual
//! pages, both made from the command line's own description.
//!
//! What always holds: the pages say what `--help` says. Commands that `--help` hides have no page
//! and no completion.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args as ClapArgs, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use pathwalk_bench::machine::escaped;
use pathwalk_output::program;

use crate::args::Args;
use crate::output;

/// The text below the options of `pathwalk completions`.
pub(crate) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(pathwalk completions bash)
      for this shell alone
  pathwalk completions bash \\
    > ~/.local/share/bash-completion/completions/pathwalk
      for all shells to come
  pathwalk completions zsh > \"${fpath[1]}/_pathwalk\"
  pathwalk completions fish > ~/.config/fish/completions/pathwalk.fish";

/// The text below the options of `pathwalk man`.
pub(crate) const MAN_EXAMPLES: &str = "\
Examples:
  pathwalk man | man -l -
      reads the page of the program
  pathwalk man ~/.local/share/man/man1
      writes all pages: pathwalk.1, pathwalk-replay.1, pathwalk-explain.1, ...";

#[derive(ClapArgs, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ManArgs {
    /// Directory for the pages of all commands, which is made if it is not there; files of the
    /// same names are replaced [default: one page, to standard output]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints the completions for a shell.
pub(crate) fn complete(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut without_hidden(), "pathwalk", &mut script);
    output::print_unbroken(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the command line without the commands that are hidden.
fn without_hidden() -> Command {
    let all = program::command::<Args>();
    Command::new("pathwalk")
        .version(env!("CARGO_PKG_VERSION"))
        .args(all.get_arguments().cloned())
        .subcommands(all.get_subcommands().filter(|command| !command.is_hide_set()).cloned())
}

/// Prints the page of the program, or writes the pages of all commands.
pub(crate) fn write_pages(args: &ManArgs) -> anyhow::Result<ExitCode> {
    let mut command = program::command::<Args>().disable_help_subcommand(true);
    command.build();
    match &args.dir {
        None => output::print_unbroken(&page(&command).1)?,
        Some(dir) => {
            let shown = escaped(dir).to_string();
            std::fs::create_dir_all(dir)
                .with_context(|| format!("cannot make \"{shown}\"; name a directory that you may write to"))?;
            let count = write_all(&command, dir)?;
            output::print(&format!("{count} pages are in \"{shown}\"\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a command and of all commands below it. Returns the number of pages.
fn write_all(command: &Command, dir: &Path) -> anyhow::Result<usize> {
    let (name, text) = page(command);
    let file = dir.join(name);
    std::fs::write(&file, text)
        .with_context(|| format!("writing \"{}\"; name a directory that you may write to", escaped(&file)))?;
    let below = command.get_subcommands().filter(|command| !command.is_hide_set());
    below.map(|command| write_all(command, dir)).sum::<anyhow::Result<usize>>().map(|count| count + 1)
}

/// Returns the name of a command's page, and its text.
fn page(command: &Command) -> (String, String) {
    let man = Man::new(command.clone()).manual("pathwalk");
    let mut page = Vec::new();
    let sections = [
        Man::render_title,
        Man::render_name_section,
        Man::render_synopsis_section,
        Man::render_description_section,
        Man::render_options_section,
    ];
    for section in sections {
        // A vector takes all that is written to it.
        let _ = section(&man, &mut page);
    }
    if command.get_subcommands().any(|command| !command.is_hide_set()) {
        let _ = man.render_subcommands_section(&mut page);
    }
    let mut text = String::from_utf8_lossy(&page).into_owned();
    if let Some(extra) = command.get_after_long_help() {
        text += &unfilled(&extra.to_string());
    }
    (man.get_filename(), text)
}

/// Returns the text below the options as a section whose lines stay as they are.
fn unfilled(text: &str) -> String {
    let mut section = String::from(".SH NOTES\n.nf\n");
    for line in text.lines() {
        if line.starts_with(['.', '\'']) {
            section += "\\&";
        }
        section += &line.replace('\\', "\\e").replace('-', "\\-");
        section.push('\n');
    }
    section + ".fi\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_no_requests_of_the_formatter() {
        assert_eq!(unfilled(".x\n'y\na \\ --b"), ".SH NOTES\n.nf\n\\&.x\n\\&'y\na \\e \\-\\-b\n.fi\n");
    }

    #[test]
    fn what_is_hidden_is_not_completed() {
        let names: Vec<_> = without_hidden().get_subcommands().map(|command| command.get_name().to_owned()).collect();
        assert_eq!(
            names,
            ["replay", "bench", "explain", "watch", "mount", "umount", "stats", "branch", "try", "completions", "man"]
        );
    }
}
