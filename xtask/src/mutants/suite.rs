//! The test programs of a stage: a mutant meets one after the other, until one fails.
//!
//! # What always holds
//!
//! - All programs have passed with no mutant, which also measured their usual time.
//! - A mutant meets the programs of its own package first, and of those the program that caught
//!   most in its time so far.
//! - A program counts as endless only if it was twice, the second time with more patience.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::bundle::{Binary, Bundle};
use super::sample::{Mutant, PACKAGES};
use super::stages::Stage;
use super::trial::{self, End};

/// The programs of one stage.
pub(super) struct Suite {
    stage: Stage,
    programs: Vec<Program>,
}

/// A test program that passes with no mutant.
struct Program {
    binary: Binary,
    usual: Duration,
    /// The number of mutants that it caught.
    caught: AtomicUsize,
}

impl Suite {
    /// Builds the programs of a stage and runs each with no mutant.
    pub(super) fn prove(stage: Stage, bundle: &Bundle<'_>) -> Result<Suite> {
        let mut programs = Vec::new();
        for binary in bundle.build(stage, stage.programs())? {
            let start = Instant::now();
            match trial::run(&binary, stage.tests(), None, None)? {
                End::Passed => programs.push(Program { binary, usual: start.elapsed(), caught: AtomicUsize::new(0) }),
                end => bail!("{} with no mutant: {end:?}", binary.name),
            }
        }
        Ok(Suite { stage, programs })
    }

    /// Runs the mutants of a bundle, given by their index in the sample, `jobs` at a time. Returns
    /// those that were caught.
    pub(super) fn together(&self, sample: &[Mutant], mutants: &[usize], jobs: usize) -> Result<HashSet<usize>> {
        let (next, caught) = (AtomicUsize::new(0), Mutex::new(HashSet::new()));
        let work = || -> Result<()> {
            while let Some(number) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
                let end = |program: &Program, usual| trial::run(&program.binary, self.stage.tests(), Some(*number), Some(usual));
                if self.catches(&sample[*number], end)? {
                    caught.lock().unwrap_or_else(|poison| poison.into_inner()).insert(*number);
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
        Ok(caught.into_inner().unwrap_or_else(|poison| poison.into_inner()))
    }

    /// Runs a mutant that no bundle holds: it is built alone, program by program. Returns whether
    /// it was caught.
    pub(super) fn alone(&self, bundle: &Bundle<'_>, mutant: &Mutant) -> Result<bool> {
        bundle.put_alone(mutant)?;
        let caught = self.catches(mutant, |program, usual| {
            let built = bundle.build(self.stage, &[&program.binary.selection])?;
            let is_it = |binary: &&Binary| binary.name == program.binary.name;
            let Some(binary) = built.iter().find(is_it) else { bail!("{} was not built", program.binary.name) };
            trial::run(binary, self.stage.tests(), None, Some(usual))
        });
        bundle.take_back(mutant)?;
        caught
    }

    /// Returns whether a program fails. `end` runs one, which takes this time with no mutant.
    fn catches(&self, mutant: &Mutant, end: impl Fn(&Program, Duration) -> Result<End>) -> Result<bool> {
        for program in self.order(mutant) {
            let end = match end(program, program.usual)? {
                // A thread that spins until another one goes on takes more time on a busy machine.
                End::Endless => end(program, 2 * program.usual + Duration::from_secs(2))?,
                end => end,
            };
            if end != End::Passed {
                program.caught.fetch_add(1, Ordering::Relaxed);
                eprintln!("xtask: {}: {end:?} in {}", mutant.name, program.binary.name);
                return Ok(true);
            }
        }
        eprintln!("xtask: {}: passed", mutant.name);
        Ok(false)
    }

    /// Returns the programs that may catch a mutant, in the order in which it meets them.
    fn order(&self, mutant: &Mutant) -> Vec<&Program> {
        let caught = |program: &Program| program.caught.load(Ordering::Relaxed) + 1;
        let worth = |program: &Program| caught(program) as f64 / (program.usual.as_secs_f64() + 0.01);
        let is_own = |program: &Program| mutant.file.starts_with(&format!("crates/{}/", program.binary.package()));
        // The engine's own tests do not contain the ring.
        let contains = |program: &&Program| is_own(program) || program.binary.package() != PACKAGES[0];
        let keys = self.programs.iter().filter(contains).map(|program| (is_own(program), worth(program), program));
        let mut order: Vec<(bool, f64, &Program)> = keys.collect();
        order.sort_by(|one, other| other.0.cmp(&one.0).then(other.1.total_cmp(&one.1)));
        order.into_iter().map(|(_, _, program)| program).collect()
    }
}
