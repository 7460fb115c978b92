//! The context of a caller: root, working directory and credentials; and every operation on paths.
//!
//! A [`Context`] corresponds to a process in the kernel. It holds its root and its working
//! directory pinned, so that a walk starts without taking a reference count. Operations borrow it
//! shared, so threads may use one together; changing directory takes `&mut`.

mod acl;
mod cached;
mod change;
mod handles;
mod inode_flags;
mod listing;
mod many;
mod mounts;
mod path;
mod read;
mod scope;
mod set;
mod sockets;
mod steps;
mod xattr;

use crate::abi::AtFlags;
use crate::handle::Handle;
use crate::locks::request::LockOwner;
use crate::memo::classes::ClassNumber;
use crate::mount::PinnedPlace;
use crate::mounts::Namespace;
use crate::ops::Way;
use crate::permission::Credentials;
use crate::security::Label;
use crate::vfs::Vfs;
use crate::walk::asker::{Asker, Begin, Rules};
use crate::{Errno, ops};

pub use cached::{Cached, MissingName};
pub use path::{AsPath, At};
pub use sockets::Bound;
pub use steps::{Step, Steps, What};

/// The umask of a new context, as login shells set it.
const UMASK: u16 = 0o022;

/// The caller of operations, with its root, working directory and credentials. Made by
/// [`Vfs::context`]; cheap to clone (two pins and a count). A clone is like the child of `fork(2)`:
/// the same places and rights, but another [owner](Self::lock_owner) of locks.
///
/// # Two forms, two errors
///
/// The plain form of an operation takes a path, as [`mkdir`](Self::mkdir). The other form also
/// takes the place where a relative path starts, and flags, as [`mkdirat`](Self::mkdirat). It has
/// Linux's name where Linux has one, and else the plain name with `_at`. A place is [`At::Cwd`], a
/// [`Handle`] or an open [`File`](crate::File).
///
/// An operation with a name of Linux returns an [`Errno`], which is a register. An operation with a
/// name of [`std::fs`], as [`create_dir`](Self::create_dir) or [`rename`](Self::rename), returns an
/// [`Error`](crate::Error), which names the operation and the path.
///
/// ```
/// use pathwalk::{Credentials, Errno, Vfs};
/// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.mkdir("/a", 0o755)?;
/// let directory = context.lookup("/a")?;
/// context.mkdirat(&directory, "b", 0o700)?;
/// assert_eq!(context.mkdir("/a/b", 0o755), Err(Errno::EEXIST));
/// assert_eq!(context.create_dir("/a/b").unwrap_err().to_string(), "create_dir \"/a/b\": EEXIST (File exists)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
pub struct Context {
    /// The state for walks. Its two places are those of the handles below, which pin them.
    asker: Asker,
    root: Handle,
    cwd: Handle,
    /// The owner of its namespace; `None` for the first, which lives as long as the `Vfs`.
    namespace: Option<Namespace>,
    /// The owner of the record locks that it sets. Linux: `files_struct`.
    lock_owner: LockOwner,
}

impl Clone for Context {
    fn clone(&self) -> Context {
        let Context { asker, root, cwd, namespace, lock_owner: _ } = self;
        let (asker, root, cwd, namespace) = (asker.clone(), root.clone(), cwd.clone(), namespace.clone());
        Context { asker, root, cwd, namespace, lock_owner: LockOwner::of_new_context() }
    }
}

impl Vfs {
    /// Creates a context at the root with these credentials.
    ///
    /// [`Vfs`] has an example.
    pub fn context(&self, credentials: Credentials) -> Context {
        let root = Handle::from_pinned(self, PinnedPlace::again(self.world(), self.world().root));
        let (world, at) = (self.0.clone(), root.place());
        let namespace = world.namespace;
        let (umask, rules, real_class, effective_class) =
            (UMASK, Rules::default(), ClassNumber::default(), ClassNumber::default());
        let (cwd, label) = (at, None);
        let asker = Asker { world, root: at, cwd, namespace, credentials, umask, rules, real_class, effective_class, label };
        Context { asker, cwd: root.clone(), root, namespace: None, lock_owner: LockOwner::of_new_context() }
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

impl Context {
    /// Returns the `Vfs` to which it belongs.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// let vfs = Vfs::builder().build(pathwalk_memfs::MemFs::new())?;
    /// let context = vfs.context(Credentials::root());
    /// assert!(context.vfs().owns(context.root()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn vfs(&self) -> &Vfs {
        self.root.vfs()
    }

    /// Returns the credentials with which its operations run.
    ///
    /// [`with_credentials`](Self::with_credentials) has an example.
    pub fn credentials(&self) -> &Credentials {
        &self.asker.credentials
    }

    /// Returns the label by which the security hook knows it.
    ///
    /// [`SecurityHook`](crate::security::SecurityHook) has an example.
    pub fn label(&self) -> Option<&Label> {
        self.asker.label.as_ref()
    }

    /// Sets the label by which the security hook knows it. Files that are open keep what was
    /// granted.
    ///
    /// [`SecurityHook`](crate::security::SecurityHook) has an example.
    pub fn set_label(&mut self, label: Option<Label>) {
        self.asker.label = label;
    }

    /// Returns the directory at which absolute paths start and `..` ends.
    ///
    /// [`chdir`](Self::chdir) has an example.
    pub fn root(&self) -> &Handle {
        &self.root
    }

    /// Returns the directory at which relative paths start.
    ///
    /// [`chdir`](Self::chdir) has an example.
    pub fn cwd(&self) -> &Handle {
        &self.cwd
    }

    pub(crate) fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Returns this context with other credentials, at the same place.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let user = context.clone().with_credentials(Credentials::user(1000, 1000, &[]));
    /// assert_eq!(user.mkdir("/new", 0o755), Err(Errno::EACCES));
    /// assert_eq!(user.credentials().effective().uid(), 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Context {
        self.asker.set_credentials(credentials);
        self
    }

    /// Returns the owner of the record locks on files that it opens. Locks of two owners conflict.
    ///
    /// [`LockOwner`] has an example.
    pub fn lock_owner(&self) -> LockOwner {
        self.lock_owner
    }

    /// Returns this context with another owner of locks: for clones that are threads of one
    /// process.
    ///
    /// ```
    /// use pathwalk::{Credentials, LockKind, LockRange, LockWait, OpenFlags, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let thread = context.clone().with_lock_owner(context.lock_owner());
    /// let flags = OpenFlags::WRITE | OpenFlags::CREATE;
    /// let (one, other) = (context.open("/file", flags)?, thread.open("/file", flags)?);
    /// one.setlk(LockKind::Exclusive, LockRange::WHOLE, LockWait::No)?;
    /// other.setlk(LockKind::Exclusive, LockRange::WHOLE, LockWait::No)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_lock_owner(mut self, owner: LockOwner) -> Context {
        self.lock_owner = owner;
        self
    }

    /// Changes the working directory. `ENOTDIR` if `path` is no directory, `EACCES` if it may not
    /// be searched. Source: `chdir(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// # let mut context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.create_dir_all("/a/b")?;
    /// context.chdir("/a")?;
    /// assert!(context.stat("b").is_ok());
    /// let b = context.lookup("b")?;
    /// context.fchdir(&b)?;
    /// assert_eq!(context.cwd().path()?, b"/a/b");
    /// assert_eq!(context.root().path()?, b"/");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chdir(&mut self, path: impl AsPath) -> Result<(), Errno> {
        self.cwd = self.searchable_directory(At::Cwd, path.path_bytes())?;
        self.asker.cwd = self.cwd.place();
        Ok(())
    }

    /// Changes the working directory to one that a handle is on. Errors as [`chdir`](Self::chdir);
    /// `EBADF` if it is of another `Vfs`. Source: `fchdir(2)`.
    ///
    /// [`chdir`](Self::chdir) has an example.
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
    ///
    /// [`chdir`](Self::chdir) has an example.
    pub fn chroot(&mut self, path: impl AsPath) -> Result<(), Errno> {
        self.root = self.searchable_directory(At::Cwd, path.path_bytes())?;
        self.asker.root = self.root.place();
        Ok(())
    }

    /// Returns where a walk of this context begins.
    #[inline(always)]
    fn begin<'a>(&self, at: impl Into<At<'a>>) -> Begin {
        match at.into() {
            At::Cwd => Begin::Cwd,
            At::Handle(handle) if handle.vfs().is(self.vfs()) => Begin::At(handle.place()),
            At::Handle(_) => Begin::Elsewhere,
        }
    }

    fn searchable_directory(&self, at: At<'_>, path: &[u8]) -> Result<Handle, Errno> {
        let at = self.begin(at);
        let dir = ops::healed(&self.asker, [Way::new(at, path, AtFlags::empty())], || {
            ops::lookup::searchable_directory(&self.asker, at, path)
        })?;
        Ok(Handle::from_pinned(self.vfs(), dir))
    }
}

#[cfg(not(any(loom, shuttle)))]
const _: () = {
    const fn shared<T: Clone + Send + Sync>() {}
    shared::<Context>();
};
