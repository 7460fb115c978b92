//! How fast both are, in alternating rounds of one run.
//!
//! With several threads there are also rounds of one thread: what the engine gains from threads is held against the ceiling,
//! what a loop without stores gains in the same rounds.

use pathwalk::{Context, HandOver};
use pathwalk_bench::kernel::KernelQuestion;
use pathwalk_bench::rounds::{Pace, Quartiles, Race};
use pathwalk_bench::trace::{Question, Trace};
use pathwalk_bench::work::{Asking, StoreFree, Work};

/// One side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// Nanoseconds a lookup of one of the threads.
    pub(crate) ns: Quartiles,
    /// Lookups a second, all threads together.
    pub(crate) per_second: Quartiles,
    /// The same of one thread alone.
    pub(crate) per_second_alone: Quartiles,
    /// What it gained from the threads, round by round.
    pub(crate) scaling: Quartiles,
}

/// What was measured.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    pub(crate) ours: Side,
    pub(crate) kernel: Side,
    /// Lookups a second, the engine's over the kernel's, round by round.
    pub(crate) ratio: Quartiles,
    /// What a loop without stores gained from the threads, round by round.
    pub(crate) ceiling: Quartiles,
    /// The engine's lookups in the timed rounds.
    pub(crate) lookups: u64,
    /// Hand-overs in the timed rounds, in the order of [`HandOver::ALL`].
    pub(crate) hand_overs: Vec<(HandOver, u64)>,
}

impl Timing {
    /// The share of lookups that the lock-free walk finished alone.
    pub(crate) fn fast_share(&self) -> f64 {
        let handed_over: u64 = self.hand_overs.iter().map(|(_, count)| count).sum();
        1.0 - handed_over.min(self.lookups) as f64 / self.lookups.max(1) as f64
    }
}

/// Warms up and measures. `tick` is called after each round.
pub(crate) fn measure(trace: &Trace, context: &Context, threads: usize, pace: Pace, tick: &mut dyn FnMut()) -> Timing {
    let ours = Asking {
        questions: trace.questions().to_vec(),
        ask: |question: &Question| context.access(&question.path[..], question.want).is_ok(),
    };
    let kernel = Asking {
        questions: trace.questions().iter().map(KernelQuestion::from).collect(),
        ask: |question: &KernelQuestion| question.ask().is_ok(),
    };
    let store_free = StoreFree { paths: trace.questions().iter().map(|question| question.path.clone()).collect() };

    let mut race = Race::new(pace);
    let [ours, kernel, store_free] = [(&ours as &dyn Work), &kernel, &store_free].map(|work| {
        let together = race.enter(work, threads);
        let alone = if threads == 1 { together } else { race.enter(work, 1) };
        (together, alone)
    });
    race.warm_up();
    let before = context.vfs().stats();
    let results = race.run(tick);
    let after = context.vfs().stats();

    let side = |(together, alone)| Side {
        ns: results.nanoseconds(together),
        per_second: results.per_second(together),
        per_second_alone: results.per_second(alone),
        scaling: results.ratio(together, alone),
    };
    let alone = if threads == 1 { 0 } else { results.lookups(ours.1) };
    let handed_over = |reason: HandOver| (reason, after.hand_overs_for(reason) - before.hand_overs_for(reason));
    Timing {
        ours: side(ours),
        kernel: side(kernel),
        ratio: results.ratio(ours.0, kernel.0),
        ceiling: results.ratio(store_free.0, store_free.1),
        lookups: results.lookups(ours.0) + alone,
        hand_overs: HandOver::ALL.map(handed_over).to_vec(),
    }
}
