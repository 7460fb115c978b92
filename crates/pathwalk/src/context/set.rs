//! Operations of [`Context`] that set attributes.

use super::{AsPath, At, Context};
use crate::abi::{AtFlags, SetTime};
use crate::limits::OFFSET_MAX;
use crate::ops::Way;
use crate::{Errno, ops};

/// # Operations that set attributes
///
/// They block, and have the errors of operations that change.
///
/// ```
/// use pathwalk::{AtFlags, Credentials, SetTime, Vfs};
/// # let mut context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// assert_eq!(context.umask(0o077), 0o022);
/// context.write("/file", "data")?;
/// context.symlink("file", "/link")?;
/// assert_eq!(context.stat("/file")?.mode, 0o600);
/// context.chmod("/file", 0o640)?;
/// context.chown("/file", Some(1000), None)?;
/// context.lchown("/link", Some(1000), None)?;
/// context.truncate("/file", 2)?;
/// context.utimes("/file", SetTime::Keep, SetTime::Now)?;
///
/// // The same from a starting point.
/// let file = context.lookup("/file")?;
/// context.fchownat(&file, "", None, Some(100), AtFlags::EMPTY_PATH)?;
/// context.utimensat(&file, "", SetTime::Now, SetTime::Now, AtFlags::EMPTY_PATH)?;
/// context.fchmodat(context.root(), "file", 0o600, AtFlags::empty())?;
/// context.truncate_at(context.root(), "file", 1)?;
/// let attributes = context.stat("/link")?;
/// assert_eq!((attributes.uid, attributes.gid, attributes.mode, attributes.size), (1000, 100, 0o600, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Context {
    /// Sets permission bits with suid, sgid and sticky. `EPERM` for callers that do not own the
    /// node. Source: `chmod(2)`.
    pub fn chmod(&self, path: impl AsPath, mode: u16) -> Result<(), Errno> {
        self.fchmodat(At::Cwd, path, mode, AtFlags::empty())
    }

    /// Does the same as [`chmod`](Self::chmod) from a starting point and with flags. `EOPNOTSUPP`
    /// for a link with `SYMLINK_NOFOLLOW`. Source: `fchmodat2(2)`.
    pub fn fchmodat<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, mode: u16, flags: AtFlags) -> Result<(), Errno> {
        self.may_change()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::new(at, path, flags)], || ops::set::chmod(&self.asker, at, path, mode, flags))
    }

    /// Sets owner and group; `None` leaves one as it is. Clears suid and sgid, except on
    /// directories. `EPERM` without `CAP_CHOWN`, except for an owner that gives the node to one of
    /// its own groups; `EINVAL` for [`NO_ID`](crate::permission::NO_ID). Source: `chown(2)`.
    pub fn chown(&self, path: impl AsPath, uid: Option<u32>, gid: Option<u32>) -> Result<(), Errno> {
        self.fchownat(At::Cwd, path, uid, gid, AtFlags::empty())
    }

    /// Does the same as [`chown`](Self::chown) without following a link in the last component.
    /// Source: `lchown(2)`.
    pub fn lchown(&self, path: impl AsPath, uid: Option<u32>, gid: Option<u32>) -> Result<(), Errno> {
        self.fchownat(At::Cwd, path, uid, gid, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Does the same as [`chown`](Self::chown) from a starting point and with flags. Source:
    /// `fchownat(2)`.
    pub fn fchownat<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        uid: Option<u32>,
        gid: Option<u32>,
        flags: AtFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::new(at, path, flags)], || ops::set::chown(&self.asker, at, path, (uid, gid), flags))
    }

    /// Sets the size of a regular file, in bytes. `EISDIR`; `EINVAL` for a node that is neither
    /// file nor directory, or for a size past 2⁶³−1; `EFBIG`. Source: `truncate(2)`.
    pub fn truncate(&self, path: impl AsPath, size: u64) -> Result<(), Errno> {
        self.truncate_at(At::Cwd, path, size)
    }

    /// Does the same as [`truncate`](Self::truncate) from a starting point.
    pub fn truncate_at<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, size: u64) -> Result<(), Errno> {
        if size > OFFSET_MAX {
            return Err(Errno::EINVAL);
        }
        self.may_change()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::new(at, path, AtFlags::empty())], || ops::set::truncate(&self.asker, at, path, size))
    }

    /// Sets the times of access and of change. `EPERM` for all but the owner. If both become now, a
    /// caller that may write is allowed too, and others get `EACCES`. If both stay, the path is not
    /// even read. A time out of [`Timestamp`](crate::Timestamp)'s range becomes its nearest end.
    /// Source: `utimes(2)`, with nanoseconds.
    pub fn utimes(&self, path: impl AsPath, atime: SetTime, mtime: SetTime) -> Result<(), Errno> {
        self.utimensat(At::Cwd, path, atime, mtime, AtFlags::empty())
    }

    /// Does the same as [`utimes`](Self::utimes) from a starting point and with flags. Source:
    /// `utimensat(2)`.
    pub fn utimensat<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        atime: SetTime,
        mtime: SetTime,
        flags: AtFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::new(at, path, flags)], || {
            ops::set::set_times(&self.asker, at, path, (atime, mtime), flags)
        })
    }

    /// Sets the permission bits that new nodes do not get, 0..=0o777. Returns the previous umask. A
    /// new context has 022. Source: `umask(2)`.
    pub fn umask(&mut self, mask: u16) -> u16 {
        std::mem::replace(&mut self.asker.umask, mask & 0o777)
    }
}
