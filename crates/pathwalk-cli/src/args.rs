//! What can be asked for.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, value_parser};

/// Most threads that may be asked for.
const MOST_THREADS: i64 = 1024;
/// Most rounds that may be asked for.
const MOST_ROUNDS: i64 = 100_000;

const EXAMPLES: &str = "\
Examples:
  pathwalk replay                        a compiler's 205 lookups, answered by pathwalk and by the kernel
  pathwalk replay --threads 2            the same in two threads at once
  pathwalk replay my.tsv --json          your own trace, as JSON
  pathwalk bench                         all benches
  pathwalk bench crtends readlink        two of them

Exit codes: 0 all is well; 1 an answer differed from the kernel's; 2 it could not be done.";

const REPLAY_EXAMPLES: &str = "\
A trace is a file with one lookup a line: the path, a TAB, and F_OK or some of R_OK|W_OK|X_OK. Paths are bytes; they need
not be text and may be relative. Without a trace, the 205 lookups are replayed that gcc and its linker make to compile one file.

Record one of your own:
  strace -f -e trace=access -o log make
  sed -nE 's/.*access\\(\"([^\"]*)\", ([A-Z_|]+)\\).*/\\1\\t\\2/p' log > my.tsv

Examples:
  pathwalk replay                        in the tree of this machine
  pathwalk replay my.tsv --threads 2     your own trace, in two threads
  pathwalk replay --root /srv/debian     in another tree: both sides run after chroot(2)
  pathwalk replay --json | jq .ratio     how many times as fast as access(2)

What the figures say:
  ns a lookup    of one thread, median of the rounds, with the quartiles
  ratio          lookups a second, pathwalk over access(2), median of the rounds' ratios
  ceiling        what a loop without stores gains from the same number of threads in the same rounds
  fast share     lookups that the lock-free walk finished alone

Another root needs CAP_SYS_CHROOT, or a kernel that lets users make user namespaces.
Exit codes: 0 all answers agree; 1 some differ; 2 it could not be done.";

const BENCH_EXAMPLES: &str = "\
Benches:
  gcc-trace   the 205 lookups that gcc and the linker make to compile one file
  crtends     access to one path of six components, all cached
  readlink    readlink of a short link into a buffer of 1024 bytes

Each runs in one thread and in two, beside the kernel's call, beside what one writes by hand, and beside variants of pathwalk
itself, in alternating rounds of one run. Where valgrind is installed, the instructions of pathwalk's lookups are counted too.

Examples:
  pathwalk bench                         all of them
  pathwalk bench crtends --rounds 101    one, with narrower quartiles
  pathwalk bench --json > bench.json";

/// The Linux kernel's pathname lookup, in user space: see it agree with the kernel, and how fast it is.
#[derive(Parser, Debug)]
#[command(name = "pathwalk", version, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Answer every lookup of a trace by pathwalk and by access(2); compare the answers and the time
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayArgs),
    /// Measure pathwalk beside the kernel, its peers and its own variants
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchArgs),
    /// Do so many passes of one entrant's work, for a simulator to count
    #[command(hide = true)]
    Count(CountArgs),
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ReplayArgs {
    /// File of lookups, `path TAB mode` a line [default: a compiler's lookups, built in]
    pub(crate) trace: Option<PathBuf>,
    /// Directory that is the root for both sides
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// How many threads ask at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=MOST_THREADS))]
    pub(crate) threads: u32,
    /// How many alternating rounds are timed
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = value_parser!(u32).range(1..=MOST_ROUNDS))]
    pub(crate) rounds: u32,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct BenchArgs {
    /// Which benches [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// How many alternating rounds are timed
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = value_parser!(u32).range(1..=MOST_ROUNDS))]
    pub(crate) rounds: u32,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct CountArgs {
    /// The bench.
    pub(crate) bench: String,
    /// The entrant.
    pub(crate) what: String,
    /// How many passes.
    pub(crate) passes: u64,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn help_names_every_bench() {
        for bench in pathwalk_bench::BENCHES {
            assert!(BENCH_EXAMPLES.contains(bench.name) && BENCH_EXAMPLES.contains(bench.about), "{}", bench.name);
        }
    }
}
