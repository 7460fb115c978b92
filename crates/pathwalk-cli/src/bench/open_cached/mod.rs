//! The command `pathwalk bench open-cached`: the arguments and the run. `show` has the tables and
//! the JSON.

mod show;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum, value_parser};
use pathwalk_bench::open_cached::{Plan, run as measure};
use pathwalk_hostfs::Descriptors;

use crate::exits;
use crate::output;

/// The largest number of opens in flight that may be requested.
const MOST_DEPTH: i64 = 4096;
/// The largest number of opens of a batch that may be requested.
const MOST_OPENS: i64 = 1_000_000;
/// The longest delay that may be requested, in microseconds.
const MOST_DELAY: i64 = 1_000_000;
/// The largest number of rounds that may be requested.
const MOST_ROUNDS: i64 = 100_000;

const EXAMPLES: &str = "\
What does it bring to try the cache before a worker is asked? Files are opened
through a ring with one worker. Once every open is sent to the worker, as an
async program does that does not see what is cached. Once the cache is tried
where the open is submitted, and only what it does not have is sent on. A share
of the files is cached. The others were never asked for; they lie on a real file
system whose caches are dropped before each batch, where this process may do
that (as root).

Examples:
  pathwalk bench open-cached
      33, 89 and 100 % cached, 1 and 32 opens in flight
  pathwalk bench open-cached --hit 89 --depth 8
      one share, one depth
  pathwalk bench open-cached --delay 50
      every miss takes 50 µs longer, as on a slower disk
  pathwalk bench open-cached --descriptors at-open
      an open holds a descriptor of the host, as open(2) does
  pathwalk bench open-cached --dir /srv --rounds 21
      on another file system, with narrower quartiles
  pathwalk bench open-cached --json | jq '.rows[] | [.hit, .depth, .speedup]'

What the figures say:
  hit %          how many of the opens pathwalk had cached
  depth          how many opens are in flight; half of them are waited for at
                 once
  always punted  a batch with every open sent to the worker
  cached first   the same batch, the cache tried first
  speedup        the one over the other, median of the rounds
  in Linux       what was reported for the same change of io_uring
  bound          what the arithmetic allows for a share m of misses, from the
                 costs below, measured in the same rounds at the same depth:
                 (hop + hit + m·miss) / ((1−m)·hit + m·(try + hop + miss))
  of bound       speedup over bound, round by round
  hop            to the worker and back, of an operation that does nothing;
                 submitter and worker have a processor each, if there are two
                 (taskset -c 0 pathwalk bench open-cached: both on one)
  hit            an open that the cache answers, where it is submitted
  try            one that fails
  miss           what an open that is not cached takes beyond a hit: the file
                 system's part, with the delay
  p50 to p99.9   of a single open, from being submitted to being taken back; all
                 of a depth wait for each other
  the peers      the same files, one worker: an answer from warm caches, or
                 cold; closing what was opened is in it

An open holds no descriptor of the host until the file is read, unless
--descriptors at-open says so. Then a cached open makes two system calls:
openat2 with RESOLVE_CACHED, and statx.";

/// Opens of which a share is cached: tried in the cache first, or always sent to a worker
#[derive(ClapArgs, Debug)]
#[command(after_help = exits::short(exits::BENCH), after_long_help = exits::long(EXAMPLES, exits::BENCH))]
pub(crate) struct OpenCachedArgs {
    /// Percent of the opens that are cached; several values are measured one after the other
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_value = "33,89,100", value_parser = value_parser!(u32).range(0..=100))]
    hit: Vec<u32>,
    /// Number of opens in flight
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,32", value_parser = value_parser!(u32).range(1..=MOST_DEPTH))]
    depth: Vec<u32>,
    /// Additional time of every miss, in microseconds: a sleep, which the system's timers make
    /// longer
    #[arg(long, value_name = "US", default_value_t = 0, value_parser = value_parser!(u32).range(0..=MOST_DELAY))]
    delay: u32,
    /// Directory in which the files are made, in a directory of their own that is removed at the
    /// end
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    dir: PathBuf,
    /// Number of opens in a batch
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u32).range(1..=MOST_OPENS))]
    opens: u32,
    /// Time at which an open file gets its descriptor of the host
    #[arg(long, value_name = "WHEN", default_value = "at-first-use")]
    descriptors: DescriptorsArg,
    /// Number of alternating rounds that are timed
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = value_parser!(u32).range(1..=MOST_ROUNDS))]
    rounds: u32,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// The argument for [`Descriptors`].
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum DescriptorsArg {
    /// At the open
    AtOpen,
    /// At the first read
    AtFirstUse,
}

impl OpenCachedArgs {
    fn plan(&self) -> Plan {
        Plan {
            hits: distinct(&self.hit),
            depths: distinct(&self.depth),
            opens: self.opens as usize,
            delay: Duration::from_micros(u64::from(self.delay)),
            descriptors: match self.descriptors {
                DescriptorsArg::AtOpen => Descriptors::AtOpen,
                DescriptorsArg::AtFirstUse => Descriptors::AtFirstUse,
            },
            dir: self.dir.clone(),
            rounds: self.rounds,
        }
    }
}

/// Returns each number once, in the order in which they were requested.
fn distinct(numbers: &[u32]) -> Vec<u32> {
    let mut distinct = Vec::new();
    for number in numbers {
        if !distinct.contains(number) {
            distinct.push(*number);
        }
    }
    distinct
}

/// Runs the bench and prints the results.
pub(super) fn run(args: &OpenCachedArgs) -> anyhow::Result<ExitCode> {
    let plan = args.plan();
    let bar = output::progress(plan.steps(), "open-cached", "batches");
    let report = measure(&plan, &mut || bar.inc(1));
    bar.finish();
    let report = report?;
    if args.json {
        output::print_json(&show::json(&plan, &report))?;
    } else {
        output::print(&show::text(&plan, &report))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, BenchArgs, Command};
    use crate::bench::Own;

    fn parsed(args: &[&str]) -> Result<OpenCachedArgs, String> {
        let line = ["pathwalk", "bench", "open-cached"].iter().chain(args);
        match Args::try_parse_from(line).map_err(|error| error.to_string())?.command {
            Command::Bench(BenchArgs { own: Some(Own::OpenCached(args)), .. }) => Ok(args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_asked_for_is_planned() {
        let plan = parsed(&[]).unwrap().plan();
        assert_eq!((plan.hits, plan.depths, plan.delay), (vec![33, 89, 100], vec![1, 32], Duration::ZERO));
        assert_eq!(plan.descriptors, Descriptors::AtFirstUse);
        let line = "--hit 89,0,89 --depth 8 --delay 50 --opens 10 --rounds 3 --dir /a --descriptors at-open";
        let plan = parsed(&line.split(' ').collect::<Vec<_>>()).unwrap().plan();
        assert_eq!((plan.hits, plan.depths, plan.delay), (vec![89, 0], vec![8], Duration::from_micros(50)));
        assert_eq!((plan.opens, plan.rounds, plan.dir), (10, 3, PathBuf::from("/a")));
        assert_eq!(plan.descriptors, Descriptors::AtOpen);
    }

    #[test]
    fn bad_arguments_are_refused() {
        let cases: [(&[&str], &str); 7] = [
            (&["--hit", "101"], "101"),
            (&["--hit", "most"], "most"),
            (&["--depth", "0"], "depth"),
            (&["--opens", "0"], "opens"),
            (&["--delay", "-1"], "-1"),
            (&["--rounds", "0"], "rounds"),
            (&["--descriptors", "never"], "possible values: at-open, at-first-use"),
        ];
        for (args, says) in cases {
            let error = parsed(args).expect_err("bad arguments");
            assert!(error.contains(says), "{args:?}: {error}");
        }
        let error = run(&parsed(&["--dir", "/no/such/dir"]).unwrap()).unwrap_err();
        assert!(format!("{error:#}").contains("/no/such/dir"), "{error:#}");
    }
}
