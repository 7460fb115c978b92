//! The command `pathwalk bench walktrees`: the arguments and the run. `show` has the tables and the
//! JSON of a walk, `probes` those of the comparisons.

mod parse;
mod probes;
mod show;
#[cfg(test)]
mod tests;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::{Args as ClapArgs, ValueEnum, value_parser};
use pathwalk_bench::walktrees::held::{Holding, Waits, hold};
use pathwalk_bench::walktrees::trees::{Trees, make as make_trees};
use pathwalk_bench::walktrees::{Ask, Peer, Plan, Probe, Report, Room, Shape, Subject, Which, Who, run as walk};

use crate::exits;
use crate::output;
use parse::{bytes, trees};
use probes::Outcome;

/// The largest number of threads that may be requested.
const MOST_THREADS: i64 = 1024;
/// The largest number of directories or files in one place that may be requested.
const MOST_IN_ONE: i64 = 100_000_000;
/// The largest number of entries that may be requested. More cannot be told apart.
const MOST_ENTRIES: u64 = (1 << 31) - 1;
/// The largest number of rounds that may be requested.
const MOST_ROUNDS: i64 = 100_000;
/// The number of turns of each contestant over files of the host.
const ROUNDS_WITH_KERNEL: u32 = 3;
/// The longest sleep with a lock that may be requested, in milliseconds.
const LONGEST_HOLD: i64 = 10_000;
/// The number of times that the lock is held in one turn.
const HOLDS: u32 = 50;

const EXAMPLES: &str = "\
What does an entry cost, how much memory does it take, and does the budget hold?
Each of T threads asks for every file of a tree of its own, D directories of F
files, by path, as a backup does: first with empty caches, then again. The trees
are computed, so no disk is measured. Or they are files below DIR, and then the
kernel's stat(2) walks them as well, in turns. A first pass over files starts
with a cold disk for both, where this process may empty the kernel's caches (as
root).

Examples:
  pathwalk bench walktrees
      20 × 100 × 1000 files, room for all
  pathwalk bench walktrees --dirs 1000 --entries 15000000
      20 million files, room for 15 million: 4 GB of memory
  pathwalk bench walktrees --budget 64M
      what eviction costs
  pathwalk bench walktrees --fs host:/var/tmp/trees --make --files 100
      200,000 real files, made first, beside the kernel; with --one-by-one, each
      a question of its own
  pathwalk bench walktrees --threads 1,2,20 --probe lockfree,locked --hold 10
      what a lock before the first look costs, and what if its holder sleeps
  pathwalk bench walktrees --beside quick_cache,dashmap --rounds 7
      inodes by key, beside what servers use instead
  pathwalk bench walktrees --json | jq '.runs[0].bytes_per_cached_file'

What the figures say:
  lock-free       files that the lock-free walk found alone: hits
  handed over     files for which the locked walk had to take over, because a
                  name was not cached or for another reason
  asked           names that the file system was asked for, with directories
  unasked         names that it told of beside those, since many of their
                  directory were asked for
  user, system    seconds of processors that this process used meanwhile
  names, inodes   cached at the end, in room for so many
  grown by, peak  resident memory, against what it was before the caches were
                  made; stacks and the program itself not counted. Of the first
                  caches only: later ones are made of memory that the allocator
                  kept
  bytes a file    what it has grown by, for each cached inode, all included:
                  tables, locks, the file system's own memory
  held            in no sample, some hundred a second, were more slots in use
                  than there are, or was more memory resident than the budget
                  allows (the file system's own is not part of the budget)

With several first probes, or peers beside, no tree is walked. For each of them
the threads get the inodes of their files by key from an inode cache alone: the
engine's without names, which asks no file system, or a peer, which has
attributes by device and inode number. A first pass fills them, each a miss; a
repeated one finds them.

With --hold MS, threads also get one inode that is cached, every half
millisecond, while another takes the lock of its bucket again and again and
sleeps with it for MS milliseconds. A wait counts for all probes that would have
begun during it, too. \"during\" are the probes that began and ended while the
lock was held.";

/// Many threads that each look up every file of a tree of their own, by path: cold and warm, within
/// a budget
#[derive(ClapArgs, Debug)]
#[command(after_help = exits::short(exits::BENCH), after_long_help = exits::long(EXAMPLES, exits::BENCH))]
pub(crate) struct WalktreesArgs {
    /// Number of threads that walk at once; several numbers are measured one after the other
    #[arg(long, value_name = "T", value_delimiter = ',', default_value = "20", value_parser = value_parser!(u32).range(1..=MOST_THREADS))]
    threads: Vec<u32>,
    /// Number of directories of each thread
    #[arg(long, value_name = "D", default_value_t = 100, value_parser = value_parser!(u32).range(1..=MOST_IN_ONE))]
    dirs: u32,
    /// Number of files in each directory
    #[arg(long, value_name = "F", default_value_t = 1000, value_parser = value_parser!(u32).range(1..=MOST_IN_ONE))]
    files: u32,
    /// Budget of the caches, in bytes; K, M, G and T are powers of 1024 [default: room for all]
    #[arg(long, value_name = "BYTES", value_parser = bytes, conflicts_with = "entries")]
    budget: Option<u64>,
    /// Budget as room for this many files or directories
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=MOST_ENTRIES))]
    entries: Option<u64>,
    /// Trees that are walked: computed ones, or those below a directory
    #[arg(long, value_name = "synth|host:DIR", default_value = "synth", value_parser = trees)]
    fs: Trees,
    /// Make the trees below DIR first, of empty files; existing files stay
    #[arg(long)]
    make: bool,
    /// Have pathwalk ask the file system for nothing but the names that are looked up, never for a
    /// directory as a whole
    #[arg(long)]
    one_by_one: bool,
    /// Way in which the inode cache is probed first; several ways take turns, on inode caches alone
    #[arg(long, value_name = "PROBE", value_delimiter = ',', default_value = "lockfree")]
    probe: Vec<ProbeArg>,
    /// Caches that servers use in place of an inode cache, measured beside it: by device and inode
    /// number
    #[arg(long, value_name = "PEER", value_delimiter = ',')]
    beside: Vec<PeerArg>,
    /// Number of turns of each contestant, each with empty caches [default: 3 beside the kernel,
    /// else 1]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=MOST_ROUNDS))]
    rounds: Option<u32>,
    /// Also time probes of a bucket whose lock is held by a thread that sleeps for this many
    /// milliseconds
    #[arg(long, value_name = "MS", value_parser = value_parser!(u64).range(1..=LONGEST_HOLD as u64))]
    hold: Option<u64>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// The argument for a [`Probe`].
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum ProbeArg {
    /// Without a lock, as pathwalk does it
    Lockfree,
    /// Under the lock of the key's bucket
    Locked,
    /// Under one lock for all keys
    Global,
}

impl From<ProbeArg> for Probe {
    fn from(arg: ProbeArg) -> Probe {
        match arg {
            ProbeArg::Lockfree => Probe::LockFree,
            ProbeArg::Locked => Probe::Locked,
            ProbeArg::Global => Probe::Global,
        }
    }
}

/// The argument for a [`Peer`].
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum PeerArg {
    /// A cache with S3-FIFO, with room for as many entries
    #[value(name = "quick_cache")]
    QuickCache,
    /// A map under locks, which evicts nothing
    Dashmap,
}

impl From<PeerArg> for Peer {
    fn from(arg: PeerArg) -> Peer {
        match arg {
            PeerArg::QuickCache => Peer::QuickCache,
            PeerArg::Dashmap => Peer::DashMap,
        }
    }
}

impl WalktreesArgs {
    /// Returns one plan for each number of threads.
    fn plans(&self) -> anyhow::Result<Vec<Plan>> {
        let room = match (self.budget, self.entries) {
            (Some(bytes), _) => Room::Bytes(bytes),
            (None, Some(entries)) => Room::Entries(entries),
            (None, None) => Room::All,
        };
        let usual = if self.fs == Trees::Synth { 1 } else { ROUNDS_WITH_KERNEL };
        let subject = self.subject()?;
        if let Some(threads) = twice(&self.threads) {
            bail!("{threads} threads are asked for twice: name each number once, --rounds repeats them all");
        }
        let plan = |threads: &u32| {
            let shape = Shape::new(*threads, self.dirs, self.files)?;
            let rounds = self.rounds.unwrap_or(usual);
            Ok(Plan { shape, room, subject: subject.clone(), rounds })
        };
        self.threads.iter().map(plan).collect()
    }

    fn probes(&self) -> Vec<Probe> {
        self.probe.iter().copied().map(Probe::from).collect()
    }

    /// Returns the trees if there is only the one probe that ships, and nodes if several are
    /// compared.
    fn subject(&self) -> anyhow::Result<Subject> {
        let probes = self.probes();
        if let Some(probe) = twice(&probes) {
            bail!("the first probe \"{}\" is asked for twice: name each once, --rounds repeats them all", probe.name());
        }
        if let Some(peer) = twice(&self.beside) {
            bail!("{} is asked for twice: name each peer once, --rounds repeats them all", Peer::from(*peer).name());
        }
        if let ([only], true) = (&probes[..], self.beside.is_empty()) {
            if *only != Probe::LockFree {
                bail!(
                    "trees are walked through the engine, which probes without a lock: name \"{}\" beside \"lockfree\", \
                     to compare them on inode caches alone",
                    only.name()
                );
            }
            let ask = if self.one_by_one { Ask::OneByOne } else { Ask::ForSiblings };
            return Ok(Subject::Trees { trees: self.fs.clone(), ask });
        }
        let of_walks = [
            ("--fs host:DIR", self.fs != Trees::Synth),
            ("--make", self.make),
            ("--one-by-one", self.one_by_one),
            ("--budget", self.budget.is_some()),
        ];
        if let Some((option, _)) = of_walks.iter().find(|(_, given)| *given) {
            bail!(
                "several first probes, and peers, are compared on inode caches alone, which ask no file system and have \
                 room for --entries inodes: leave out {option}, or --beside and all probes but \"lockfree\""
            );
        }
        let peers = self.beside.iter().map(|peer| Who::Peer((*peer).into()));
        Ok(Subject::Nodes(probes.into_iter().map(Who::Inodes).chain(peers).collect()))
    }

    /// Returns the plan of the probes under a held lock, with the walks' numbers of threads, probes
    /// and rounds.
    fn holding(&self, plans: &[Plan]) -> Option<Holding> {
        let (hold, plan) = (Duration::from_millis(self.hold?), plans.first()?);
        let (threads, probes) = (self.threads.clone(), self.probes());
        Some(Holding { threads, probes, hold, holds: HOLDS, rounds: plan.rounds })
    }
}

/// Returns the first element that occurs again later.
fn twice<T: PartialEq>(all: &[T]) -> Option<&T> {
    all.iter().enumerate().find(|(at, one)| all[at + 1..].contains(one)).map(|(_, one)| one)
}

/// Runs the bench and prints the results.
pub(super) fn run(args: &WalktreesArgs) -> anyhow::Result<ExitCode> {
    let plans = args.plans()?;
    let holding = args.holding(&plans);
    if args.make {
        // The trees for the largest number of threads include those for smaller numbers.
        plans.iter().max_by_key(|plan| plan.shape.threads()).map_or(Ok(()), make)?;
    }
    let walked = walk_all(plans)?;
    let outcome = Outcome { walked, held: holding.map(hold_all).transpose()? };
    if args.json {
        output::print_json(&probes::json(&outcome))?;
    } else {
        output::print(&probes::text(&outcome))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn walk_all(plans: Vec<Plan>) -> anyhow::Result<Vec<(Plan, Report)>> {
    let bar = output::progress(plans.iter().map(Plan::lookups).fold(0, u64::saturating_add), "", "files");
    let mut before = 0;
    let walked = plans.into_iter().map(|plan| {
        let mut now = None;
        let report = walk(&plan, &mut |who, which, done| {
            if now.replace((who, which)) != Some((who, which)) {
                bar.set_message(doing(who, which));
            }
            bar.set_position(before + done);
        });
        before += plan.lookups();
        Ok((plan, report?))
    });
    let walked = walked.collect();
    bar.finish();
    walked
}

fn hold_all(holding: Holding) -> anyhow::Result<(Holding, Vec<Waits>)> {
    let bar = output::progress(holding.turns(), "probing while the lock is held", "turns");
    let waits = hold(&holding, &mut |done| bar.set_position(done));
    bar.finish();
    Ok((holding, waits?))
}

fn make(plan: &Plan) -> anyhow::Result<()> {
    let Subject::Trees { trees: Trees::Host(dir), .. } = &plan.subject else {
        bail!("--make makes files, and computed trees have none: say where with --fs host:DIR");
    };
    let bar = output::progress(plan.shape.files(), "making files", "files");
    let outcome = make_trees(dir, plan.shape, &mut |made| bar.set_position(made));
    bar.finish();
    Ok(outcome?)
}

fn doing(who: Who, which: Which) -> String {
    format!("{}, {}", show::named(who), which.name())
}
