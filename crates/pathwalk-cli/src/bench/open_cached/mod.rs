//! `pathwalk bench open-cached`: what can be asked for, and the run; `show` has the tables and the JSON.

mod show;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum, value_parser};
use pathwalk_bench::open_cached::{Plan, run as measure};
use pathwalk_hostfs::Descriptors;

use crate::output;

/// Most opens in flight that may be asked for.
const MOST_DEPTH: i64 = 4096;
/// Most opens of a batch that may be asked for.
const MOST_OPENS: i64 = 1_000_000;
/// Longest delay that may be asked for, in microseconds.
const MOST_DELAY: i64 = 1_000_000;
/// Most rounds that may be asked for.
const MOST_ROUNDS: i64 = 100_000;

const EXAMPLES: &str = "\
What does it bring to try the cache before a worker is asked? Files are opened through a ring with one worker: once with every open sent to
the worker, as an async program does that knows nothing of what is cached, and once with the cache tried where the open is submitted, and only
what it does not have sent on. A share of the files is cached; the others were never asked for, and lie on a real file system whose
caches were dropped before each batch, where this process may do that (as root).

Examples:
  pathwalk bench open-cached                           33, 89 and 100 % cached, 1 and 32 opens in flight
  pathwalk bench open-cached --hit 89 --depth 8        one share, one depth
  pathwalk bench open-cached --delay 50                every miss takes 50 µs longer, as on a slower disk
  pathwalk bench open-cached --descriptors at-open     an open holds a descriptor of the host, as open(2) does
  pathwalk bench open-cached --dir /srv --rounds 21    on another file system, with narrower quartiles
  pathwalk bench open-cached --json | jq '.rows[] | [.hit, .depth, .speedup, .bound]'

What the figures say:
  hit %            how many of the opens pathwalk had cached
  depth            how many opens are in flight; half of them are waited for at once
  always punted    a batch with every open sent to the worker; cached first: the same batch, the cache tried first
  speedup          the one over the other, median of the rounds; in Linux: what was reported for the same change of io_uring
  bound            what the arithmetic allows: (hop + hit + m·miss) / ((1−m)·hit + m·(try + hop + miss)) for a share m of misses, from the
                   costs below, which are measured in the same rounds at the same depth
  of bound         speedup over bound, round by round
  hop              sending to the worker and back, of an operation that does nothing; submitter and worker have a processor each, if there
                   are two (taskset -c 0 pathwalk bench open-cached: both on one, where a hop is no wake-up of another processor)
  hit              an open that the cache answers, where it is submitted; try: one that fails
  miss             what an open that is not cached takes beyond a hit: the file system's part, with the delay
  p50, p99, p99.9  of a single open, from being submitted to being taken back; all of a depth wait for each other
  the peers        the same files, one worker: an answer from warm caches, or cold; closing what was opened is in it

An open holds no descriptor of the host until the file is read, unless --descriptors at-open says so; then a cached open makes two system
calls (openat2 with RESOLVE_CACHED, and statx).";

/// Opens of which a share is cached: tried in the cache first, or always sent to a worker
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct OpenCachedArgs {
    /// Percent of the opens that are cached; several are measured one after the other
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_value = "33,89,100", value_parser = value_parser!(u32).range(0..=100))]
    hit: Vec<u32>,
    /// Opens in flight
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,32", value_parser = value_parser!(u32).range(1..=MOST_DEPTH))]
    depth: Vec<u32>,
    /// What every miss takes longer, in microseconds: a sleep, to which the system adds what its timers are coarse by
    #[arg(long, value_name = "US", default_value_t = 0, value_parser = value_parser!(u32).range(0..=MOST_DELAY))]
    delay: u32,
    /// Where the files are made, in a directory that is removed at the end
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    dir: PathBuf,
    /// Opens of a batch
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u32).range(1..=MOST_OPENS))]
    opens: u32,
    /// When an open file gets its descriptor of the host
    #[arg(long, value_name = "WHEN", default_value = "at-first-use")]
    descriptors: DescriptorsArg,
    /// How many alternating rounds are timed
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = value_parser!(u32).range(1..=MOST_ROUNDS))]
    rounds: u32,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// [`Descriptors`] as an argument.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum DescriptorsArg {
    /// When it is opened
    AtOpen,
    /// When it is first read
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

/// Each once, in the order in which they were asked for.
fn distinct(numbers: &[u32]) -> Vec<u32> {
    let mut distinct = Vec::new();
    for number in numbers {
        if !distinct.contains(number) {
            distinct.push(*number);
        }
    }
    distinct
}

/// Runs it and prints what came out.
pub(super) fn run(args: &OpenCachedArgs) -> anyhow::Result<ExitCode> {
    let plan = args.plan();
    let bar = output::progress(plan.steps(), "open-cached", "batches");
    let report = measure(&plan, &mut || bar.inc(1));
    bar.finish_and_clear();
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
