//! The versions that tell whether an answer of a file system is older than a change.
//!
//! A lookup that carries old attributes must not undo a change. So attributes that come with a node
//! are used for new inodes only. If attributes were set while the lookup ran, it asks again before
//! the new inode is shown. Two refreshes may run at once: each reads a version before it asks the
//! file system. It stores its answer only if nothing was stored, set or marked since; otherwise it
//! asks again. So the answer that is stored last was asked for last.
//!
//! This module only counts: [`store`](super::store) keeps answers, and `superblock/attributes.rs`
//! asks the file system.

use crate::memory::slot::InodeId;
use crate::sync::{AtomicU32, AtomicU64, Ordering, stripes};

const STRIPES: usize = stripes(64);

/// The counts of changes.
pub(crate) struct Versions {
    /// The number of sets of attributes of any node. Lookups read it, since they do not know which
    /// node they ask about.
    sets: AtomicU64,
    /// The number of nodes that left the cache and had been marked as out of date in it, because of
    /// a name that changed. Lookups read it. (A marked node that is still in the cache is found
    /// there, and the attributes that a lookup returns for it are not used.)
    changed_and_gone: AtomicU64,
    /// The numbers of sets, marks and stores, by inode. Refreshes read them.
    of_inode: Box<[AtomicU64]>,
    /// The numbers of changes of data or size that the file system is executing, by inode.
    /// Refreshes read them. Partner: the versions of inodes, which move after a change is counted
    /// here, and again before it is no longer counted.
    under_way: Box<[AtomicU32]>,
}

/// The counts at the time when a thread asked the file system.
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

    /// Returns the counts. A lookup reads them before it asks the file system; see
    /// `superblock/iget.rs`.
    pub(crate) fn ask(&self) -> Asked {
        Asked { sets: self.sets.load(Ordering::SeqCst), changed_and_gone: self.changed_and_gone.load(Ordering::SeqCst) }
    }

    /// Counts a set of some node's attributes.
    pub(crate) fn set_one(&self) {
        self.sets.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn no_sets_since(&self, asked: Asked) -> bool {
        self.sets.load(Ordering::SeqCst) == asked.sets
    }

    pub(crate) fn no_changes_since(&self, asked: Asked) -> bool {
        self.changed_and_gone.load(Ordering::SeqCst) == asked.changed_and_gone
    }

    /// Counts a marked node that leaves the cache. Its lock is held, and it is still in the table.
    pub(crate) fn changed_one_goes(&self) {
        self.changed_and_gone.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns an inode's version. A refresh reads it before it asks the file system; see
    /// `superblock/attributes.rs`.
    pub(crate) fn of(&self, id: InodeId) -> u64 {
        self.stripe(id).load(Ordering::SeqCst)
    }

    pub(super) fn stripe(&self, id: InodeId) -> &AtomicU64 {
        &self.of_inode[id.0 as usize % STRIPES]
    }

    pub(super) fn under_way(&self, id: InodeId) -> &AtomicU32 {
        &self.under_way[id.0 as usize % STRIPES]
    }

    /// Counts a set, a mark or a store.
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
