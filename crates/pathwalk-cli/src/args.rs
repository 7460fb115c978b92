//! The command line of the program.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum, value_parser};
use pathwalk_hostfs::Coherence;

use crate::bench::Own;
use crate::branch::{BRANCH_EXAMPLES, BranchArgs};
use crate::exits;
use crate::explain::args::{EXPLAIN_EXAMPLES, ExplainArgs};
use crate::mount::{MOUNT_EXAMPLES, MountArgs};
use crate::pages::{COMPLETIONS_EXAMPLES, CompletionsArgs, MAN_EXAMPLES, ManArgs};
use crate::stats::{STATS_EXAMPLES, StatsArgs};
use crate::trial::options::{InsideArgs, TRY_EXAMPLES, TryArgs};
use crate::umount::{UMOUNT_EXAMPLES, UmountArgs};
use crate::watch::{WATCH_EXAMPLES, WatchArgs};

/// The largest number of threads that may be requested.
const MOST_THREADS: i64 = 1024;
/// The largest number of rounds that may be requested.
const MOST_ROUNDS: i64 = 100_000;

const EXAMPLES: &str = "\
Examples:
  pathwalk replay                  a compiler's 205 lookups, answered by
                                   pathwalk and by the kernel
  pathwalk replay build.strace --cwd .
                                   what a recorded command looks up
  pathwalk explain /root/x --as nobody
                                   who may pass, who is refused, by which rule
  pathwalk explain /srv/www --as www-data --want rx && echo yes
                                   the answer as an exit code
  pathwalk watch /srv/www          what changes there, as it happens
  pathwalk mount host:/srv/www /mnt
                                   a directory through pathwalk's caches
  pathwalk branch fork work        a writable branch of the working directory
  pathwalk bench                   all benches
  pathwalk bench crtends readlink  two of them
  pathwalk man /usr/local/share/man/man1
                                   manual pages

Each command has more: pathwalk replay --help

Tables are as wide as the terminal. Elsewhere they have the columns of the
variable COLUMNS, or 80.";

const REPLAY_EXAMPLES: &str = "\
What do the lookups of my build cost? Record it:

  strace -f -y -o build.strace \\
    -e trace=%file,%process,fchdir,close,dup,dup2,dup3,fcntl make

Then replay the recording where it was made:

  pathwalk replay build.strace --cwd . --svg build.svg

FILE is what strace wrote: plain or packed with gzip, with or without -t, -T
and -y. Or it is a trace, one lookup a line: the path, a TAB, and F_OK or some
of R_OK|W_OK|X_OK. Without FILE, the 205 lookups are replayed that gcc and its
linker make to compile one file.

Every lookup is answered by pathwalk and by the kernel. An open is asked as
access by its mode, execve as access to execute, chdir as access to search.
Nothing is run, nothing is changed.

Examples:
  pathwalk replay build.strace --cwd .
      a recording; --cwd is the directory in which strace was started
  pathwalk replay - < build.strace.gz
      from standard input, packed or not
  pathwalk replay build.strace --cwd . --tree build.tree
      keeps the names that it goes through, for a replay on another machine
  pathwalk replay my.tsv --threads 2
      a trace, in two threads
  pathwalk replay --root /srv/debian
      in another tree: both sides run after chroot(2)
  pathwalk replay --json | jq .ratio
      how many times as fast as the kernel

What the figures say:
  outside the tree       lookups in proc and sysfs, of devices and over magic
                         links: the kernel itself answers them
  answered of the others lookups that both sides were asked; the others are in
                         the table of those left out, with the reason
  absent                 of them, those for a name that is not there; the table
                         says in which directories they search
  repeats                lookups that ask what was asked before: what a cache
                         can save
  disagreements          answers that differ; of attributes, each one but the
                         access time counts
  answered otherwise     the tree has changed since the recording
  time in the kernel now all answered lookups, at the kernel's speed measured
                         here; with the cache: at pathwalk's
  ns a lookup            of one thread, median of the rounds, with quartiles
  ratio                  lookups a second, pathwalk over the kernel, median of
                         the rounds' ratios
  ceiling                what a loop without stores gains from as many threads
  gain by whole paths    lookups a second, with the memo of whole paths over
                         those without it
  answered from whole    lookups of a pass that the memo answered, so that
  paths                  nothing was walked
  fast share             lookups that the lock-free walk finished alone

The picture of --svg opens in a browser. Each name is as wide as lookups ended
at it or below it, and the redder the more of them found nothing. A wide red
frame is a directory that is searched in vain.

Another root needs CAP_SYS_CHROOT, or a kernel that lets users make user
namespaces.";

const BENCH_EXAMPLES: &str = "\
Benches:
  gcc-trace
      the 205 lookups that gcc and the linker make to compile one file
  crtends
      access to one path of six components, all cached
  readlink
      readlink of a short link into a buffer of 1024 bytes
  living
      the 205 lookups, by what is promised about changes of other processes

Each of these runs in one thread and in two: beside the kernel's call, beside
what one writes by hand, and beside variants of pathwalk itself, in alternating
rounds of one run. Where valgrind is installed, the instructions of pathwalk's
lookups are counted too. The benches under Commands have arguments of their own.

Examples:
  pathwalk bench
      all but those with arguments of their own
  pathwalk bench crtends --rounds 101
      one, with narrower quartiles
  pathwalk bench --json > bench.json
  pathwalk bench walktrees --threads 4
      millions of files, each asked for by path
  pathwalk bench open-cached
      opens that the cache may answer, beside tokio and io_uring";

/// The Linux kernel's pathname lookup in user space: its agreement with the kernel, and its speed
#[derive(Parser, Debug)]
#[command(name = "pathwalk", version, after_help = exits::short(exits::PROGRAM), after_long_help = exits::long(EXAMPLES, exits::PROGRAM))]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
// Only the command that is given is built.
#[command(defer = true)]
pub(crate) enum Command {
    /// Answer every lookup of a recording by pathwalk and by the kernel; compare the answers and
    /// the time
    #[command(after_help = exits::short(exits::REPLAY), after_long_help = exits::long(REPLAY_EXAMPLES, exits::REPLAY))]
    Replay(ReplayArgs),
    /// Measure pathwalk beside the kernel, its peers and its own variants
    #[command(after_help = exits::short(exits::BENCH), after_long_help = exits::long(BENCH_EXAMPLES, exits::BENCH))]
    Bench(BenchArgs),
    /// Explain one lookup step by step: where it passes, where and by which rule it is refused, and
    /// what to do about it
    #[command(after_help = exits::short(exits::EXPLAIN), after_long_help = exits::long(EXPLAIN_EXAMPLES, exits::EXPLAIN))]
    Explain(ExplainArgs),
    /// Print what changes below a directory, and what the caches ask for again, as it happens
    #[command(after_help = exits::short(exits::WATCH), after_long_help = exits::long(WATCH_EXAMPLES, exits::WATCH))]
    Watch(WatchArgs),
    /// Mount a tree in memory, a directory or a namespace, so that every program is a client of it
    #[command(after_help = exits::short(exits::MOUNT), after_long_help = exits::long(MOUNT_EXAMPLES, exits::MOUNT))]
    Mount(MountArgs),
    /// Unmount a tree, and wait until its program has ended
    #[command(after_help = exits::short(exits::UMOUNT), after_long_help = exits::long(UMOUNT_EXAMPLES, exits::UMOUNT))]
    Umount(UmountArgs),
    /// Print what a mounted tree has done, how long it took, and what it holds
    #[command(after_help = exits::short(exits::STATS), after_long_help = exits::long(STATS_EXAMPLES, exits::STATS))]
    Stats(StatsArgs),
    /// Keep writable branches of a directory: fork one, see what changed in it, commit or drop it
    #[command(after_help = exits::short(exits::BRANCH), after_long_help = exits::long(BRANCH_EXAMPLES, exits::BRANCH))]
    Branch(BranchArgs),
    /// Run a command on a branch of a directory, at the same path; see what it changed, and keep,
    /// commit or drop that
    #[command(after_help = exits::short(exits::TRY), after_long_help = exits::long(TRY_EXAMPLES, exits::TRY))]
    Try(TryArgs),
    /// Be the process in which a tried command starts
    #[command(hide = true)]
    TryInside(InsideArgs),
    /// Write completions for a shell to standard output
    #[command(after_help = exits::short(exits::WRITE), after_long_help = exits::long(COMPLETIONS_EXAMPLES, exits::WRITE))]
    Completions(CompletionsArgs),
    /// Write manual pages: that of the program to standard output, or those of all commands into a
    /// directory
    #[command(after_help = exits::short(exits::WRITE), after_long_help = exits::long(MAN_EXAMPLES, exits::WRITE))]
    Man(ManArgs),
    /// Do a number of passes of one entrant's work, for a simulator to count
    #[command(hide = true)]
    Count(CountArgs),
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ReplayArgs {
    /// Output of strace, or a trace; `-` is standard input [default: built-in compiler lookups]
    #[arg(value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Directory in which the recorded program started
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Directory that is the root for both sides
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// Number of threads that do lookups at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=MOST_THREADS))]
    pub(crate) threads: u32,
    /// Number of alternating rounds that are timed
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = value_parser!(u32).range(1..=MOST_ROUNDS))]
    pub(crate) rounds: u32,
    /// Promise about changes by other processes that the engine keeps meanwhile
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Mode::Frozen)]
    pub(crate) coherence: Mode,
    /// Draw where the lookups end, as an SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Write all directories, files and links that the lookups go through,
    /// `kind TAB path TAB mode TAB link body` a line
    #[arg(long, value_name = "FILE")]
    pub(crate) tree: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// The mode of coherence with the files of this machine.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// None: nothing changes meanwhile
    Frozen,
    /// The kernel reports what changes
    Watch,
    /// Answers are asked for again after a second
    Ttl,
    /// Each answer is confirmed
    Strict,
}

impl Mode {
    pub(crate) fn coherence(self) -> Coherence {
        let second = Duration::from_secs(1);
        match self {
            Mode::Frozen => Coherence::Frozen,
            Mode::Watch => Coherence::Watch,
            Mode::Ttl => Coherence::Ttl { entry: second, absence: second, attributes: second },
            Mode::Strict => Coherence::Strict,
        }
    }
}

#[derive(ClapArgs, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) own: Option<Own>,
    /// Names of the benches [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Number of alternating rounds that are timed
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = value_parser!(u32).range(1..=MOST_ROUNDS))]
    pub(crate) rounds: u32,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct CountArgs {
    /// The bench
    pub(crate) bench: String,
    /// The entrant
    pub(crate) what: String,
    /// Number of passes
    pub(crate) passes: u64,
}

#[cfg(test)]
mod tests {
    use pathwalk_output::program;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        program::command::<Args>().debug_assert();
    }

    #[test]
    fn help_names_every_bench() {
        for bench in pathwalk_bench::BENCHES {
            assert!(BENCH_EXAMPLES.contains(bench.name) && BENCH_EXAMPLES.contains(bench.about), "{}", bench.name);
        }
    }
}
