//! What can be asked for.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, value_parser};

use crate::bench::Own;
use crate::explain::args::{EXPLAIN_EXAMPLES, ExplainArgs};

/// Most threads that may be asked for.
const MOST_THREADS: i64 = 1024;
/// Most rounds that may be asked for.
const MOST_ROUNDS: i64 = 100_000;

const EXAMPLES: &str = "\
Examples:
  pathwalk replay                        a compiler's 205 lookups, answered by pathwalk and by the kernel
  pathwalk replay --threads 2            the same in two threads at once
  pathwalk replay build.strace --cwd .   what a recorded command looks up: see pathwalk replay --help
  pathwalk explain /root/x --as nobody   who may pass, who is refused and by which rule
  pathwalk bench                         all benches
  pathwalk bench crtends readlink        two of them

Exit codes: 0 all is well; 1 an answer differed from the kernel's; 2 it could not be done.";

const REPLAY_EXAMPLES: &str = "\
What do the lookups of my build cost? Record it, then replay the recording where it was made:
  strace -f -y -o build.strace -e trace=%file,%process,fchdir,close,dup,dup2,dup3,fcntl make
  pathwalk replay build.strace --cwd . --svg build.svg

FILE is what strace wrote, plain or packed with gzip, with or without -t, -T and -y; or a trace, one lookup a line: the path, a
TAB, and F_OK or some of R_OK|W_OK|X_OK. Without FILE, the 205 lookups are replayed that gcc and its linker make to compile one
file. Every lookup is answered by pathwalk and by the kernel; an open is asked as access by its mode, execve as access to execute,
chdir as access to search. Nothing is run, nothing changed.

Examples:
  pathwalk replay build.strace --cwd .   a recording; --cwd is the directory in which strace was started
  pathwalk replay - < build.strace.gz    from standard input, packed or not
  pathwalk replay build.strace --cwd . --tree build.tree
                                         and keep the names that it goes through, to replay it on another machine
  pathwalk replay my.tsv --threads 2     a trace, in two threads
  pathwalk replay --root /srv/debian     in another tree: both sides run after chroot(2)
  pathwalk replay --json | jq .ratio     how many times as fast as the kernel

What the figures say:
  outside the tree ...     lookups in proc and sysfs, of devices and over magic links: the kernel itself answers them, no file system
  answered of the others   lookups that both sides were asked; the rest is in the table of those left out, with the reason
  absent                   of them, those for a name that is not there: most come from search paths, and the table says in which
                           directories they search
  repeats                  lookups that ask again what was asked before: what a cache can save
  disagreements            answers in which pathwalk and the kernel differ; for attributes every one but the access time counts
  answered otherwise ...   the tree is not as it was when recorded: those names came or went since
  time in the kernel now   all answered lookups at the kernel's speed measured here; with the cache: at pathwalk's
  ns a lookup              of one thread, median of the rounds, with the quartiles
  ratio                    lookups a second, pathwalk over the kernel, median of the rounds' ratios
  ceiling                  what a loop without stores gains from the same number of threads in the same rounds
  fast share               lookups that the lock-free walk finished alone

The picture of --svg opens in a browser: each name is as wide as lookups ended at it or below it, and the redder the more of them
found nothing. A wide red frame is a directory that is searched in vain.

Another root needs CAP_SYS_CHROOT, or a kernel that lets users make user namespaces.
Exit codes: 0 all answers agree; 1 some differ; 2 it could not be done.";

const BENCH_EXAMPLES: &str = "\
Benches:
  gcc-trace   the 205 lookups that gcc and the linker make to compile one file
  crtends     access to one path of six components, all cached
  readlink    readlink of a short link into a buffer of 1024 bytes

Each of these runs in one thread and in two, beside the kernel's call, beside what one writes by hand, and beside variants of pathwalk
itself, in alternating rounds of one run. Where valgrind is installed, the instructions of pathwalk's lookups are counted too.
Those under Commands have arguments of their own.

Examples:
  pathwalk bench                         all but those with arguments of their own
  pathwalk bench crtends --rounds 101    one, with narrower quartiles
  pathwalk bench --json > bench.json
  pathwalk bench walktrees --threads 4   millions of files, each asked for by path: see pathwalk bench walktrees --help
  pathwalk bench open-cached             opens that the cache may answer, beside tokio and io_uring";

/// The Linux kernel's pathname lookup, in user space: see it agree with the kernel, and how fast it is.
#[derive(Parser, Debug)]
#[command(name = "pathwalk", version, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Answer every lookup of a recording by pathwalk and by the kernel; compare the answers and the time
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayArgs),
    /// Measure pathwalk beside the kernel, its peers and its own variants
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchArgs),
    /// Tell one lookup step by step: who may pass, who is refused and by which rule, and what to do about it
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Do so many passes of one entrant's work, for a simulator to count
    #[command(hide = true)]
    Count(CountArgs),
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ReplayArgs {
    /// What strace wrote, or a trace; `-` is standard input [default: a compiler's lookups, built in]
    #[arg(value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Directory in which the recorded program started
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Directory that is the root for both sides
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// How many threads ask at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=MOST_THREADS))]
    pub(crate) threads: u32,
    /// How many alternating rounds are timed
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = value_parser!(u32).range(1..=MOST_ROUNDS))]
    pub(crate) rounds: u32,
    /// Draw where the lookups end
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Write all directories, files and links that the lookups go through, `kind TAB path TAB mode TAB link body` a line
    #[arg(long, value_name = "FILE")]
    pub(crate) tree: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(ClapArgs, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) own: Option<Own>,
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
