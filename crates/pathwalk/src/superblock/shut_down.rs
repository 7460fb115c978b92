//! A file system is let go of: nothing of it is mounted any more.
//!
//! Linux: `generic_shutdown_super`. Its data are put on stable storage, what is cached of it is
//! evicted, each node is told to be forgotten, and the file system is dropped.
//!
//! What always holds: no mount of it is held, so nothing but an eviction that is under way has a
//! pin on a dentry of it.

use super::Trees;
use crate::memory::slot::SuperblockId;
use crate::sync::yield_now;

impl Trees {
    /// Lets go of a file system, of which no mount is left. Blocks while the file system answers.
    ///
    /// An error of its `sync` is lost, as on Linux: there is no caller left to tell.
    pub(crate) fn shut_down(&self, id: SuperblockId) {
        let superblock = self.superblocks.get(id);
        let root = superblock.root();
        _ = superblock.fs.sync();
        let covered = self.caches.invalidate_below(root);
        debug_assert!(covered.is_empty(), "nothing is mounted where nothing is seen");
        drop(covered);
        self.caches.dentries.unpin(root);
        loop {
            // Another thread may be at it, or have done it: then this is another's slot, or unused.
            self.caches.try_evict(root);
            if superblock.is_empty() {
                break;
            }
            // What was removed while it was held is in no list.
            if !self.caches.collect_removed() {
                yield_now();
            }
        }
        drop(superblock);
        self.superblocks.leave(id);
    }
}
