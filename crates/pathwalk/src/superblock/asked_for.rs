//! How many names of each directory were asked for one by one: when the rest is to be asked for at once.

use crate::memory::slot::DentryId;
use crate::sync::{AtomicU32, Ordering, stripes};

/// Names that were asked for one by one before the rest is first thought of. In tests of this crate, less: scenarios are to be short.
const FIRST: u32 = if cfg!(test) { 4 } else { 16 };
/// How many names a directory may have for each that was asked for.
const FOR_EACH: usize = 4;
/// The most names that are asked for at once: a lookup waits for them.
pub(super) const MOST: usize = 4096;
/// How many directories are counted at once.
const COUNTED: usize = stripes(256);
const COUNT_BITS: u32 = 16;
const COUNT: u32 = (1 << COUNT_BITS) - 1;
/// The greatest count at which the rest is thought of.
const LAST: u32 = (MOST / FOR_EACH) as u32;

const _: () = assert!(LAST.is_power_of_two() && LAST <= COUNT && FIRST <= LAST);

/// How many names of each directory were asked for and were there: a count below a part of the directory's number, which tells apart those that
/// share a place. Where two do, or two threads count at once, some are lost, and the rest is asked for later.
///
/// Each word alone, so `Relaxed`.
pub(crate) struct AskedFor(Box<[AtomicU32]>);

impl AskedFor {
    pub(crate) fn new() -> AskedFor {
        AskedFor((0..COUNTED).map(|_| AtomicU32::new(0)).collect())
    }

    /// Counts one more; the new count. It begins anew behind the last that matters: what was told may have left the cache since.
    pub(super) fn count(&self, dir: DentryId) -> u32 {
        let (place, whose) = self.place(dir);
        let word = place.load(Ordering::Relaxed);
        let before = if word & !COUNT == whose { word & COUNT } else { 0 };
        let count = before % LAST + 1;
        place.store(whose | count, Ordering::Relaxed);
        count
    }

    /// Nothing of the directory is cached: what was asked for earlier says nothing of it.
    pub(super) fn forget(&self, dir: DentryId) {
        let (place, whose) = self.place(dir);
        if place.load(Ordering::Relaxed) & !COUNT == whose {
            place.store(0, Ordering::Relaxed);
        }
    }

    /// Where it is counted, and what the word has above the count then.
    fn place(&self, dir: DentryId) -> (&AtomicU32, u32) {
        (&self.0[dir.0 as usize % COUNTED], (dir.0 / COUNTED as u32) << COUNT_BITS)
    }
}

/// How many names a directory may have if the rest is to be asked for when so many were.
pub(super) fn most(count: u32) -> Option<usize> {
    (count >= FIRST && count.is_power_of_two()).then_some(count as usize * FOR_EACH)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and minutes there")]
    fn each_directory_has_a_count_until_another_takes_its_place() {
        let asked_for = AskedFor::new();
        let [one, beside, in_its_place] = [7, 8, 7 + COUNTED as u32].map(DentryId);
        let count = |dir| asked_for.count(dir);
        assert_eq!([count(one), count(one), count(beside), count(one)], [1, 2, 1, 3]);
        asked_for.forget(in_its_place);
        assert_eq!([count(one), count(beside)], [4, 2], "what another forgot is its own");
        assert_eq!([count(in_its_place), count(in_its_place), count(one)], [1, 2, 1]);
        asked_for.forget(one);
        assert_eq!([count(one), count(beside)], [1, 3]);
        (2..=LAST).for_each(|n| assert_eq!(count(one), n));
        assert_eq!(count(one), 1, "it begins anew");
        asked_for.forget(beside);
        assert_eq!([count(beside), count(one)], [1, 2]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and minutes there")]
    fn neighbours_have_places_of_their_own() {
        let asked_for = AskedFor::new();
        let all = (1..=COUNTED as u32).chain([1 << 20 | 7]).map(DentryId);
        for dir in all.clone() {
            asked_for.count(dir);
        }
        assert!(all.clone().skip(7).all(|dir| asked_for.count(dir) == 2));
    }

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and minutes there")]
    fn the_rest_is_thought_of_at_powers_of_two() {
        let thought_of: Vec<_> = (0..2 * LAST).filter_map(|count| Some((count, most(count)?))).collect();
        let expected = [4, 8, 16, 32, 64, 128, 256, 512, 1024].map(|count| (count, 4 * count as usize));
        assert_eq!(thought_of, expected);
        assert_eq!(MOST, 4096);
    }
}
