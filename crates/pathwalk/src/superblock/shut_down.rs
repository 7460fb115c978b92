//! The shutdown of a file system that is mounted nowhere any more.
//!
//! Linux: `generic_shutdown_super`. Its data is put on stable storage, its cached dentries and
//! inodes are evicted, it is told to forget each node, and it is dropped.
//!
//! What always holds: no mount of it is held, so only evictions that are under way have pins on its
//! dentries.

use super::Trees;
use crate::memory::slot::SuperblockId;
use crate::sync::yield_now;

impl Trees {
    /// Shuts down a file system of which no mount is left. Blocks while the file system answers.
    ///
    /// An error of its `sync_at_end` is lost, as on Linux: no caller is left to report it to.
    pub(crate) fn shut_down(&self, id: SuperblockId) {
        let superblock = self.superblocks.get(id);
        let root = superblock.root();
        _ = superblock.fs.sync_at_end();
        let covered = self.caches.invalidate_below(root);
        debug_assert!(covered.is_empty(), "nothing is mounted where nothing is seen");
        drop(covered);
        self.caches.dentries.unpin(root);
        loop {
            // Another thread may be evicting the root, or have evicted it. Then this slot is
            // another's, or unused.
            self.caches.try_evict(root);
            if superblock.is_empty() {
                break;
            }
            // Dentries that were removed while they were held are in no list.
            if !self.caches.collect_removed() {
                yield_now();
            }
        }
        drop(superblock);
        self.superblocks.leave(id);
    }
}
