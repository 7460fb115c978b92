//! All caches, and a pin on a dentry.

use super::counters::Counters;
use super::dcache::dentry::Dentries;
use super::dcache::moves::Moves;
use super::dcache::waiters::Waiters;
use super::dcache::watch::Watches;
use super::icache::pool::Inodes;
use super::icache::versions::Versions;
use super::owner::NodeOwner;
use super::reclaim::uses::Uses;
use crate::memory::side::Side;
use crate::memory::slot::{DentryId, InodeId, SuperblockId};
use crate::sync::{AtomicU16, Ordering};
use crate::text::hash::NameHash;

/// Names, nodes, and what belongs to them, in slots that were reserved once.
///
/// Each part says what protects it. None is replaced after construction.
pub(crate) struct Caches {
    /// Linux: the dentry cache, `dentry_hashtable`.
    pub(crate) dentries: Dentries,
    /// Linux: the inode cache, `inode_hashtable`.
    pub(crate) inodes: Inodes,
    /// The superblock of each inode. Written with the inode's count odd, as its words are. Linux:
    /// `i_sb`.
    pub(crate) superblocks: Box<[AtomicU16]>,
    /// Long names and link bodies.
    pub(crate) side: Side,
    /// The keys of the names' hash. Linux: `hash_name` and its salt.
    pub(crate) hash: NameHash,
    /// The seed of the hash of node keys.
    pub(crate) inode_seed: u64,
    /// Moves between directories. Linux: `s_vfs_rename_mutex` and `rename_lock`.
    pub(crate) moves: Moves,
    /// Threads that wait for a name. Linux: `d_wait`.
    pub(crate) waiters: Waiters,
    /// Whether an answer about attributes is older than a change of them.
    pub(crate) versions: Versions,
    /// Listings that are under way.
    pub(crate) watches: Watches,
    /// What reclaim remembers of each dentry.
    pub(crate) uses: Uses,
    /// What is counted on slow paths.
    pub(crate) counters: Counters,
    /// Told of each node that is let go of.
    pub(crate) owner: Box<dyn NodeOwner>,
}

impl Caches {
    /// Returns the superblock of an inode; to be believed once the inode's count is rechecked, or
    /// if the caller has a pin on it.
    pub(crate) fn superblock_of(&self, id: InodeId) -> SuperblockId {
        SuperblockId(self.superblocks[id.0 as usize].load(Ordering::Relaxed))
    }

    /// Stores the superblock of an inode, whose count is odd.
    pub(crate) fn set_superblock(&self, id: InodeId, superblock: SuperblockId) {
        self.superblocks[id.0 as usize].store(superblock.0, Ordering::Relaxed);
    }
}

impl Drop for Caches {
    fn drop(&mut self) {
        self.forget_all();
    }
}

/// A pin on a dentry, given back when dropped.
pub(crate) struct Pinned<'a> {
    caches: &'a Caches,
    id: DentryId,
}

impl<'a> Pinned<'a> {
    /// Takes over a pin that the caller holds.
    pub(crate) fn new(caches: &'a Caches, id: DentryId) -> Self {
        Pinned { caches, id }
    }

    /// Takes another pin of a dentry of which the caller knows that it is pinned.
    pub(crate) fn again(caches: &'a Caches, id: DentryId) -> Self {
        caches.dentries.pin_again(id);
        Pinned { caches, id }
    }

    pub(crate) fn id(&self) -> DentryId {
        self.id
    }

    /// Hands the pin over.
    pub(crate) fn into_id(self) -> DentryId {
        let id = self.id;
        std::mem::forget(self);
        id
    }
}

impl Clone for Pinned<'_> {
    fn clone(&self) -> Self {
        Pinned::again(self.caches, self.id)
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        self.caches.dentries.unpin(self.id);
    }
}
