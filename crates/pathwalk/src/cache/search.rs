//! The right to search a directory where a security hook cares about it.
//!
//! Without such a hook, a directory that its mode lets all users search has a bit in its dentry
//! that says so. With one, the hook's promise for the directory is needed as well: it is noted in
//! the inode, under the inode's lock, and the dentry's bits are computed from both. A directory
//! without the promise is passed by the locked walk alone, which asks the hook.
//!
//! Invariant: once [`withdraw_all_promises`](Caches::withdraw_all_promises) or
//! [`withdraw_promise`](Caches::withdraw_promise) has returned, no promise is noted that the hook
//! gave before the call. A promise is noted only if no withdrawal has begun since the hook was
//! asked, which the version shows; both are under the inode's lock.

use super::Caches;
use super::icache::inode::{self, LINKS_AUX, MANY, WORD, flags};
use super::icache::pool::{InodeHeld, LOCKS};
use super::promises::PromiseVersion;
use crate::attr::FileType;
use crate::memory::seqcount;
use crate::memory::slot::{DentryId, InodeId};
use crate::sync::Ordering;

/// Returns whether a hook has promised that all callers may search the directory of this word.
pub(crate) fn is_promised(word: u64) -> bool {
    word & flags::SEARCH_PROMISED != 0
}

impl Caches {
    /// Notes the promise that all callers may search a directory, unless promises were withdrawn
    /// since `version`. The caller has a pin on the inode.
    pub(crate) fn note_promise(&self, id: InodeId, version: PromiseVersion) {
        let held = self.lock_inode(id);
        if self.search.version() == version {
            self.set_promise(id, flags::SEARCH_PROMISED, &held);
        }
    }

    /// Withdraws the promise for a directory on whose inode the caller has a pin.
    pub(crate) fn withdraw_promise(&self, id: InodeId) {
        self.search.withdraw();
        let held = self.lock_inode(id);
        self.set_promise(id, 0, &held);
    }

    /// Withdraws all promises. Cost: linear in the greatest number of inodes that there were at
    /// once.
    pub(crate) fn withdraw_all_promises(&self) {
        self.search.withdraw();
        // Each thread that has compared the version before the increment has noted its promise once
        // its lock was taken here, and the note is visible.
        (0..LOCKS as u64).for_each(|stripe| drop(self.inodes.lock(stripe)));
        for id in (0..=self.inodes.free().touched()).map(InodeId) {
            let word = self.inodes.record(id)[WORD].load(Ordering::Relaxed);
            if is_promised(word) && inode::kind_of(word) == FileType::Directory {
                self.withdraw_from_slot(id);
            }
        }
    }

    /// Withdraws the promise for the directory in a slot, if there still is one.
    fn withdraw_from_slot(&self, id: InodeId) {
        // The key is a guess. If the slot has got another inode, that one has no old promise.
        let (superblock, key) = (self.superblock_of(id), inode::key_of(self.inodes.record(id)));
        let hash = self.key_hash(superblock, key);
        let held = self.inodes.lock_bucket(hash);
        let found = self.pinned(self.inodes.find_held(hash, key, |view| view.id() == id, &held));
        if found.is_some() {
            self.set_promise(id, 0, held.stripe());
        }
        // Released before the pin is given back.
        drop(held);
    }

    /// Stores a promise, or its absence, and what all users may do in the directory then.
    fn set_promise(&self, id: InodeId, promise: u64, held: &InodeHeld<'_>) {
        let record = self.inodes.record(id);
        if inode::kind_of(record[WORD].load(Ordering::Relaxed)) != FileType::Directory {
            return;
        }
        let writing = seqcount::write_alone(&record[WORD]);
        let flags = writing.flags() & !flags::SEARCH_PROMISED | promise;
        writing.end(flags);
        let alias = inode::aux_of(record[LINKS_AUX].load(Ordering::Relaxed));
        if alias != 0 && alias != MANY {
            self.set_permission_flags(DentryId(alias), self.permission_flags(record), held);
        }
    }
}
