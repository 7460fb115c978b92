//! An owned handle on a place in the tree.

use crate::Errno;
use crate::attr::{Attributes, FileType};
use crate::dcache::dentry::DentryId;
use crate::ops;
use crate::vfs::Vfs;

/// A pinned place in the tree, as an `O_PATH` descriptor is: any kind of node, no right to read or write it.
///
/// It stays what it is when it is renamed or unlinked. Dropping one never blocks: it gives a count back, and what has become
/// garbage is collected by whoever next needs the memory. (The last of all handles, contexts and clones of a `Vfs` takes the caches with
/// it, which tells the file system of every node.)
pub struct Handle {
    vfs: Vfs,
    dentry: DentryId,
}

impl Handle {
    /// Takes over a pin that the caller holds.
    pub(crate) fn from_pinned(vfs: &Vfs, dentry: DentryId) -> Handle {
        Handle { vfs: vfs.clone(), dentry }
    }

    #[inline(always)]
    pub(crate) fn dentry(&self) -> DentryId {
        self.dentry
    }

    #[inline(always)]
    pub(crate) fn vfs(&self) -> &Vfs {
        &self.vfs
    }

    /// What it is.
    pub fn kind(&self) -> FileType {
        ops::stat::kind(self)
    }

    /// Its attributes; asks the file system only if the cached ones are out of date. Source: `fstat(2)`.
    pub fn attributes(&self) -> Result<Attributes, Errno> {
        ops::stat::attributes(self)
    }

    /// The path from the root of the `Vfs`, as `/proc/self/fd` would show it; `ENOENT` once it, or a directory above, was
    /// removed. Another moment, another answer: for messages, not for decisions.
    pub fn path(&self) -> Result<Vec<u8>, Errno> {
        self.vfs.core().path_of(self.dentry)
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        self.vfs.core().dentries.pin_again(self.dentry);
        Handle { vfs: self.vfs.clone(), dentry: self.dentry }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.vfs.core().dentries.unpin(self.dentry);
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.path() {
            Ok(path) => write!(f, "Handle(\"{}\")", path.escape_ascii()),
            Err(errno) => write!(f, "Handle({errno:?})"),
        }
    }
}
