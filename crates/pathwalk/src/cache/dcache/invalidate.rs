//! Invalidation: entries and subtrees leave the cache, because the file system's answers changed
//! without passing through the `Vfs`.
//!
//! A pinned dentry stays pinned and is unhashed; its node gets its place again when the name is
//! looked up. An idle dentry is evicted, and a pinned one by a later invalidation or removal.

use super::children::NameIs;
use super::dentry::flags;
use super::watch::Known;
use crate::cache::Caches;
use crate::cache::Pinned;
use crate::memory::dir_lock;
use crate::memory::slot::{DentryId, InodeId};
use crate::sync::Ordering;

impl Caches {
    /// Drops the cached entry of `name` in `dir` and everything below it. Returns the dropped
    /// dentries on which something is mounted.
    pub(crate) fn invalidate_name(&self, dir: DentryId, name: &[u8]) -> Vec<Pinned<'_>> {
        let entry = {
            // Exclusive, and taken before the search: a lookup or a change that is under way would
            // leave an old answer.
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

    /// Drops an entry of a directory and everything below it, unless the entry is no longer in that
    /// directory. Returns the dropped dentries on which something is mounted.
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

    /// Drops everything cached below `top`, on which the caller has a pin. Returns the dropped
    /// dentries on which something is mounted.
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

    /// Unhashes all children of a directory and appends them to `out`.
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

    /// Drops the children of a directory that was removed: none of them stands for a name any more.
    /// The directory's lock is held exclusively, so none are added.
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

    /// Evicts an entry that was dropped, or returns it if something is mounted on it. Marks its
    /// inode as unknown: another holder may have the inode, or be about to find it by its key, and
    /// then asks the file system.
    fn let_go<'a>(&'a self, entry: Pinned<'a>) -> Option<Pinned<'a>> {
        let inode = self.dentries.inode(entry.id());
        if inode != InodeId::NONE {
            self.mark_unknown(inode);
        }
        if self.dentries.word(entry.id()) & flags::MOUNTED != 0 {
            return Some(entry);
        }
        self.discard_out(entry.into_id());
        None
    }
}
