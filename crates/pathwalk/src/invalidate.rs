//! Notifications by the owner of a file system that something changed without the `Vfs`, and the
//! link by which file systems themselves report that.

use crate::Errno;
use crate::abi::Resolve;
use crate::attr::Attributes;
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::cache::icache::store::OfNode;
use crate::context::AsPath;
use crate::events::Invalidated;
use crate::handle::Handle;
use crate::locks::breaks::Breaks;
use crate::locks::request::{LockKind, LockWait};
use crate::mount::Place;
use crate::node::NodeKey;
use crate::ops::invalidate;
use crate::permission::Credentials;
use crate::sync::{downgrade, give_back};
use crate::text::Name;
use crate::vfs::Vfs;

/// # Changes without the `Vfs`
///
/// The caller reports a change that reached the file system by another way. Until then, what is
/// cached stays true for every context. Once the call has returned, no operation that begins uses
/// an answer that the file system gave before the call; an operation under way may still use one,
/// but nothing of that stays cached.
///
/// A file system that notices such changes itself has a [`Notifier`](crate::Notifier), which can be
/// used in more places.
///
/// | method | what is asked for again |
/// |---|---|
/// | [`invalidate`](Self::invalidate) | a name and all below it |
/// | [`invalidate_path`](Self::invalidate_path) | the same for the last name of a path, or for the first that is not cached or absent |
/// | [`invalidate_subtree`](Self::invalidate_subtree) | all below a directory |
/// | [`invalidate_key`](Self::invalidate_key) | a node, by the key that its file system gave it |
/// | [`invalidate_attributes`](Self::invalidate_attributes) | the attributes of a node |
/// | [`invalidate_file_system`](Self::invalidate_file_system) | all of a file system |
/// | [`refresh`](Self::refresh) | the attributes of a node, at once |
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
/// behind.chmod("/new", 0o640)?;
/// vfs.invalidate_attributes(&new)?;
/// assert_eq!(context.stat("/new")?.mode, 0o640);
///
/// behind.unlink("/new")?;
/// vfs.invalidate_subtree(context.root())?;
/// assert_eq!(context.stat("/new"), Err(Errno::ENOENT));
///
/// // The way to a path need not be cached, nor exist.
/// assert_eq!(context.stat("/a/b/c"), Err(Errno::ENOENT));
/// behind.mkdir_all("/a/b", 0o755)?;
/// behind.file("/a/b/c", 0o644)?;
/// vfs.invalidate_path(context.root(), "a/b/c")?;
/// assert!(context.stat("/a/b/c").is_ok());
///
/// behind.unlink("/a/b/c")?;
/// vfs.invalidate_file_system(context.root())?;
/// assert_eq!(context.stat("/a/b/c"), Err(Errno::ENOENT));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Vfs {
    /// Drops the cached entry of `name` in `dir` and everything below, because the file system
    /// changed by itself. The next lookup asks it. What is mounted on the entry, or below, is
    /// unmounted lazily. Waits for lookups in `dir` that are under way. `EBADF` if `dir` is of
    /// another `Vfs`, `ENOTDIR` if it is no directory.
    pub fn invalidate(&self, dir: &Handle, name: Name<'_>) -> Result<(), Errno> {
        self.directory(dir)?;
        self.drop_name(dir.place(), name);
        Ok(())
    }

    /// Does the same as [`invalidate`](Self::invalidate) for the last name of a path, which starts
    /// at `dir` and stays below it: `/`, `..` and links do not lead out. The way there is walked in
    /// the caches alone. If it ends early, at a name that is absent, not cached, or no directory,
    /// then that name is dropped: what was below it could not have been there.
    ///
    /// `EINVAL` for a path whose last component is `.`, `..` or none, and for one with a NUL;
    /// `ENAMETOOLONG`; else as [`invalidate`](Self::invalidate).
    pub fn invalidate_path(&self, dir: &Handle, path: impl AsPath) -> Result<(), Errno> {
        self.directory(dir)?;
        let mut asker = self.context(Credentials::root()).asker().clone();
        (asker.root, asker.cwd) = (dir.place(), dir.place());
        asker.rules = asker.rules.with_resolve(Resolve::IN_ROOT);
        let (dir, name) = invalidate::last_cached(&asker, path.path_bytes())?;
        self.drop_name(dir.place(), Name::new(&name)?);
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
        let caches = self.world().caches();
        // What is moved while entries are dropped, one directory after the other, is marked.
        drop(caches.doubt_below(dir.dentry()));
        self.unmount_all(caches.invalidate_below(dir.dentry()));
        self.world().trees.tell_invalidated(dir.dentry(), b"", Invalidated::Below);
        Ok(())
    }

    /// Reports that a node changed: its attributes, the body of a link, and of a directory all its
    /// names, but nothing below these. `any` is on any node of the same file system, and `key` the
    /// one that the file system gave the node. Nothing is unmounted. Does nothing for a node that
    /// is not cached. `EBADF` if `any` is of another `Vfs`.
    ///
    /// ```
    /// use pathwalk::{Credentials, NodeKey, Vfs};
    /// let vfs = Vfs::builder().build(pathwalk_memfs::MemFs::new())?;
    /// let context = vfs.context(Credentials::root());
    /// vfs.invalidate_key(context.root(), NodeKey(1))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn invalidate_key(&self, any: &Handle, key: NodeKey) -> Result<(), Errno> {
        self.own(any)?;
        let trees = &self.world().trees;
        let superblock = trees.superblock_at(any.dentry()).id;
        trees.node_reported(superblock, key, OfNode::All);
        Ok(())
    }

    /// Reports that attributes of a node changed: all that `statx` shows, rights, access control
    /// lists, extended attributes. The file system is asked when they are next needed. Cost: O(1).
    /// `EBADF` for a handle of another `Vfs`.
    pub fn invalidate_attributes(&self, node: &Handle) -> Result<(), Errno> {
        self.own(node)?;
        let caches = self.world().caches();
        caches.versions.set_one();
        caches.mark_unknown(caches.dentries.inode(node.dentry()));
        self.world().trees.tell_node_invalidated(node.dentry());
        Ok(())
    }

    /// Reports that anything of the file system that a handle is on may have changed. Nothing is
    /// unmounted, unless a name that is covered turns out to lead to another node. Cost: a pass
    /// over all slots of the caches. `EBADF` for a handle of another `Vfs`.
    pub fn invalidate_file_system(&self, any: &Handle) -> Result<(), Errno> {
        self.own(any)?;
        let trees = &self.world().trees;
        let superblock = trees.superblock_at(any.dentry()).id;
        trees.all_reported(superblock);
        Ok(())
    }

    /// Asks the file system for the attributes of a node again, because they changed by themselves,
    /// or because the node got a file capability; not for a link's body. Its errors are returned;
    /// `EBADF` for a handle of another `Vfs`, `ESTALE` if the node is gone, or has another type by
    /// now. Then the file system is also asked for its name again when that is next looked up.
    pub fn refresh(&self, node: &Handle) -> Result<Attributes, Errno> {
        self.own(node)?;
        let world = self.world();
        let inode = world.caches().dentries.inode(node.dentry());
        world.caches().may_get_capability(inode);
        let attributes = world.trees.refresh(inode);
        if attributes == Err(Errno::ESTALE) {
            world.caches().doubt_entry(node.dentry());
        }
        attributes
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

    /// Connects the notifiers of its file systems.
    pub(crate) fn take_reports(&self) {
        let (world, relay) = (self.world(), self.world().trees.relay.clone());
        let root = world.trees.superblock_at(world.root.dentry()).reporter();
        let weak = downgrade(&self.0);
        let take = move |from, report: crate::fs_api::Report<'_>| {
            if let Some(world) = weak.upgrade() {
                world.trees.report(from, report);
                // The reporting thread may hold locks that the end of the `Vfs` needs.
                give_back(world);
            }
        };
        relay.connect(Box::new(take), root);
    }

    fn drop_name(&self, dir: Place, name: Name<'_>) {
        let (caches, dir) = (self.world().caches(), dir.dentry());
        let entry = caches.doubt_name(dir, name.bytes());
        let node = entry.as_ref().and_then(|entry| self.world().trees.identity_of(entry));
        if let Some(entry) = entry {
            drop(caches.doubt_below(entry.id()));
        }
        self.unmount_all(caches.invalidate_name(dir, name.bytes()));
        self.world().trees.tell_name_invalidated(dir, name.bytes(), node);
    }

    /// Unmounts, in all namespaces, what is mounted on entries that were dropped. Linux:
    /// `d_invalidate`.
    fn unmount_all(&self, points: Vec<Pinned<'_>>) {
        for point in points {
            self.world().change(|change| change.detach_at(point.id()));
            self.world().caches().discard_out(point.into_id());
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
