//! Operations of [`Context`] that open, and that change names.

use super::{AsPath, At, Context};
use crate::abi::{LinkFlags, OpenHow, UnlinkFlags};
use crate::file::File;
use crate::node::{NewKind, RenameFlags};
use crate::ops::Way;
use crate::{Errno, ops};

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
///
/// ```
/// use pathwalk::{At, Credentials, Errno, LinkFlags, NewKind, OpenFlags, RenameFlags, UnlinkFlags, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.mkdir("/a", 0o755)?;
/// context.mknod("/a/pipe", NewKind::Fifo, 0o600)?;
/// context.symlink("pipe", "/a/link")?;
/// context.link("/a/pipe", "/a/other")?;
/// context.unlink("/a/link")?;
/// assert_eq!(context.rmdir("/a"), Err(Errno::ENOTEMPTY));
///
/// // The same from a starting point.
/// let a = context.lookup("/a")?;
/// context.mkdirat(&a, "sub", 0o755)?;
/// context.mknodat(&a, "sub/pipe", NewKind::Fifo, 0o600)?;
/// context.symlinkat("sub/pipe", &a, "link")?;
/// context.linkat(&a, "pipe", &a, "third", LinkFlags::empty())?;
/// context.unlinkat(&a, "pipe", UnlinkFlags::empty())?;
/// context.renameat(&a, "third", At::Cwd, "/pipe", RenameFlags::NOREPLACE)?;
/// context.openat(&a, "new", OpenFlags::WRITE | OpenFlags::CREATE)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Context {
    /// Opens the node at `path`. The parameters are [`OpenFlags`](crate::OpenFlags), with which a
    /// new file has mode 0666 before the umask, or an [`OpenHow`]. Source: `open(2)`.
    /// [`OpenOptions`](crate::OpenOptions) opens as the standard library does.
    ///
    /// `EINVAL` for flags that contradict each other; `EEXIST` with `CREATE` and `EXCLUSIVE` if the
    /// name exists; `EISDIR` to write to a directory, or to create one or a name followed by a
    /// slash; `ENOTDIR`; `ELOOP` for a link with `NOFOLLOW`; `EACCES`; `ENXIO` for a socket, a
    /// device without a [`Driver`](crate::Driver), and, with
    /// [`NONBLOCK`](crate::OpenFlags::NONBLOCK), to write to a named pipe that no one reads;
    /// `EAGAIN` for [`CACHED`](crate::Resolve::CACHED). Cost: a lookup, and an allocation.
    ///
    /// The open of a named pipe waits for its other end, as `fifo(7)` says: a reader for a writer,
    /// a writer for a reader, one that is both for neither. A
    /// [`Cancellation`](crate::Cancellation) ends the wait (`ECANCELED`).
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, OpenFlags, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let file = context.open("/motd", OpenFlags::WRITE | OpenFlags::CREATE)?;
    /// file.write_all(b"hello")?;
    /// assert_eq!(context.stat("/motd")?.mode, 0o644);
    /// assert_eq!(context.open("/", OpenFlags::WRITE).unwrap_err(), Errno::EISDIR);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(&self, path: impl AsPath, how: impl Into<OpenHow>) -> Result<File, Errno> {
        self.openat(At::Cwd, path, how)
    }

    /// Does the same as [`open`](Self::open) from a starting point. Source: `openat2(2)`.
    pub fn openat<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, how: impl Into<OpenHow>) -> Result<File, Errno> {
        let how = how.into();
        if self.asks_caches_only() {
            return self.cached().openat(at, path, how);
        }
        let (at, path) = (self.begin(at), path.path_bytes());
        let opened =
            ops::healed(&self.asker, [ops::open::way(at, path, &how)], || ops::open::open(&self.asker, at, path, &how))??;
        Ok(File::new(self.vfs(), opened, how.flags, self.credentials().clone(), self.lock_owner))
    }

    /// Makes a directory. Of `mode`, it uses permission bits and the sticky bit. `EEXIST`,
    /// `EMLINK`. Source: `mkdir(2)`.
    pub fn mkdir(&self, path: impl AsPath, mode: u16) -> Result<(), Errno> {
        self.mkdirat(At::Cwd, path, mode)
    }

    /// Does the same as [`mkdir`](Self::mkdir) from a starting point. Source: `mkdirat(2)`.
    pub fn mkdirat<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, mode: u16) -> Result<(), Errno> {
        self.may_change()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::to_name(at, path)], || ops::make::make(&self.asker, at, path, NewKind::Directory, mode))
    }

    /// Makes a regular file, pipe, socket or device. `EEXIST`; `EPERM` for a directory, or for a
    /// device without `CAP_MKNOD`; `EINVAL` for a link, or for a device with a number that is out
    /// of range. Source: `mknod(2)`.
    pub fn mknod(&self, path: impl AsPath, kind: NewKind<'_>, mode: u16) -> Result<(), Errno> {
        self.mknodat(At::Cwd, path, kind, mode)
    }

    /// Does the same as [`mknod`](Self::mknod) from a starting point. Source: `mknodat(2)`.
    pub fn mknodat<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, kind: NewKind<'_>, mode: u16) -> Result<(), Errno> {
        self.may_change()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::to_name(at, path)], || ops::make::mknod(&self.asker, at, path, kind, mode))
    }

    /// Makes a link with the body `body`, which need not lead to anything. `ENOENT` for an empty
    /// body, `ENAMETOOLONG` for one over 4095 bytes, `EEXIST`. Source: `symlink(2)`.
    pub fn symlink(&self, body: impl AsPath, path: impl AsPath) -> Result<(), Errno> {
        self.symlinkat(body, At::Cwd, path)
    }

    /// Does the same as [`symlink`](Self::symlink) from a starting point. Source: `symlinkat(2)`.
    pub fn symlinkat<'a>(&self, body: impl AsPath, at: impl Into<At<'a>>, path: impl AsPath) -> Result<(), Errno> {
        self.may_change()?;
        let (at, path, body) = (self.begin(at), path.path_bytes(), body.path_bytes());
        ops::healed(&self.asker, [Way::to_name(at, path)], || ops::make::symlink(&self.asker, body, at, path))
    }

    /// Gives the node at `old` another name; of a link, the link. `EEXIST`; `EPERM` for a
    /// directory, or for a node that `protected_hardlinks` protects; `EMLINK`. Source: `link(2)`.
    pub fn link(&self, old: impl AsPath, new: impl AsPath) -> Result<(), Errno> {
        self.linkat(At::Cwd, old, At::Cwd, new, LinkFlags::empty())
    }

    /// Does the same as [`link`](Self::link) from two starting points and with flags. Source:
    /// `linkat(2)`.
    pub fn linkat<'a, 'b>(
        &self,
        from: impl Into<At<'a>>,
        old: impl AsPath,
        to: impl Into<At<'b>>,
        new: impl AsPath,
        flags: LinkFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        let (from, to) = ((self.begin(from), old.path_bytes()), (self.begin(to), new.path_bytes()));
        let ways = [ops::link::way(from, flags), Way::to_name(to.0, to.1)];
        ops::healed(&self.asker, ways, || ops::link::link(&self.asker, from, to, flags))
    }

    /// Removes a name. `EISDIR` for a directory. Files that are open stay. Source: `unlink(2)`.
    pub fn unlink(&self, path: impl AsPath) -> Result<(), Errno> {
        self.unlinkat(At::Cwd, path, UnlinkFlags::empty())
    }

    /// Removes an empty directory. `ENOTDIR`, `ENOTEMPTY`; `EINVAL` for `.`; `EBUSY` for the root.
    /// Source: `rmdir(2)`.
    pub fn rmdir(&self, path: impl AsPath) -> Result<(), Errno> {
        self.unlinkat(At::Cwd, path, UnlinkFlags::REMOVEDIR)
    }

    /// Does the same as [`unlink`](Self::unlink), or as [`rmdir`](Self::rmdir) with
    /// [`REMOVEDIR`](UnlinkFlags::REMOVEDIR), from a starting point. `EINVAL` for unknown flags.
    /// Source: `unlinkat(2)`.
    pub fn unlinkat<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, flags: UnlinkFlags) -> Result<(), Errno> {
        self.may_change()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        match flags {
            UnlinkFlags::REMOVEDIR => {
                ops::healed(&self.asker, [Way::to_name(at, path)], || ops::remove::rmdir(&self.asker, at, path))
            }
            none if none.is_empty() => {
                ops::healed(&self.asker, [Way::to_name(at, path)], || ops::remove::unlink(&self.asker, at, path))
            }
            _ => Err(Errno::EINVAL),
        }
    }

    /// Renames `old` to `new`, and replaces what has that name, in one step. `EINVAL` for a
    /// directory into itself, `ENOTEMPTY`, `EISDIR`, `ENOTDIR`, `EBUSY` for `.` and `..`; `EEXIST`
    /// with `NOREPLACE`. The plain form is [`rename`](Self::rename). Source: `renameat2(2)`.
    pub fn renameat<'a, 'b>(
        &self,
        from: impl Into<At<'a>>,
        old: impl AsPath,
        to: impl Into<At<'b>>,
        new: impl AsPath,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        let (from, to) = ((self.begin(from), old.path_bytes()), (self.begin(to), new.path_bytes()));
        ops::healed(&self.asker, [from, to].map(|(at, path)| Way::to_name(at, path)), || {
            ops::rename::rename(&self.asker, from, to, flags)
        })
    }
}
