//! The note that a file has no capability (`security.capability`) that a write would remove.
//! Linux: `S_NOSEC`.
//!
//! A note is made under the lock for changes of the node's attributes, after the file system was
//! asked. It goes before the engine sets a capability, and whenever the file system may have got
//! one without the engine. While the attributes are unknown there is no note.

use super::inode::{WORD, flags};
use crate::cache::Caches;
use crate::memory::seqcount;
use crate::memory::slot::InodeId;

impl Caches {
    /// Notes that a file has no capability, unless something changed since `version` was read.
    pub(crate) fn note_no_capability(&self, id: InodeId, version: u64) {
        let record = self.inodes.record(id);
        let _held = self.lock_inode(id);
        if self.versions.of(id) != version {
            return;
        }
        let writing = seqcount::write_alone(&record[WORD]);
        let flags = writing.flags();
        let note = if flags & flags::UNKNOWN == 0 { flags::NO_CAPABILITY } else { 0 };
        writing.end(flags | note);
    }

    /// Drops the note, and every answer of the file system that is on the way to become one.
    pub(crate) fn may_get_capability(&self, id: InodeId) {
        self.versions.moved(id);
        let record = self.inodes.record(id);
        let _held = self.lock_inode(id);
        let writing = seqcount::write_alone(&record[WORD]);
        let flags = writing.flags();
        writing.end(flags & !flags::NO_CAPABILITY);
    }
}
