//! Operations of [`Context`] that change nothing.

use super::{AsPath, At, Context, Steps, steps};
use crate::abi::AtFlags;
use crate::attr::{Attributes, Details, Statx, StatxMask};
use crate::fs_api::StatFs;
use crate::handle::Handle;
use crate::ops::Way;
use crate::permission::Access;
use crate::{Errno, ops};

/// # Operations that change nothing
///
/// ```
/// use pathwalk::{Access, At, AtFlags, Credentials, Errno, FileType, StatxMask, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.write("/file", "data")?;
/// context.symlink("file", "/link")?;
/// context.access("/link", Access::READ)?;
/// assert_eq!(context.stat("/link")?.size, 4);
/// assert_eq!(context.lstat("/link")?.kind, FileType::Symlink);
/// assert_eq!(context.statx("/link", StatxMask::SIZE)?.attributes.size, 4);
/// let mut body = [0; 8];
/// assert_eq!(context.readlink("/link", &mut body), Ok(4));
/// assert_eq!(context.lookup("/link")?.path()?, b"/file");
/// assert_eq!(context.statfs("/")?.block_size, 4096);
/// assert_eq!(context.steps("/no").answer.unwrap_err(), Errno::ENOENT);
///
/// // The same from a starting point.
/// let (root, none) = (context.root(), AtFlags::empty());
/// context.faccessat(root, "file", Access::READ, AtFlags::EACCESS)?;
/// assert_eq!(context.fstatat(root, "link", AtFlags::SYMLINK_NOFOLLOW)?.kind, FileType::Symlink);
/// context.statx_at(root, "file", none, StatxMask::SIZE)?;
/// context.details_at(root, "file", none, StatxMask::CHANGE_COOKIE)?;
/// assert_eq!(context.readlinkat(root, "link", &mut body), Ok(4));
/// context.lookup_at(root, "file", none)?;
/// context.statfs_at(root, "file")?;
/// assert!(context.steps_at(At::Cwd, "file", none).answer.is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Context {
    /// Checks whether the *real* ids have the rights `want` to the node at `path`. Source:
    /// `access(2)`.
    ///
    /// `EACCES` if not; `EROFS` for writing on a read-only file system or mount; `EPERM` for
    /// writing to an immutable node.
    #[inline]
    pub fn access(&self, path: impl AsPath, want: Access) -> Result<(), Errno> {
        if self.asker.rules.are_none() {
            ops::access::access(&self.asker, path.path_bytes(), want)
        } else {
            self.access_by_rules(path.path_bytes(), want)
        }
    }

    /// Checks whether the caller may execute a file. `EACCES` for a node that is no regular file,
    /// without the right to execute, on a `NOEXEC` mount, or where the security hook refuses it.
    /// Source: `AT_EXECVE_CHECK` in `execveat(2)`.
    ///
    /// ```
    /// use pathwalk::{AtFlags, Credentials, Errno, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/tool", "")?;
    /// assert_eq!(context.may_execute("/tool"), Err(Errno::EACCES));
    /// context.chmod("/tool", 0o755)?;
    /// assert_eq!(context.may_execute("/tool"), Ok(()));
    /// let tool = context.lookup("/tool")?;
    /// assert_eq!(context.may_execute_at(&tool, "", AtFlags::EMPTY_PATH), Ok(()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn may_execute(&self, path: impl AsPath) -> Result<(), Errno> {
        self.may_execute_at(At::Cwd, path, AtFlags::empty())
    }

    /// Does the same as [`may_execute`](Self::may_execute) from a starting point and with flags.
    /// `ELOOP` for a link with `SYMLINK_NOFOLLOW`.
    pub fn may_execute_at<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, flags: AtFlags) -> Result<(), Errno> {
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::new(at, path, flags)], || ops::execute::may_execute(&self.asker, at, path, flags))
    }

    /// Does the same as [`access`](Self::access) from a starting point and with flags. Source:
    /// `faccessat2(2)`.
    pub fn faccessat<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, want: Access, flags: AtFlags) -> Result<(), Errno> {
        if self.asks_caches_only() {
            return self.cached().faccessat(at, path, want, flags);
        }
        ops::access::faccessat(&self.asker, self.begin(at), path.path_bytes(), want, flags)
    }

    /// Returns the attributes of the node at `path`. Source: `stat(2)`.
    pub fn stat(&self, path: impl AsPath) -> Result<Attributes, Errno> {
        self.fstatat(At::Cwd, path, AtFlags::empty())
    }

    /// Does the same as [`stat`](Self::stat) without following a link in the last component.
    /// Source: `lstat(2)`.
    pub fn lstat(&self, path: impl AsPath) -> Result<Attributes, Errno> {
        self.fstatat(At::Cwd, path, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Does the same as [`stat`](Self::stat) from a starting point and with flags. `EINVAL` for
    /// `EACCESS`. Source: `fstatat(2)`.
    pub fn fstatat<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, flags: AtFlags) -> Result<Attributes, Errno> {
        if self.asks_caches_only() {
            return self.cached().fstatat(at, path, flags);
        }
        ops::stat::fstatat(&self.asker, self.begin(at), path.path_bytes(), flags)
    }

    /// Returns the requested attributes of the node at `path`, and perhaps others. A request for
    /// only type, mode, owner and group never asks the file system for what is cached. Source:
    /// `statx(2)`.
    pub fn statx(&self, path: impl AsPath, mask: StatxMask) -> Result<Statx, Errno> {
        self.statx_at(At::Cwd, path, AtFlags::empty(), mask)
    }

    /// Does the same as [`statx`](Self::statx) from a starting point and with flags.
    ///
    /// By [`FORCE_SYNC`](AtFlags::FORCE_SYNC) the file system is asked for the attributes, whatever
    /// the caches have. By [`DONT_SYNC`](AtFlags::DONT_SYNC) it is not asked for them, and the mask
    /// of the result has those alone that are up to date. `EINVAL` for both, and for `EACCESS`.
    pub fn statx_at<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        flags: AtFlags,
        mask: StatxMask,
    ) -> Result<Statx, Errno> {
        if self.asks_caches_only() {
            return self.cached().statx_at(at, path, flags, mask);
        }
        ops::stat::statx(&self.asker, self.begin(at), path.path_bytes(), flags, mask)
    }

    /// Returns the requested attributes, and what the file system has beside them: see [`Details`].
    /// Each request asks the file system. A bit of the mask says what is there.
    ///
    /// With a change cookie come attributes that were read after it, so a client that keeps both
    /// sees each later change. By [`DONT_SYNC`](AtFlags::DONT_SYNC) there are no details. `EAGAIN`
    /// under [`Resolve::CACHED`](crate::Resolve::CACHED).
    pub fn details(&self, path: impl AsPath, mask: StatxMask) -> Result<(Statx, Details), Errno> {
        self.details_at(At::Cwd, path, AtFlags::empty(), mask)
    }

    /// Does the same as [`details`](Self::details) from a starting point and with the flags of
    /// [`statx_at`](Self::statx_at).
    pub fn details_at<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        flags: AtFlags,
        mask: StatxMask,
    ) -> Result<(Statx, Details), Errno> {
        self.may_ask_file_system()?;
        ops::stat::statx_by_flags(&self.asker, self.begin(at), path.path_bytes(), flags, mask)
    }

    /// Copies the body of a link into `buffer`, truncated to its size, and returns the number of
    /// bytes copied. No NUL is written. `EINVAL` for an empty buffer or for a node that is no link.
    /// [`read_link`](Self::read_link) returns the whole body. Source: `readlink(2)`.
    #[inline]
    pub fn readlink(&self, path: impl AsPath, buffer: &mut [u8]) -> Result<usize, Errno> {
        self.readlinkat(At::Cwd, path, buffer)
    }

    /// Does the same as [`readlink`](Self::readlink) from a starting point. An empty path means the
    /// handle itself, and is `ENOENT` if that is no link. Source: `readlinkat(2)`.
    pub fn readlinkat<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, buffer: &mut [u8]) -> Result<usize, Errno> {
        if self.asks_caches_only() {
            return self.cached().readlinkat(at, path, buffer);
        }
        ops::readlink::readlinkat(&self.asker, self.begin(at), path.path_bytes(), buffer)
    }

    /// Returns a handle on the place at `path`, as `open(O_PATH)` does.
    pub fn lookup(&self, path: impl AsPath) -> Result<Handle, Errno> {
        self.lookup_at(At::Cwd, path, AtFlags::empty())
    }

    /// Does the same as [`lookup`](Self::lookup) from a starting point and with flags. `EINVAL` for
    /// `EACCESS`.
    pub fn lookup_at<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, flags: AtFlags) -> Result<Handle, Errno> {
        if self.asks_caches_only() {
            return self.cached().lookup_at(at, path, flags);
        }
        let found = ops::lookup::lookupat(&self.asker, self.begin(at), path.path_bytes(), flags)?;
        Ok(Handle::from_pinned(self.vfs(), found))
    }

    /// Returns the lookup of `path` step by step: each name and its node, each link and where it
    /// leads, and where and why the walk ends. For explanations to users. The result is that of
    /// [`lookup`](Self::lookup).
    ///
    /// Cost: a walk with locks, and a handle for each step, all held until the result is dropped.
    pub fn steps(&self, path: impl AsPath) -> Steps {
        self.steps_at(At::Cwd, path, AtFlags::empty())
    }

    /// Does the same as [`steps`](Self::steps) from a starting point and with flags. The result is
    /// that of [`lookup_at`](Self::lookup_at).
    pub fn steps_at<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, flags: AtFlags) -> Steps {
        steps::steps(self, at.into(), path.path_bytes(), flags)
    }

    /// Returns size and limits of the file system that `path` is on, and the flags of the mount.
    /// Source: `statfs(2)`.
    pub fn statfs(&self, path: impl AsPath) -> Result<StatFs, Errno> {
        self.statfs_at(At::Cwd, path)
    }

    /// Does the same as [`statfs`](Self::statfs) from a starting point.
    pub fn statfs_at<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath) -> Result<StatFs, Errno> {
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::new(at, path, AtFlags::empty())], || ops::stat::statfs(&self.asker, at, path))
    }

    /// Puts all that was written to the file system that `path` is on on stable storage, as
    /// [`File::syncfs`](crate::File::syncfs) does, which has an example. Linux takes a descriptor,
    /// which may be of any node that can be opened. Source: `syncfs(2)`.
    pub fn syncfs(&self, path: impl AsPath) -> Result<(), Errno> {
        let (at, path) = (self.begin(At::Cwd), path.path_bytes());
        ops::healed(&self.asker, [Way::new(at, path, AtFlags::empty())], || ops::sync::syncfs(&self.asker, at, path))
    }
}
