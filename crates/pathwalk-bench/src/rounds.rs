//! Alternating rounds: every contestant runs once a round, all rounds in one run.
//!
//! A machine's speed drifts: its clock, its neighbours, its caches. Measurements that are compared
//! are therefore made side by side, a few milliseconds apart. A ratio is taken within each round,
//! and then the median over the rounds.
//!
//! A round is timed by the clock and not by a count: each thread does passes until the time is
//! over. So all threads of a contestant run for the same time, and none of them runs alone at the
//! end. The clock is read once for a chunk of many passes. Threads start at a barrier and live as
//! long as the run. The order of contestants moves on by one each round.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::work::Work;

/// The number of rounds, and the length of each contestant's turn in one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// The number of rounds.
    pub rounds: usize,
    /// The length of a turn.
    pub turn: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { rounds: 21, turn: Duration::from_millis(20) }
    }
}

/// The number of a contestant of a [`Race`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane(usize);

struct Contestant<'a> {
    work: &'a dyn Work,
    threads: usize,
    /// The number of passes between two reads of the clock.
    chunk: u64,
}

/// The contestants and the pace at which they run.
pub struct Race<'a> {
    pace: Pace,
    contestants: Vec<Contestant<'a>>,
}

/// The work of one thread in one turn.
#[derive(Clone, Copy)]
struct Turn {
    lookups: u64,
    seconds: f64,
}

impl<'a> Race<'a> {
    /// Creates a race without contestants.
    pub fn new(pace: Pace) -> Race<'a> {
        Race { pace, contestants: Vec::new() }
    }

    /// Adds a contestant that runs in `threads` threads at once.
    pub fn enter(&mut self, work: &'a dyn Work, threads: usize) -> Lane {
        self.contestants.push(Contestant { work, threads: threads.max(1), chunk: 1 });
        Lane(self.contestants.len() - 1)
    }

    /// Fills the caches, determines the number of passes between two reads of the clock, and runs
    /// one round without counting it.
    pub fn warm_up(&mut self) {
        let enough = self.pace.turn / 40;
        for contestant in &mut self.contestants {
            loop {
                let start = Instant::now();
                black_box(contestant.work.run(contestant.chunk));
                if start.elapsed() >= enough {
                    break;
                }
                contestant.chunk *= 2;
            }
        }
        self.rounds(1, &mut || ());
    }

    /// Runs all rounds. `tick` is called after each, while no clock runs.
    pub fn run(&self, tick: &mut dyn FnMut()) -> Results {
        let turns = self.rounds(self.pace.rounds, tick);
        let rate = |threads: &Vec<Turn>| threads.iter().map(|turn| turn.lookups as f64 / turn.seconds).sum();
        let outcome = |(contestant, rounds): (&Contestant<'_>, Vec<Vec<Turn>>)| Outcome {
            threads: contestant.threads,
            lookups: rounds.iter().flatten().map(|turn| turn.lookups).sum(),
            per_second: rounds.iter().map(rate).collect(),
        };
        Results { outcomes: self.contestants.iter().zip(turns).map(outcome).collect() }
    }

    /// Returns all turns, by contestant, round and thread.
    fn rounds(&self, rounds: usize, tick: &mut dyn FnMut()) -> Vec<Vec<Vec<Turn>>> {
        let crew = self.contestants.iter().map(|contestant| contestant.threads).max().unwrap_or(1);
        let barrier = &Barrier::new(crew);
        let by_thread: Vec<Vec<Vec<Turn>>> = std::thread::scope(|scope| {
            let others: Vec<_> =
                (1..crew).map(|number| scope.spawn(move || self.member(number, rounds, barrier, &mut || ()))).collect();
            let mut all = vec![self.member(0, rounds, barrier, tick)];
            all.extend(others.into_iter().map(|thread| thread.join().expect("a panic ends the process")));
            all
        });
        let turns_of = |i: usize, round: usize| by_thread.iter().filter_map(|turns| turns[i].get(round).copied()).collect();
        (0..self.contestants.len()).map(|i| (0..rounds).map(|round| turns_of(i, round)).collect()).collect()
    }

    /// Runs the turns of one thread of the crew. Returns them by contestant and round. The thread
    /// skips the contestants with fewer threads.
    fn member(&self, number: usize, rounds: usize, barrier: &Barrier, tick: &mut dyn FnMut()) -> Vec<Vec<Turn>> {
        let _guard = EndOnPanic;
        let count = self.contestants.len();
        let mut turns = vec![Vec::with_capacity(rounds); count];
        for round in 0..rounds {
            for step in 0..count {
                let i = (round + step) % count;
                barrier.wait();
                if number < self.contestants[i].threads {
                    turns[i].push(self.contestants[i].turn(self.pace.turn));
                }
            }
            tick();
        }
        turns
    }
}

impl Contestant<'_> {
    fn turn(&self, length: Duration) -> Turn {
        let start = Instant::now();
        let mut passes = 0;
        loop {
            black_box(self.work.run(self.chunk));
            passes += self.chunk;
            let elapsed = start.elapsed();
            if elapsed >= length {
                return Turn { lookups: passes * self.work.lookups(), seconds: elapsed.as_secs_f64() };
            }
        }
    }
}

/// A guard that ends the process if its thread panics: the other threads would wait at the barrier
/// forever.
struct EndOnPanic;

impl Drop for EndOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::exit(101);
        }
    }
}

struct Outcome {
    threads: usize,
    lookups: u64,
    /// The lookups a second of all threads together, by round.
    per_second: Vec<f64>,
}

/// The results of a [`Race`].
pub struct Results {
    outcomes: Vec<Outcome>,
}

impl Results {
    /// Returns the lookups a second, of all threads together.
    pub fn per_second(&self, lane: Lane) -> Quartiles {
        Quartiles::of(self.outcomes[lane.0].per_second.clone())
    }

    /// Returns the nanoseconds for a lookup in one of the threads.
    pub fn nanoseconds(&self, lane: Lane) -> Quartiles {
        let outcome = &self.outcomes[lane.0];
        Quartiles::of(outcome.per_second.iter().map(|rate| outcome.threads as f64 * 1e9 / rate).collect())
    }

    /// Returns the ratio of a contestant's lookups a second to those of `other`, round by round.
    pub fn ratio(&self, lane: Lane, other: Lane) -> Quartiles {
        let pairs = self.outcomes[lane.0].per_second.iter().zip(&self.outcomes[other.0].per_second);
        Quartiles::of(pairs.map(|(one, other)| one / other).collect())
    }

    /// Returns the number of lookups in all rounds, without those of the warm-up.
    pub fn lookups(&self, lane: Lane) -> u64 {
        self.outcomes[lane.0].lookups
    }
}

/// The quartiles of some values.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Quartiles {
    /// The lower quartile: a quarter of the values is below it.
    pub lower: f64,
    /// The median: half of the values are below it.
    pub median: f64,
    /// The upper quartile: three quarters of the values are below it.
    pub upper: f64,
}

impl Quartiles {
    /// Returns the quartiles of these values, linear between neighbours. All are zero if there are
    /// no values.
    pub fn of(mut values: Vec<f64>) -> Quartiles {
        values.sort_by(f64::total_cmp);
        let Some(last) = values.len().checked_sub(1) else { return Quartiles::default() };
        let at = |share: f64| {
            let place = share * last as f64;
            let (below, part) = (place.floor() as usize, place.fract());
            values[below] + part * (values[(below + 1).min(last)] - values[below])
        };
        Quartiles { lower: at(0.25), median: at(0.5), upper: at(0.75) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::work::{Asking, StoreFree};

    #[test]
    fn quartiles_lie_between_neighbours() {
        assert_eq!(Quartiles::of(vec![]), Quartiles::default());
        assert_eq!(Quartiles::of(vec![7.0]), Quartiles { lower: 7.0, median: 7.0, upper: 7.0 });
        assert_eq!(Quartiles::of(vec![4.0, 1.0, 3.0, 2.0, 5.0]), Quartiles { lower: 2.0, median: 3.0, upper: 4.0 });
        assert_eq!(Quartiles::of(vec![1.0, 2.0]), Quartiles { lower: 1.25, median: 1.5, upper: 1.75 });
    }

    #[test]
    fn every_lookup_is_counted_and_fewer_threads_sit_out() {
        let asked = AtomicU64::new(0);
        let ask = |_: &u8| asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        let work = Asking { questions: vec![1, 2, 3], ask };
        let still = StoreFree { paths: vec![b"/usr/lib/gcc"[..].into()] };
        let mut race = Race::new(Pace { rounds: 3, turn: Duration::from_micros(200) });
        let two = race.enter(&work, 2);
        let one = race.enter(&work, 1);
        let other = race.enter(&still, 2);
        race.warm_up();
        let before = asked.load(Ordering::Relaxed);
        let mut ticks = 0;
        let results = race.run(&mut || ticks += 1);
        assert_eq!(ticks, 3);
        assert_eq!(results.lookups(two) + results.lookups(one), asked.load(Ordering::Relaxed) - before);
        assert!(results.lookups(other) > 0);
        assert!(results.per_second(one).median > 0.0 && results.nanoseconds(two).median > 0.0);
        assert_eq!(results.ratio(one, one).median, 1.0);
    }
}
