//! The speed of both sides, in alternating rounds of one run.
//!
//! With several threads there are also rounds of one thread. The engine's gain from threads is
//! compared with the ceiling, which is the gain of a loop without stores in the same rounds.
//!
//! Of a long recording, an even sample is asked, in its order.

use pathwalk::{HandOver, Vfs};
use pathwalk_bench::rounds::{Pace, Quartiles, Race};
use pathwalk_bench::work::{Asking, StoreFree, Work};
use pathwalk_recording::Recording;

use super::question::Prepared;
use super::sides::{Engine, Kernel};
use super::survey::Place;

/// The largest number of lookups in one pass: more would take longer than a turn.
const MOST_IN_A_PASS: usize = 1 << 15;

/// The speed of one side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// The nanoseconds for a lookup in one of the threads.
    pub(crate) ns: Quartiles,
    /// The lookups a second, of all threads together.
    pub(crate) per_second: Quartiles,
    /// The lookups a second of one thread alone.
    pub(crate) per_second_alone: Quartiles,
    /// The gain from the threads, round by round.
    pub(crate) scaling: Quartiles,
}

/// The results of the measurement.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    pub(crate) ours: Side,
    /// The engine without the memo of whole paths.
    pub(crate) walking: Side,
    pub(crate) kernel: Side,
    /// The ratio of the engine's lookups a second to the kernel's, round by round.
    pub(crate) ratio: Quartiles,
    /// The ratio of lookups a second with the memo of whole paths to those without, round by round.
    pub(crate) gain: Quartiles,
    /// The share of lookups that the memo answered, in a pass after the timed rounds.
    pub(crate) remembered: f64,
    /// The gain of a loop without stores from the threads, round by round.
    pub(crate) ceiling: Quartiles,
    /// The engine's lookups in the timed rounds.
    pub(crate) lookups: u64,
    /// The hand-overs in the timed rounds, in the order of [`HandOver::ALL`].
    pub(crate) hand_overs: Vec<(HandOver, u64)>,
}

impl Timing {
    /// Returns the share of lookups that the lock-free walk finished alone.
    pub(crate) fn fast_share(&self) -> f64 {
        let handed_over: u64 = self.hand_overs.iter().map(|(_, count)| count).sum();
        1.0 - handed_over.min(self.lookups) as f64 / self.lookups.max(1) as f64
    }
}

/// Returns the lookups that are timed, in the order of the recording: those that are answered, and
/// not more than fit a turn. Repeats are copies, as each call of a program has a path of its own.
pub(crate) fn sample(recording: &Recording, places: &[Place], prepared: &[Prepared]) -> Vec<Prepared> {
    let answered = |i: &&u32| matches!(places[**i as usize], Place::At(_));
    let count = recording.sequence.iter().filter(answered).count();
    let every = count.div_ceil(MOST_IN_A_PASS).max(1);
    recording.sequence.iter().filter(answered).step_by(every).map(|i| prepared[*i as usize].clone()).collect()
}

/// The sides that are timed.
pub(crate) struct Sides<'a> {
    pub(crate) engine: &'a Engine,
    /// The engine without the memo of whole paths.
    pub(crate) walking: &'a Engine,
    pub(crate) kernel: &'a Kernel,
}

/// Warms up and measures. Returns `None` if there is nothing to ask. `tick` is called after each
/// round.
pub(crate) fn measure(
    sample: &[Prepared],
    sides: &Sides<'_>,
    threads: usize,
    pace: Pace,
    tick: &mut dyn FnMut(),
) -> Option<Timing> {
    if sample.is_empty() {
        return None;
    }
    let Sides { engine, walking, kernel } = *sides;
    let ours = Asking { questions: sample.to_vec(), ask: |question: &Prepared| engine.succeeds(question) };
    let walking = Asking { questions: sample.to_vec(), ask: |question: &Prepared| walking.succeeds(question) };
    let kernel = Asking { questions: sample.to_vec(), ask: |question: &Prepared| kernel.succeeds(question) };
    let store_free = StoreFree { paths: sample.iter().map(|question| question.bytes().into()).collect() };

    let mut race = Race::new(pace);
    let works = [(&ours as &dyn Work), &walking, &kernel, &store_free];
    let [asked, walked, kernel, store_free] = works.map(|work| {
        let together = race.enter(work, threads);
        let alone = if threads == 1 { together } else { race.enter(work, 1) };
        (together, alone)
    });
    race.warm_up();
    let before = engine.context().vfs().stats();
    let results = race.run(tick);
    let after = engine.context().vfs().stats();
    let walked_before = Vfs::walked_by_this_thread();
    ours.run(1);
    let walked_in_a_pass = Vfs::walked_by_this_thread() - walked_before;

    let side = |(together, alone)| Side {
        ns: results.nanoseconds(together),
        per_second: results.per_second(together),
        per_second_alone: results.per_second(alone),
        scaling: results.ratio(together, alone),
    };
    let alone = if threads == 1 { 0 } else { results.lookups(asked.1) };
    let handed_over = |reason: HandOver| (reason, after.hand_overs_for(reason) - before.hand_overs_for(reason));
    Some(Timing {
        ours: side(asked),
        walking: side(walked),
        kernel: side(kernel),
        ratio: results.ratio(asked.0, kernel.0),
        gain: results.ratio(asked.0, walked.0),
        remembered: 1.0 - (walked_in_a_pass as f64 / sample.len() as f64).min(1.0),
        ceiling: results.ratio(store_free.0, store_free.1),
        lookups: results.lookups(asked.0) + alone,
        hand_overs: HandOver::ALL.map(handed_over).to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use pathwalk::Access;
    use pathwalk_trace::trace::Trace;

    use super::super::source::recording_of;
    use super::super::survey::Reason;
    use super::*;

    #[test]
    fn a_pass_is_an_even_sample_of_what_is_answered() {
        let mut recording = recording_of(&Trace::parse(b"/a\tF_OK\n/b\tF_OK\n/c\tF_OK").unwrap(), None);
        let prepared: Vec<_> = recording.lookups.iter().map(|it| Prepared::new(&it.lookup, None)).collect();
        let places = [Place::At(None), Place::LeftOut(Reason::Device), Place::At(None)];
        let sampled = |recording: &Recording, places: &[Place]| {
            let sample = sample(recording, places, &prepared);
            sample.iter().map(|question| question.bytes()[1]).collect::<Vec<_>>()
        };
        assert_eq!(sampled(&recording, &places), b"ac");
        assert_eq!(sampled(&recording, &[Place::LeftOut(Reason::Device); 3]), b"");
        recording.sequence = [0, 1, 2].repeat(MOST_IN_A_PASS);
        let many = sampled(&recording, &places);
        assert_eq!(many.len(), MOST_IN_A_PASS);
    }

    #[test]
    fn a_trace_repeats_itself_in_a_pass() {
        let recording = recording_of(&Trace::repeated(b"/a", Access::empty(), 5), None);
        let prepared: Vec<_> = recording.lookups.iter().map(|it| Prepared::new(&it.lookup, None)).collect();
        assert_eq!((prepared.len(), sample(&recording, &[Place::At(None)], &prepared).len()), (1, 5));
    }
}
