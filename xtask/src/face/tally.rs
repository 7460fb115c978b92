//! How often each face was asked, and how often its answer was there at once.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{FACES, Kind};

/// Counts of one face's answers, as they were at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Operations that it was asked for.
    pub asked: u64,
    /// Those of them that were answered at once.
    pub answered: u64,
    /// The others of them that were asked again after a context had answered.
    pub asked_again: u64,
    /// Those of these that were answered at once.
    pub answered_again: u64,
}

/// The counts themselves. Each is a count of its own: no partner.
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

/// Whether an answer was there at once.
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

    /// Returns what was counted of this face by all threads of this process.
    pub fn tally(self) -> Tally {
        let Counters { asked, answered, asked_again, answered_again } = &COUNTERS[self as usize];
        let [asked, answered, asked_again, answered_again] =
            [asked, answered, asked_again, answered_again].map(|count| count.load(Ordering::Relaxed));
        Tally { asked, answered, asked_again, answered_again }
    }
}

/// Tells how often answers were there at once, by face; one line each. `None` if no face was asked.
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
