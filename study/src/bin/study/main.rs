//! The program `study`: eviction policies, simulated on recorded walks.
//!
//! - [`policies`]: policies of the cache of names, on recordings; [`storm`]: the same policies, on
//!   absent names that are generated;
//! - [`whole_paths`]: policies of the memo of whole paths;
//! - [`files`]: the recordings that are named on the command line; [`save`]: the walks of one of
//!   them in a small file;
//! - [`show`]: the results as tables and as JSON.

mod files;
mod policies;
mod save;
mod show;
mod storm;
mod whole_paths;

use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use pathwalk_output::{exits, program};
use pathwalk_study::{ENTRANTS, Entrant, find};

const EXAMPLES: &str = "\
Examples:
  study policies
      all policies on the built-in walks
  study policies build.strace --cwd . --size 5,10,20
      on a recording of strace
  study storm 1000000
      on a million absent names against a hot set of 10,000 files
  study whole-paths
      policies of the memo of whole paths
  study save build.strace build.walks.gz --cwd .
      the walks of a recording in a small file

Each command has more: study policies --help

The results are in docs/eviction.md. Tables are as wide as the terminal.
Elsewhere they have the columns of the variable COLUMNS, or 80.";

/// The exit codes of all commands.
const CODES: &str = "\
Exit codes:
  0  it is done
  2  it could not be done";

/// Eviction policies, simulated on recorded walks: hits are counted, no time is measured
#[derive(Parser, Debug)]
#[command(name = "study", after_help = exits::short(CODES), after_long_help = exits::long(EXAMPLES, CODES))]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Policies(policies::PoliciesArgs),
    Storm(storm::StormArgs),
    WholePaths(whole_paths::WholePathsArgs),
    Save(save::SaveArgs),
}

fn main() -> ExitCode {
    program::run(|args: Args| {
        match args.command {
            Command::Policies(args) => policies::run(&args),
            Command::Storm(args) => storm::run(&args),
            Command::WholePaths(args) => whole_paths::run(&args),
            Command::Save(args) => save::run(&args),
        }?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Returns the parser of a policy's name.
fn policy() -> impl TypedValueParser<Value = Entrant> {
    let names = ENTRANTS.iter().map(|entrant| PossibleValue::new(entrant.name).help(entrant.about));
    PossibleValuesParser::new(names).try_map(|name| find(&name).ok_or("there is no such policy"))
}

/// Returns the policies that were named, or all if none was.
fn chosen(named: &[Entrant]) -> &[Entrant] {
    if named.is_empty() { ENTRANTS } else { named }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        program::command::<Args>().debug_assert();
    }

    #[test]
    fn policies_are_known_by_name() {
        let parsed = |name| Args::try_parse_from(["study", "storm", "--policy", name]);
        assert!(parsed("sieve,s3-fifo").is_ok());
        assert!(parsed("best").unwrap_err().to_string().contains("s3-fifo, clock"));
    }
}
