//! A superblock: a file system, and what is counted of it.

use std::sync::Arc;

use crate::fs_api::FileSystem;
use crate::memory::alone::{self, Alone, SHARES, apart};
use crate::memory::slot::{DentryId, SuperblockId};
use crate::node::Freshness;
use crate::stats::FileSystemStats;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// A file system whose nodes are in the caches. Linux: `struct super_block`.
pub(crate) struct Superblock {
    pub(crate) id: SuperblockId,
    pub(crate) fs: Arc<dyn FileSystem>,
    /// Whether its mounts may be id-mapped. Linux: `FS_ALLOW_IDMAP`.
    pub(crate) allows_id_maps: bool,
    /// The root's dentry, pinned until it is shut down: 0 before it is made. Written once, before
    /// another thread can know of it; `Relaxed`. Linux: `s_root`.
    root: AtomicU32,
    /// Mounts of it. The last to go shuts it down. Linux: `s_active`.
    mounts: AtomicU32,
    /// What the threads counted, each in a share of its own.
    shares: Box<[Alone<Share>]>,
}

/// What some of the threads counted. Each alone, so `Relaxed`.
#[derive(Default)]
struct Share {
    lookups: AtomicU64,
    siblings: AtomicU64,
    /// Inodes that were made.
    came: AtomicU64,
    /// Inodes that were freed, their nodes forgotten. Release, paired with the Acquire of the one
    /// that shuts it down: that sees the file system told of each.
    left: AtomicU64,
}

impl Superblock {
    pub(super) fn new(id: SuperblockId, fs: Arc<dyn FileSystem>) -> Superblock {
        let (root, mounts) = (AtomicU32::new(0), AtomicU32::new(0));
        let allows_id_maps = fs.allows_id_maps();
        Superblock { id, fs, allows_id_maps, root, mounts, shares: apart(SHARES, Share::default) }
    }

    pub(crate) fn root(&self) -> DentryId {
        DentryId(self.root.load(Ordering::Relaxed))
    }

    pub(super) fn set_root(&self, root: DentryId) {
        self.root.store(root.0, Ordering::Relaxed);
    }

    /// Counts a mount; another is held, or it is the first.
    pub(crate) fn mounted(&self) {
        self.mounts.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a mount no longer. Returns whether it was the last: then the caller shuts it down.
    pub(crate) fn unmounted(&self) -> bool {
        self.mounts.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Counts an inode that is made.
    pub(super) fn came(&self) {
        self.mine().came.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an inode that was freed.
    pub(super) fn left(&self) {
        self.mine().left.fetch_add(1, Ordering::Release);
    }

    /// Returns whether no inode of it is left, where none is made any more.
    pub(super) fn is_empty(&self) -> bool {
        let left: u64 = self.shares.iter().map(|share| share.left.load(Ordering::Acquire)).sum();
        left == self.sum(|share| &share.came)
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

    /// Returns what was counted of it, and what it holds. Each figure is of a moment of its own.
    pub(crate) fn stats(&self) -> FileSystemStats {
        FileSystemStats {
            file_system: self.id.0,
            mounts: self.mounts.load(Ordering::Relaxed),
            nodes: self.sum(|share| &share.came).saturating_sub(self.sum(|share| &share.left)),
            lookups: self.lookups(),
            siblings: self.siblings(),
            memory: self.fs.memory(),
        }
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
