//! Pins on inodes, slots for those to come, and what becomes of an inode that is pinned no more.
//!
//! An inode that no holder pins any more is freed at once; its file system is told outside the
//! inode's lock, perhaps inside a directory's. (It may have handed out the node again meanwhile: it
//! counts, see `FileSystem::forget`.)

use super::inode::{self, LINKS_AUX, WORD, flags};
use super::pool::{Bucket, InodeHeld, hash_of};
use super::probe::Found;
use crate::Errno;
use crate::cache::Caches;
use crate::cache::reclaim::Short;
use crate::memory::slot::{DentryId, InodeId, SuperblockId};
use crate::memory::{pin, seqcount};
use crate::node::NodeKey;
use crate::sync::Ordering;

/// An inode's slot, taken before the file system is called so that its answer can always be kept.
pub(crate) struct Reserved<'a> {
    caches: &'a Caches,
    id: InodeId,
}

impl Reserved<'_> {
    /// Writes to where it lies, so that it is near when it is filled.
    pub(crate) fn write_ahead(&self) {
        self.caches.inodes.write_ahead(self.id);
    }

    pub(crate) fn into_id(self) -> InodeId {
        let id = self.id;
        std::mem::forget(self);
        id
    }
}

/// A pin on an inode, given back when dropped.
pub(crate) struct PinnedInode<'a> {
    caches: &'a Caches,
    id: InodeId,
}

impl<'a> PinnedInode<'a> {
    /// Another pin of an inode that somebody holds one of.
    pub(crate) fn again(caches: &'a Caches, id: InodeId) -> Self {
        pin::pin_again(caches.inodes.life(id));
        PinnedInode { caches, id }
    }

    pub(crate) fn id(&self) -> InodeId {
        self.id
    }

    /// Hands the pin over.
    pub(crate) fn into_id(self) -> InodeId {
        let id = self.id;
        std::mem::forget(self);
        id
    }
}

impl Drop for PinnedInode<'_> {
    fn drop(&mut self) {
        self.caches.iput(self.id);
    }
}

/// Why a dentry did not get its inode.
pub(crate) enum NotGiven<'a> {
    /// What was asked for failed.
    Failed(Errno),
    /// It is a directory's, which has another dentry already; the pin that was to be passed.
    AliasElsewhere(PinnedInode<'a>),
}

impl NotGiven<'_> {
    /// The error, where a directory that has another dentry is one too.
    pub(crate) fn or(self, elsewhere: Errno) -> Errno {
        match self {
            NotGiven::Failed(errno) => errno,
            NotGiven::AliasElsewhere(_) => elsewhere,
        }
    }
}

impl From<Errno> for NotGiven<'_> {
    fn from(errno: Errno) -> Self {
        NotGiven::Failed(errno)
    }
}

/// A node that the file system handed out and that no inode stands for yet: forgotten if none comes
/// to, be it for an error or a panic.
pub(crate) struct HandedOut<'a> {
    caches: &'a Caches,
    superblock: SuperblockId,
    key: NodeKey,
}

impl<'a> HandedOut<'a> {
    pub(crate) fn new(caches: &'a Caches, superblock: SuperblockId, key: NodeKey) -> Self {
        HandedOut { caches, superblock, key }
    }

    /// Somebody else answers for it.
    pub(crate) fn pass_on(self) {
        std::mem::forget(self);
    }
}

impl Drop for HandedOut<'_> {
    fn drop(&mut self) {
        self.caches.owner.forget(self.superblock, self.key);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.caches.inodes.give(self.id);
    }
}

impl Caches {
    /// Takes a slot for an inode. `ENFILE` if the budget is used up by what is pinned.
    pub(crate) fn reserve_inode(&self) -> Result<Reserved<'_>, Errno> {
        let id = self.take(Short::Dentries, || self.inodes.take())?;
        Ok(Reserved { caches: self, id })
    }

    /// Returns where a node of a superblock is in the table.
    pub(crate) fn key_hash(&self, superblock: SuperblockId, key: NodeKey) -> u64 {
        // Superblocks often have the same keys, small numbers.
        const APART: u64 = 0x9e37_79b9_7f4a_7c15;
        hash_of(self.inode_seed, key) ^ u64::from(superblock.0).wrapping_mul(APART)
    }

    /// Returns where an inode is in the table; a guess, unless its words hold still.
    pub(crate) fn hash_of_inode(&self, id: InodeId) -> u64 {
        self.key_hash(self.superblock_of(id), inode::key_of(self.inodes.record(id)))
    }

    /// The lock of an inode that the caller has a pin on.
    pub(crate) fn lock_inode(&self, id: InodeId) -> InodeHeld<'_> {
        self.inodes.lock(self.hash_of_inode(id))
    }

    /// What a search found. An inode that goes is as good as absent: who has the bucket's lock does
    /// not meet it.
    pub(crate) fn pinned(&self, found: Found) -> Option<PinnedInode<'_>> {
        match found {
            Found::Pinned(id, _) => Some(PinnedInode { caches: self, id }),
            Found::Absent | Found::Going | Found::Creating => None,
        }
    }

    /// Gives a count back; frees the inode if it was the last.
    pub(crate) fn iput(&self, id: InodeId) {
        if !pin::unpin(self.inodes.life(id)).was_last() {
            return;
        }
        // Whoever gives back the last count tries; if somebody takes one meanwhile, he will try in
        // his turn.
        while pin::is_idle(self.inodes.life(id)) {
            if self.free_idle(id) {
                return;
            }
        }
    }

    fn free_idle(&self, id: InodeId) -> bool {
        let record = self.inodes.record(id);
        let word = seqcount::sample_even(&record[WORD]);
        let hash = self.hash_of_inode(id);
        let held = self.inodes.lock_bucket(hash);
        if !seqcount::unchanged(&record[WORD], word) || !pin::kill(self.inodes.life(id)) {
            return false;
        }
        self.free_killed(id, hash, held);
        true
    }

    /// Ends a dentry's having an inode, which it has a pin on. `then` is called when nothing that
    /// happens to the inode is written to the dentry any more; afterwards the inode may be gone. If
    /// others have it too, it is returned, with the pin.
    pub(crate) fn part(&self, dentry: DentryId, id: InodeId, then: impl FnOnce()) -> Option<PinnedInode<'_>> {
        let record = self.inodes.record(id);
        let hash = self.hash_of_inode(id);
        let held = self.inodes.lock_bucket(hash);
        then();
        if pin::kill_held(self.inodes.life(id)) {
            self.free_killed(id, hash, held);
            return None;
        }
        self.leave_alias(record, dentry, held.stripe());
        Some(PinnedInode { caches: self, id })
    }

    /// Frees an inode that was killed under its lock, which is `held`.
    fn free_killed(&self, id: InodeId, hash: u64, held: Bucket<'_>) {
        let record = self.inodes.record(id);
        let (word, superblock, key) = (record[WORD].load(Ordering::Relaxed), self.superblock_of(id), inode::key_of(record));
        if word & flags::MARKED != 0 {
            self.versions.changed_one_goes();
        }
        let body = if word & flags::BODY != 0 { inode::aux_of(record[LINKS_AUX].load(Ordering::Relaxed)) } else { 0 };
        self.inodes.unhash(id, hash, &held);
        drop(held);
        self.side.release(body);
        self.inodes.give(id);
        self.owner.forget(superblock, key);
        self.owner.freed(superblock);
    }

    /// Tells the file system of every node that is still held: the `Vfs` is going.
    pub(crate) fn forget_all(&self) {
        for slot in 1..self.inodes.free().touched() {
            let id = InodeId(slot);
            if pin::read(self.inodes.life(id)).is_some() {
                self.owner.forget(self.superblock_of(id), inode::key_of(self.inodes.record(id)));
            }
        }
    }
}
