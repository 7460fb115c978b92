//! Notifications by the owner of a file system that something changed without the `Vfs`.

use crate::Errno;
use crate::attr::Attributes;
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::handle::Handle;
use crate::locks::breaks::Breaks;
use crate::locks::request::{LockKind, LockWait};
use crate::text::Name;
use crate::vfs::Vfs;

/// # Changes without the `Vfs`
///
/// The caller reports a change that reached the file system by another way. Until then, what is
/// cached stays true for every context.
///
/// ```
/// use pathwalk::{Credentials, Errno, Name, Vfs};
/// let fs = pathwalk_memfs::MemFs::new();
/// let behind = fs.alias();
/// let vfs = Vfs::builder().build(fs)?;
/// let context = vfs.context(Credentials::root());
/// assert_eq!(context.stat("/new"), Err(Errno::ENOENT));
///
/// behind.file("/new", 0o644)?;
/// vfs.invalidate(context.root(), Name::new(b"new")?)?;
/// let new = context.lookup("/new")?;
/// assert!(vfs.owns(&new));
///
/// behind.chmod("/new", 0o600)?;
/// assert_eq!(vfs.refresh(&new)?.mode, 0o600);
///
/// behind.unlink("/new")?;
/// vfs.invalidate_subtree(context.root())?;
/// assert_eq!(context.stat("/new"), Err(Errno::ENOENT));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Vfs {
    /// Drops the cached entry of `name` in `dir` and everything below, because the file system
    /// changed by itself. The next lookup asks it. What is mounted on the entry, or below, is
    /// unmounted lazily. Waits for lookups in `dir` that are under way. `EBADF` if `dir` is of
    /// another `Vfs`, `ENOTDIR` if it is no directory.
    pub fn invalidate(&self, dir: &Handle, name: Name<'_>) -> Result<(), Errno> {
        self.directory(dir)?;
        self.unmount_all(self.world().caches().invalidate_name(dir.dentry(), name.bytes()));
        Ok(())
    }

    /// Drops everything cached below `dir`, but not what is known of `dir` itself. Errors as
    /// [`invalidate`](Self::invalidate).
    ///
    /// Handles stay valid, and find their places again when their names are looked up. The file
    /// system is asked for the attributes of nodes that are held when they are next needed. Cost: a
    /// list of the entries below. Not to be called by the file system itself.
    pub fn invalidate_subtree(&self, dir: &Handle) -> Result<(), Errno> {
        self.directory(dir)?;
        self.unmount_all(self.world().caches().invalidate_below(dir.dentry()));
        Ok(())
    }

    /// Asks the file system for the attributes of a node again, because they changed by themselves,
    /// or because the node got a file capability; not for a link's body. Its errors are returned;
    /// `EBADF` for a handle of another `Vfs`, `ESTALE` if the node has another type by now.
    pub fn refresh(&self, node: &Handle) -> Result<Attributes, Errno> {
        self.own(node)?;
        let world = self.world();
        let inode = world.caches().dentries.inode(node.dentry());
        world.caches().may_get_capability(inode);
        world.trees.refresh(inode)
    }

    /// Breaks the leases on a node with which an open conflicts that does not go through the `Vfs`:
    /// for reading ([`LockKind::Shared`]), or for writing ([`LockKind::Exclusive`]). The open is to
    /// come after this returns. A lease that is granted afterwards does not know of it.
    ///
    /// `EAGAIN` if there are such leases and it is not to wait: then their breaks have begun;
    /// `ECANCELED` if it waited and was cancelled; `EINVAL` for [`LockKind::Unlock`]; `EBADF` for a
    /// handle of another `Vfs`. Source: `break_lease` of Linux.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, LEASE_BREAK_TIME, LockKind, LockWait, OpenFlags, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// let vfs = Vfs::builder().leases(LEASE_BREAK_TIME).build(fs)?;
    /// let file = vfs.context(Credentials::root()).open("/file", OpenFlags::READ | OpenFlags::CREATE)?;
    /// let lease = file.lease(LockKind::Shared)?;
    /// vfs.break_leases(file.handle(), LockKind::Shared, LockWait::No)?;
    /// assert_eq!(vfs.break_leases(file.handle(), LockKind::Exclusive, LockWait::No), Err(Errno::EAGAIN));
    /// assert_eq!(lease.broken(), Some(LockKind::Unlock));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn break_leases(&self, node: &Handle, opener: LockKind, wait: LockWait) -> Result<(), Errno> {
        self.own(node)?;
        let breaks = if wait == LockWait::Yes { Breaks::Waits } else { Breaks::Begins };
        match &self.world().locks.leases {
            _ if opener == LockKind::Unlock => Err(Errno::EINVAL),
            Some(leases) => leases.break_leases(node.inode(), opener, breaks),
            None => Ok(()),
        }
    }

    /// Withdraws all promises that the security hook has given about the search of directories, and
    /// has it asked again. Call it after its rules have changed: a walk that begins after this has
    /// returned passes no directory by an older answer. Does nothing if the hook does not care
    /// about search. Cost: linear in the greatest number of nodes that were cached at once.
    ///
    /// [`Search`](crate::security::Search) has an example.
    pub fn search_rules_changed(&self) {
        let caches = self.world().caches();
        if caches.search.asks() {
            caches.withdraw_all_promises();
        }
    }

    /// Does the same as [`search_rules_changed`](Self::search_rules_changed) for the one directory
    /// that a handle is on. `EBADF` for a handle of another `Vfs`, `ENOTDIR` if it is no directory.
    ///
    /// [`Search`](crate::security::Search) has an example.
    pub fn search_rule_changed(&self, directory: &Handle) -> Result<(), Errno> {
        self.directory(directory)?;
        let caches = self.world().caches();
        if caches.search.asks() {
            caches.withdraw_promise(directory.inode());
        }
        Ok(())
    }

    /// Returns whether a handle is on a place of this `Vfs`.
    pub fn owns(&self, handle: &Handle) -> bool {
        handle.vfs().is(self)
    }

    /// Unmounts, in all namespaces, what is mounted on entries that were dropped. Linux:
    /// `d_invalidate`.
    fn unmount_all(&self, points: Vec<Pinned<'_>>) {
        for point in points {
            self.world().change(|change| change.detach_at(point.id()));
            self.world().caches().discard(point.into_id());
        }
    }

    fn own(&self, handle: &Handle) -> Result<(), Errno> {
        if self.owns(handle) { Ok(()) } else { Err(Errno::EBADF) }
    }

    fn directory(&self, handle: &Handle) -> Result<(), Errno> {
        self.own(handle)?;
        let is_directory = self.world().caches().dentries.word(handle.dentry()) & flags::DIRECTORY != 0;
        if is_directory { Ok(()) } else { Err(Errno::ENOTDIR) }
    }
}
