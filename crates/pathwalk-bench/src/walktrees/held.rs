//! Probes of a bucket whose lock is held by a thread that sleeps: again and again, as if it were
//! descheduled at the worst moment.
//!
//! A few threads get one inode of an inode cache, where it is cached, once in [`PAUSE`] each. Another
//! takes the lock of its bucket, sleeps, and lets go of it for as long. What a probe under a lock
//! waits for is then the sleeper; a probe without one does not notice.
//!
//! A thread that waits does not ask meanwhile. So that the quiet times do not outvote the waits, each wait counts for all probes that would have
//! begun during it too, with what was left of it (Tene's correction for coordinated omission, as HdrHistogram has it).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use pathwalk::internals::{self, FirstProbe, Global, LockFree, Locked};
use pathwalk::{InodeCache, NodeKey};

use super::Probe;
use super::nodes::{empty, get};
use crate::machine::SetUpError;

/// How long each thread rests between two probes.
pub const PAUSE: Duration = Duration::from_micros(500);

/// Waits are told to so many digits.
const DIGITS: u8 = 3;

/// The key of the inode, and its number.
const KEY: NodeKey = NodeKey(7);
const NUMBER: u64 = 7;

/// What is measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holding {
    /// How many threads probe at once, in turn.
    pub threads: Vec<u32>,
    /// How they probe; all take turns.
    pub probes: Vec<Probe>,
    /// How long the lock is held each time, asleep; then it is free for as long.
    pub hold: Duration,
    /// How often it is held in one turn.
    pub holds: u32,
    /// How often all take their turns.
    pub rounds: u32,
}

/// Who probed, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// How.
    pub probe: Probe,
    /// In how many threads.
    pub threads: u32,
    /// In which round, from 0.
    pub round: u32,
}

/// How long probes took in one turn, in nanoseconds, to three digits; corrected as the module says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waits {
    /// Whose.
    pub turn: Turn,
    /// Probes that were made.
    pub probes: u64,
    /// Those of them that began and ended while the lock was held, and was not let go between.
    pub during: u64,
    /// Half of them take longer.
    pub median: u64,
    /// One of a hundred takes longer.
    pub p99: u64,
    /// One of a thousand takes longer.
    pub p99_9: u64,
    /// The longest.
    pub longest: u64,
}

/// Measures. `progress` is told how many of [`Holding::turns`] are over.
///
/// Blocks for at least `2 × hold × holds` each turn. Errors: a cache that cannot be had. Panics where a thread cannot be started.
pub fn hold(plan: &Holding, progress: &mut dyn FnMut(u64)) -> Result<Vec<Waits>, SetUpError> {
    let mut waits = Vec::new();
    for round in 0..plan.rounds {
        for threads in plan.threads.iter().copied() {
            for step in 0..plan.probes.len() {
                let probe = plan.probes[(round as usize + step) % plan.probes.len()];
                let of = Turn { probe, threads, round };
                waits.push(match probe {
                    Probe::LockFree => turn(plan, &with_one::<LockFree>()?, of),
                    Probe::Locked => turn(plan, &with_one::<Locked>()?, of),
                    Probe::Global => turn(plan, &with_one::<Global>()?, of),
                });
                progress(waits.len() as u64);
            }
        }
    }
    Ok(waits)
}

/// Returns a cache in which there is the inode.
fn with_one<P: FirstProbe>() -> Result<InodeCache<P>, SetUpError> {
    let cache = empty(1000)?;
    assert!(finds(&cache), "there is room for it");
    Ok(cache)
}

/// Gets the inode, which is filled if it is not there; whether it has its number.
fn finds<P: FirstProbe>(cache: &InodeCache<P>) -> bool {
    get(cache, KEY, || NUMBER) == Ok(NUMBER)
}

impl Holding {
    /// Turns of all in all rounds.
    pub fn turns(&self) -> u64 {
        self.threads.len() as u64 * self.probes.len() as u64 * u64::from(self.rounds)
    }
}

/// Whether the lock is held: odd if it is, and another number each time.
#[derive(Default)]
struct Held(AtomicU64);

impl Held {
    fn now(&self) -> Option<u64> {
        Some(self.0.load(SeqCst)).filter(|count| count % 2 == 1)
    }

    /// Called by who has the lock, for as long as he has it.
    fn asleep(&self, time: Duration) {
        self.0.fetch_add(1, SeqCst);
        thread::sleep(time);
        self.0.fetch_add(1, SeqCst);
    }
}

/// What one thread, or all of them, saw.
struct Seen {
    waits: Histogram<u64>,
    probes: u64,
    during: u64,
}

impl Seen {
    fn nothing() -> Seen {
        Seen { waits: Histogram::new(DIGITS).expect("three digits are allowed"), probes: 0, during: 0 }
    }

    fn add(&mut self, other: &Seen) {
        self.waits.add(&other.waits).expect("it grows as needed");
        self.probes += other.probes;
        self.during += other.during;
    }
}

fn turn<P: FirstProbe>(plan: &Holding, cache: &InodeCache<P>, of: Turn) -> Waits {
    let (held, over) = (Held::default(), AtomicBool::new(false));
    let mut seen = Seen::nothing();
    thread::scope(|scope| {
        let probers: Vec<_> = (0..of.threads).map(|_| scope.spawn(|| probe(cache, &held, &over))).collect();
        for _ in 0..plan.holds {
            internals::with_bucket_held(cache, KEY, || held.asleep(plan.hold));
            thread::sleep(plan.hold);
        }
        over.store(true, SeqCst);
        probers.into_iter().for_each(|prober| seen.add(&prober.join().expect("a probe does not panic")));
    });
    let quantile = |quantile| seen.waits.value_at_quantile(quantile);
    Waits {
        turn: of,
        probes: seen.probes,
        during: seen.during,
        median: quantile(0.5),
        p99: quantile(0.99),
        p99_9: quantile(0.999),
        longest: seen.waits.max(),
    }
}

/// Probes until it is over, at least once: a busy machine may start the thread late.
fn probe<P: FirstProbe>(cache: &InodeCache<P>, held: &Held, over: &AtomicBool) -> Seen {
    let mut seen = Seen::nothing();
    loop {
        let (hold, start) = (held.now(), Instant::now());
        assert!(finds(cache), "there is room for it");
        let took = start.elapsed().as_nanos() as u64;
        seen.during += u64::from(hold.is_some() && hold == held.now());
        seen.probes += 1;
        seen.waits.record_correct(took.max(1), PAUSE.as_nanos() as u64).expect("it grows as needed");
        if over.load(SeqCst) {
            return seen;
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_probe_without_a_lock_ends_while_the_lock_is_held() {
        let cache = &with_one::<LockFree>().unwrap();
        let found =
            internals::with_bucket_held(cache, KEY, || thread::scope(|scope| scope.spawn(|| finds(cache)).join().unwrap()));
        assert!(found);
    }

    fn ends_when_it_is_released<P: FirstProbe>() {
        let cache = &with_one::<P>().unwrap();
        let (done, ended) = mpsc::channel();
        thread::scope(|scope| {
            internals::with_bucket_held(cache, KEY, || {
                scope.spawn(move || done.send(finds(cache)).unwrap());
                let while_held = ended.recv_timeout(Duration::from_millis(50));
                assert_eq!(while_held, Err(mpsc::RecvTimeoutError::Timeout));
            });
            assert_eq!(ended.recv(), Ok(true));
        });
    }

    #[test]
    fn a_probe_under_the_lock_ends_when_it_is_released() {
        ends_when_it_is_released::<Locked>();
        ends_when_it_is_released::<Global>();
    }

    #[test]
    fn all_take_their_turns() {
        let probes = vec![Probe::LockFree, Probe::Locked];
        let plan = Holding { threads: vec![1, 2], probes, hold: Duration::from_millis(2), holds: 3, rounds: 2 };
        let mut turns = Vec::new();
        let waits = hold(&plan, &mut |done| turns.push(done)).unwrap();
        assert_eq!((turns, plan.turns()), ((1..=8).collect(), 8));
        let order: Vec<_> = waits.iter().map(|waits| (waits.turn.round, waits.turn.threads, waits.turn.probe)).collect();
        use Probe::{LockFree, Locked};
        let first = [(0, 1, LockFree), (0, 1, Locked), (0, 2, LockFree), (0, 2, Locked)];
        let second = [(1, 1, Locked), (1, 1, LockFree), (1, 2, Locked), (1, 2, LockFree)];
        assert_eq!(order, [first, second].concat());
        for waits in waits {
            assert!(waits.probes > 0 && waits.during <= waits.probes, "{waits:?}");
            assert!(waits.median <= waits.p99 && waits.p99 <= waits.p99_9 && waits.p99_9 <= waits.longest, "{waits:?}");
        }
    }
}
