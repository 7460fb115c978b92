//! All caches of a `Vfs`, and a pin on a dentry.

use super::counters::Counters;
use super::dcache::dentry::Dentries;
use super::dcache::doubt::Doubts;
use super::dcache::moves::Moves;
use super::dcache::waiters::Waiters;
use super::dcache::watch::Watches;
use super::icache::pool::Inodes;
use super::icache::versions::Versions;
use super::owner::NodeOwner;
use super::promises::SearchRules;
use super::reclaim::left::Left;
use super::reclaim::uses::Uses;
use crate::memory::side::Side;
use crate::memory::slot::{DentryId, InodeId, SuperblockId};
use crate::sync::{AtomicU16, Ordering};
use crate::text::hash::NameHash;

/// Names, nodes and what belongs to them, in slots that are reserved once.
///
/// Each part documents what protects it. No part is replaced after construction.
pub(crate) struct Caches {
    /// The dentry cache. Linux: `dentry_hashtable`.
    pub(crate) dentries: Dentries,
    /// The inode cache. Linux: `inode_hashtable`.
    pub(crate) inodes: Inodes,
    /// The superblock of each inode. Written while the inode's sequence count is odd, as the
    /// inode's words are. Linux: `i_sb`.
    pub(crate) superblocks: Box<[AtomicU16]>,
    /// Long names and link bodies.
    pub(crate) side: Side,
    /// The keys of the names' hash. Linux: `hash_name` and its salt.
    pub(crate) hash: NameHash,
    /// The seed of the hash of node keys.
    pub(crate) inode_seed: u64,
    /// Moves between directories. Linux: `s_vfs_rename_mutex` and `rename_lock`.
    pub(crate) moves: Moves,
    /// The threads that wait for a name. Linux: `d_wait`.
    pub(crate) waiters: Waiters,
    /// The versions that tell whether an answer about attributes is older than a change of them.
    pub(crate) versions: Versions,
    /// The counts of reports that something changed without the engine.
    pub(crate) doubts: Doubts,
    /// The numbers of the listings that are under way.
    pub(crate) watches: Watches,
    /// The records of reclaim about each dentry.
    pub(crate) uses: Uses,
    /// The dentries that were removed while they were pinned.
    pub(crate) left: Left,
    /// The counters of slow paths.
    pub(crate) counters: Counters,
    /// The rules of a security hook that cares about search.
    pub(crate) search: SearchRules,
    /// The owner that is told of each node that the caches let go of.
    pub(crate) owner: Box<dyn NodeOwner>,
}

impl Caches {
    /// Returns the superblock of an inode. The result is valid if the caller has a pin on the
    /// inode, or once the inode's sequence count is rechecked.
    pub(crate) fn superblock_of(&self, id: InodeId) -> SuperblockId {
        SuperblockId(self.superblocks[id.0 as usize].load(Ordering::Relaxed))
    }

    /// Stores the superblock of an inode whose sequence count is odd.
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

    /// Takes one more pin on a dentry that the caller knows to be pinned.
    pub(crate) fn again(caches: &'a Caches, id: DentryId) -> Self {
        caches.dentries.pin_again(id);
        Pinned { caches, id }
    }

    pub(crate) fn id(&self) -> DentryId {
        self.id
    }

    /// Returns the dentry without giving the pin back: the caller takes the pin over.
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
