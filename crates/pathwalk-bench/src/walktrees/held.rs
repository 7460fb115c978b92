//! Probes of a bucket whose lock is held by a thread that sleeps: again and again, as if the thread
//! were descheduled at the worst moment.
//!
//! A few threads get one inode of an inode cache, where it is cached, once in [`PAUSE`] each.
//! Another thread takes the lock of its bucket, sleeps, releases the lock, and rests for the same
//! time. A probe under a lock then waits for the sleeper. A probe without a lock is not delayed.
//!
//! A thread that waits makes no probes meanwhile. So that the quiet times do not outweigh the
//! waits, each wait also counts for all probes that would have begun during it, with the remaining
//! time of the wait (Tene's correction for coordinated omission, as in HdrHistogram).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use pathwalk::internals::{self, FirstProbe, Global, LockFree, Locked};
use pathwalk::{InodeCache, NodeKey};

use super::Probe;
use super::nodes::{empty, get};
use crate::machine::SetUpError;

/// The pause of each thread between two probes.
pub const PAUSE: Duration = Duration::from_micros(500);

/// The number of digits to which waits are recorded.
const DIGITS: u8 = 3;

/// The key of the inode. `NUMBER` is its number.
const KEY: NodeKey = NodeKey(7);
const NUMBER: u64 = 7;

/// The plan of a measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holding {
    /// The numbers of threads that probe at once, in turn.
    pub threads: Vec<u32>,
    /// The ways in which they probe; all take turns.
    pub probes: Vec<Probe>,
    /// The time that the lock is held, asleep, each time. After that it is free for the same time.
    pub hold: Duration,
    /// The number of times that the lock is held in one turn.
    pub holds: u32,
    /// The number of turns of each.
    pub rounds: u32,
}

/// A turn of one way to probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The way to probe.
    pub probe: Probe,
    /// The number of threads.
    pub threads: u32,
    /// The number of the round, from 0.
    pub round: u32,
}

/// The durations of probes in one turn, in nanoseconds, to three digits. They are corrected as the
/// module says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waits {
    /// The turn.
    pub turn: Turn,
    /// The number of probes that were made.
    pub probes: u64,
    /// The number of probes that began and ended during one and the same holding of the lock.
    pub during: u64,
    /// The median: half of the probes take longer.
    pub median: u64,
    /// The 99th percentile: one probe in a hundred takes longer.
    pub p99: u64,
    /// The 99.9th percentile: one probe in a thousand takes longer.
    pub p99_9: u64,
    /// The longest probe.
    pub longest: u64,
}

/// Measures the probes. `progress` is called with the number of [`Holding::turns`] that are over.
///
/// Blocks for at least `2 × hold × holds` each turn. Fails if a cache cannot be allocated. Panics
/// where a thread cannot be started.
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

/// Returns a cache that contains the inode.
fn with_one<P: FirstProbe>() -> Result<InodeCache<P>, SetUpError> {
    let cache = empty(1000)?;
    assert!(finds(&cache), "there is room for it");
    Ok(cache)
}

/// Gets the inode, and fills it if it is not cached. Returns whether it has the right number.
fn finds<P: FirstProbe>(cache: &InodeCache<P>) -> bool {
    get(cache, KEY, || NUMBER) == Ok(NUMBER)
}

impl Holding {
    /// Returns the number of turns, of all ways in all rounds.
    pub fn turns(&self) -> u64 {
        self.threads.len() as u64 * self.probes.len() as u64 * u64::from(self.rounds)
    }
}

/// The state of the lock: odd while it is held, and another number each time.
#[derive(Default)]
struct Held(AtomicU64);

impl Held {
    fn now(&self) -> Option<u64> {
        Some(self.0.load(SeqCst)).filter(|count| count % 2 == 1)
    }

    /// Marks the lock as held and sleeps. It is called by the holder of the lock, for as long as
    /// the lock is held.
    fn asleep(&self, time: Duration) {
        self.0.fetch_add(1, SeqCst);
        thread::sleep(time);
        self.0.fetch_add(1, SeqCst);
    }
}

/// The results of one thread, or of all of them.
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

/// Probes until the turn is over, at least once: a busy machine may start the thread late.
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
