//! The counts of each face's calls, and of the answers that were ready at once.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{FACES, Kind};

/// The counts of one face, as they were at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// The number of operations.
    pub asked: u64,
    /// The number of those that were answered at once.
    pub answered: u64,
    /// The number of the others that were repeated after a context had answered.
    pub asked_again: u64,
    /// The number of repeated operations that were answered at once.
    pub answered_again: u64,
}

/// The counters. Each is independent of the others, and pairs with nothing.
struct Counters {
    asked: AtomicU64,
    answered: AtomicU64,
    asked_again: AtomicU64,
    answered_again: AtomicU64,
}

static COUNTERS: [Counters; FACES] = [const { Counters::new() }; FACES];

impl Counters {
    const fn new() -> Counters {
        let [asked, answered, asked_again, answered_again] = [const { AtomicU64::new(0) }; 4];
        Counters { asked, answered, asked_again, answered_again }
    }
}

/// The readiness of an answer at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Knew {
    Yes,
    No,
}

impl Kind {
    pub(super) fn count(self, knew: Knew) {
        let Counters { asked, answered, .. } = &COUNTERS[self as usize];
        asked.fetch_add(1, Ordering::Relaxed);
        answered.fetch_add(u64::from(knew == Knew::Yes), Ordering::Relaxed);
    }

    pub(super) fn count_again(self, knew: Knew) {
        let Counters { asked_again, answered_again, .. } = &COUNTERS[self as usize];
        asked_again.fetch_add(1, Ordering::Relaxed);
        answered_again.fetch_add(u64::from(knew == Knew::Yes), Ordering::Relaxed);
    }

    /// Returns the counts of this face, over all threads of this process.
    pub fn tally(self) -> Tally {
        let Counters { asked, answered, asked_again, answered_again } = &COUNTERS[self as usize];
        let [asked, answered, asked_again, answered_again] =
            [asked, answered, asked_again, answered_again].map(|count| count.load(Ordering::Relaxed));
        Tally { asked, answered, asked_again, answered_again }
    }
}

/// Returns one line for each face that was used: how many of its answers were ready at once. `None`
/// if no face was used.
pub(crate) fn told() -> Option<String> {
    let line = |kind: Kind| {
        let Tally { asked, answered, asked_again, answered_again } = kind.tally();
        let again = match asked_again {
            0 => String::new(),
            _ => format!(", of the others {answered_again} of {asked_again} after a context's answer"),
        };
        let what = if kind == Kind::Cached { "answered by the caches" } else { "ready at once" };
        (asked > 0).then(|| format!("{}: {answered} of {asked} {what}{again}", kind.name()))
    };
    let lines: Vec<String> = Kind::ALL.into_iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
