//! Entries and subtrees leave the cache, because what the file system would say has changed without passing through the `Vfs`.
//!
//! What is pinned stays pinned, unhashed, and finds its place again when its name is looked up; what is idle is evicted.

use super::dentry::{DentryId, InodeId, flags};
use crate::memory::dir_lock;
use crate::vfs::Core;

impl Core {
    /// Drops what is cached of `name` in `dir`, and everything below it.
    pub(crate) fn invalidate_name(&self, dir: DentryId, name: &[u8]) {
        let child = {
            // Exclusively: a lookup that is under way would bring an old answer.
            let _names = dir_lock::exclusive(self.dentries.lock(dir));
            let Some(child) = self.find_exact(dir, name) else { return };
            self.unhash(dir, child, &self.dentries.children_lock(dir));
            child
        };
        self.drop_unhashed(child);
    }

    /// Drops everything cached below `top`, on which the caller has a pin.
    pub(crate) fn invalidate_below(&self, top: DentryId) {
        let mut below = vec![];
        self.unhash_children(top, &mut below);
        while let Some(child) = below.pop() {
            self.unhash_children(child, &mut below);
            self.refresh_if_kept(child);
            self.discard(child);
        }
    }

    fn drop_unhashed(&self, child: DentryId) {
        self.invalidate_below(child);
        self.refresh_if_kept(child);
        self.discard(child);
    }

    /// Unhashes all children of a directory and adds them, pinned, to `out`.
    fn unhash_children(&self, dir: DentryId, out: &mut Vec<DentryId>) {
        if self.dentries.word(dir) & flags::DIRECTORY == 0 {
            return;
        }
        let _names = dir_lock::exclusive(self.dentries.lock(dir));
        while let Some(child) = self.any_child(dir) {
            self.unhash(dir, child, &self.dentries.children_lock(dir));
            out.push(child);
        }
    }

    /// Drops the children of a directory that was removed: they are all negative.
    pub(crate) fn drop_children(&self, dir: DentryId) {
        while let Some(child) = self.any_child(dir) {
            self.unhash(dir, child, &self.dentries.children_lock(dir));
            self.discard(child);
        }
    }

    /// Somebody else holds this node: its attributes are asked for again, since nobody will bring them with a lookup.
    fn refresh_if_kept(&self, id: DentryId) {
        let inode = self.dentries.inode(id);
        if inode != InodeId::NONE && self.refresh(inode).is_err() {
            self.mark_stale(inode);
        }
    }
}
