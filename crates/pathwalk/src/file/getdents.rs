//! Listing a directory as a process does through a descriptor: in batches, from a position that
//! moves.
//!
//! What a batch has is owned, and no lock is held when it is returned: so the caller may do
//! anything between two of them. [`ReadDir`](crate::ReadDir) is for callers that want one entry
//! after the other.

use std::ops::ControlFlow;

use super::{Dirent, File};
use crate::Errno;
use crate::attr::FileType;

/// One entry of a directory as [`File::getdents`] gives it. Source: `struct linux_dirent64` in
/// `getdents(2)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Its name, `.` and `..` included.
    pub name: Box<[u8]>,
    /// Its inode number.
    pub ino: u64,
    /// Its type.
    pub kind: FileType,
    /// Where a listing goes on behind it: for [`File::seek`]. It stays good while entries come and
    /// go.
    pub cookie: u64,
}

impl From<Dirent<'_>> for Listed {
    fn from(entry: Dirent<'_>) -> Listed {
        Listed { name: entry.name.into(), ino: entry.ino, kind: entry.kind, cookie: entry.cookie }
    }
}

impl File {
    /// Returns the entries behind its position, so many at most, `.` and `..` included; none at the
    /// end. The position is behind the last of them. Source: `getdents(2)`.
    ///
    /// `EINVAL` for 0 entries; `ENOTDIR` for what is no directory, `EBADF` for a place only,
    /// `ENOENT` for a directory that was removed; and what the file system says. An error behind
    /// some entries comes with the next call. Entries that are there all the time come exactly
    /// once; those that come or go meanwhile come once or not. After a listing from the beginning
    /// to the end, the file system is not asked any more about names that are not there, for as
    /// long as the cache keeps those that are. A listing from a later position, as from that behind
    /// `..`, leaves the cache alone, which makes it cheaper for a caller that keeps the names.
    ///
    /// Cost: two allocations and one of each name. It blocks while the file system answers, and
    /// while another thread lists through the same file.
    ///
    /// ```
    /// use pathwalk::{Credentials, OpenFlags, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.file("/a", 0o644)?;
    /// # fs.file("/b", 0o644)?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let root = context.open("/", OpenFlags::READ)?;
    /// let names = |batch: Vec<pathwalk::Listed>| batch.into_iter().map(|entry| entry.name).collect::<Vec<_>>();
    /// assert_eq!(names(root.getdents(3)?), [&b"."[..], b"..", b"b"].map(Box::from));
    /// context.unlink("/b")?;
    /// assert_eq!(names(root.getdents(usize::MAX)?), [Box::from(&b"a"[..])]);
    /// assert!(root.getdents(1)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn getdents(&self, at_most: usize) -> Result<Vec<Listed>, Errno> {
        if at_most == 0 {
            return Err(Errno::EINVAL);
        }
        let mut listed = Vec::new();
        let all = self.list(|entry| {
            listed.push(entry.into());
            if listed.len() == at_most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        // The position is behind those that came before an error: they do not come again.
        if listed.is_empty() { all.map(|()| listed) } else { Ok(listed) }
    }
}
