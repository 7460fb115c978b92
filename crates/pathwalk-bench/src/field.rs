//! A bench as a field of entrants, and what came out of it.
//!
//! Every entrant runs in one thread and in two, all in alternating rounds of one run.

use tempfile::TempDir;

use crate::kernel::KernelQuestion;
use crate::peers::Peer;
use crate::rounds::{Lane, Pace, Quartiles, Race, Results};
use crate::trace::Question;
use crate::work::{Asking, Work};

/// In how many threads each entrant runs.
pub const THREADS: [usize; 2] = [1, 2];

/// The entrant that ships.
pub const OURS: &str = "pathwalk";

/// One thing that is measured.
pub struct Entrant {
    /// What it is.
    pub what: &'static str,
    /// What one gives up by using it.
    pub gets_wrong: Option<&'static str>,
    /// How often a lookup calls the file system's own permission hook, where that is the point.
    pub hook_calls: Option<f64>,
    /// What it does.
    pub work: Box<dyn Work>,
}

impl Entrant {
    /// Something that is right as far as it goes.
    pub fn new(what: &'static str, work: impl Work + 'static) -> Entrant {
        Entrant { what, gets_wrong: None, hook_calls: None, work: Box::new(work) }
    }

    /// Asks the kernel with `access(2)`.
    pub fn kernel(questions: &[Question]) -> Entrant {
        let questions = questions.iter().map(KernelQuestion::from).collect();
        Entrant::new("access(2)", Asking { questions, ask: |question: &KernelQuestion| question.ask().is_ok() })
    }

    /// Asks a peer as `access(2)` is asked.
    pub fn peer<P: Peer + 'static>(peer: P, questions: &[Question]) -> Entrant {
        let ask = move |question: &Question| peer.access(&question.path, question.want).is_ok();
        Entrant { gets_wrong: Some(P::GETS_WRONG), ..Entrant::new(P::WHAT, Asking { questions: questions.to_vec(), ask }) }
    }
}

/// Two entrants whose relation is the point.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// What made the difference.
    pub what: &'static str,
    /// The entrant with it.
    pub with: &'static str,
    /// The entrant without.
    pub without: &'static str,
    /// What the same gave in Linux, in per cent, where that was reported.
    pub linux_percent: Option<f64>,
}

/// A bench that is ready to run.
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Who takes part.
    pub entrants: Vec<Entrant>,
    /// What is compared.
    pub comparisons: Vec<Comparison>,
    /// What one should know when reading the figures.
    pub notes: Vec<String>,
    /// Files that have to be there while it runs.
    pub files: Option<TempDir>,
}

/// One line of a [`Report`].
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The entrant.
    pub what: &'static str,
    /// What one gives up by using it.
    pub gets_wrong: Option<&'static str>,
    /// Calls of the file system's own permission hook, a lookup.
    pub hook_calls: Option<f64>,
    /// In how many threads.
    pub threads: usize,
    /// Nanoseconds a lookup of one of the threads.
    pub ns: Quartiles,
    /// Lookups a second, all threads together.
    pub per_second: f64,
}

/// What a [`Comparison`] gave: lookups a second, one thread, in per cent, round by round.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    /// What was compared.
    pub of: Comparison,
    /// By how many per cent more.
    pub percent: Quartiles,
}

/// What came out of a bench.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its name.
    pub name: &'static str,
    /// A line for each entrant and number of threads.
    pub rows: Vec<Row>,
    /// One for each comparison.
    pub gains: Vec<Gain>,
    /// What one should know when reading the figures.
    pub notes: Vec<String>,
}

impl Field {
    /// Runs it. `tick` is called after each round.
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

    /// The work of one entrant.
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
