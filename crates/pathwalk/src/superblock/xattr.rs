//! Extended attributes of nodes: the file system is asked for them each time, but for the absence
//! of a file capability.
//!
//! A write, a truncation and a change of owner remove a file's capability (`security.capability`),
//! as they clear suid and sgid bits. That there is none is noted with the inode, so of most files
//! the file system is asked once. Source: `file_remove_privs` and `cap_inode_killpriv` of Linux.

use super::Trees;
use crate::Errno;
use crate::abi::XattrFlags;
use crate::cache::icache::inode;
use crate::cache::icache::pool::ChangingHeld;
use crate::fs_api::{XattrList, XattrName};
use crate::memory::slot::InodeId;
use crate::node::NodeKey;
use crate::permission::Subject;

impl Trees {
    /// Returns the value of an attribute of an inode on which the caller has a pin: `ENODATA` where
    /// there is none.
    pub(crate) fn get_xattr(&self, id: InodeId, name: XattrName<'_>) -> Result<Box<[u8]>, Errno> {
        self.superblock(id).fs.get_xattr(self.key_of(id), name)?.ok_or(Errno::ENODATA)
    }

    /// Adds the names of those attributes that `shows` accepts to a list: `E2BIG` if they are too
    /// many.
    pub(crate) fn list_xattrs(&self, id: InodeId, list: &mut XattrList, shows: impl Fn(&[u8]) -> bool) -> Result<(), Errno> {
        let mut fits = Ok(());
        self.superblock(id).fs.list_xattrs(self.key_of(id), &mut |name| {
            if fits.is_ok() && shows(name) {
                fits = list.push(name);
            }
        })?;
        fits
    }

    /// Sets an attribute.
    pub(crate) fn set_xattr(
        &self,
        id: InodeId,
        name: XattrName<'_>,
        value: &[u8],
        flags: XattrFlags,
        _held: &ChangingHeld<'_>,
    ) -> Result<(), Errno> {
        if name == XattrName::CAPABILITY {
            self.caches.may_get_capability(id);
        }
        let (superblock, key) = (self.superblock(id), self.key_of(id));
        self.caches.with_room(|| superblock.fs.set_xattr(key, name, value, flags))?;
        self.caches.mark_stale(id);
        Ok(())
    }

    /// Removes an attribute.
    pub(crate) fn remove_xattr(&self, id: InodeId, name: XattrName<'_>, _held: &ChangingHeld<'_>) -> Result<(), Errno> {
        self.superblock(id).fs.remove_xattr(self.key_of(id), name)?;
        self.caches.mark_stale(id);
        Ok(())
    }

    /// Removes the capability of a file that `who` is about to change. `EOVERFLOW` if it has one,
    /// and owner or group are unmapped. As on Linux, one that the file system cannot read is left,
    /// and an empty one is none.
    pub(crate) fn drop_capability(&self, id: InodeId, who: &Subject<'_>, held: &ChangingHeld<'_>) -> Result<(), Errno> {
        let of = self.known_snapshot(id)?;
        if of.has_no_capability() {
            return Ok(());
        }
        let version = self.caches.versions.of(id);
        let is_there = match self.superblock(id).fs.get_xattr(self.key_of(id), XattrName::CAPABILITY) {
            Ok(value) => value.is_some_and(|value| !value.is_empty()),
            Err(Errno::EOPNOTSUPP) => false,
            Err(_) => return Ok(()),
        };
        if !is_there {
            self.caches.note_no_capability(id, version);
            return Ok(());
        }
        if !of.is_seen_by(who) {
            return Err(Errno::EOVERFLOW);
        }
        match self.remove_xattr(id, XattrName::CAPABILITY, held) {
            // Of a file that became immutable it is removed by the change itself.
            Err(Errno::ENODATA | Errno::EPERM) => Ok(()),
            removed => removed,
        }
    }

    pub(super) fn key_of(&self, id: InodeId) -> NodeKey {
        inode::key_of(self.caches.inodes.record(id))
    }
}
