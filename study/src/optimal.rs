//! A bound that no policy can exceed: the most hits that are possible if the future is known.
//!
//! A walk can be a hit only if its end stayed in the cache since it was last touched, as an end, a
//! link or a directory on the way. The time between is an interval that takes a slot. The bound is
//! the size of the largest set of intervals of which, at any time, no more than the number of slots
//! overlap. This is Belady's rule, applied backwards in time: where too many intervals overlap, the
//! one that began first is dropped.
//!
//! The result is a bound, not a policy: a directory takes no slot while no walk ends at the
//! directory itself, and an entry that is put can leave at once.
//!
//! Sources: Belady, "A study of replacement algorithms for a virtual-storage computer", 1966;
//! Carlisle and Lloyd, "On the k-coloring of intervals", 1995.

use std::collections::BTreeSet;

use super::cache::{Outcome, Ratio};
use super::trace::{ROOT, Walks};

const NEVER: u32 = u32::MAX;

/// Returns the most hits that are possible with this many slots. The other counts of the outcome
/// are 0.
pub fn bound(walks: &Walks, capacity: usize) -> Outcome {
    let begins = begins(walks);
    let ends: Vec<u32> = walks.iter().map(|walk| walk.end()).collect();
    let mut outcome = Outcome::default();
    let mut count = |time: usize, hits: u64| {
        let ratio = if walks.is_absent(ends[time]) { &mut outcome.absent } else { &mut outcome.present };
        *ratio = Ratio { walks: ratio.walks + 1 - hits, hits: ratio.hits + hits };
    };
    // The intervals that take a slot now. Each is the time when it began, and the walk that it
    // makes a hit.
    let mut open = BTreeSet::new();
    for now in (0..begins.len()).rev() {
        while open.last().is_some_and(|(begin, _)| *begin as usize >= now) {
            open.pop_last().inspect(|(_, end)| count(*end, 1));
        }
        count(now, 0);
        if begins[now] != NEVER {
            open.insert((begins[now], now));
            if open.len() > capacity {
                open.pop_first();
            }
        }
    }
    open.into_iter().for_each(|(_, end)| count(end, 1));
    outcome
}

/// Returns, for each walk, the last walk before it that touched its end, or [`NEVER`].
fn begins(walks: &Walks) -> Vec<u32> {
    let mut touched = vec![NEVER; walks.entries() + 1];
    let touch = |(time, walk): (usize, super::trace::Walk<'_>)| {
        let begin = touched[walk.end() as usize];
        for target in walk.targets() {
            let mut entry = target;
            while entry != ROOT && touched[entry as usize] != time as u32 {
                touched[entry as usize] = time as u32;
                entry = walks.parent(entry);
            }
        }
        begin
    };
    walks.iter().enumerate().map(touch).collect()
}
