//! Pins on inodes, slots reserved for new inodes, and the release of inodes that lose their last
//! pin.
//!
//! An inode is freed as soon as its last pin is given back. Its file system is told after the
//! inode's lock was released, perhaps while a directory's lock is held. (The file system may have
//! handed the node out again meanwhile, so it has to count: see `FileSystem::forget`.)

use super::inode::{self, LINKS_AUX, WORD, flags};
use super::pool::{Bucket, InodeHeld, hash_of};
use super::probe::Found;
use crate::Errno;
use crate::attr::FileType;
use crate::cache::Caches;
use crate::cache::reclaim::Short;
use crate::memory::slot::{DentryId, InodeId, SuperblockId};
use crate::memory::{pin, seqcount};
use crate::node::NodeKey;
use crate::sync::Ordering;

/// The slot of an inode, taken before the file system is called, so that its answer can always be
/// kept.
pub(crate) struct Reserved<'a> {
    caches: &'a Caches,
    id: InodeId,
}

impl Reserved<'_> {
    /// Writes to both lines of the slot, to bring them into the processor's cache before the slot
    /// is filled.
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
    /// Takes one more pin on an inode that is pinned already.
    pub(crate) fn again(caches: &'a Caches, id: InodeId) -> Self {
        pin::pin_again(caches.inodes.life(id));
        PinnedInode { caches, id }
    }

    pub(crate) fn id(&self) -> InodeId {
        self.id
    }

    /// Returns the inode without giving the pin back: the caller takes the pin over.
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

/// The reason why a dentry did not get its inode.
pub(crate) enum NotGiven<'a> {
    /// The request failed.
    Failed(Errno),
    /// The inode is a directory's, which has another dentry already. The field is the pin that was
    /// to be passed on.
    AliasElsewhere(PinnedInode<'a>),
}

impl NotGiven<'_> {
    /// Returns the error; `elsewhere` if the directory has another dentry.
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

/// A node that the file system handed out and that has no inode yet. Dropped, it tells the file
/// system to forget the node, for example after an error or a panic.
pub(crate) struct HandedOut<'a> {
    caches: &'a Caches,
    superblock: SuperblockId,
    key: NodeKey,
}

impl<'a> HandedOut<'a> {
    pub(crate) fn new(caches: &'a Caches, superblock: SuperblockId, key: NodeKey) -> Self {
        HandedOut { caches, superblock, key }
    }

    /// Drops the duty to forget the node: another holder has it now.
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
    /// Takes a slot for an inode. Fails with `ENFILE` if pinned entries use up the budget.
    pub(crate) fn reserve_inode(&self) -> Result<Reserved<'_>, Errno> {
        let id = self.take(Short::Dentries, || self.inodes.take())?;
        Ok(Reserved { caches: self, id })
    }

    /// Returns the table's hash of a node of a superblock.
    pub(crate) fn key_hash(&self, superblock: SuperblockId, key: NodeKey) -> u64 {
        // Superblocks often have the same keys, small numbers.
        const APART: u64 = 0x9e37_79b9_7f4a_7c15;
        hash_of(self.inode_seed, key) ^ u64::from(superblock.0).wrapping_mul(APART)
    }

    /// Returns the table's hash of an inode. The result is a guess unless the inode's words cannot
    /// change meanwhile.
    pub(crate) fn hash_of_inode(&self, id: InodeId) -> u64 {
        self.key_hash(self.superblock_of(id), inode::key_of(self.inodes.record(id)))
    }

    /// Takes the lock of an inode that the caller has a pin on.
    pub(crate) fn lock_inode(&self, id: InodeId) -> InodeHeld<'_> {
        self.inodes.lock(self.hash_of_inode(id))
    }

    /// Returns the pin of a search's result. An inode that is going counts as absent: a holder of
    /// the bucket's lock does not meet it.
    pub(crate) fn pinned(&self, found: Found) -> Option<PinnedInode<'_>> {
        match found {
            Found::Pinned(id, _) => Some(PinnedInode { caches: self, id }),
            Found::Absent | Found::Going | Found::Creating => None,
        }
    }

    /// Gives a pin back; frees the inode if it was the last pin.
    pub(crate) fn iput(&self, id: InodeId) {
        if !pin::unpin(self.inodes.life(id)).was_last() {
            return;
        }
        // The thread that gives the last pin back tries to free the inode. If another thread takes
        // a pin meanwhile, that thread tries in its turn.
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

    /// Detaches a dentry from its inode, on which the dentry has a pin. `then` is called once no
    /// change of the inode is written to the dentry any more; afterwards the inode may be gone. If
    /// others have the inode too, it is returned, with the dentry's pin.
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

    /// Frees an inode that was killed under its bucket's lock, which is `held`.
    fn free_killed(&self, id: InodeId, hash: u64, held: Bucket<'_>) {
        let record = self.inodes.record(id);
        let (word, superblock, key) = (record[WORD].load(Ordering::Relaxed), self.superblock_of(id), inode::key_of(record));
        if word & flags::MARKED != 0 {
            self.versions.changed_one_goes();
        }
        let is_link = inode::kind_of(word) == FileType::Symlink;
        let body = if is_link { inode::aux_of(record[LINKS_AUX].load(Ordering::Relaxed)) } else { 0 };
        self.inodes.unhash(id, hash, &held);
        drop(held);
        self.side.release(body);
        self.inodes.give(id);
        self.owner.forget(superblock, key);
        self.owner.freed(superblock);
    }

    /// Tells the file systems of all nodes that are still held, because the `Vfs` is being dropped.
    pub(crate) fn forget_all(&self) {
        for slot in 1..self.inodes.free().touched() {
            let id = InodeId(slot);
            if pin::read(self.inodes.life(id)).is_some() {
                self.owner.forget(self.superblock_of(id), inode::key_of(self.inodes.record(id)));
            }
        }
    }
}
