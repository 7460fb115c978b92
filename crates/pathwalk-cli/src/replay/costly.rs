//! The names that cost most: each distinct lookup is timed alone on both sides, and its time is
//! multiplied by the number of times that it was asked.
//!
//! The same call is made a few times in a row, so the figures are those of warm caches. The more
//! distinct lookups there are, the fewer calls are made of each, so that the whole takes a few
//! seconds at most.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

use pathwalk_recording::{Recording, Start};

use super::answer::{Answer, word};
use super::figures::shown_path;
use super::question::Prepared;
use super::sides::Engine;
use super::survey::Place;
use super::verdict::Interview;

/// The number of names that are reported.
pub(crate) const TOLD: usize = 20;
/// The number of calls on each side in total, which take some seconds.
const CALLS: usize = 2_000_000;
/// The largest number of samples of one lookup. The lower median of few samples is not far from the
/// minimum.
const SAMPLES: usize = 5;
/// The largest number of calls in a sample.
const CALLS_IN_A_SAMPLE: usize = 8;

/// A name and the cost of its lookups.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Costly {
    pub(crate) path: Vec<u8>,
    /// The number of times that it was looked up, by any call.
    pub(crate) lookups: u64,
    /// The kernel's present answer. If several calls looked it up, the answer to the most frequent
    /// one.
    pub(crate) answer: String,
    /// The nanoseconds in the kernel, for all lookups.
    pub(crate) kernel_ns: f64,
    /// The nanoseconds in the engine, for all lookups.
    pub(crate) ours_ns: f64,
}

/// Returns the names that cost the kernel most, the costliest first. `tick` is called after each
/// lookup that was timed.
pub(crate) fn costliest(
    recording: &Recording,
    places: &[Place],
    engine: &Engine,
    interview: &Interview<'_>,
    tick: &mut dyn FnMut(),
) -> Vec<Costly> {
    let answered: Vec<usize> = (0..places.len()).filter(|i| matches!(places[*i], Place::At(_))).collect();
    let clock = Clock::new(answered.len());
    let mut by_name: HashMap<(Start, &[u8]), Cost> = HashMap::new();
    for i in answered {
        let (recorded, question) = (&recording.lookups[i], &interview.prepared()[i]);
        let times = recorded.answers.total();
        let kernel_ns = clock.nanoseconds(|question| interview.kernel().succeeds(question), question);
        let ours_ns = clock.nanoseconds(|question| engine.succeeds(question), question);
        by_name.entry((recorded.lookup.start, &recorded.lookup.path)).or_default().add(i, times, kernel_ns, ours_ns);
        tick();
    }
    let mut costs: Vec<Cost> = by_name.into_values().collect();
    costs.sort_by(|a, b| b.kernel_ns.total_cmp(&a.kernel_ns).then(a.most.cmp(&b.most)));
    costs.truncate(TOLD);
    costs.into_iter().map(|cost| cost.told(recording, &interview.first()[cost.most])).collect()
}

/// The sums for a name.
#[derive(Clone, Copy, Default)]
struct Cost {
    lookups: u64,
    kernel_ns: f64,
    ours_ns: f64,
    /// The lookup that was made most, and the number of times.
    most: usize,
    most_times: u64,
}

impl Cost {
    fn add(&mut self, i: usize, times: u64, kernel_ns: f64, ours_ns: f64) {
        self.lookups += times;
        self.kernel_ns += times as f64 * kernel_ns;
        self.ours_ns += times as f64 * ours_ns;
        if times > self.most_times {
            (self.most, self.most_times) = (i, times);
        }
    }

    fn told(self, recording: &Recording, answer: &Answer) -> Costly {
        Costly {
            path: shown_path(recording, &recording.lookups[self.most]),
            lookups: self.lookups,
            answer: word(answer, answer),
            kernel_ns: self.kernel_ns,
            ours_ns: self.ours_ns,
        }
    }
}

/// A clock for single calls.
struct Clock {
    samples: usize,
    calls: usize,
    /// The nanoseconds that reading the clock takes.
    reading: f64,
}

impl Clock {
    /// Creates a clock for this number of lookups.
    fn new(lookups: usize) -> Clock {
        let each = CALLS / lookups.max(1);
        let calls = (each / SAMPLES).clamp(1, CALLS_IN_A_SAMPLE);
        let samples = (each / calls).clamp(1, SAMPLES);
        let reading = lower_median(&mut [0.0; 101].map(|_| Instant::now().elapsed().as_nanos() as f64));
        Clock { samples, calls, reading }
    }

    fn nanoseconds(&self, ask: impl Fn(&Prepared) -> bool, question: &Prepared) -> f64 {
        let mut samples = [0.0; SAMPLES];
        black_box(ask(question));
        for sample in &mut samples[..self.samples] {
            let start = Instant::now();
            for _ in 0..self.calls {
                black_box(ask(black_box(question)));
            }
            let elapsed = start.elapsed().as_nanos() as f64;
            *sample = (elapsed - self.reading).max(0.0) / self.calls as f64;
        }
        lower_median(&mut samples[..self.samples])
    }
}

/// Returns the middle value. Of an even number of values, returns the lower of the two in the
/// middle.
fn lower_median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_in_the_middle_the_lower_counts() {
        assert_eq!(lower_median(&mut []), 0.0);
        assert_eq!(lower_median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(lower_median(&mut [4.0, 1.0, 3.0, 2.0]), 2.0);
    }

    #[test]
    fn the_more_there_are_the_fewer_calls_are_made_of_each() {
        let calls = |lookups| {
            let clock = Clock::new(lookups);
            (clock.samples, clock.calls)
        };
        assert_eq!((calls(0), calls(1000)), ((5, 8), (5, 8)));
        assert_eq!((calls(500_000), calls(10_000_000)), ((4, 1), (1, 1)));
    }

    #[test]
    fn a_name_costs_what_all_its_lookups_cost() {
        let mut cost = Cost::default();
        cost.add(4, 2, 10.0, 1.0);
        cost.add(9, 3, 20.0, 2.0);
        cost.add(5, 1, 1.0, 1.0);
        assert_eq!((cost.lookups, cost.kernel_ns, cost.ours_ns, cost.most), (6, 81.0, 9.0, 9));
    }
}
