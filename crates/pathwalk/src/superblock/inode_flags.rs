//! The flags of nodes that users set, and their generations: the file system is asked for them each
//! time.
//!
//! What the engine enforces of them, immutable and append-only, is in the attributes, too, and
//! those are cached.

use super::Trees;
use crate::Errno;
use crate::attr::InodeFlags;
use crate::cache::icache::inode;
use crate::cache::icache::pool::ChangingHeld;
use crate::cache::icache::store::IfUnknown;
use crate::memory::slot::InodeId;

impl Trees {
    /// Returns the flags of an inode on which the caller has a pin: `ENOTTY` where it has none.
    pub(crate) fn inode_flags(&self, id: InodeId) -> Result<InodeFlags, Errno> {
        self.superblock(id).fs.inode_flags(inode::key_of(self.caches.inodes.record(id)))
    }

    /// Sets the flags. When it has returned, no walk that begins sees the old ones.
    pub(crate) fn set_inode_flags(&self, id: InodeId, to: InodeFlags, _held: &ChangingHeld<'_>) -> Result<(), Errno> {
        let key = inode::key_of(self.caches.inodes.record(id));
        let before = self.caches.versions.of(id);
        let attributes = self.superblock(id).fs.set_inode_flags(key, to)?;
        self.changed(id, attributes, before, (None, IfUnknown::Keep)).map(drop)
    }

    /// Returns the generation of an inode on which the caller has a pin: `ENOTTY` where it has
    /// none.
    pub(crate) fn generation(&self, id: InodeId) -> Result<u32, Errno> {
        self.superblock(id).fs.generation(inode::key_of(self.caches.inodes.record(id)))
    }

    /// Sets the generation.
    pub(crate) fn set_generation(&self, id: InodeId, to: u32, _held: &ChangingHeld<'_>) -> Result<(), Errno> {
        let key = inode::key_of(self.caches.inodes.record(id));
        let before = self.caches.versions.of(id);
        let attributes = self.superblock(id).fs.set_generation(key, to)?;
        self.changed(id, attributes, before, (None, IfUnknown::Keep)).map(drop)
    }
}
