//! The memo of whole paths: policies beside each other, on recorded walks.
//!
//! A policy says which walks are recorded, and which entry makes room where both of a set are live.
//! The simulated memo has sets of two entries and finds a set by a hash, as the engine's has.
//!
//! What always holds: equal walks give equal figures. The random numbers have a fixed seed.
//!
//! What it does not do: it simulates no changes, so an entry is never stale. It takes two spellings
//! of one walk for one path. It learns no directories, which the engine learns in turns with paths.
//! It does not stop asking where the memo never hits, as a thread without credit does.

use std::collections::HashMap;

use super::trace::{EntryId, Walks};

/// Entries of a set.
const WAYS: usize = 2;

/// Instructions of a lookup that the memo answers. Of `.ci/hit-path`: the gcc trace.
const HIT: u64 = 246;
/// Instructions of a lookup that asks in vain and is walked.
const MISS: u64 = 911 + 109;
/// Instructions of a walk that is recorded, beside the lookup.
const FILL: u64 = 3500;

/// The walks that are recorded, of those that the memo does not answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Learns {
    /// One in so many, whatever was used before.
    OneIn(u32),
    /// One in so many of those whose end was used before.
    UsedOneIn(u32),
}

/// The entry that makes room where both are live.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goes {
    /// The less recently hit. A hit would have to store when it was.
    LessRecent,
    /// One of the two at random, for one path in so many; the others are not recorded.
    OneIn(u32),
    /// Neither.
    Neither,
}

/// A policy of the memo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// Its name.
    pub name: &'static str,
    /// The walks that it records.
    pub learns: Learns,
    /// The entry that makes room.
    pub goes: Goes,
}

const fn policy(name: &'static str, learns: Learns, goes: Goes) -> Policy {
    Policy { name, learns, goes }
}

/// All policies: first by what they record, then by what makes room.
pub const POLICIES: &[Policy] = &[
    policy("each", Learns::OneIn(1), Goes::OneIn(64)),
    policy("1 in 4", Learns::OneIn(4), Goes::OneIn(64)),
    policy("used", Learns::UsedOneIn(1), Goes::OneIn(64)),
    policy("used, 1 in 2", Learns::UsedOneIn(2), Goes::OneIn(64)),
    SHIPPED,
    policy("used, 1 in 8", Learns::UsedOneIn(8), Goes::OneIn(64)),
    policy("used, 1 in 16", Learns::UsedOneIn(16), Goes::OneIn(64)),
    policy("less recent goes", Learns::UsedOneIn(4), Goes::LessRecent),
    policy("1 in 1 goes", Learns::UsedOneIn(4), Goes::OneIn(1)),
    policy("1 in 8 goes", Learns::UsedOneIn(4), Goes::OneIn(8)),
    policy("1 in 512 goes", Learns::UsedOneIn(4), Goes::OneIn(512)),
    policy("neither goes", Learns::UsedOneIn(4), Goes::Neither),
];

/// The engine's.
pub const SHIPPED: Policy = policy("used, 1 in 4", Learns::UsedOneIn(4), Goes::OneIn(64));

/// The outcome of a policy at one size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// The number of lookups.
    pub lookups: u64,
    /// Those that the memo answered.
    pub hits: u64,
    /// The walks that were recorded.
    pub fills: u64,
}

impl Outcome {
    /// Returns the hits in percent of the lookups.
    pub fn percent(self) -> f64 {
        100.0 * self.hits as f64 / self.lookups.max(1) as f64
    }

    /// Returns the mean instructions of a lookup, by what hits, misses and fills take in the
    /// engine.
    pub fn instructions(self) -> f64 {
        let all = self.hits * HIT + (self.lookups - self.hits) * MISS + self.fills * FILL;
        all as f64 / self.lookups.max(1) as f64
    }
}

/// A walk's path: equal walks have one.
type PathId = u32;

/// The lookups of a recording, as the memo sees them.
pub struct Lookups {
    paths: Vec<(PathId, EntryId)>,
    distinct: usize,
    entries: usize,
}

impl Lookups {
    /// Returns those of walks.
    pub fn new(walks: &Walks) -> Lookups {
        let mut known: HashMap<Vec<EntryId>, PathId> = HashMap::new();
        let mut paths = Vec::with_capacity(walks.len());
        for walk in walks.iter() {
            let next = known.len() as PathId;
            paths.push((*known.entry(walk.targets().collect()).or_insert(next), walk.end()));
        }
        Lookups { paths, distinct: known.len(), entries: walks.entries() + 1 }
    }

    /// Returns the number of different paths.
    pub fn distinct(&self) -> usize {
        self.distinct
    }

    /// Makes all lookups, beginning with an empty memo of so many entries, at least two.
    pub fn run(&self, policy: Policy, entries: usize) -> Outcome {
        let mut memo = Memo::new(policy, entries);
        let mut used = vec![false; self.entries];
        let mut outcome = Outcome { lookups: self.paths.len() as u64, ..Outcome::default() };
        for (path, end) in &self.paths {
            let used_before = std::mem::replace(&mut used[*end as usize], true);
            if memo.has(*path) {
                outcome.hits += 1;
            } else if memo.learns(used_before) && memo.learn(*path) {
                outcome.fills += 1;
            }
        }
        outcome
    }
}

/// An entry: its path, and when it was hit or learned last.
#[derive(Clone, Copy)]
struct Entry {
    path: PathId,
    at: u64,
}

/// The simulated memo.
struct Memo {
    policy: Policy,
    sets: Vec<[Option<Entry>; WAYS]>,
    random: fastrand::Rng,
    now: u64,
    /// Walks that might have been recorded.
    walks: u32,
    /// Paths for which both entries were live.
    crowded: u32,
}

impl Memo {
    fn new(policy: Policy, entries: usize) -> Memo {
        let sets = vec![[None; WAYS]; (entries / WAYS).max(1)];
        Memo { policy, sets, random: fastrand::Rng::with_seed(1), now: 0, walks: 0, crowded: 0 }
    }

    fn set(&mut self, path: PathId) -> &mut [Option<Entry>; WAYS] {
        let hash = u64::from(path + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let count = self.sets.len();
        &mut self.sets[((u128::from(hash ^ (hash << 32)) * count as u128) >> 64) as usize]
    }

    /// Returns whether it answers a path, which is hit then.
    fn has(&mut self, path: PathId) -> bool {
        self.now += 1;
        let now = self.now;
        let entry = self.set(path).iter_mut().flatten().find(|entry| entry.path == path);
        entry.map(|entry| entry.at = now).is_some()
    }

    /// Returns whether this walk is recorded.
    fn learns(&mut self, used_before: bool) -> bool {
        let (may, one_in) = match self.policy.learns {
            Learns::OneIn(count) => (true, count),
            Learns::UsedOneIn(count) => (used_before, count),
        };
        self.walks += u32::from(may);
        may && self.walks.is_multiple_of(one_in)
    }

    /// Learns a path, unless there is no room.
    fn learn(&mut self, path: PathId) -> bool {
        let entry = Some(Entry { path, at: self.now });
        let set = *self.set(path);
        let way = match (set.iter().position(Option::is_none), self.policy.goes) {
            (Some(empty), _) => empty,
            (None, Goes::LessRecent) => usize::from(set[1].map(|entry| entry.at) < set[0].map(|entry| entry.at)),
            (None, Goes::OneIn(count)) => {
                self.crowded += 1;
                if !self.crowded.is_multiple_of(count) {
                    return false;
                }
                self.random.usize(..WAYS)
            }
            (None, Goes::Neither) => return false,
        };
        self.set(path)[way] = entry;
        true
    }
}

/// The sizes that are simulated: entries in percent of the different paths.
pub const SIZES: [u32; 5] = [10, 25, 50, 100, 400];

/// The outcomes of all policies on one recording.
#[derive(Clone, Debug)]
pub struct Study {
    /// The recording.
    pub name: String,
    /// The number of different paths.
    pub distinct: usize,
    /// For each of [`POLICIES`], the outcome at each of [`SIZES`].
    pub rows: Vec<[Outcome; SIZES.len()]>,
}

impl Study {
    /// Runs all policies at all sizes. Calls `tick` after each.
    pub fn run(name: &str, walks: &Walks, tick: &mut dyn FnMut()) -> Study {
        let lookups = Lookups::new(walks);
        let distinct = lookups.distinct();
        let row = |policy: &Policy| {
            SIZES.map(|size| {
                tick();
                lookups.run(*policy, distinct * size as usize / 100)
            })
        };
        Study { name: name.into(), distinct, rows: POLICIES.iter().map(row).collect() }
    }

    /// Returns the number of runs.
    pub fn runs() -> u64 {
        (POLICIES.len() * SIZES.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::trace::{Builder, Found};
    use super::*;

    /// Walks to files of these numbers.
    fn lookups(files: impl IntoIterator<Item = u32>) -> Lookups {
        let mut builder = Builder::default();
        for file in files {
            builder.walk(format!("/dir/{file}").as_bytes(), Found::Present);
        }
        Lookups::new(&builder.finish())
    }

    #[test]
    fn a_path_is_learned_at_its_second_walk_and_hit_at_its_third() {
        let policy = policy("", Learns::UsedOneIn(1), Goes::Neither);
        let outcome = lookups([7; 10]).run(policy, 2);
        assert_eq!(outcome, Outcome { lookups: 10, hits: 8, fills: 1 });
        let each = lookups([7; 10]).run(Policy { learns: Learns::OneIn(1), ..policy }, 2);
        assert_eq!(each, Outcome { lookups: 10, hits: 9, fills: 1 });
        let fourth = lookups([7; 10]).run(Policy { learns: Learns::UsedOneIn(4), ..policy }, 2);
        assert_eq!(fourth, Outcome { lookups: 10, hits: 5, fills: 1 });
    }

    #[test]
    fn a_full_set_makes_room_as_the_policy_says() {
        // Three paths in one set, the first of which is hit most.
        let lookups = lookups([1, 1, 2, 2].into_iter().chain([1, 3, 3].repeat(50)));
        let run = |goes| lookups.run(Policy { name: "", learns: Learns::UsedOneIn(1), goes }, 2);
        assert_eq!(run(Goes::Neither).fills, 2);
        assert_eq!(run(Goes::LessRecent), Outcome { lookups: 154, hits: 148, fills: 3 });
        let turns = self::lookups([1, 2, 3, 4].repeat(100));
        let fills = |goes| turns.run(Policy { name: "", learns: Learns::UsedOneIn(1), goes }, 2).fills;
        assert!(fills(Goes::OneIn(1)) > 3 * fills(Goes::OneIn(8)), "{}", fills(Goes::OneIn(8)));
    }

    #[test]
    fn the_mean_of_a_lookup_counts_hits_misses_and_fills() {
        let outcome = Outcome { lookups: 4, hits: 2, fills: 1 };
        assert_eq!(outcome.percent(), 50.0);
        assert_eq!(outcome.instructions(), (2 * HIT + 2 * MISS + FILL) as f64 / 4.0);
        assert!(POLICIES.contains(&SHIPPED));
    }
}
