//! The directories of which many files were read since they were listed.
//!
//! The kernel takes the time of access of a file for unknown once it has read data of it. When a
//! program looks at that file next, the kernel asks for its attributes: a request for each file
//! that a search has read, when the search is done again. A listing with attributes brings those of
//! a whole directory. So when many of the files that a listing had were read, the kernel is told to
//! list the directory again.
//!
//! What always holds: a file counts once for each listing that had it.
//!
//! What it does not do: note anything where listings are not kept, or where reads move no time.

use std::collections::HashMap;

use parking_lot::Mutex;
use rapidhash::fast::RandomState;

/// The share of the listed files of which some data has to be read.
const SHARE: u32 = 8;

/// The counts of one directory.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// The nodes that its listing had.
    listed: u32,
    /// Those of them of which data was read since.
    read: u32,
}

/// The directories by their numbers.
#[derive(Default)]
pub(crate) struct Reads(Mutex<HashMap<u64, Counts, RandomState>>);

impl Reads {
    /// Counts nodes that a piece of a listing had.
    pub(crate) fn listed(&self, dir: u64, nodes: u32) {
        self.0.lock().entry(dir).or_default().listed += nodes;
    }

    /// Counts a file of which data was read, and returns whether its directory is to be listed
    /// again. Then its counts begin anew.
    pub(crate) fn read(&self, dir: u64) -> bool {
        let mut all = self.0.lock();
        let Some(counts) = all.get_mut(&dir) else { return false };
        counts.read += 1;
        let is_due = counts.read.saturating_mul(SHARE) >= counts.listed;
        if is_due {
            all.remove(&dir);
        }
        is_due
    }

    /// Drops the counts of a directory that the kernel has forgotten.
    pub(crate) fn forget(&self, dir: u64) {
        self.0.lock().remove(&dir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_due_when_a_share_of_it_was_read() {
        let reads = Reads::default();
        reads.listed(7, 10);
        reads.listed(7, 10);
        assert_eq!([reads.read(7), reads.read(7), reads.read(7), reads.read(7)], [false, false, true, false]);
        reads.listed(7, 1);
        reads.forget(7);
        assert!(!reads.read(7));
    }
}
