//! The counters of the caches, which [`Stats`] reports.

use crate::memory::alone::{self, Alone, SHARES, apart};
use crate::stats::{HandOver, Stats};
use crate::sync::{AtomicU64, Ordering};

/// The counters behind [`Stats`]. Only slow paths write them, each thread in its own share. Each
/// counter stands alone, so `Relaxed` is enough.
pub(crate) struct Counters(Box<[Alone<Share>]>);

/// The counts of some of the threads.
#[derive(Default)]
struct Share {
    hand_overs: [AtomicU64; HandOver::ALL.len()],
    known_absent: AtomicU64,
    waits: AtomicU64,
    evictions: AtomicU64,
    looks: AtomicU64,
}

impl Counters {
    pub(crate) fn new() -> Counters {
        Counters(apart(SHARES, Share::default))
    }

    fn mine(&self) -> &Share {
        alone::mine(&self.0)
    }

    pub(crate) fn hand_over(&self, reason: HandOver) {
        self.mine().hand_overs[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn known_absent(&self) {
        self.mine().known_absent.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn wait(&self) {
        self.mine().waits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn eviction(&self) {
        self.mine().evictions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn looks(&self, count: u64) {
        self.mine().looks.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the number of evictions by all threads.
    pub(crate) fn evictions(&self) -> u64 {
        self.0.iter().map(|share| share.evictions.load(Ordering::Relaxed)).sum()
    }

    /// Returns the sums over all shares. The caller fills in the fields of pools and file systems.
    pub(crate) fn snapshot(&self) -> Stats {
        let sum = |of: fn(&Share) -> &AtomicU64| self.0.iter().map(|share| of(share).load(Ordering::Relaxed)).sum();
        let of_reason = |at: usize| self.0.iter().map(|share| share.hand_overs[at].load(Ordering::Relaxed)).sum();
        Stats {
            hand_overs: std::array::from_fn(of_reason),
            known_absent: sum(|share| &share.known_absent),
            waits: sum(|share| &share.waits),
            evictions: sum(|share| &share.evictions),
            looks: sum(|share| &share.looks),
            ..Stats::default()
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Counts each kind of event a different number of times.
    fn count(counters: &Counters) {
        for (times, reason) in (1..).zip(HandOver::ALL) {
            (0..times).for_each(|_| counters.hand_over(reason));
        }
        (0..9).for_each(|_| counters.known_absent());
        (0..10).for_each(|_| counters.wait());
        (0..11).for_each(|_| counters.eviction());
        counters.looks(12);
    }

    #[test]
    fn a_snapshot_has_what_all_threads_counted() {
        let counters = Counters::new();
        std::thread::scope(|scope| (0..3).for_each(|_| _ = scope.spawn(|| count(&counters))));
        let stats = counters.snapshot();
        let expected = Stats {
            hand_overs: [3, 6, 9, 12, 15, 18, 21, 24],
            known_absent: 27,
            waits: 30,
            evictions: 33,
            looks: 36,
            ..Stats::default()
        };
        assert_eq!((&stats, counters.evictions()), (&expected, 33));
        assert_eq!(HandOver::ALL.map(|reason| stats.hand_overs_for(reason)), stats.hand_overs);
    }
}
