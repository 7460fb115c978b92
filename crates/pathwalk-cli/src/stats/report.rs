//! Statistics as they are sent: made by the program of a mount, and read by `pathwalk stats`.

use std::collections::BTreeMap;
use std::time::Instant;

use pathwalk::{HandOver, Pool, Stats, Vfs};
use pathwalk_fuse::{Mounted, Operations};
use serde::{Deserialize, Serialize};

/// All that is known of a mount.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) source: String,
    pub(crate) mount_point: String,
    pub(crate) pid: u32,
    /// The time since it was mounted.
    pub(crate) seconds: f64,
    /// What was asked, by kind.
    pub(crate) operations: Vec<Kind>,
    pub(crate) caches: Caches,
    pub(crate) memory: Memory,
    pub(crate) kernel: Kernel,
}

/// The requests of one kind.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Kind {
    pub(crate) kind: String,
    pub(crate) count: u64,
    pub(crate) errors: u64,
    pub(crate) nanoseconds: u64,
    /// How many took 2ⁿ nanoseconds or more, but less than 2ⁿ⁺¹, for each n.
    pub(crate) latencies: Vec<u64>,
}

/// What the caches did.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Caches {
    /// Lookups for which no file system was asked.
    pub(crate) hits: u64,
    /// Walks that left the fast walk, by reason.
    pub(crate) hand_overs: BTreeMap<String, u64>,
    /// Calls of the file systems' lookup.
    pub(crate) asked: u64,
    /// Absences that were known since all names of the directory were.
    pub(crate) known_absent: u64,
    /// Names that file systems reported unasked.
    pub(crate) siblings: u64,
    pub(crate) waits: u64,
    pub(crate) evictions: u64,
}

/// What is held, in bytes where nothing else is said.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) budget: u64,
    /// The part of the budget that is in use.
    pub(crate) used: u64,
    /// What the file systems hold beyond it.
    pub(crate) file_systems: u64,
    /// The number of names and absences in the caches, and that for which there is room.
    pub(crate) names: u64,
    pub(crate) most_names: u64,
    /// The same of nodes.
    pub(crate) nodes: u64,
    pub(crate) most_nodes: u64,
}

/// What the kernel holds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Kernel {
    pub(crate) nodes: u64,
    pub(crate) lookups: u64,
    pub(crate) open_files: u64,
    /// The most nodes that it is to hold.
    pub(crate) most_nodes: u64,
    /// How often it was asked to forget a node.
    pub(crate) asked_to_forget: u64,
    /// What it was told: changes by others, and what to forget.
    pub(crate) notices: u64,
}

impl Report {
    /// Reads all counters of a mount.
    pub(crate) fn now(source: &str, mounted: &Mounted, vfs: &Vfs, since: Instant) -> Report {
        let operations: Vec<Kind> = mounted.operations().into_iter().map(Kind::from).collect();
        let pinned = mounted.pinned();
        let stats = vfs.stats();
        let lookups = operations.iter().filter(|of| of.kind == "lookup").map(|of| of.count).sum();
        Report {
            source: source.to_owned(),
            mount_point: mounted.at().to_string_lossy().into_owned(),
            pid: std::process::id(),
            seconds: since.elapsed().as_secs_f64(),
            caches: Caches::of(&stats, lookups),
            memory: Memory::of(&stats),
            kernel: Kernel {
                nodes: pinned.nodes,
                lookups: pinned.lookups,
                open_files: pinned.open_files,
                most_nodes: pinned.bound,
                asked_to_forget: pinned.asked_to_forget,
                notices: mounted.notices(),
            },
            operations,
        }
    }

    /// Returns the number of requests, and that of errors.
    pub(crate) fn totals(&self) -> (u64, u64) {
        self.operations.iter().fold((0, 0), |sum, of| (sum.0 + of.count, sum.1 + of.errors))
    }

    /// Returns the requests since an earlier report, and all else as it is now.
    pub(crate) fn since(&self, earlier: &Report) -> Report {
        let since = |now: &Kind| {
            let before = earlier.operations.iter().find(|before| before.kind == now.kind);
            before.map_or_else(|| now.clone(), |before| now.since(before))
        };
        let operations = self.operations.iter().map(since).filter(|of| of.count > 0).collect();
        Report { operations, seconds: self.seconds - earlier.seconds, ..self.clone() }
    }
}

impl From<Operations> for Kind {
    fn from(of: Operations) -> Kind {
        Kind {
            kind: of.name.to_ascii_lowercase(),
            count: of.count(),
            errors: of.errors,
            nanoseconds: of.nanoseconds,
            latencies: of.latencies.to_vec(),
        }
    }
}

impl Kind {
    fn since(&self, earlier: &Kind) -> Kind {
        Kind {
            kind: self.kind.clone(),
            count: self.count.saturating_sub(earlier.count),
            errors: self.errors.saturating_sub(earlier.errors),
            nanoseconds: self.nanoseconds.saturating_sub(earlier.nanoseconds),
            latencies: self.latencies.iter().zip(&earlier.latencies).map(|(now, before)| now.saturating_sub(*before)).collect(),
        }
    }

    /// Returns the mean time in nanoseconds.
    pub(crate) fn mean(&self) -> f64 {
        self.nanoseconds as f64 / self.count.max(1) as f64
    }

    /// Returns a time in nanoseconds that this share of the requests did not exceed: the end of a
    /// range.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let rank = (self.count as f64 * share).ceil() as u64;
        let mut sum = 0;
        let range = self.latencies.iter().position(|count| {
            sum += count;
            sum >= rank
        });
        range.map_or(0.0, |range| end_of(range) as f64)
    }
}

/// Returns the end of a range of times, in nanoseconds.
pub(crate) fn end_of(range: usize) -> u64 {
    1 << (range + 1)
}

impl Caches {
    fn of(stats: &Stats, lookups: u64) -> Caches {
        let hand_overs = HandOver::ALL.iter().map(|reason| (reason.name().to_owned(), stats.hand_overs_for(*reason)));
        Caches {
            hits: lookups.saturating_sub(stats.fs_lookups),
            hand_overs: hand_overs.collect(),
            asked: stats.fs_lookups,
            known_absent: stats.known_absent,
            siblings: stats.siblings,
            waits: stats.waits,
            evictions: stats.evictions,
        }
    }
}

impl Memory {
    fn of(stats: &Stats) -> Memory {
        let used = |pool: &Pool| pool.used * pool.slot_bytes + pool.table_bytes;
        let whole_paths = stats.whole_paths.used * stats.whole_paths.entry_bytes;
        Memory {
            budget: stats.budget,
            used: used(&stats.dentries) + used(&stats.inodes) + used(&stats.side) + whole_paths,
            file_systems: stats.file_system,
            names: stats.dentries.used,
            most_names: stats.dentries.capacity,
            nodes: stats.inodes.used,
            most_nodes: stats.inodes.capacity,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(kind: &str, latencies: &[u64]) -> Kind {
        let count = latencies.iter().sum();
        Kind { kind: kind.to_owned(), count, errors: 1, nanoseconds: 10 * count, latencies: latencies.to_vec() }
    }

    #[test]
    fn what_was_before_is_taken_off() {
        let before = Report { seconds: 1.0, operations: vec![kind("a", &[1, 1]), kind("b", &[2, 0])], ..Report::default() };
        let now = Report {
            seconds: 3.0,
            operations: vec![kind("a", &[1, 4]), kind("b", &[2, 0]), kind("c", &[0, 1])],
            ..Report::default()
        };
        let since = now.since(&before);
        let counts: Vec<(&str, u64)> = since.operations.iter().map(|of| (&*of.kind, of.count)).collect();
        assert_eq!((counts, since.seconds, since.totals()), (vec![("a", 3), ("c", 1)], 2.0, (4, 1)));
    }

    #[test]
    fn quantiles_are_ends_of_ranges() {
        let kind = kind("a", &[50, 0, 49, 1]);
        assert_eq!((kind.quantile(0.5), kind.quantile(0.51), kind.quantile(0.99), kind.quantile(1.0)), (2.0, 8.0, 8.0, 16.0));
        assert_eq!((kind.mean(), super::Kind { count: 0, ..kind }.quantile(0.5)), (10.0, 2.0));
    }

    #[test]
    fn reports_survive_the_way() {
        let report = Report { source: "a \"b\"".into(), operations: vec![kind("a", &[1])], ..Report::default() };
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }
}
