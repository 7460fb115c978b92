//! The context of a caller: root, working directory and credentials; and every operation on paths.
//!
//! A [`Context`] corresponds to a process in the kernel. It holds its root and its working
//! directory pinned, so that a walk starts without taking a reference count. Operations borrow it
//! shared, so threads may use one together; changing directory takes `&mut`.

mod cached;
mod change;
mod many;
mod mounts;
mod scope;
mod steps;

use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::abi::AtFlags;
use crate::attr::{Attributes, Statx, StatxMask};
use crate::handle::Handle;
use crate::memo::classes::ClassNumber;
use crate::mount::PinnedPlace;
use crate::mounts::Namespace;
use crate::permission::{Access, Credentials};
use crate::vfs::Vfs;
use crate::walk::asker::{Asker, Begin, Rules};
use crate::{Errno, ops};

pub use cached::{Cached, MissingName};
use change::UMASK;
pub use steps::{Step, Steps, What};

/// The place where a relative path starts. An absolute path ignores it.
#[derive(Clone, Copy, Debug)]
pub enum At<'a> {
    /// `AT_FDCWD`: the context's working directory.
    Cwd,
    /// A handle: `ENOTDIR` if it is no directory and the path not empty, `EBADF` if it is of
    /// another `Vfs`.
    Handle(&'a Handle),
}

impl<'a> From<&'a Handle> for At<'a> {
    fn from(handle: &'a Handle) -> Self {
        At::Handle(handle)
    }
}

/// A type that can be taken as a path: bytes, text, [`Path`] or [`CStr`]. Borrowed as it is;
/// nothing is copied.
///
/// A [`Handle`] is not a path, but a place that was found before. [`Handle::attributes`] returns
/// what `stat` would:
///
/// ```compile_fail,E0277
/// # let vfs = pathwalk::Vfs::builder().build(pathwalk_memfs::MemFs::new()).unwrap();
/// # let context = vfs.context(pathwalk::Credentials::root());
/// let handle = context.lookup("/").unwrap();
/// let attributes = context.stat(&handle);
/// ```
///
/// ```
/// # use pathwalk::{At, AtFlags, Errno};
/// # let vfs = pathwalk::Vfs::builder().build(pathwalk_memfs::MemFs::new()).unwrap();
/// # let context = vfs.context(pathwalk::Credentials::root());
/// let handle = context.lookup("/")?;
/// let attributes = handle.attributes()?;
/// assert_eq!(context.fstatat(At::Handle(&handle), "", AtFlags::EMPTY_PATH), Ok(attributes));
/// assert_eq!(context.fstatat(At::Handle(&handle), "below", AtFlags::empty()), Err(Errno::ENOENT));
/// # Ok::<(), Errno>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a path",
    label = "not a path: bytes, text, a `Path` or a `CStr` is one",
    note = "for a `Handle`, `handle.attributes()` returns what `stat` would",
    note = "a path that starts at a handle stands beside it: `context.fstatat(At::Handle(&handle), \"name\", AtFlags::empty())`; \
            with `\"\"` and `AtFlags::EMPTY_PATH`, an operation is on the handle itself"
)]
pub trait AsPath {
    /// Returns the bytes, without a terminating NUL.
    fn path_bytes(&self) -> &[u8];
}

macro_rules! as_path {
    ($($type:ty => |$this:ident| $bytes:expr;)*) => {
        $(impl AsPath for $type {
            #[inline(always)]
            fn path_bytes(&self) -> &[u8] {
                let $this = self;
                $bytes
            }
        })*
    };
}

as_path! {
    [u8] => |this| this;
    Vec<u8> => |this| this;
    str => |this| this.as_bytes();
    String => |this| this.as_bytes();
    OsStr => |this| this.as_bytes();
    OsString => |this| this.as_bytes();
    Path => |this| this.as_os_str().as_bytes();
    PathBuf => |this| this.as_os_str().as_bytes();
    CStr => |this| this.to_bytes();
    CString => |this| this.to_bytes();
}

impl<const N: usize> AsPath for [u8; N] {
    #[inline(always)]
    fn path_bytes(&self) -> &[u8] {
        self
    }
}

impl<T: AsPath + ?Sized> AsPath for &T {
    #[inline(always)]
    fn path_bytes(&self) -> &[u8] {
        (**self).path_bytes()
    }
}

impl<T: AsPath + ?Sized> AsPath for Box<T> {
    #[inline(always)]
    fn path_bytes(&self) -> &[u8] {
        (**self).path_bytes()
    }
}

/// The caller of operations, with its root, working directory and credentials. Made by
/// [`Vfs::context`]; cheap to clone (two pins and a count).
///
/// # Errors of every operation
///
/// | errno | when |
/// |---|---|
/// | `ENAMETOOLONG` | the path is longer than 4095 bytes, or a component longer than 255 |
/// | `EINVAL` | the path has a NUL in it, or a flag does not belong to the operation |
/// | `ENOENT` | the path is empty (unless `EMPTY_PATH`), or a name is absent |
/// | `ENOENT` | a directory on the way was removed |
/// | `ENOTDIR` | a component that is not the last, or is followed by a slash, is no directory |
/// | `EACCES` | a directory on the way may not be searched |
/// | `EACCES` | `protected_symlinks` forbids the last link |
/// | `ELOOP` | more than 40 links, or the mount follows none |
/// | `EBADF` | a relative path starts at a handle of another `Vfs` |
/// | `ENFILE` | the budget is used up by pinned entries: a walk pins one for each component |
/// | `ESTALE` | the file system returns it twice, or a node changed its type under its key |
/// | `ESTALE` | a rename names a directory by two names that it has |
/// | any | the file system returned it |
///
/// # Cost
///
/// When all of the path is cached: no lock, no system call, no allocation, no store (but one mark
/// the first time an entry is hit since it was last considered for eviction). Otherwise the
/// operation blocks while the file system answers.
#[derive(Clone)]
pub struct Context {
    /// The state for walks. Its two places are those of the handles below, which pin them.
    asker: Asker,
    root: Handle,
    cwd: Handle,
    /// The owner of its namespace; `None` for the first, which lives as long as the `Vfs`.
    namespace: Option<Namespace>,
}

impl Vfs {
    /// Creates a context at the root with these credentials.
    pub fn context(&self, credentials: Credentials) -> Context {
        let root = Handle::from_pinned(self, PinnedPlace::again(self.world(), self.world().root));
        let (world, at) = (self.0.clone(), root.place());
        let namespace = world.namespace;
        let (umask, rules, real_class, effective_class) =
            (UMASK, Rules::default(), ClassNumber::default(), ClassNumber::default());
        let asker = Asker { world, root: at, cwd: at, namespace, credentials, umask, rules, real_class, effective_class };
        Context { asker, cwd: root.clone(), root, namespace: None }
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Context { asker, root, cwd, .. } = self;
        let mut fields = f.debug_struct("Context");
        fields.field("root", root).field("cwd", cwd).field("credentials", &asker.credentials);
        fields.field("umask", &format_args!("{:03o}", asker.umask)).field("rules", &asker.rules).finish()
    }
}

impl At<'_> {
    /// Returns where a walk of this context begins.
    fn begin(self, context: &Context) -> Begin {
        match self {
            At::Cwd => Begin::Cwd,
            At::Handle(handle) if handle.vfs().is(context.vfs()) => Begin::At(handle.place()),
            At::Handle(_) => Begin::Elsewhere,
        }
    }
}

impl Context {
    /// Returns the `Vfs` to which it belongs.
    pub fn vfs(&self) -> &Vfs {
        self.root.vfs()
    }

    /// Returns the credentials with which its operations run.
    pub fn credentials(&self) -> &Credentials {
        &self.asker.credentials
    }

    /// Returns the directory at which absolute paths start and `..` ends.
    pub fn root(&self) -> &Handle {
        &self.root
    }

    /// Returns the directory at which relative paths start.
    pub fn cwd(&self) -> &Handle {
        &self.cwd
    }

    pub(crate) fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Returns this context with other credentials, at the same place.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Context {
        self.asker.set_credentials(credentials);
        self
    }

    /// Checks whether the *real* ids have the rights `want` to the node at `path`. Source:
    /// `access(2)`.
    ///
    /// `EACCES` if not; `EROFS` for writing on a read-only file system or mount; `EPERM` for
    /// writing to an immutable node.
    #[inline]
    pub fn access<P: AsPath + ?Sized>(&self, path: &P, want: Access) -> Result<(), Errno> {
        if self.asker.rules.are_none() {
            ops::access::access(&self.asker, path.path_bytes(), want)
        } else {
            self.access_by_rules(path.path_bytes(), want)
        }
    }

    /// Does the same as [`access`](Self::access) from a starting point and with flags. Source:
    /// `faccessat2(2)`.
    pub fn faccessat<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P, want: Access, flags: AtFlags) -> Result<(), Errno> {
        if self.asks_caches_only() {
            return self.cached().access(at, path, want, flags);
        }
        ops::access::faccessat(&self.asker, at.begin(self), path.path_bytes(), want, flags)
    }

    /// Returns the attributes of the node at `path`. Source: `stat(2)`.
    pub fn stat<P: AsPath + ?Sized>(&self, path: &P) -> Result<Attributes, Errno> {
        self.fstatat(At::Cwd, path, AtFlags::empty())
    }

    /// Does the same as [`stat`](Self::stat) without following a link in the last component.
    /// Source: `lstat(2)`.
    pub fn lstat<P: AsPath + ?Sized>(&self, path: &P) -> Result<Attributes, Errno> {
        self.fstatat(At::Cwd, path, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Does the same as [`stat`](Self::stat) from a starting point and with flags. `EINVAL` for
    /// `EACCESS`. Source: `fstatat(2)`.
    pub fn fstatat<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P, flags: AtFlags) -> Result<Attributes, Errno> {
        if self.asks_caches_only() {
            return self.cached().statx(at, path, flags, StatxMask::BASIC_STATS).map(|statx| statx.attributes);
        }
        ops::stat::fstatat(&self.asker, at.begin(self), path.path_bytes(), flags)
    }

    /// Returns the requested attributes, and perhaps others. A request for only type, mode, owner
    /// and group never asks the file system for what is cached. `EINVAL` for unknown bits of the
    /// mask. Source: `statx(2)`.
    pub fn statx<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P, flags: AtFlags, mask: StatxMask) -> Result<Statx, Errno> {
        if self.asks_caches_only() {
            return self.cached().statx(at, path, flags, mask);
        }
        ops::stat::statx(&self.asker, at.begin(self), path.path_bytes(), flags, mask)
    }

    /// Copies the body of a link into `buffer`, truncated to its size, and returns the number of
    /// bytes copied. No NUL is written. `EINVAL` for an empty buffer or for a node that is no link.
    /// Source: `readlink(2)`.
    #[inline]
    pub fn readlink<P: AsPath + ?Sized>(&self, path: &P, buffer: &mut [u8]) -> Result<usize, Errno> {
        self.readlinkat(At::Cwd, path, buffer)
    }

    /// Does the same as [`readlink`](Self::readlink) from a starting point. An empty path means the
    /// handle itself, and is `ENOENT` if that is no link.
    pub fn readlinkat<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P, buffer: &mut [u8]) -> Result<usize, Errno> {
        if self.asks_caches_only() {
            return self.cached().readlink(at, path, buffer);
        }
        ops::readlink::readlinkat(&self.asker, at.begin(self), path.path_bytes(), buffer)
    }

    /// Returns the whole body of a link. Errors as [`readlink`](Self::readlink). Cost: one
    /// allocation of 4095 bytes.
    pub fn read_link<P: AsPath + ?Sized>(&self, path: &P) -> Result<Vec<u8>, Errno> {
        let mut body = vec![0; crate::limits::LINK_MAX];
        let length = self.readlink(path, &mut body)?;
        body.truncate(length);
        Ok(body)
    }

    /// Returns a handle on the place at `path`, as `open(O_PATH)` does.
    pub fn lookup<P: AsPath + ?Sized>(&self, path: &P) -> Result<Handle, Errno> {
        self.lookupat(At::Cwd, path, AtFlags::empty())
    }

    /// Does the same as [`lookup`](Self::lookup) from a starting point and with flags. `EINVAL` for
    /// `EACCESS`.
    pub fn lookupat<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P, flags: AtFlags) -> Result<Handle, Errno> {
        if self.asks_caches_only() {
            return self.cached().lookup(at, path, flags);
        }
        let found = ops::lookup::lookupat(&self.asker, at.begin(self), path.path_bytes(), flags)?;
        Ok(Handle::from_pinned(self.vfs(), found))
    }

    /// Returns the lookup of `path` step by step: each name and its node, each link and where it
    /// leads, and where and why the walk ends. For explanations to users. The result is that of
    /// [`lookupat`](Self::lookupat).
    ///
    /// Cost: a walk with locks, and a handle for each step, all held until the result is dropped.
    pub fn steps<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P, flags: AtFlags) -> Steps {
        steps::steps(self, at, path.path_bytes(), flags)
    }

    /// Changes the working directory. `ENOTDIR` if `path` is no directory, `EACCES` if it may not
    /// be searched. Source: `chdir(2)`.
    pub fn chdir<P: AsPath + ?Sized>(&mut self, path: &P) -> Result<(), Errno> {
        self.cwd = self.searchable_directory(At::Cwd, path.path_bytes())?;
        self.asker.cwd = self.cwd.place();
        Ok(())
    }

    /// Changes the working directory to one that a handle is on. Errors as [`chdir`](Self::chdir);
    /// `EBADF` if it is of another `Vfs`. Source: `fchdir(2)`.
    pub fn fchdir(&mut self, directory: &Handle) -> Result<(), Errno> {
        self.cwd = self.searchable_directory(At::Handle(directory), b".")?;
        self.asker.cwd = self.cwd.place();
        Ok(())
    }

    /// Changes the root, not the working directory. No capability is required, because the holder
    /// of a `Context` may confine it. Errors as [`chdir`](Self::chdir). Source: `chroot(2)`.
    ///
    /// **This confines nothing**, as on Linux: a walk that starts outside of the root, at the
    /// working directory or at a handle, is not restricted, and neither is one whose directory is
    /// moved out from under it. Use [`confined`](Self::confined) for that.
    pub fn chroot<P: AsPath + ?Sized>(&mut self, path: &P) -> Result<(), Errno> {
        self.root = self.searchable_directory(At::Cwd, path.path_bytes())?;
        self.asker.root = self.root.place();
        Ok(())
    }

    fn searchable_directory(&self, at: At<'_>, path: &[u8]) -> Result<Handle, Errno> {
        let dir = ops::lookup::searchable_directory(&self.asker, at.begin(self), path)?;
        Ok(Handle::from_pinned(self.vfs(), dir))
    }
}

#[cfg(not(any(loom, shuttle)))]
const _: () = {
    const fn shared<T: Clone + Send + Sync>() {}
    shared::<Context>();
};
