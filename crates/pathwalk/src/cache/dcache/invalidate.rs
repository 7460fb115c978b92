//! Entries and subtrees leave the cache, because what the file system would say has changed without passing through the `Vfs`.
//!
//! What is pinned stays pinned, unhashed, and finds its place again when its name is looked up; what is idle is evicted.

use super::children::NameIs;
use super::dentry::flags;
use super::watch::Known;
use crate::cache::Caches;
use crate::cache::Pinned;
use crate::memory::dir_lock;
use crate::memory::slot::{DentryId, InodeId};
use crate::sync::Ordering;

impl Caches {
    /// Drops what is cached of `name` in `dir`, and everything below it.
    pub(crate) fn invalidate_name(&self, dir: DentryId, name: &[u8]) {
        let entry = {
            // Exclusively, and before looking: a lookup or a change that is under way would leave an old answer.
            let _names = dir_lock::exclusive(self.dentries.lock(dir));
            self.no_longer_complete(dir);
            let Some(entry) = self.find_exact(dir, name).map(|id| Pinned::new(self, id)) else { return };
            self.unhash(dir, entry.id(), NameIs::Unknown, &self.dentries.children_lock(dir));
            entry
        };
        self.invalidate_below(entry.id());
        self.let_go(entry);
    }

    /// Drops an entry of a directory, and everything below it, unless it is not there any more.
    pub(crate) fn invalidate_entry(&self, dir: DentryId, entry: Pinned<'_>) {
        {
            let _names = dir_lock::exclusive(self.dentries.lock(dir));
            let held = self.dentries.children_lock(dir);
            if self.dentries.parent(entry.id()) != dir {
                return;
            }
            self.unhash(dir, entry.id(), NameIs::Unknown, &held);
        }
        self.invalidate_below(entry.id());
        self.let_go(entry);
    }

    /// Drops everything cached below `top`, on which the caller has a pin.
    pub(crate) fn invalidate_below(&self, top: DentryId) {
        let mut below = Vec::new();
        self.unhash_children(top, &mut below);
        let mut at = 0;
        while let Some(dir) = below.get(at).map(Pinned::id) {
            self.unhash_children(dir, &mut below);
            at += 1;
        }
        // From the end: children before their parents, which they pin.
        while let Some(entry) = below.pop() {
            self.let_go(entry);
        }
    }

    /// Unhashes all children of a directory and adds them to `out`.
    fn unhash_children<'a>(&'a self, dir: DentryId, out: &mut Vec<Pinned<'a>>) {
        if self.dentries.word(dir) & flags::DIRECTORY == 0 {
            return;
        }
        let _names = dir_lock::exclusive(self.dentries.lock(dir));
        self.no_longer_complete(dir);
        while let Some(child) = self.any_child(dir).map(|id| Pinned::new(self, id)) {
            self.unhash(dir, child.id(), NameIs::Unknown, &self.dentries.children_lock(dir));
            out.push(child);
        }
    }

    /// Drops the children of a directory that was removed: none stands for a name any more. Its lock is held exclusively, so none are added.
    pub(crate) fn drop_children(&self, dir: DentryId) {
        if self.dentries.first_child(dir).load(Ordering::Relaxed) == 0 {
            return;
        }
        loop {
            let held = self.dentries.children_lock(dir);
            let Some(child) = self.first_listed(dir, &held) else { return self.set_known(dir, Known::Nothing, &held) };
            self.unhash(dir, child, NameIs::Gone, &held);
            drop(held);
            self.discard(child);
        }
    }

    /// Evicts an entry that was dropped. Of its node nothing is known any more: somebody else may hold it, or be about to find it by its
    /// key, and asks then.
    fn let_go(&self, entry: Pinned<'_>) {
        let inode = self.dentries.inode(entry.id());
        if inode != InodeId::NONE {
            self.mark_unknown(inode);
        }
        self.discard(entry.into_id());
    }
}
