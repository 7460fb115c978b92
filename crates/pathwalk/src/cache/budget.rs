//! The number of slots of each kind that a budget in bytes pays for.
//!
//! The pools' sizes are fixed at construction, so the split has to be chosen then. It is chosen for
//! the worst case of a cached file, which takes one dentry and one inode: there are as many inodes
//! as dentries, and one side line for every seven dentries. A cache full of negative dentries
//! leaves inodes unused. Memory is touched only when it is first used, so unused inodes cost
//! address space and no memory. `Stats` shows the split.
//!
//! However few dentries there are, there are enough side lines for the longest names of as many
//! dentries as the least budget has, and for a link's body. So a small budget runs out of dentries
//! first, and every path with few enough components can be walked.

use super::dcache::dentry::INLINE_NAME;
use super::icache::inode::INODE_WORDS;
use super::reclaim::uses;
use crate::limits::{LINK_MAX, NAME_MAX};
use crate::memory::lines::LINE;
use crate::memory::parked::Parked;
use crate::memory::side::TEXT_BYTES;
use crate::memory::table::Table;

/// The bytes of one dentry: a hot line that readers see, three cold words that they do not see, a
/// lock, and what reclaim records of the dentry (a byte and half a ghost). The hands need one more
/// bit for each dentry, which `Parked::bytes` counts.
pub(crate) const DENTRY_BYTES: u64 = LINE as u64 + 24 + 4 + 3;

/// The bytes of one inode: two lines and the number of its superblock.
pub(crate) const INODE_BYTES: u64 = 2 * LINE as u64 + 2;

/// The number of dentries for each side line.
const DENTRIES_A_SIDE_LINE: u64 = 7;

/// The least number of side lines. It is smaller in tests, some of which use all of them up.
const LEAST_SIDE_LINES: u64 = if cfg!(test) { 1 } else { (LEAST + NAMES_OF_A_RENAME) * LINES_A_NAME + LINES_A_BODY };

/// The number of side lines that the longest name takes.
const LINES_A_NAME: u64 = (NAME_MAX - INLINE_NAME).div_ceil(TEXT_BYTES) as u64;

/// The number of side lines that the longest body of a link takes.
const LINES_A_BODY: u64 = LINK_MAX.div_ceil(TEXT_BYTES) as u64;

/// The number of names that a rename reserves.
const NAMES_OF_A_RENAME: u64 = 2;

/// The bytes of locks, condition variables, counters, the table of superblocks, and the rounding of
/// arrays to lines.
const FIXED: u64 = 118 << 10;

/// The least number of dentries: those of a path of a few components, and room to evict. It is
/// smaller in tests, some of which use all of them up.
pub(crate) const LEAST: u64 = if cfg!(test) { 6 } else { 64 };

/// The largest number of dentries: as many as 32-bit handles can tell apart.
pub(crate) const MOST: u64 = (u32::MAX >> 1) as u64;

/// The most bytes that the memo of whole paths gets by default: about the size of a processor's
/// near caches. A memo that is farther away than the dentries of a walk is slower than the walk.
const MOST_FOR_WHOLE_PATHS: u64 = 1 << 20;

/// The divisor of a budget that gives the memo's share: the memo gets one 64th.
const SHARE_OF_WHOLE_PATHS: u64 = 64;

/// Returns the number of bytes of a budget that the memo of whole paths gets by default.
pub(crate) fn whole_paths_of(budget: u64) -> u64 {
    (budget / SHARE_OF_WHOLE_PATHS).min(MOST_FOR_WHOLE_PATHS).min(budget.saturating_sub(Split::least()))
}

/// Returns the least number of bytes that the memo gets beside a split of this many bytes.
pub(crate) fn whole_paths_beside(split: u64) -> u64 {
    (split / (SHARE_OF_WHOLE_PATHS - 1)).min(MOST_FOR_WHOLE_PATHS)
}

/// The numbers of slots of each pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Split {
    pub(crate) dentries: u32,
    pub(crate) inodes: u32,
    pub(crate) side: u32,
}

impl Split {
    /// Returns the bytes that this many dentries take, with everything that goes with them.
    pub(crate) fn bytes(dentries: u64) -> u64 {
        let tables = 2 * Table::bytes_for(dentries);
        // Slot 0 of each pool is never used.
        let side = (Split::side_lines(dentries) + 1) * LINE as u64;
        FIXED + (dentries + 1) * (DENTRY_BYTES + INODE_BYTES) + Parked::bytes(dentries) + side + tables
    }

    fn side_lines(dentries: u64) -> u64 {
        dentries.div_ceil(DENTRIES_A_SIDE_LINE).max(LEAST_SIDE_LINES)
    }

    /// Returns the least budget that is accepted.
    pub(crate) fn least() -> u64 {
        Split::bytes(LEAST)
    }

    /// Returns the largest budget that is of use, which 32-bit handles limit.
    pub(crate) fn most() -> u64 {
        Split::bytes(MOST)
    }

    /// Returns the largest split within `budget`, which is between [`least`](Self::least) and
    /// [`most`](Self::most).
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

/// The most bytes that the design allows for a cached file, everything included.
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
