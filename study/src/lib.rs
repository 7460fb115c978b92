//! A simulation that compares eviction policies on recorded walks.
//!
//! The simulated cache of names consists of slots only. A policy chooses the slot to evict.
//!
//! - [`trace`]: walks. They come from strace's output ([`recorded`]), are kept in small files
//!   ([`mod@file`]), some of which are built in ([`recordings`]), or are generated ([`generated`]);
//! - [`cache`] over [`slots`]: the part that is the same for all policies;
//! - `lists`: the policies of the papers; `hands`, `two_hands`: policies over an array of slots,
//!   which the engine could have;
//! - [`optimal`]: a bound that no policy can exceed;
//! - [`study`], [`plot`]: runs of all policies at several sizes, and a plot of the results;
//! - [`whole_paths`]: policies of the memo of whole paths, on the same walks.
//!
//! The program `study` runs them from a command line.
//!
//! What it does not do: measure time. It counts hits, questions to the file system, and slots that
//! were looked at.

pub mod cache;
pub mod file;
pub mod generated;
mod hands;
mod list;
mod lists;
pub mod optimal;
pub mod plot;
pub mod recorded;
pub mod recordings;
pub mod slots;
pub mod study;
#[cfg(test)]
mod tests;
pub mod trace;
mod two_hands;
pub mod whole_paths;

use cache::{AbsentShare, Cache, Outcome, Policy};
use hands::{Clock, CountingClock, New, Rounds};
use lists::{Fifo, Lru, S3Fifo, Sieve};
use trace::Walks;
use two_hands::{Counts, Features, Ghosts, TwoHands};

/// A policy that can be selected by name.
#[derive(Clone, Copy, Debug)]
pub struct Entrant {
    /// The name of the policy.
    pub name: &'static str,
    /// A description of a few words.
    pub about: &'static str,
    /// The share of the slots that absent entries may take.
    pub share: AbsentShare,
    make: fn(usize) -> Box<dyn Policy>,
}

const fn entrant(name: &'static str, about: &'static str, make: fn(usize) -> Box<dyn Policy>) -> Entrant {
    Entrant { name, about, share: AbsentShare::All, make }
}

/// All policies: first those over lists, then those over slots.
pub const ENTRANTS: &[Entrant] = &[
    entrant("fifo", "evicts the oldest entry", |_| Box::new(Fifo::default())),
    entrant("lru", "evicts the least recently hit entry", |_| Box::new(Lru::default())),
    entrant("sieve", "SIEVE, over a list", |_| Box::new(Sieve::default())),
    entrant("s3-fifo", "S3-FIFO, over three lists", |capacity| Box::new(S3Fifo::new(capacity))),
    entrant("clock", "a mark; a new entry has it", |capacity| Box::new(Clock::new(capacity, New::Marked))),
    entrant("clock-unmarked", "a mark; a new entry has none", |capacity| Box::new(Clock::new(capacity, New::Unmarked))),
    entrant("clock-counting", "a mark, and a count to three", |capacity| Box::new(CountingClock::new(capacity))),
    entrant("rounds", "SIEVE over slots, counting to three", |capacity| Box::new(Rounds::new(capacity))),
    entrant("hands", "S3-FIFO over slots, without ghosts", |capacity| Box::new(TwoHands::new(capacity, PLAIN))),
    entrant("hands-ghosts", "the same with ghosts", |capacity| Box::new(TwoHands::new(capacity, WITH_GHOSTS))),
    entrant("hands-counting", "the same, counting to three", |capacity| Box::new(TwoHands::new(capacity, WITH_ALL))),
    Entrant {
        share: HALF,
        ..entrant("hands-share", "the same, absent entries at most half", |capacity| Box::new(TwoHands::new(capacity, WITH_ALL)))
    },
    Entrant {
        share: HALF,
        ..entrant("hands-20", "the same, evicted from by 20 threads", |capacity| Box::new(TwoHands::new(capacity, OF_MANY)))
    },
];

const HALF: AbsentShare = AbsentShare::AtMost(0.5);
const PLAIN: Features = Features { ghosts: Ghosts::None, counts: Counts::One, threads: 1 };
const WITH_GHOSTS: Features = Features { ghosts: Ghosts::Kept, ..PLAIN };
const WITH_ALL: Features = Features { counts: Counts::ToThree, ..WITH_GHOSTS };
const OF_MANY: Features = Features { threads: 20, ..WITH_ALL };

/// Returns the policy with this name.
pub fn find(name: &str) -> Option<Entrant> {
    ENTRANTS.iter().find(|entrant| entrant.name == name).copied()
}

impl Entrant {
    /// Creates an empty cache with this many slots, at least 1.
    pub fn cache<'a>(&self, walks: &'a Walks, capacity: usize) -> Cache<'a> {
        Cache::new(walks, capacity, self.share, (self.make)(capacity))
    }

    /// Runs all walks, beginning with an empty cache of this many slots, at least 1, and returns
    /// the outcome.
    /// Calls `progress` now and then with the number of walks since the last call.
    pub fn run(&self, walks: &Walks, capacity: usize, progress: &mut dyn FnMut(u64)) -> Outcome {
        self.cache(walks, capacity).run(progress)
    }
}
