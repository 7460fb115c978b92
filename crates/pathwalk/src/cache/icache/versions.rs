//! Whether an answer of a file system is older than a change.
//!
//! A lookup that carries old attributes must not undo a change: attributes that come with a node
//! are used for new inodes only, and a set of attributes that ran beside the lookup makes it ask
//! again before the new inode is shown. Two refreshes may run at once: each notes a version before
//! it asks the file system, and stores its answer only if nothing was stored, set or marked since,
//! else asks again. So what is stored last was asked for last.
//!
//! Counts only: [`store`](super::store) keeps answers, `superblock/attributes.rs` asks.

use crate::memory::slot::InodeId;
use crate::sync::{AtomicU32, AtomicU64, Ordering, stripes};

const STRIPES: usize = stripes(64);

/// Counts of changes.
pub(crate) struct Versions {
    /// Sets of attributes, of any node: for lookups, which do not know of whom they ask.
    sets: AtomicU64,
    /// Nodes that left the cache and had been marked in it, because of a name that changed: for
    /// lookups, too. (What is marked and still there is found there, and what a lookup says of it
    /// is not used.)
    changed_and_gone: AtomicU64,
    /// Sets, marks and stores, by inode: for refreshes.
    of_inode: Box<[AtomicU64]>,
    /// Changes of data or size that the file system is at, by inode: for refreshes. Partner: the
    /// versions of inodes, which move after one is counted, and before it is counted no more.
    under_way: Box<[AtomicU32]>,
}

/// What the counts were when somebody asked the file system.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    sets: u64,
    changed_and_gone: u64,
}

impl Versions {
    pub(crate) fn new() -> Versions {
        Versions {
            sets: AtomicU64::new(0),
            changed_and_gone: AtomicU64::new(0),
            of_inode: (0..STRIPES).map(|_| AtomicU64::new(0)).collect(),
            under_way: (0..STRIPES).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// To be read before a lookup; see `superblock/iget.rs`.
    pub(crate) fn ask(&self) -> Asked {
        Asked { sets: self.sets.load(Ordering::SeqCst), changed_and_gone: self.changed_and_gone.load(Ordering::SeqCst) }
    }

    /// Attributes of some node were set.
    pub(crate) fn set_one(&self) {
        self.sets.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn no_sets_since(&self, asked: Asked) -> bool {
        self.sets.load(Ordering::SeqCst) == asked.sets
    }

    pub(crate) fn no_changes_since(&self, asked: Asked) -> bool {
        self.changed_and_gone.load(Ordering::SeqCst) == asked.changed_and_gone
    }

    /// A node that was marked leaves the cache. Its lock is held, and it is in the table yet.
    pub(crate) fn changed_one_goes(&self) {
        self.changed_and_gone.fetch_add(1, Ordering::SeqCst);
    }

    /// To be read before the file system is asked about an inode; see `superblock/attributes.rs`.
    pub(crate) fn of(&self, id: InodeId) -> u64 {
        self.stripe(id).load(Ordering::SeqCst)
    }

    pub(super) fn stripe(&self, id: InodeId) -> &AtomicU64 {
        &self.of_inode[id.0 as usize % STRIPES]
    }

    pub(super) fn under_way(&self, id: InodeId) -> &AtomicU32 {
        &self.under_way[id.0 as usize % STRIPES]
    }

    /// Notes a set, a mark or a store.
    pub(crate) fn moved(&self, id: InodeId) {
        self.stripe(id).fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_no_version() {
        let versions = Versions::new();
        for first in [1, 1000] {
            let ids = || (first..first + STRIPES as u32).map(InodeId);
            ids().for_each(|id| {
                versions.moved(id);
                versions.under_way(id).fetch_add(1, Ordering::SeqCst);
            });
            let once = |id: InodeId| (versions.of(id), versions.under_way(id).load(Ordering::SeqCst));
            let times = if first == 1 { 1 } else { 2 };
            assert!(ids().all(|id| once(id) == (u64::from(times), times)));
        }
    }

    #[test]
    fn each_kind_of_change_is_seen_by_lookups_that_it_concerns() {
        let versions = Versions::new();
        let asked = versions.ask();
        let since = |asked| (versions.no_sets_since(asked), versions.no_changes_since(asked));
        assert_eq!(since(asked), (true, true));
        versions.changed_one_goes();
        assert_eq!(since(asked), (true, false));
        let asked = versions.ask();
        versions.set_one();
        assert_eq!((since(asked), since(versions.ask())), ((false, true), (true, true)));
    }
}
