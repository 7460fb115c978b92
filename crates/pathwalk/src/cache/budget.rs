//! How many slots of each kind a budget in bytes buys.
//!
//! Pools are fixed at construction, so the split is a choice. It is made for the worst case of a cached file, which takes one dentry
//! and one inode: there are as many inodes as dentries, and one side line for seven of them. A cache full of absences leaves inodes
//! unused; since memory is touched when first used, that costs address space and not memory. `Stats` shows the split.
//!
//! However few dentries there are, side lines are enough for the longest names of as many as the
//! least budget has, and for a link's body. So what runs out first there is dentries, and every
//! path that has few enough components can be walked.

use super::dcache::dentry::INLINE_NAME;
use super::icache::inode::INODE_WORDS;
use super::reclaim::uses;
use crate::limits::{LINK_MAX, NAME_MAX};
use crate::memory::lines::LINE;
use crate::memory::parked::Parked;
use crate::memory::side::TEXT_BYTES;
use crate::memory::table::Table;

/// Bytes of one dentry: a line that readers see, three words that they do not, a lock, and what reclaim remembers of it (a byte, and half a
/// ghost). And a bit for the hands, which is counted with all of them.
pub(crate) const DENTRY_BYTES: u64 = LINE as u64 + 24 + 4 + 3;

/// Bytes of one inode: two lines, and the number of its superblock.
pub(crate) const INODE_BYTES: u64 = 2 * LINE as u64 + 2;

/// Dentries for each side line.
const DENTRIES_A_SIDE_LINE: u64 = 7;

/// The fewest side lines. In tests, fewer: there, they are to be used up.
const LEAST_SIDE_LINES: u64 = if cfg!(test) { 1 } else { (LEAST + NAMES_OF_A_RENAME) * LINES_A_NAME + LINES_A_BODY };

/// Side lines of the longest name.
const LINES_A_NAME: u64 = (NAME_MAX - INLINE_NAME).div_ceil(TEXT_BYTES) as u64;

/// Side lines of the longest body of a link.
const LINES_A_BODY: u64 = LINK_MAX.div_ceil(TEXT_BYTES) as u64;

/// Names that a rename reserves.
const NAMES_OF_A_RENAME: u64 = 2;

/// Locks, condition variables, counters, the table of superblocks and the rounding of arrays to lines.
const FIXED: u64 = 118 << 10;

/// The smallest number of dentries: a path of a few components and room to evict. In tests, less: there, it is to be used up.
pub(crate) const LEAST: u64 = if cfg!(test) { 6 } else { 64 };

/// The largest number: what handles of 32 bits can tell apart.
pub(crate) const MOST: u64 = (u32::MAX >> 1) as u64;

/// The most bytes that the memo of whole paths has of its own accord: about what a processor keeps near. A memo that lies
/// further away than the dentries of a walk is slower than that.
const MOST_FOR_WHOLE_PATHS: u64 = 1 << 20;

/// The share of a budget that it has.
const SHARE_OF_WHOLE_PATHS: u64 = 64;

/// Returns the bytes that the memo of whole paths has of a budget of its own accord.
pub(crate) fn whole_paths_of(budget: u64) -> u64 {
    (budget / SHARE_OF_WHOLE_PATHS).min(MOST_FOR_WHOLE_PATHS).min(budget.saturating_sub(Split::least()))
}

/// Returns the least that it has beside a split of so many bytes.
pub(crate) fn whole_paths_beside(split: u64) -> u64 {
    (split / (SHARE_OF_WHOLE_PATHS - 1)).min(MOST_FOR_WHOLE_PATHS)
}

/// Slots of each pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Split {
    pub(crate) dentries: u32,
    pub(crate) inodes: u32,
    pub(crate) side: u32,
}

impl Split {
    /// What `dentries` dentries and all that goes with them take.
    pub(crate) fn bytes(dentries: u64) -> u64 {
        let tables = 2 * Table::bytes_for(dentries);
        // Slot 0 of each pool is never used.
        let side = (Split::side_lines(dentries) + 1) * LINE as u64;
        FIXED + (dentries + 1) * (DENTRY_BYTES + INODE_BYTES) + Parked::bytes(dentries) + side + tables
    }

    fn side_lines(dentries: u64) -> u64 {
        dentries.div_ceil(DENTRIES_A_SIDE_LINE).max(LEAST_SIDE_LINES)
    }

    /// The least budget there can be.
    pub(crate) fn least() -> u64 {
        Split::bytes(LEAST)
    }

    /// The most that handles of 32 bits can tell apart.
    pub(crate) fn most() -> u64 {
        Split::bytes(MOST)
    }

    /// The largest split within `budget`, which is between [`least`](Self::least) and [`most`](Self::most).
    pub(crate) fn of(budget: u64) -> Split {
        let (mut low, mut high) = (LEAST, budget / (DENTRY_BYTES + INODE_BYTES) + 1);
        while low + 1 < high {
            let middle = (low + high) / 2;
            if Split::bytes(middle) <= budget { low = middle } else { high = middle }
        }
        let dentries = u32::try_from(low).expect("a budget up to the most buys fewer than 2^31 dentries");
        Split { dentries, inodes: dentries, side: Split::side_lines(low) as u32 }
    }
}

/// What the plan allows a cached file, all included.
const MOST_A_FILE: u64 = 256;

const _: () = assert!(INODE_WORDS as u64 * 8 + 2 == INODE_BYTES);

const _: () = {
    const FILES: u64 = 6000;
    // Two table entries, at six to a line of eight.
    let tables = FILES * 2 / 6 * LINE as u64;
    let side = FILES / DENTRIES_A_SIDE_LINE * LINE as u64;
    assert!(uses::bytes(FILES) <= 3 * FILES + 8);
    let all = FILES * (DENTRY_BYTES + INODE_BYTES) + Parked::bytes(FILES) + tables + side;
    assert!(cfg!(any(loom, shuttle)) || all <= FILES * MOST_A_FILE);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_uses_its_budget_and_no_more() {
        for budget in [Split::least(), Split::least() + 1, 1 << 20, 64 << 20, 1 << 30, 5 << 30] {
            let split = Split::of(budget);
            let bytes = Split::bytes(split.dentries.into());
            assert!(bytes <= budget && Split::bytes(u64::from(split.dentries) + 1) > budget, "{budget}: {split:?}");
        }
    }

    #[test]
    fn a_cached_file_takes_at_most_256_bytes() {
        for files in [LEAST, 1000, 50_000, 1_000_000] {
            let budget = crate::Vfs::budget_for(files);
            assert_eq!(u64::from(Split::of(budget - whole_paths_of(budget)).dentries), files);
        }
        let split = Split::of(1 << 30);
        assert!((1 << 30) / u64::from(split.dentries) <= MOST_A_FILE);
    }
}
