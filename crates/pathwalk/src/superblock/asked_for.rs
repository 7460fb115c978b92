//! Counts, for each directory, of the names that were looked up one by one. They decide when to ask
//! for the rest at once.

use crate::memory::slot::DentryId;
use crate::sync::{AtomicU32, Ordering, stripes};

/// The number of names that are looked up one by one before the rest is first requested. It is
/// smaller in tests of this crate, so that scenarios are short.
const FIRST: u32 = if cfg!(test) { 4 } else { 16 };
/// The maximum number of names that a directory may have for each that was looked up.
const FOR_EACH: usize = 4;
/// The maximum number of names that are requested at once, because a lookup waits for them.
pub(super) const MOST: usize = 4096;
/// The number of directories that are counted at once.
const COUNTED: usize = stripes(256);
const COUNT_BITS: u32 = 16;
const COUNT: u32 = (1 << COUNT_BITS) - 1;
/// The greatest count at which the rest is requested.
const LAST: u32 = (MOST / FOR_EACH) as u32;

const _: () = assert!(LAST.is_power_of_two() && LAST <= COUNT && FIRST <= LAST);

/// The number of names of each directory that were looked up and found. A word has the count below
/// some bits of the directory's number, which distinguish directories that share a place. Where two
/// directories share one, or two threads count at once, some counts are lost, and the rest is
/// requested later.
///
/// Each word is independent of the others, so `Relaxed`.
pub(crate) struct AskedFor(Box<[AtomicU32]>);

impl AskedFor {
    pub(crate) fn new() -> AskedFor {
        AskedFor((0..COUNTED).map(|_| AtomicU32::new(0)).collect())
    }

    /// Counts one more name, and returns the new count. It begins anew after `LAST`, because what
    /// was given may have left the cache since.
    pub(super) fn count(&self, dir: DentryId) -> u32 {
        let (place, whose) = self.place(dir);
        let word = place.load(Ordering::Relaxed);
        let before = if word & !COUNT == whose { word & COUNT } else { 0 };
        let count = before % LAST + 1;
        place.store(whose | count, Ordering::Relaxed);
        count
    }

    /// Resets the count of a directory of which nothing is cached, so earlier lookups no longer
    /// matter.
    pub(super) fn forget(&self, dir: DentryId) {
        let (place, whose) = self.place(dir);
        if place.load(Ordering::Relaxed) & !COUNT == whose {
            place.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the place of the directory's count, and the bits above the count in it.
    fn place(&self, dir: DentryId) -> (&AtomicU32, u32) {
        (&self.0[dir.0 as usize % COUNTED], (dir.0 / COUNTED as u32) << COUNT_BITS)
    }
}

/// Returns the maximum number of names that a directory may have if the rest is to be requested at
/// this count; `None` if it is not.
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
