//! Runs of all policies at several sizes, on the same walks.

use super::cache::Outcome;
use super::trace::Walks;
use super::{Entrant, optimal};

/// The size that has room for all entries, in hundredths of a percent.
pub const WHOLE: u32 = 10_000;

/// A size of the cache: a share of the entries of a trace, in hundredths of a percent, 1 to 10,000.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Size(pub u32);

impl Size {
    /// Returns the size in percent.
    pub fn percent(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// Returns the number of slots of this size for this many entries, at least 1.
    pub fn slots(self, entries: usize) -> usize {
        ((entries as u64 * u64::from(self.0) / u64::from(WHOLE)) as usize).max(1)
    }
}

/// The default sizes: 1, 2, 5, 10, 20 and 50 percent.
pub const SIZES: [Size; 6] = [Size(100), Size(200), Size(500), Size(1000), Size(2000), Size(5000)];

/// The results of all policies on the same walks.
#[derive(Clone, Debug)]
pub struct Study {
    /// The name of the walks.
    pub name: String,
    /// The number of walks.
    pub walks: usize,
    /// The number of entries that the walks touch.
    pub entries: usize,
    /// The number of these entries that are absent.
    pub absent: usize,
    /// The sizes of the cache.
    pub sizes: Vec<Size>,
    /// The policies, in the order in which they were given.
    pub rows: Vec<Row>,
    /// The bound that no policy can exceed, for each size. Only its hits are known.
    pub bound: Vec<Outcome>,
}

/// The outcomes of a policy.
#[derive(Clone, Debug)]
pub struct Row {
    /// The policy.
    pub entrant: Entrant,
    /// The outcome for each size.
    pub outcomes: Vec<Outcome>,
}

impl Study {
    /// Runs the policies at all sizes. The numbers of walks with which `progress` is called add up
    /// to [`work`](Self::work).
    pub fn run(name: &str, walks: &Walks, entrants: &[Entrant], sizes: &[Size], progress: &mut dyn FnMut(u64)) -> Study {
        let slots: Vec<_> = sizes.iter().map(|size| size.slots(walks.entries())).collect();
        let row = |entrant: &Entrant| {
            let outcomes = slots.iter().map(|slots| entrant.run(walks, *slots, progress)).collect();
            Row { entrant: *entrant, outcomes }
        };
        Study {
            name: name.to_owned(),
            walks: walks.len(),
            entries: walks.entries(),
            absent: walks.absent_entries(),
            sizes: sizes.to_vec(),
            rows: entrants.iter().map(row).collect(),
            bound: slots.iter().map(|slots| optimal::bound(walks, *slots)).collect(),
        }
    }

    /// Returns the number of walks that [`run`](Self::run) makes.
    pub fn work(walks: &Walks, entrants: &[Entrant], sizes: &[Size]) -> u64 {
        (walks.len() * entrants.len() * sizes.len()) as u64
    }
}

/// A policy compared with a base policy. All studies and sizes have the same weight.
/// Figures are in percent of the base policy's; negative ones are worse than the base.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Saved {
    /// The name of the policy.
    pub name: &'static str,
    /// The misses saved, in the mean.
    pub misses: f64,
    /// The misses saved at the study and size where they are fewest.
    pub worst: f64,
    /// The questions to the file system saved, in the mean.
    pub questions: f64,
}

/// Returns the savings of each policy beside the one with the name `base`.
/// Returns nothing if not all studies have that policy. Leaves out policies that not all studies
/// have.
pub fn saved(studies: &[Study], base: &str) -> Vec<Saved> {
    let rows = |name: &str| -> Option<Vec<Outcome>> {
        let of = |study: &Study| study.rows.iter().find(|row| row.entrant.name == name).map(|row| row.outcomes.clone());
        studies.iter().map(of).collect::<Option<Vec<_>>>().map(|outcomes| outcomes.concat())
    };
    let Some(base) = rows(base).filter(|base| !base.is_empty()) else { return Vec::new() };
    let percent = |ours: u64, base: u64| if base == 0 { 0.0 } else { (base as f64 - ours as f64) * 100.0 / base as f64 };
    let misses = |outcome: &Outcome| outcome.all().walks - outcome.all().hits;
    let saved = |row: &Row| {
        let ours = rows(row.entrant.name)?;
        let mut saved = Saved { name: row.entrant.name, misses: 0.0, worst: f64::INFINITY, questions: 0.0 };
        for (ours, base) in ours.iter().zip(&base) {
            let percent_of_misses = percent(misses(ours), misses(base));
            saved.misses += percent_of_misses;
            saved.worst = saved.worst.min(percent_of_misses);
            saved.questions += percent(ours.questions, base.questions);
        }
        let count = base.len() as f64;
        Some(Saved { misses: saved.misses / count, questions: saved.questions / count, ..saved })
    };
    studies[0].rows.iter().filter_map(saved).collect()
}

#[cfg(test)]
mod tests {
    use super::super::ENTRANTS;
    use super::super::cache::Ratio;
    use super::*;

    #[test]
    fn sizes_are_shares() {
        assert_eq!(SIZES.map(|size| size.slots(1234)), [12, 24, 61, 123, 246, 617]);
        assert_eq!((Size(1).slots(10), Size(WHOLE).slots(7), Size(250).percent()), (1, 7, 2.5));
    }

    #[test]
    fn what_is_saved_is_the_mean() {
        let outcome = |misses: u64, questions| Outcome {
            present: Ratio { walks: 100, hits: 100 - misses },
            questions,
            ..Outcome::default()
        };
        let study = |ours: Outcome, base: Outcome| Study {
            name: String::new(),
            walks: 100,
            entries: 10,
            absent: 0,
            sizes: vec![Size(100)],
            rows: [(ENTRANTS[0], ours), (ENTRANTS[1], base)]
                .map(|(entrant, outcome)| Row { entrant, outcomes: vec![outcome] })
                .into(),
            bound: Vec::new(),
        };
        let studies = [study(outcome(10, 30), outcome(20, 30)), study(outcome(60, 20), outcome(50, 40))];
        let (ours, base) = (ENTRANTS[0].name, ENTRANTS[1].name);
        assert_eq!(
            saved(&studies, base),
            [
                Saved { name: ours, misses: 15.0, worst: -20.0, questions: 25.0 },
                Saved { name: base, misses: 0.0, worst: 0.0, questions: 0.0 }
            ]
        );
        assert_eq!((saved(&studies, "none"), saved(&[], base)), (vec![], vec![]));
    }
}
