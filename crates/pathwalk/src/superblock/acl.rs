//! Access control lists: reads and changes of them through the file system, and whether it is known
//! that a node has one.
//!
//! The lists themselves are not cached: the file system checks rights by them. What is cached is
//! whether there is an access list ([`AclState`]). Once the file system was asked, or a list was
//! set through the engine, that is known until the node leaves the cache or is refreshed from
//! outside.

use super::Trees;
use crate::Errno;
use crate::attr::AclState;
use crate::cache::icache::inode;
use crate::cache::icache::store::IfUnknown;
use crate::memory::slot::InodeId;
use crate::permission::{Acl, AclKind};

impl Trees {
    /// Asks the file system for a list of an inode on which the caller has a pin.
    pub(crate) fn get_acl(&self, id: InodeId, kind: AclKind) -> Result<Option<Acl>, Errno> {
        self.superblock(id).fs.get_acl(inode::key_of(self.caches.inodes.record(id)), kind)
    }

    /// Asks the file system whether the removal of a node's access list clears its sgid bit.
    pub(crate) fn acl_removal_clears_sgid(&self, id: InodeId) -> bool {
        self.superblock(id).fs.acl_removal_clears_sgid(inode::key_of(self.caches.inodes.record(id)))
    }

    /// Sets or removes a list through the file system, together with the mode.
    pub(crate) fn set_acl(&self, id: InodeId, kind: AclKind, acl: Option<&Acl>, mode: Option<u16>) -> Result<(), Errno> {
        let key = inode::key_of(self.caches.inodes.record(id));
        let (superblock, before) = (self.superblock(id), self.caches.versions.of(id));
        let attributes = self.caches.with_room(|| superblock.fs.set_acl(key, kind, acl, mode))?;
        let state = match (kind, acl) {
            (AclKind::Default, _) => IfUnknown::Keep,
            (AclKind::Access, Some(_)) => IfUnknown::Set(AclState::Present),
            (AclKind::Access, None) => IfUnknown::Set(AclState::Absent),
        };
        self.changed(id, attributes, before, (None, state)).map(drop)
    }
}
