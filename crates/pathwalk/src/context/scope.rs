//! Rules for all operations of a context, and contexts that are confined to a directory.

use super::{At, Context};
use crate::Errno;
use crate::abi::{AtFlags, Resolve};
use crate::handle::Handle;
use crate::permission::Access;

/// # Rules for every operation
///
/// A context carries `RESOLVE_*` of `openat2(2)`. They apply to all its operations, to its
/// [`cached`](Self::cached) ones, and to those that a ring or a future carries out for it. They are
/// checked before an operation has an effect.
impl Context {
    /// Returns this context with other rules for its paths, in place of its previous ones. `EINVAL`
    /// for `BENEATH` together with `IN_ROOT`, and for unknown bits.
    /// [`OpenHow::resolve`](crate::OpenHow::resolve) adds to them for one open.
    ///
    /// With `BENEATH` or `IN_ROOT`, each path stays below the place where it starts: the working
    /// directory, or the handle that is given with it. With `CACHED`, `EAGAIN` is returned for what
    /// is not cached, and for every operation that changes something.
    ///
    /// ```
    /// use pathwalk::{Access, Credentials, Errno, Resolve, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.mkdir("/srv", 0o755)?;
    /// # fs.file("/secret", 0o644)?;
    /// # fs.symlink("../secret", "/srv/out")?;
    /// let mut context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// context.chdir("/srv")?;
    /// assert_eq!(context.access("out", Access::READ), Ok(()));
    /// let beneath = context.with_resolve(Resolve::BENEATH)?;
    /// assert_eq!(beneath.access("out", Access::READ), Err(Errno::EXDEV));
    /// assert_eq!(beneath.mkdir("../new", 0o755), Err(Errno::EXDEV));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_resolve(mut self, resolve: Resolve) -> Result<Context, Errno> {
        if !resolve.is_valid() {
            return Err(Errno::EINVAL);
        }
        self.asker.rules = self.asker.rules.with_resolve(resolve);
        Ok(self)
    }

    /// Returns a context with the same credentials that is confined to a directory: its root and
    /// working directory, out of which no operation leads.
    ///
    /// For sandboxes. It is stricter than [`chroot`](Self::chroot). `..` and links end at the root,
    /// as there. In addition, a handle, or a working directory, on a place that is not below the
    /// root is refused (`EXDEV`), and a directory that is moved out from under a walk takes the
    /// walk nowhere (`EAGAIN` where `..` led out: try again; `EXDEV` at the end). There is no way
    /// back: the rules of [`with_resolve`](Self::with_resolve) are added to this, and
    /// [`chroot`](Self::chroot) goes further down.
    ///
    /// A handle or open file that leads out must not be given to the confined process: open files
    /// are not checked again. `EBADF` for a handle of another `Vfs`, `ENOTDIR` for a node that is
    /// no directory, `EXDEV` for a context that is confined already and a directory out of its
    /// root. Cost: that of a clone; of each walk a few loads, and of one that starts at a handle or
    /// a working directory one for each directory above.
    ///
    /// ```
    /// use pathwalk::{Access, AtFlags, Credentials, Errno, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.mkdir("/jail", 0o755)?;
    /// # fs.file("/etc", 0o644)?;
    /// # fs.symlink("/../../etc", "/jail/out")?;
    /// let host = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let jail = host.confined(&host.lookup("/jail")?)?;
    /// assert_eq!(jail.access("/out", Access::READ), Err(Errno::ENOENT), "there is no /etc in it");
    /// let outside = host.lookup("/etc")?;
    /// assert_eq!(jail.fstatat(&outside, "", AtFlags::EMPTY_PATH), Err(Errno::EXDEV));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn confined(&self, directory: &Handle) -> Result<Context, Errno> {
        let at = self.lookup_at(directory, ".", AtFlags::empty())?;
        let mut context = Context { root: at.clone(), cwd: at, ..self.clone() };
        (context.asker.root, context.asker.cwd) = (context.root.place(), context.cwd.place());
        context.asker.rules = context.asker.rules.confined();
        Ok(context)
    }

    /// Returns the rules for its paths.
    ///
    /// [`with_resolve`](Self::with_resolve) has an example.
    pub fn resolve(&self) -> Resolve {
        self.asker.rules.resolve()
    }

    /// Does what [`access`](Self::access) does, for contexts with rules. It is a function of its
    /// own, so that contexts without rules do not pay for it.
    #[cold]
    #[inline(never)]
    pub(super) fn access_by_rules(&self, path: &[u8], want: Access) -> Result<(), Errno> {
        self.faccessat(At::Cwd, path, want, AtFlags::empty())
    }

    pub(super) fn asks_caches_only(&self) -> bool {
        self.asker.rules.resolve().contains(Resolve::CACHED)
    }

    /// Returns `EAGAIN` for an operation that changes something, where only the caches may be used.
    pub(super) fn may_change(&self) -> Result<(), Errno> {
        self.may_ask_file_system()
    }

    /// Returns `EAGAIN` for an operation that the caches cannot answer, where only they may be
    /// used.
    pub(super) fn may_ask_file_system(&self) -> Result<(), Errno> {
        if self.asks_caches_only() { Err(Errno::EAGAIN) } else { Ok(()) }
    }
}
