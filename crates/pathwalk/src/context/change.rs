//! Operations of [`Context`] that open and change.

use super::{AsPath, At, Context};
use crate::abi::{AtFlags, LinkFlags, OpenHow, SetTime};
use crate::file::File;
use crate::fs_api::StatFs;
use crate::node::{NewKind, RenameFlags};
use crate::{Errno, ops};

/// The umask of a new context, as login shells set it.
pub(super) const UMASK: u16 = 0o022;

/// # Operations that change
///
/// They block: they take the directory's lock and call the file system. A change of names is seen
/// whole or not at all, by every thread and from every name. After a failure nothing has changed.
/// Besides the errors of every operation there are:
///
/// | errno | when |
/// |---|---|
/// | `EROFS` | the mount, or the file system, is read-only |
/// | `EACCES` | the directory may not be written and searched |
/// | `EOVERFLOW` | a node would be made by [`NO_ID`], or an id is unmapped in an id-mapped mount |
/// | `EPERM` | the directory or node is immutable or append-only |
/// | `EPERM` | the directory is sticky, and the caller owns neither it nor the node |
/// | `ENOSPC`, `EIO`, … | the file system returns it |
///
/// [`NO_ID`]: crate::permission::NO_ID
impl Context {
    /// Opens the node at `path`. Source: `open(2)`, `openat2(2)`.
    ///
    /// `EINVAL` for flags that contradict each other; `EEXIST` with `CREATE` and `EXCLUSIVE` if the
    /// name exists; `EISDIR` to write to a directory, or to create one or a name followed by a
    /// slash; `ENOTDIR`; `ELOOP` for a link with `NOFOLLOW`; `EACCES`; `ENXIO` for a device, pipe
    /// or socket; `EAGAIN` for [`CACHED`](crate::Resolve::CACHED). Cost: a lookup, and an
    /// allocation.
    pub fn open<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P, how: &OpenHow) -> Result<File, Errno> {
        if self.asks_caches_only() {
            return self.cached().open(at, path, how);
        }
        let opened = ops::open::open(&self.asker, at.begin(self), path.path_bytes(), how)?;
        Ok(File::new(self.vfs(), opened, how.flags, self.credentials().clone()))
    }

    /// Makes a directory. Of `mode`, it uses permission bits and the sticky bit. `EEXIST`,
    /// `EMLINK`. Source: `mkdirat(2)`.
    pub fn mkdir<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P, mode: u16) -> Result<(), Errno> {
        self.may_change()?;
        ops::make::make(&self.asker, at.begin(self), path.path_bytes(), NewKind::Directory, mode)
    }

    /// Makes a regular file, pipe, socket or device. `EEXIST`; `EPERM` for a directory, or for a
    /// device without `CAP_MKNOD`; `EINVAL` for a link, or for a device with a number that is out
    /// of range. Source: `mknodat(2)`.
    pub fn mknod<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P, kind: NewKind<'_>, mode: u16) -> Result<(), Errno> {
        self.may_change()?;
        ops::make::mknod(&self.asker, at.begin(self), path.path_bytes(), kind, mode)
    }

    /// Makes a link with the body `body`, which need not lead to anything. `ENOENT` for an empty
    /// body, `ENAMETOOLONG` for one over 4095 bytes, `EEXIST`. Source: `symlinkat(2)`.
    pub fn symlink<B: AsPath + ?Sized, P: AsPath + ?Sized>(&self, body: &B, at: At<'_>, path: &P) -> Result<(), Errno> {
        self.may_change()?;
        ops::make::symlink(&self.asker, body.path_bytes(), at.begin(self), path.path_bytes())
    }

    /// Gives the node at `old` another name. `EEXIST`; `EPERM` for a directory, or for a node that
    /// `protected_hardlinks` protects; `EMLINK`. Source: `linkat(2)`.
    pub fn link<P: AsPath + ?Sized, Q: AsPath + ?Sized>(
        &self,
        from: At<'_>,
        old: &P,
        to: At<'_>,
        new: &Q,
        how: LinkFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        ops::link::link(&self.asker, (from.begin(self), old.path_bytes()), (to.begin(self), new.path_bytes()), how)
    }

    /// Removes a name. `EISDIR` for a directory. Files that are open stay. Source: `unlinkat(2)`.
    pub fn unlink<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P) -> Result<(), Errno> {
        self.may_change()?;
        ops::remove::unlink(&self.asker, at.begin(self), path.path_bytes())
    }

    /// Removes an empty directory. `ENOTDIR`, `ENOTEMPTY`; `EINVAL` for `.`; `EBUSY` for the root.
    /// Source: `rmdir(2)`.
    pub fn rmdir<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P) -> Result<(), Errno> {
        self.may_change()?;
        ops::remove::rmdir(&self.asker, at.begin(self), path.path_bytes())
    }

    /// Renames `old` to `new`, and replaces what has that name, in one step. `EINVAL` for a
    /// directory into itself, `ENOTEMPTY`, `EISDIR`, `ENOTDIR`, `EBUSY` for `.` and `..`; `EEXIST`
    /// with `NOREPLACE`. Source: `renameat2(2)`.
    pub fn rename<P: AsPath + ?Sized, Q: AsPath + ?Sized>(
        &self,
        from: At<'_>,
        old: &P,
        to: At<'_>,
        new: &Q,
        how: RenameFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        ops::rename::rename(&self.asker, (from.begin(self), old.path_bytes()), (to.begin(self), new.path_bytes()), how)
    }

    /// Sets permission bits with suid, sgid and sticky. `EPERM` for callers that do not own the
    /// node, `EOPNOTSUPP` for a link. Source: `fchmodat2(2)`.
    pub fn chmod<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P, mode: u16, how: AtFlags) -> Result<(), Errno> {
        self.may_change()?;
        ops::set::chmod(&self.asker, at.begin(self), path.path_bytes(), mode, how)
    }

    /// Sets owner and group; `None` leaves one as it is. Clears suid and sgid, except on
    /// directories. `EPERM` without `CAP_CHOWN`, except for an owner that gives the node to one of
    /// its own groups; `EINVAL` for [`NO_ID`](crate::permission::NO_ID). Source: `fchownat(2)`.
    pub fn chown<P: AsPath + ?Sized>(
        &self,
        at: At<'_>,
        path: &P,
        uid: Option<u32>,
        gid: Option<u32>,
        how: AtFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        ops::set::chown(&self.asker, at.begin(self), path.path_bytes(), (uid, gid), how)
    }

    /// Sets the size of a regular file, in bytes. `EISDIR`; `EINVAL` for a node that is neither
    /// file nor directory, or for a size past 2⁶³−1; `EFBIG`. Source: `truncate(2)`.
    pub fn truncate<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P, size: u64) -> Result<(), Errno> {
        if size > i64::MAX as u64 {
            return Err(Errno::EINVAL);
        }
        self.may_change()?;
        ops::set::truncate(&self.asker, at.begin(self), path.path_bytes(), size)
    }

    /// Sets the times of access and of change. `EPERM` for all but the owner. If both become now, a
    /// caller that may write is allowed too, and others get `EACCES`. If both stay, the path is not
    /// even read. A time out of [`Timestamp`](crate::Timestamp)'s range becomes its nearest end.
    /// Source: `utimensat(2)`.
    pub fn set_times<P: AsPath + ?Sized>(
        &self,
        at: At<'_>,
        path: &P,
        atime: SetTime,
        mtime: SetTime,
        how: AtFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        ops::set::set_times(&self.asker, at.begin(self), path.path_bytes(), (atime, mtime), how)
    }

    /// Returns size and limits of the file system that `path` is on, and the flags of the mount.
    /// Source: `statfs(2)`.
    pub fn statfs<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P) -> Result<StatFs, Errno> {
        ops::stat::statfs(&self.asker, at.begin(self), path.path_bytes())
    }

    /// Sets the permission bits that new nodes do not get, 0..=0o777. Returns the previous umask. A
    /// new context has 022. Source: `umask(2)`.
    pub fn umask(&mut self, mask: u16) -> u16 {
        std::mem::replace(&mut self.asker.umask, mask & 0o777)
    }
}
