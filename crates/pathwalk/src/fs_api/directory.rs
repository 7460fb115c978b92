//! The directory for which a file system is called.

use crate::Errno;
use crate::cache::Caches;
use crate::cache::icache::inode::key_of;
use crate::memory::slot::DentryId;
use crate::node::NodeKey;

/// The directory in which a name is looked up or changed. It is pinned during the call.
#[derive(Clone, Copy)]
pub struct Directory<'a> {
    caches: &'a Caches,
    dentry: DentryId,
}

impl<'a> Directory<'a> {
    /// Creates the view of a dentry on which the caller has a pin.
    pub(crate) fn new(caches: &'a Caches, dentry: DentryId) -> Directory<'a> {
        Directory { caches, dentry }
    }

    /// Returns the key of the directory's node.
    pub fn key(&self) -> NodeKey {
        key_of(self.caches.inodes.record(self.caches.dentries.inode(self.dentry)))
    }

    /// Returns its path from the root of the file system, `/` for the root: for file systems that
    /// work by paths.
    ///
    /// `ENOENT` once it was removed. The path is of some instant during the call; a directory above
    /// may be renamed at any time. Cost: one allocation and one a component.
    pub fn path(&self) -> Result<Vec<u8>, Errno> {
        let path = self.caches.path_below(self.dentry, DentryId::NONE)?;
        Ok(if path.is_empty() { b"/".to_vec() } else { path })
    }
}

impl std::fmt::Debug for Directory<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Directory({:?})", self.key())
    }
}
