//! The nodes that keep a file system from becoming read-only: nodes without a name that are still
//! held, which it would have to free.
//!
//! Source: `sb_prepare_remount_readonly` of Linux, and its `s_remove_count`.

use super::Trees;
use crate::Errno;
use crate::attr::FileType;
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::memory::pin;
use crate::memory::slot::{DentryId, SuperblockId};

impl Trees {
    /// Returns whether a node of a file system has lost its last name, or never had one, and is
    /// held. No name is removed meanwhile. Errors are the file system's, which may be asked for
    /// link counts. Cost: linear in the greatest number of dentries that there were at once.
    pub(crate) fn holds_removed(&self, superblock: SuperblockId) -> Result<bool, Errno> {
        self.drop_unheld();
        for slot in 0..self.caches.dentries.free().touched() {
            if let Some(node) = self.removed(DentryId(slot), superblock)
                && self.has_no_name(&node)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Evicts the dentries outside the table that nothing holds. Each of them holds the directory
    /// above it, which may be without a name, too. Linux: `dput`, which goes on with the parent.
    fn drop_unheld(&self) {
        for slot in 0..self.caches.dentries.free().touched() {
            let mut id = DentryId(slot);
            while self.caches.dentries.word(id) & flags::UNHASHED != 0 {
                let above = self.caches.dentries.parent(id);
                if !self.caches.try_evict(id) {
                    break;
                }
                id = above;
            }
        }
    }

    /// Pins the dentry in a slot, if it is held and may be without a name.
    fn removed(&self, id: DentryId, superblock: SuperblockId) -> Option<Pinned<'_>> {
        let life = self.caches.dentries.life(id);
        let is_out = || self.caches.dentries.word(id) & flags::UNHASHED != 0;
        let of = pin::read(life).filter(|_| pin::is_held(life) && is_out())?;
        let node = pin::pin(life, of).then(|| Pinned::new(&self.caches, id))?;
        let is_one = is_out() && self.caches.dentries.word(id) & flags::NEGATIVE == 0 && !self.caches.is_root(id);
        let is_its = || self.caches.superblock_of(self.caches.dentries.inode(id)) == superblock;
        (is_one && is_its()).then_some(node)
    }

    fn has_no_name(&self, node: &Pinned<'_>) -> Result<bool, Errno> {
        let attributes = self.stat(self.caches.dentries.inode(node.id()))?;
        let is_removed = self.caches.dentries.word(node.id()) & flags::REMOVED != 0;
        // File systems differ in what they report as the link count of a directory.
        Ok(if attributes.kind == FileType::Directory { is_removed } else { attributes.nlink == 0 })
    }
}
