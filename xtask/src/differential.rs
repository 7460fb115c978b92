//! `cargo xtask differential`: carries out random programs through two interpreters, and shrinks
//! and prints every difference.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::json;

use crate::base::{Base, Ground, Kind};
use crate::census::Census;
use crate::compare::{Mismatch, class, first_mismatch};
use crate::engine::Engine;
use crate::face;
use crate::generate::{self, Files, rounds};
use crate::kernel::{Kernel, Supervised, supervise};
use crate::model::ModelInterpreter;
use crate::outcome::{Interpreter, Transcript};
use crate::program::{Program, Settings};
use crate::shrink::shrink;
use crate::threads::{self, Verdict};

/// The number of operations of one program. A fresh tree for each program keeps what has to be
/// shrunk small.
pub(crate) const PROGRAM: usize = 400;

/// The arguments of the command.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The seed of the programs: the same seed and number of operations draw the same programs. A
    /// fresh one if it is not given; it is printed.
    #[arg(long)]
    seed: Option<u64>,
    /// The number of seeds, counted up from the first; each gets its share of the operations.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// The number of operations in all.
    #[arg(long, default_value_t = 50_000)]
    ops: u64,
    /// Run this number of concurrent threads on the engine, and search for an order of their
    /// operations in which the model answers the same.
    #[arg(long, value_parser = clap::value_parser!(u64).range(2..=rounds::MOST_THREADS as u64))]
    threads: Option<u64>,
    /// The side that is right.
    #[arg(long, value_enum, default_value_t = Who::Kernel)]
    against: Who,
    /// The side that is compared with it.
    #[arg(long, value_enum, default_value_t = Who::Engine)]
    subject: Who,
    /// The file system below the engine. With a directory of the host on ext4, the kernel's side is
    /// on ext4, too.
    #[arg(long, value_enum, default_value_t = Kind::Memfs)]
    fs: Kind,
    /// Hold what is mounted in this directory against the kernel, in the place of the engine. It is
    /// asked by system calls, and emptied for each program.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["fs", "subject", "face", "threads"])]
    mounted: Option<PathBuf>,
    /// The face through which the engine is called. Drawn for each program if it is not given.
    #[arg(long, value_enum)]
    face: Option<face::Kind>,
    /// Go on after a mismatch, and report one of each kind.
    #[arg(long)]
    keep_going: bool,
    /// Report what programs were made of, and how often a step met each rule of pathname lookup. A
    /// rule that no step met in a run of at least a million operations is a failure.
    #[arg(long)]
    census: bool,
    /// Carry out this program instead of random ones, in the form in which mismatches are printed.
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Report as JSON: `ops`, `mismatches`, `seed`, `against`, why another oracle was taken
    /// (`skipped`), how often each answer was given (`answers`), the shrunk programs (`found`), and
    /// what `--census` reports (`census`).
    #[arg(long)]
    json: bool,
}

/// The interpreter that carries programs out.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Who {
    /// Linux, on a tmpfs. Needs root.
    Kernel,
    /// The simple VFS of `pathwalk-model`.
    Model,
    /// The engine, on the reference file system.
    Engine,
}

/// The oracle and the subject.
struct Pair {
    oracle: Box<dyn Interpreter + Send>,
    subject: Box<dyn Interpreter + Send>,
    files: Files,
    fs: Kind,
    census: Census,
    wants_census: bool,
    /// The number of times that each operation got each answer.
    answers: BTreeMap<&'static str, BTreeMap<String, u64>>,
}

/// The interpreters for a machine on which the kernel cannot be used.
const WITHOUT_KERNEL: [Who; 2] = [Who::Model, Who::Engine];

impl Pair {
    /// Returns the kernel on a tmpfs, and what is mounted at `at`.
    fn of_mounted(at: &Path, wants_census: bool) -> Result<Pair> {
        // Before the root of the process changes.
        let subject = Box::new(Kernel::apart(at)?);
        let oracle = Box::new(Kernel::enter(None)?);
        let (fs, files) = (Kind::Mounted, Files::Any);
        Ok(Pair { oracle, subject, files, fs, census: Census::default(), wants_census, answers: BTreeMap::new() })
    }

    fn of([oracle, subject]: [Who; 2], wants_census: bool, fs: Kind) -> Result<Pair> {
        let ground = if fs.needs_ground() { Some(Ground::prepared(fs)?) } else { None };
        let of_kernel = ground.as_ref().and_then(Ground::of_kernel);
        let base = match ground {
            Some(ground) => Base::Host(Box::new(ground.of_engine()?)),
            None => Base::Memory,
        };
        let mut base = Some(if fs.is_branch() { Base::Branches(Box::new(base)) } else { base });
        // The engine's side is opened before the root of the process changes.
        let mut interpreter = |who: Who| who.interpreter(&mut base, of_kernel.as_deref());
        let files = if [oracle, subject].contains(&Who::Model) { Files::Short } else { Files::Any };
        Ok(Pair {
            oracle: interpreter(oracle)?,
            subject: interpreter(subject)?,
            files,
            fs,
            census: Census::default(),
            wants_census,
            answers: BTreeMap::new(),
        })
    }

    /// Carries a program out on both sides at the same time, and counts the oracle's answers.
    fn counted(&mut self, program: &Program) -> Result<Option<Mismatch>> {
        let (left, mismatch) = self.both(program)?;
        for (step, outcome) in program.steps.iter().zip(&left.outcomes) {
            *self.answers.entry(step.op.verb()).or_default().entry(class(&outcome.answer)).or_default() += 1;
        }
        if self.wants_census {
            self.census.take(program, &left);
        }
        Ok(mismatch)
    }

    fn mismatch(&mut self, program: &Program) -> Result<Option<Mismatch>> {
        self.both(program).map(|(_, mismatch)| mismatch)
    }

    fn both(&mut self, program: &Program) -> Result<(Transcript, Option<Mismatch>)> {
        let Pair { oracle, subject, .. } = self;
        let (left, right): (Result<Transcript>, Result<Transcript>) = std::thread::scope(|scope| {
            let right = scope.spawn(|| subject.run(program));
            let left = oracle.run(program);
            (left, right.join().unwrap_or_else(|_| Err(anyhow!("a panic"))))
        });
        let names = [oracle.name(), subject.name()];
        let right = right.with_context(|| format!("by the {}, in the program:\n{program}", names[1]))?;
        let (left, right) = (self.fs.comparable(program, left?), self.fs.comparable(program, right));
        let mismatch = first_mismatch(program, names, &left, &right);
        Ok((left, mismatch))
    }

    fn shrunk(&mut self, program: &Program, found: &Mismatch) -> Result<(Program, Mismatch)> {
        let mut program = program.clone();
        program.steps.truncate(found.steps);
        let kind = found.kind.clone();
        let shrunk = shrink(&program, |candidate| Ok(self.mismatch(candidate)?.is_some_and(|other| other.kind == kind)))?;
        let mismatch = self.mismatch(&shrunk)?;
        Ok((shrunk, mismatch.unwrap_or_else(|| found.clone())))
    }
}

impl Who {
    fn interpreter(self, base: &mut Option<Base>, of_kernel: Option<&Path>) -> Result<Box<dyn Interpreter + Send>> {
        Ok(match self {
            Who::Kernel => Box::new(Kernel::enter(of_kernel)?),
            Who::Model => Box::new(ModelInterpreter),
            Who::Engine => Box::new(Engine(base.take().context("there is one engine")?)),
        })
    }
}

#[derive(Default)]
struct Tally {
    ops: u64,
    mismatches: u64,
    /// The first program of each kind of mismatch, shrunk, with its difference.
    found: BTreeMap<String, (Program, Mismatch)>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if let Some(threads) = args.threads {
        return run_threads(args, threads as usize);
    }
    let replay = args.replay.as_ref().map(|path| -> Result<Program> {
        let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        text.parse().with_context(|| format!("read {}", path.display()))
    });
    let replay = replay.transpose()?;
    ensure!(
        args.against != args.subject,
        "there is nothing to find by holding one against itself: give another --against or --subject"
    );
    ensure!(
        !args.fs.needs_ground()
            || rustix::process::geteuid().is_root() && args.against == Who::Kernel && args.subject == Who::Engine,
        "a directory of the host is held against the kernel, as root: leave --against and --subject out, or --fs"
    );
    ensure!(
        args.mounted.is_none() || rustix::process::geteuid().is_root() && args.against == Who::Kernel,
        "what is mounted is held against the kernel, as root: leave --against out, or --mounted"
    );
    let wanted = [args.against, args.subject];
    let mut skipped = None;
    let mut pair = if !wanted.contains(&Who::Kernel) {
        Pair::of(wanted, args.census, args.fs)?
    } else if !rustix::process::geteuid().is_root() {
        skipped = Some("not root".to_owned());
        Pair::of(WITHOUT_KERNEL, args.census, args.fs)?
    } else {
        match (supervise()?, &args.mounted) {
            (Supervised::Parent(code), _) => return Ok(code),
            (Supervised::Child, Some(at)) => Pair::of_mounted(at, args.census)?,
            (Supervised::Child, None) if args.fs.needs_ground() => Pair::of(wanted, args.census, args.fs)?,
            (Supervised::Child, None) => Pair::of(wanted, args.census, args.fs).or_else(|error| {
                skipped = Some(format!("{error:#}"));
                Pair::of(WITHOUT_KERNEL, args.census, args.fs)
            })?,
        }
    };
    if let Some(why) = &skipped {
        eprintln!("xtask: the kernel cannot be asked here ({why}); the engine is held against the model");
    }
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    eprintln!("xtask: seed {seed}");
    let start = Instant::now();
    let mut tally = Tally::default();
    match replay {
        Some(program) => {
            let program = asked_by(args.face, pair.fs.adapted(program));
            one(&mut pair, &program, &mut tally)?;
        }
        None => many(&mut pair, args, seed, &mut tally)?,
    }
    report(args, seed, skipped.as_deref(), &pair, &tally, start.elapsed().as_secs_f64());
    Ok(ExitCode::from(u8::from(tally.mismatches > 0 || args.census && pair.census.has_holes())))
}

fn run_threads(args: &Args, threads: usize) -> Result<ExitCode> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    let share = args.ops.div_ceil(args.seeds.max(1));
    eprintln!("xtask: seed {seed}");
    let start = Instant::now();
    let (mut ops, mut unexplained) = (0, Vec::new());
    'all: for seed in (0..args.seeds).map(|index| seed.wrapping_add(index)) {
        let mut seeds = fastrand::Rng::with_seed(seed);
        let end = ops + share;
        while ops < end {
            let (done, verdict) = threads::one(seeds.u64(..), threads)?;
            ops += done;
            if let Verdict::Unexplained(history) = verdict {
                unexplained.push(history);
                if !args.keep_going {
                    break 'all;
                }
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    if args.json {
        let report = json!({
            "ops": ops, "mismatches": unexplained.len(), "seed": seed, "seeds": args.seeds, "threads": threads, "against": "model",
            "seconds": seconds, "found": unexplained,
        });
        println!("{report:#}");
    } else {
        unexplained.iter().for_each(|history| println!("{history}"));
        let rounds = ops / (threads as u64 * rounds::OPS);
        println!(
            "{ops} operations by {threads} threads in {rounds} rounds, seed {seed} ({} seeds): {} rounds have no order; {seconds:.1} s, {:.0} operations a second",
            args.seeds,
            unexplained.len(),
            ops as f64 / seconds,
        );
    }
    Ok(ExitCode::from(u8::from(!unexplained.is_empty())))
}

fn many(pair: &mut Pair, args: &Args, seed: u64, tally: &mut Tally) -> Result<()> {
    let share = args.ops.div_ceil(args.seeds.max(1));
    for seed in (0..args.seeds).map(|index| seed.wrapping_add(index)) {
        let mut seeds = fastrand::Rng::with_seed(seed);
        let end = tally.ops + share;
        while tally.ops < end {
            let program = generate::program(seeds.u64(..), PROGRAM.min((end - tally.ops) as usize), pair.files);
            let program = asked_by(args.face, pair.fs.adapted(program));
            one(pair, &program, tally)?;
            if tally.mismatches > 0 && !args.keep_going {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Returns the program with this face, if one is given.
fn asked_by(face: Option<face::Kind>, program: Program) -> Program {
    let Some(face) = face else { return program };
    Program { settings: (program.settings - Settings::FACES) | face.settings(), ..program }
}

fn one(pair: &mut Pair, program: &Program, tally: &mut Tally) -> Result<()> {
    tally.ops += program.steps.len() as u64;
    let Some(mismatch) = pair.counted(program)? else { return Ok(()) };
    tally.mismatches += 1;
    if let Entry::Vacant(entry) = tally.found.entry(mismatch.kind.clone()) {
        entry.insert(pair.shrunk(program, &mismatch)?);
    }
    Ok(())
}

fn report(args: &Args, seed: u64, skipped: Option<&str>, pair: &Pair, tally: &Tally, seconds: f64) {
    let against = pair.oracle.name();
    if args.json {
        let found: Vec<_> = tally.found.iter().map(|(kind, (program, mismatch))| {
            json!({ "kind": kind, "program": program.to_string(), "difference": mismatch.text })
        }).collect();
        let mut report = json!({
            "ops": tally.ops, "mismatches": tally.mismatches, "seed": seed, "seeds": args.seeds, "against": against,
            "seconds": seconds, "skipped": skipped, "answers": pair.answers, "found": found,
        });
        if args.census {
            report["census"] = pair.census.json();
        }
        println!("{report:#}");
        return;
    }
    for (kind, (program, mismatch)) in &tally.found {
        println!("# {kind}\n{program}# {}\n", mismatch.text.replace('\n', "\n# "));
    }
    if args.census {
        print!("{}", pair.census.text());
    }
    println!(
        "{} operations against the {against}, seed {seed} ({} seeds): {} programs differ, in {} ways; {:.1} s, {:.0} operations a second",
        tally.ops,
        args.seeds,
        tally.mismatches,
        tally.found.len(),
        seconds,
        tally.ops as f64 / seconds,
    );
    face::told().into_iter().for_each(|told| println!("{told}"));
}
