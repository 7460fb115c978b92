//! A bench as a field of entrants, and its results.
//!
//! Every entrant runs in one thread and in two, all in alternating rounds of one run.

use tempfile::TempDir;

use crate::kernel::KernelQuestion;
use crate::peers::Peer;
use crate::rounds::{Lane, Pace, Quartiles, Race, Results};
use crate::work::{Asking, Work};
use pathwalk_trace::trace::Question;

/// The numbers of threads that each entrant runs in.
pub const THREADS: [usize; 2] = [1, 2];

/// The name of the entrant that ships.
pub const OURS: &str = "pathwalk";

/// One thing that is measured.
pub struct Entrant {
    /// The name.
    pub what: &'static str,
    /// The drawback of using it.
    pub gets_wrong: Option<&'static str>,
    /// The number of calls of the file system's own permission hook a lookup, where that is what
    /// the bench is about.
    pub hook_calls: Option<f64>,
    /// The work that is timed.
    pub work: Box<dyn Work>,
}

impl Entrant {
    /// Creates an entrant without a drawback.
    pub fn new(what: &'static str, work: impl Work + 'static) -> Entrant {
        Entrant { what, gets_wrong: None, hook_calls: None, work: Box::new(work) }
    }

    /// Creates an entrant that asks the kernel with `access(2)`.
    pub fn kernel(questions: &[Question]) -> Entrant {
        let questions = questions.iter().map(KernelQuestion::from).collect();
        Entrant::new("access(2)", Asking { questions, ask: |question: &KernelQuestion| question.ask().is_ok() })
    }

    /// Creates an entrant that asks a peer as `access(2)` is asked.
    pub fn peer<P: Peer + 'static>(peer: P, questions: &[Question]) -> Entrant {
        let ask = move |question: &Question| peer.access(&question.path, question.want).is_ok();
        Entrant { gets_wrong: Some(P::GETS_WRONG), ..Entrant::new(P::WHAT, Asking { questions: questions.to_vec(), ask }) }
    }
}

/// Two entrants that are compared.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// The difference between the two.
    pub what: &'static str,
    /// The entrant with it.
    pub with: &'static str,
    /// The entrant without it.
    pub without: &'static str,
    /// The gain of the same change in Linux, in percent, where one was reported.
    pub linux_percent: Option<f64>,
}

/// A bench that is ready to run.
pub struct Field {
    /// The name of the bench.
    pub name: &'static str,
    /// The entrants.
    pub entrants: Vec<Entrant>,
    /// The comparisons.
    pub comparisons: Vec<Comparison>,
    /// The notes that a reader of the figures needs.
    pub notes: Vec<String>,
    /// The files that have to exist while the bench runs.
    pub files: Option<TempDir>,
}

/// One line of a [`Report`].
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The entrant's name.
    pub what: &'static str,
    /// The drawback of using it.
    pub gets_wrong: Option<&'static str>,
    /// The calls of the file system's own permission hook, a lookup.
    pub hook_calls: Option<f64>,
    /// The number of threads.
    pub threads: usize,
    /// The nanoseconds for a lookup in one of the threads.
    pub ns: Quartiles,
    /// The lookups a second, of all threads together.
    pub per_second: f64,
}

/// The result of a [`Comparison`]: the gain in lookups a second, in one thread, in percent, round
/// by round.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    /// The comparison.
    pub of: Comparison,
    /// The gain in percent.
    pub percent: Quartiles,
}

/// The results of a bench.
#[derive(Clone, Debug)]
pub struct Report {
    /// The name of the bench.
    pub name: &'static str,
    /// The lines, one for each entrant and number of threads.
    pub rows: Vec<Row>,
    /// The gains, one for each comparison.
    pub gains: Vec<Gain>,
    /// The notes that a reader of the figures needs.
    pub notes: Vec<String>,
}

impl Field {
    /// Runs the bench. `tick` is called after each round.
    pub fn run(&self, pace: Pace, tick: &mut dyn FnMut()) -> Report {
        let mut race = Race::new(pace);
        let mut lanes = Vec::new();
        for entrant in &self.entrants {
            lanes.push(THREADS.map(|threads| race.enter(&*entrant.work, threads)));
        }
        race.warm_up();
        let results = race.run(tick);
        let mut rows = Vec::new();
        for (entrant, lanes) in self.entrants.iter().zip(&lanes) {
            rows.extend(THREADS.iter().zip(lanes).map(|(threads, lane)| Row {
                what: entrant.what,
                gets_wrong: entrant.gets_wrong,
                hook_calls: entrant.hook_calls,
                threads: *threads,
                ns: results.nanoseconds(*lane),
                per_second: results.per_second(*lane).median,
            }));
        }
        let alone = |what: &str| self.entrants.iter().position(|entrant| entrant.what == what).map(|i| lanes[i][0]);
        let gain = |of: &Comparison| Some(gain(*of, &results, alone(of.with)?, alone(of.without)?));
        let gains = self.comparisons.iter().filter_map(gain).collect();
        Report { name: self.name, rows, gains, notes: self.notes.clone() }
    }

    /// Returns the work of one entrant.
    pub fn work(&self, what: &str) -> Option<&dyn Work> {
        self.entrants.iter().find(|entrant| entrant.what == what).map(|entrant| &*entrant.work)
    }
}

fn gain(of: Comparison, results: &Results, with: Lane, without: Lane) -> Gain {
    let Quartiles { lower, median, upper } = results.ratio(with, without);
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    Gain { of, percent: Quartiles { lower: percent(lower), median: percent(median), upper: percent(upper) } }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::work::StoreFree;

    #[test]
    fn every_entrant_gets_a_row_for_each_number_of_threads() {
        let entrant = |what| Entrant::new(what, StoreFree { paths: vec![b"/usr"[..].into()] });
        let comparison = |with, without| Comparison { what: "it", with, without, linux_percent: None };
        let field = Field {
            name: "test",
            entrants: vec![entrant("a"), entrant("b")],
            comparisons: vec![comparison("a", "b"), comparison("a", "not there")],
            notes: vec![],
            files: None,
        };
        let report = field.run(Pace { rounds: 2, turn: Duration::from_micros(100) }, &mut || ());
        let rows: Vec<_> = report.rows.iter().map(|row| (row.what, row.threads)).collect();
        assert_eq!(rows, [("a", 1), ("a", 2), ("b", 1), ("b", 2)]);
        assert_eq!(report.gains.len(), 1);
        assert!(field.work("b").is_some() && field.work("c").is_none());
    }
}
