//! A superblock: a file system, and what is counted of it.

use std::sync::Arc;

use crate::fs_api::FileSystem;
use crate::memory::alone::{self, Alone, SHARES, apart};
use crate::memory::slot::SuperblockId;
use crate::node::Freshness;
use crate::sync::{AtomicU64, Ordering};

/// A file system whose nodes are in the caches. Linux: `struct super_block`.
pub(crate) struct Superblock {
    pub(crate) id: SuperblockId,
    pub(crate) fs: Arc<dyn FileSystem>,
    /// What the threads counted, each in a share of its own.
    shares: Box<[Alone<Share>]>,
}

/// What some of the threads counted. Each alone, so `Relaxed`.
#[derive(Default)]
struct Share {
    lookups: AtomicU64,
    siblings: AtomicU64,
}

impl Superblock {
    pub(super) fn new(id: SuperblockId, fs: Arc<dyn FileSystem>) -> Superblock {
        Superblock { id, fs, shares: apart(SHARES, Share::default) }
    }

    /// Returns whether its absences hold until it, or a change, says otherwise.
    pub(crate) fn absence_lasts(&self) -> bool {
        self.fs.absence() != Freshness::AskEachTime
    }

    fn mine(&self) -> &Share {
        alone::mine(&self.shares)
    }

    fn sum(&self, of: fn(&Share) -> &AtomicU64) -> u64 {
        self.shares.iter().map(|share| of(share).load(Ordering::Relaxed)).sum()
    }

    /// Counts a question for a name.
    pub(crate) fn looked_up(&self) {
        self.mine().lookups.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts names that were told unasked.
    pub(crate) fn told_siblings(&self, count: u64) {
        self.mine().siblings.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns how many questions for names were asked.
    pub(crate) fn lookups(&self) -> u64 {
        self.sum(|share| &share.lookups)
    }

    /// Returns how many names were told unasked.
    pub(crate) fn siblings(&self) -> u64 {
        self.sum(|share| &share.siblings)
    }
}
