//! The operations that the caches alone can answer, for callers that must not wait.

use std::cell::Cell;

use super::{AsPath, At, Context};
use crate::Errno;
use crate::abi::{AtFlags, OpenHow};
use crate::attr::{Attributes, Statx, StatxMask};
use crate::file::File;
use crate::handle::Handle;
use crate::ops::{cached, open};
use crate::permission::Access;
use crate::walk::asker::Begin;
use crate::walk::hand_over::missing;
use crate::walk::verdict::Stopped;
use crate::walk::{Env, Whose};

impl Context {
    /// Returns a view of this context whose operations use the caches alone: `EAGAIN` where these
    /// do not suffice. For event loops and other threads that must not wait. They leave what is
    /// `EAGAIN` to a thread that may.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.file("/motd", 0o644)?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// assert_eq!(context.cached().stat("/motd"), Err(Errno::EAGAIN));
    /// context.stat("/motd")?;
    /// assert!(context.cached().stat("/motd").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn cached(&self) -> Cached<'_> {
        Cached { context: self, missing: Cell::new(None) }
    }
}

/// A [`Context`] that answers from the caches alone. Made by [`Context::cached`]; costs nothing to
/// make.
///
/// Each operation has the errors of the operation of the same name there. In addition, it returns
/// `EAGAIN` if the result is not cached, is out of date, is being changed, or depends on the file
/// system. A cached absence is a result: `ENOENT`. So is every other errno: see
/// [`Resolve::CACHED`](crate::Resolve::CACHED).
///
/// # Cost
///
/// No operation takes a lock, waits, or calls the file system (but [`open`](Self::open), which
/// calls [`try_open`](crate::FileSystem::try_open)). An answer costs the same as from a `Context`.
/// Source: `RESOLVE_CACHED` in `openat2(2)`, for every operation that changes nothing.
///
/// ```
/// use pathwalk::{Access, AtFlags, Credentials, Errno, OpenFlags, StatxMask, Vfs};
/// # let fs = pathwalk_memfs::MemFs::new();
/// # fs.file("/file", 0o644)?;
/// # fs.symlink("file", "/link")?;
/// let context = Vfs::builder().one_by_one().build(fs)?.context(Credentials::root());
/// let cached = context.cached();
/// assert_eq!(cached.stat("/link"), Err(Errno::EAGAIN));
/// assert!(cached.missing().is_some(), "a name that the file system has to be asked for");
/// context.stat("/link")?;
///
/// assert!(cached.stat("/link").is_ok() && cached.lstat("/link").is_ok());
/// cached.statx("/link", StatxMask::SIZE)?;
/// cached.access("/link", Access::READ)?;
/// cached.open("/link", OpenFlags::READ)?;
/// assert_eq!(cached.readlink("/link", &mut [0; 8]), Ok(4));
/// assert_eq!(cached.lookup("/link")?.path()?, b"/file");
/// assert_eq!(cached.access_many(&["/link", "/no"], Access::READ).next(), Some(Ok(())));
/// assert_eq!(cached.stat_many(&["/link", "/no"]).len(), 2);
/// assert_eq!(cached.lookup_many(&["/link", "/no"]).len(), 2);
///
/// // The same from a starting point.
/// let (root, none) = (context.root(), AtFlags::empty());
/// cached.faccessat(root, "file", Access::READ, none)?;
/// cached.fstatat(root, "file", none)?;
/// cached.statx_at(root, "file", none, StatxMask::SIZE)?;
/// cached.openat(root, "file", OpenFlags::READ)?;
/// cached.readlinkat(root, "link", &mut [0; 8])?;
/// cached.lookup_at(root, "file", none)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Cached<'a> {
    pub(super) context: &'a Context,
    missing: Cell<Option<MissingName>>,
}

/// A name that is not in the caches. It is equal for all callers that miss the same name in the
/// same directory of the same `Vfs`. It is a hash, so other names may have the same by accident. It
/// only says which callers may be waiting for the same answer. It is never printed, because it
/// reveals the table's secret seed.
///
/// [`Cached`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MissingName {
    vfs: usize,
    name: u64,
}

impl std::fmt::Debug for MissingName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MissingName").finish_non_exhaustive()
    }
}

impl Cached<'_> {
    /// Opens a file as [`Context::open`] does with [`CACHED`](crate::Resolve::CACHED): `EAGAIN`
    /// also for `CREATE`, `TRUNCATE` and `TMPFILE`, and where the file system cannot open without
    /// blocking.
    pub fn open(&self, path: impl AsPath, how: impl Into<OpenHow>) -> Result<File, Errno> {
        self.openat(At::Cwd, path, how)
    }

    /// Opens a file as [`Context::openat`] does.
    pub fn openat<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, how: impl Into<OpenHow>) -> Result<File, Errno> {
        let (at, how) = (self.context.begin(at), how.into());
        let env = Env::scoped(&self.context.asker, Whose::Effective, at, how.resolve);
        let opened = self.answer(env, path.path_bytes(), |env, path| open::cached(env, at, path, &how))?;
        Ok(File::new(self.context.vfs(), opened, how.flags, self.context.credentials().clone(), self.context.lock_owner))
    }

    /// Returns attributes as [`Context::statx`] does.
    #[inline]
    pub fn statx(&self, path: impl AsPath, mask: StatxMask) -> Result<Statx, Errno> {
        self.statx_at(At::Cwd, path, AtFlags::empty(), mask)
    }

    /// Returns attributes as [`Context::statx_at`] does.
    #[inline]
    pub fn statx_at<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        flags: AtFlags,
        mask: StatxMask,
    ) -> Result<Statx, Errno> {
        let at = self.context.begin(at);
        self.read(Whose::Effective, at, path.path_bytes(), |env, path| cached::statx(env, at, path, flags, mask))
    }

    /// Returns attributes as [`Context::stat`] does.
    #[inline]
    pub fn stat(&self, path: impl AsPath) -> Result<Attributes, Errno> {
        self.fstatat(At::Cwd, path, AtFlags::empty())
    }

    /// Returns attributes as [`Context::lstat`] does.
    #[inline]
    pub fn lstat(&self, path: impl AsPath) -> Result<Attributes, Errno> {
        self.fstatat(At::Cwd, path, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Returns attributes as [`Context::fstatat`] does.
    #[inline]
    pub fn fstatat<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, flags: AtFlags) -> Result<Attributes, Errno> {
        let at = self.context.begin(at);
        self.read(Whose::Effective, at, path.path_bytes(), |env, path| cached::fstatat(env, at, path, flags))
    }

    /// Checks rights as [`Context::access`] does.
    pub fn access(&self, path: impl AsPath, want: Access) -> Result<(), Errno> {
        self.faccessat(At::Cwd, path, want, AtFlags::empty())
    }

    /// Checks rights as [`Context::faccessat`] does.
    pub fn faccessat<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, want: Access, flags: AtFlags) -> Result<(), Errno> {
        let at = self.context.begin(at);
        let whose = if flags.contains(AtFlags::EACCESS) { Whose::Effective } else { Whose::Real };
        self.read(whose, at, path.path_bytes(), |env, path| cached::access(env, at, path, want, flags))
    }

    /// Copies the body of a link as [`Context::readlink`] does.
    pub fn readlink(&self, path: impl AsPath, buffer: &mut [u8]) -> Result<usize, Errno> {
        self.readlinkat(At::Cwd, path, buffer)
    }

    /// Copies the body of a link as [`Context::readlinkat`] does.
    pub fn readlinkat<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, buffer: &mut [u8]) -> Result<usize, Errno> {
        let at = self.context.begin(at);
        self.read(Whose::Effective, at, path.path_bytes(), |env, path| cached::readlink(env, at, path, buffer))
    }

    /// Returns a handle as [`Context::lookup`] does.
    pub fn lookup(&self, path: impl AsPath) -> Result<Handle, Errno> {
        self.lookup_at(At::Cwd, path, AtFlags::empty())
    }

    /// Returns a handle as [`Context::lookup_at`] does.
    pub fn lookup_at<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, flags: AtFlags) -> Result<Handle, Errno> {
        let at = self.context.begin(at);
        let found = self.read(Whose::Effective, at, path.path_bytes(), |env, path| cached::lookup(env, at, path, flags))?;
        Ok(Handle::from_pinned(self.context.vfs(), found))
    }

    /// Returns the name at which the last operation that was `EAGAIN` stopped, if it was a name. A
    /// caller that asks the file system for it on behalf of one such operation does so for all of
    /// them.
    pub fn missing(&self) -> Option<MissingName> {
        self.missing.get()
    }

    #[inline(always)]
    fn read<'a, T>(
        &'a self,
        whose: Whose,
        at: Begin,
        path: &'a [u8],
        operation: impl FnOnce(&Env<'a>, &'a [u8]) -> Result<T, Stopped<'a>>,
    ) -> Result<T, Errno> {
        self.answer(Env::of(&self.context.asker, whose, at), path, operation)
    }

    #[inline(always)]
    fn answer<'a, T>(
        &'a self,
        env: Env<'a>,
        path: &'a [u8],
        operation: impl FnOnce(&Env<'a>, &'a [u8]) -> Result<T, Stopped<'a>>,
    ) -> Result<T, Errno> {
        operation(&env, path).map_err(|stopped| self.again(&env, path, stopped))
    }

    #[cold]
    #[inline(never)]
    fn again(&self, env: &Env<'_>, path: &[u8], stopped: Stopped<'_>) -> Errno {
        if let Stopped::HandOver(resume) = &stopped {
            let vfs = std::ptr::from_ref(env.world).addr();
            self.missing.set(missing(env, path, resume).map(|name| MissingName { vfs, name }));
        }
        stopped.or_again()
    }
}
