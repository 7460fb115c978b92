//! Locks beside the kernel's: random programs of up to four processes, by `fcntl(2)` and `flock(2)`
//! and by the engine.
//!
//! After each call both sides settle: each process has its answer, or waits. The answers must be
//! the same, and the processes that wait. Where several processes are woken at once and exclude
//! each other, the scheduler decides on both sides which of them goes on. So a program that differs
//! is carried out again, and counts as different if it differs each time.
//!
//! `PATHWALK_LOCK_PROGRAMS` is the number of programs, `PATHWALK_LOCK_SEED` that of the first.

#![cfg(target_os = "linux")]

mod engine;
mod kernel;
mod program;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use engine::Engine;
use kernel::Kernel;
use pathwalk::LockKind;
use program::{Answer, Call, Step};

/// The number of times that a program is carried out before it counts as different.
const TRIES: usize = 1000;

/// The time that holders of leases have where it passes: the least that the kernel can be told.
const BREAK_TIME: Duration = Duration::from_secs(1);

/// The switch for it.
const BREAK_TIME_SWITCH: &str = "/proc/sys/fs/lease-break-time";

/// Held by a test, since that time is one for all.
static ALONE: Mutex<()> = Mutex::new(());

/// The two systems, side by side.
struct Both {
    kernel: Kernel,
    engine: Engine,
    /// The numbers of calls that ended each way.
    met: BTreeMap<&'static str, u64>,
}

/// The answers that differ, after a number of steps.
#[derive(Debug)]
struct Difference {
    steps: usize,
    kernel: BTreeMap<usize, Answer>,
    engine: BTreeMap<usize, Answer>,
}

impl Both {
    fn run(&mut self, steps: &[Step]) -> Result<(), Box<Difference>> {
        let mut waiting = BTreeSet::new();
        let mut result = Ok(());
        for (at, Step { process, call }) in steps.iter().enumerate() {
            if *call == Call::Expire {
                result = self.expire(&mut waiting, at + 1);
                if result.is_err() {
                    break;
                }
                continue;
            }
            if (*call == Call::Interrupt) != waiting.contains(process) {
                continue;
            }
            result = self.step(&mut waiting, *process, call, at + 1);
            if result.is_err() {
                break;
            }
        }
        let end = self.end(waiting);
        self.kernel.reset();
        self.engine.reset();
        result.and(end)
    }

    /// Carries out a call, and compares which calls go on.
    fn step(&mut self, waiting: &mut BTreeSet<usize>, process: usize, call: &Call, steps: usize) -> Result<(), Box<Difference>> {
        self.kernel.begin(process, call);
        self.engine.begin(process, call);
        let (kernel, engine) = (self.kernel.settle(), self.engine.settle());
        waiting.insert(process);
        waiting.retain(|process| !engine.contains_key(process));
        self.count(&engine, Some(call), waiting.contains(&process));
        if kernel == engine { Ok(()) } else { Err(Box::new(Difference { steps, kernel, engine })) }
    }

    /// Lets the time pass that holders of leases have, and compares which calls go on.
    fn expire(&mut self, waiting: &mut BTreeSet<usize>, steps: usize) -> Result<(), Box<Difference>> {
        std::thread::sleep(2 * BREAK_TIME);
        let (kernel, engine) = (self.kernel.settle(), self.engine.settle());
        waiting.retain(|process| !engine.contains_key(process));
        self.count(&engine, None, false);
        if kernel == engine { Ok(()) } else { Err(Box::new(Difference { steps, kernel, engine })) }
    }

    fn count(&mut self, answers: &BTreeMap<usize, Answer>, call: Option<&Call>, blocked: bool) {
        let mut met = |what| *self.met.entry(what).or_default() += 1;
        for answer in answers.values() {
            met(match answer.errno {
                0 if answer.lock.is_some() => "a lock found",
                0 if answer.lease.is_some_and(|lease| lease != LockKind::Unlock) => "a lease found",
                0 => "done",
                libc::EAGAIN => "EAGAIN",
                libc::EDEADLK => "EDEADLK",
                libc::EINTR => "EINTR",
                libc::EBADF => "EBADF",
                libc::EINVAL => "EINVAL",
                libc::EOVERFLOW => "EOVERFLOW",
                _ => "another error",
            });
        }
        if blocked {
            met(if call.is_some_and(Call::breaks_leases) { "waits for a lease" } else { "waits" });
        }
        if answers.len() > 1 {
            met("others go on");
        }
    }

    /// Interrupts what waits, on each side for itself: after a difference other processes may wait.
    fn end(&mut self, waiting: BTreeSet<usize>) -> Result<(), Box<Difference>> {
        let mut result = Ok(());
        let mut left = waiting;
        while let Some(process) = left.first().copied().filter(|_| result.is_ok()) {
            result = self.step(&mut left, process, &Call::Interrupt, usize::MAX);
        }
        self.kernel.interrupt_all();
        self.engine.interrupt_all();
        result
    }
}

/// Returns how a program differs, if it differs each time.
fn differs(both: &mut Both, steps: &[Step], again: &mut u64) -> Option<Box<Difference>> {
    let mut last = None;
    for _ in 0..TRIES {
        match both.run(steps) {
            Ok(()) => return None,
            Err(difference) => last = Some(difference),
        }
        *again += 1;
    }
    last
}

/// Leaves out steps for as long as a program differs.
fn shrunk(both: &mut Both, mut steps: Vec<Step>) -> Vec<Step> {
    let mut at = 0;
    while at < steps.len() {
        let mut fewer = steps.clone();
        fewer.remove(at);
        if differs(both, &fewer, &mut 0).is_some() { steps = fewer } else { at += 1 }
    }
    steps
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}: give a number")))
}

#[test]
#[cfg_attr(miri, ignore = "it asks the kernel")]
fn random_programs_have_the_answers_of_the_kernel() {
    if std::fs::read_to_string("/proc/self/syscall").is_err() {
        return pathwalk_tests::skipped("locks beside the kernel", "the kernel does not show in which call a process sleeps");
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (programs, seed) = (number("PATHWALK_LOCK_PROGRAMS", 300), number("PATHWALK_LOCK_SEED", 1));
    let mut both = Both { kernel: Kernel::new(), engine: Engine::new(Duration::ZERO), met: BTreeMap::new() };
    let mut again = 0;
    for program in seed..seed + programs {
        let steps = program::draw(&mut fastrand::Rng::with_seed(program));
        if differs(&mut both, &steps, &mut again).is_some() {
            let steps = shrunk(&mut both, steps);
            let difference = differs(&mut both, &steps, &mut 0);
            let steps: Vec<String> = steps.iter().map(|step| format!("{step:?}")).collect();
            let difference = difference.map(|difference| {
                let Difference { steps, kernel, engine } = *difference;
                format!("after {steps} steps the kernel has {kernel:?}, and the engine {engine:?}")
            });
            panic!("PATHWALK_LOCK_SEED={program}: {difference:?}\n{}", steps.join("\n"));
        }
    }
    println!("{programs} programs from {seed} on, {again} times again; calls: {:?}", both.met);
}

/// The kernel's time for holders of leases, as it was before.
struct Before(String);

impl Before {
    /// Sets the time to [`BREAK_TIME`]. Returns `None` without the right to.
    fn set() -> Option<Before> {
        let before = std::fs::read_to_string(BREAK_TIME_SWITCH).ok()?;
        std::fs::write(BREAK_TIME_SWITCH, BREAK_TIME.as_secs().to_string()).ok()?;
        Some(Before(before))
    }
}

impl Drop for Before {
    fn drop(&mut self) {
        _ = std::fs::write(BREAK_TIME_SWITCH, &self.0);
    }
}

#[test]
#[cfg_attr(miri, ignore = "it asks the kernel")]
fn leases_are_taken_away_as_by_the_kernel() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(_before) = Before::set() else {
        return pathwalk_tests::skipped("leases whose time is over", "it takes root to shorten that time");
    };
    if std::fs::read_to_string("/proc/self/syscall").is_err() {
        return pathwalk_tests::skipped("leases whose time is over", "the kernel does not show where a process sleeps");
    }
    let mut both = Both { kernel: Kernel::new(), engine: Engine::new(BREAK_TIME), met: BTreeMap::new() };
    let (programs, seed) = (number("PATHWALK_LEASE_PROGRAMS", 4), number("PATHWALK_LOCK_SEED", 1));
    for program in seed..seed + programs {
        let steps = program::draw_in_time(&mut fastrand::Rng::with_seed(program));
        let result = both.run(&steps);
        assert!(result.is_ok(), "PATHWALK_LOCK_SEED={program}: {result:?}\n{steps:#?}");
    }
    println!("{programs} programs from {seed} on; calls: {:?}", both.met);
}
