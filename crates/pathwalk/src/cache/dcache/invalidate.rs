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
    /// Drops what is cached of `name` in `dir`, and everything below it. Returns that of it on which something is mounted.
    pub(crate) fn invalidate_name(&self, dir: DentryId, name: &[u8]) -> Vec<Pinned<'_>> {
        let entry = {
            // Exclusively, and before looking: a lookup or a change that is under way would leave an old answer.
            let _names = dir_lock::exclusive(self.dentries.lock(dir));
            self.no_longer_complete(dir);
            let Some(entry) = self.find_exact(dir, name).map(|id| Pinned::new(self, id)) else { return Vec::new() };
            self.unhash(dir, entry.id(), NameIs::Unknown, &self.dentries.children_lock(dir));
            entry
        };
        let mut covered = self.invalidate_below(entry.id());
        covered.extend(self.let_go(entry));
        covered
    }

    /// Drops an entry of a directory, and everything below it, unless it is not there any more. Returns that of it on which something is mounted.
    pub(crate) fn invalidate_entry<'a>(&'a self, dir: DentryId, entry: Pinned<'a>) -> Vec<Pinned<'a>> {
        {
            let _names = dir_lock::exclusive(self.dentries.lock(dir));
            let held = self.dentries.children_lock(dir);
            if self.dentries.parent(entry.id()) != dir {
                return Vec::new();
            }
            self.unhash(dir, entry.id(), NameIs::Unknown, &held);
        }
        let mut covered = self.invalidate_below(entry.id());
        covered.extend(self.let_go(entry));
        covered
    }

    /// Drops everything cached below `top`, on which the caller has a pin. Returns that of it on which something is mounted.
    pub(crate) fn invalidate_below(&self, top: DentryId) -> Vec<Pinned<'_>> {
        let mut below = Vec::new();
        self.unhash_children(top, &mut below);
        let mut at = 0;
        while let Some(dir) = below.get(at).map(Pinned::id) {
            self.unhash_children(dir, &mut below);
            at += 1;
        }
        // From the end: children before their parents, which they pin.
        let mut covered = Vec::new();
        while let Some(entry) = below.pop() {
            covered.extend(self.let_go(entry));
        }
        covered
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
    /// key, and asks then. Returns it instead if something is mounted on it.
    fn let_go<'a>(&'a self, entry: Pinned<'a>) -> Option<Pinned<'a>> {
        let inode = self.dentries.inode(entry.id());
        if inode != InodeId::NONE {
            self.mark_unknown(inode);
        }
        if self.dentries.word(entry.id()) & flags::MOUNTED != 0 {
            return Some(entry);
        }
        self.discard(entry.into_id());
        None
    }
}
