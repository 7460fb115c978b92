//! Operations that mount and unmount, in the terms of `mount(2)` and its newer relatives.

use std::sync::Arc;

use super::{AsPath, At, Context};
use crate::Errno;
use crate::abi::{AtFlags, MountAttributes, MountFlags, MoveFlags, Recursion, UmountFlags};
use crate::fs_api::FileSystem;
use crate::handle::Handle;
use crate::mounts::{DetachedTree, MountInfo, Namespace};
use crate::ops::mounts;

/// # Mounts
///
/// Several file systems, and parts of them, are seen as one tree. All contexts in a namespace see
/// the same mounts; [`unshare`](Self::unshare) gives a context a namespace of its own. All
/// operations require `CAP_SYS_ADMIN` (`EPERM`). Mounting, moving and unmounting change the tree
/// one at a time. Walks cross mounts without a lock, and wait only where the mount that they cross
/// to is being changed.
///
/// | errno | when |
/// |---|---|
/// | `EPERM` | `CAP_SYS_ADMIN` is missing |
/// | `EINVAL` | the place is in no mount of the namespace |
/// | `EINVAL` | the place is no root of a mount that may be mounted, moved or unmounted |
/// | `ENOENT` | the place was removed |
/// | `ENOTDIR` | a directory is mounted on a node of another type, or the other way round |
/// | `ENOSPC` | a namespace would get more than 100,000 mounts |
/// | `ENFILE` | the budget is used up by pinned entries: a mount pins two |
///
/// ```
/// use pathwalk::{At, Access, Credentials, Errno, MountFlags, Vfs};
/// # let (host, scratch) = (pathwalk_memfs::MemFs::new(), pathwalk_memfs::MemFs::new());
/// # host.mkdir("/tmp", 0o755)?;
/// # scratch.file("/note", 0o644)?;
/// let root = Vfs::builder().build(host)?.context(Credentials::root());
/// root.mount(scratch, At::Cwd, "/tmp", MountFlags::NOEXEC)?;
/// assert_eq!(root.access("/tmp/note", Access::READ), Ok(()));
/// root.umount(At::Cwd, "/tmp", pathwalk::UmountFlags::empty())?;
/// assert_eq!(root.access("/tmp/note", Access::READ), Err(Errno::ENOENT));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Context {
    /// Mounts a file system on the place that `path` leads to. With `READ_ONLY`, the mount is
    /// read-only and so is the file system, as by `mount -o ro`. The file system is dropped when
    /// nothing of it is mounted any more: [`sync`](FileSystem::sync) is called, and each of its
    /// nodes is forgotten. Errors also of its [`root`](FileSystem::root). Source: `mount(2)`,
    /// `fsmount(2)`.
    pub fn mount<P: AsPath + ?Sized>(
        &self,
        fs: impl FileSystem + 'static,
        at: At<'_>,
        path: &P,
        flags: MountFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        mounts::mount(&self.asker, at.begin(self), path.path_bytes(), Arc::new(fs), flags)
    }

    /// Makes a mount of a file system that is attached nowhere yet, to be [moved](Self::move_mount)
    /// or used through its handle. Source: `fsmount(2)`.
    pub fn new_tree(&self, fs: impl FileSystem + 'static, flags: MountFlags) -> Result<DetachedTree, Errno> {
        self.may_change()?;
        let root = mounts::new_tree(&self.asker, Arc::new(fs), flags)?;
        Ok(DetachedTree::new(Handle::from_pinned(self.vfs(), root)))
    }

    /// Copies the mount at `path`, from there on, as one that is attached nowhere yet; with
    /// `RECURSIVE`, also all mounts below that are not unbindable. `EINVAL` for an unbindable
    /// mount. Source: `open_tree(2)` with `OPEN_TREE_CLONE`.
    pub fn open_tree<P: AsPath + ?Sized>(
        &self,
        at: At<'_>,
        path: &P,
        flags: AtFlags,
        how: Recursion,
    ) -> Result<DetachedTree, Errno> {
        self.may_change()?;
        let root = mounts::open_tree(&self.asker, at.begin(self), path.path_bytes(), flags, how)?;
        Ok(DetachedTree::new(Handle::from_pinned(self.vfs(), root)))
    }

    /// Mounts the tree at `old` also at `new`: a copy of its mount from there on, with those below
    /// if `RECURSIVE`. The copy is a peer of the original, where that is shared. Source: `mount(2)`
    /// with `MS_BIND`.
    pub fn bind<P: AsPath + ?Sized, Q: AsPath + ?Sized>(
        &self,
        from: At<'_>,
        old: &P,
        to: At<'_>,
        new: &Q,
        how: Recursion,
    ) -> Result<(), Errno> {
        self.may_change()?;
        mounts::bind(&self.asker, (from.begin(self), old.path_bytes()), (to.begin(self), new.path_bytes()), how)
    }

    /// Moves the mount whose root `old` leads to, with all mounts below it, to `new`; also one of a
    /// [`DetachedTree`], by its handle and an empty path. Links at the end are not followed.
    /// `ELOOP` below itself; `EINVAL` if the mount above it is shared. Source: `move_mount(2)`.
    pub fn move_mount<P: AsPath + ?Sized, Q: AsPath + ?Sized>(
        &self,
        from: At<'_>,
        old: &P,
        to: At<'_>,
        new: &Q,
        how: MoveFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        mounts::move_mount(&self.asker, (from.begin(self), old.path_bytes()), (to.begin(self), new.path_bytes()), how)
    }

    /// Unmounts the mount whose root `path` leads to. `EBUSY` while something is mounted below it,
    /// or while a context, handle or open file is on it, unless by `DETACH`; `EAGAIN` for the first
    /// try with `EXPIRE`; `EINVAL` for a place that is no root of a mount, and for the root of the
    /// namespace. A file system is dropped with its last mount. Source: `umount2(2)`.
    ///
    /// Without `DETACH`, the mount of the context's own root stays: its file system becomes
    /// read-only, as by [`remount`](Self::remount), and its flags are left as they are.
    pub fn umount<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P, flags: UmountFlags) -> Result<(), Errno> {
        self.may_change()?;
        mounts::umount(&self.asker, at.begin(self), path.path_bytes(), flags)
    }

    /// Changes the mount whose root `path` leads to, and its file system: both become read-only
    /// with `READ_ONLY`, and writable without. The mount's other flags are set to these, except
    /// those of access times, which stay where none of them is given. Other mounts of the file
    /// system keep their own. [`mount_setattr`](Self::mount_setattr) changes the mount alone.
    ///
    /// `EINVAL` for a place that is no root of a mount in the namespace. `EBUSY` if it would become
    /// read-only while a file of it is open for writing, through any mount, a change is under way,
    /// or a node without a name is held. Other errors are the file system's, which is asked for
    /// link counts. The flags that the file system sets [itself](FileSystem::superblock_flags)
    /// stay, which is no error. When it has become read-only, [`sync`](FileSystem::sync) is called;
    /// an error of that is lost. Blocks meanwhile. Cost: linear in the file system's mounts; to
    /// make it read-only, also in the greatest number of entries that were ever cached at once.
    /// Source: `mount(2)` with `MS_REMOUNT`.
    ///
    /// ```
    /// use pathwalk::{Access, At, Credentials, Errno, MountFlags, OpenFlags, OpenHow, Vfs};
    /// # let (host, fs) = (pathwalk_memfs::MemFs::new(), pathwalk_memfs::MemFs::new());
    /// # host.mkdir("/data", 0o755)?;
    /// # fs.file("/note", 0o644)?;
    /// let root = Vfs::builder().build(host)?.context(Credentials::root());
    /// root.mount(fs, At::Cwd, "/data", MountFlags::empty())?;
    /// let file = root.open(At::Cwd, "/data/note", &OpenHow::from(OpenFlags::WRITE))?;
    /// assert_eq!(root.remount(At::Cwd, "/data", MountFlags::READ_ONLY), Err(Errno::EBUSY));
    /// drop(file);
    /// root.remount(At::Cwd, "/data", MountFlags::READ_ONLY)?;
    /// assert_eq!(root.access("/data/note", Access::WRITE), Err(Errno::EROFS));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remount<P: AsPath + ?Sized>(&self, at: At<'_>, path: &P, flags: MountFlags) -> Result<(), Errno> {
        self.may_change()?;
        mounts::remount(&self.asker, at.begin(self), path.path_bytes(), flags)
    }

    /// Changes the mount whose root `path` leads to, and with `RECURSIVE` all mounts below it: all
    /// or none. `EBUSY` if it would become read-only, or id-mapped, while files are open for
    /// writing or a change is under way. Source: `mount_setattr(2)`.
    ///
    /// An [`IdMap`](crate::IdMap) is for a mount that is attached nowhere yet, of a
    /// [`DetachedTree`]: `EINVAL` for one in a namespace, and where the file system [allows
    /// none](FileSystem::allows_id_maps); `EPERM` for a mount that has one. The mount keeps its
    /// map, and so do its copies; `ENOSPC` past 65,535 maps, which are kept as long as the `Vfs`.
    ///
    /// Through such a mount, owners are shown and compared by the map, and a new node belongs to
    /// the id to which the map translates its maker. An unmapped id is shown as
    /// [`OVERFLOW_ID`](crate::permission::OVERFLOW_ID). A node with an unmapped id is no user's
    /// own, cannot be written to (`EACCES`), removed or set (`EOVERFLOW`), and no capability counts
    /// for it. An unmapped user makes nothing (`EOVERFLOW`).
    ///
    /// ```
    /// use pathwalk::{At, AtFlags, Credentials, IdExtent, IdMap};
    /// use pathwalk::{MountAttributes, MoveFlags, Recursion, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.mkdir("/home", 0o755)?;
    /// # fs.mkdir("/guest", 0o755)?;
    /// # fs.file("/home/note", 0o600)?;
    /// let root = Vfs::builder().build(fs)?.context(Credentials::root());
    /// // What root owns in /home, user 1000 owns in /guest.
    /// let ids = [IdExtent { inside: 0, outside: 1000, length: 1 }];
    /// let attributes = MountAttributes::default().with_id_map(IdMap::new(&ids, &ids)?);
    /// let tree = root.open_tree(At::Cwd, "/home", AtFlags::empty(), Recursion::Alone)?;
    /// let top = At::Handle(tree.handle());
    /// root.mount_setattr(top, "", AtFlags::EMPTY_PATH, &attributes, Recursion::Alone)?;
    /// root.move_mount(top, "", At::Cwd, "/guest", MoveFlags::FROM_EMPTY_PATH)?;
    /// assert_eq!((root.stat("/home/note")?.uid, root.stat("/guest/note")?.uid), (0, 1000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mount_setattr<P: AsPath + ?Sized>(
        &self,
        at: At<'_>,
        path: &P,
        flags: AtFlags,
        attributes: &MountAttributes,
        how: Recursion,
    ) -> Result<(), Errno> {
        self.may_change()?;
        mounts::set_attributes(&self.asker, at.begin(self), path.path_bytes(), flags, attributes, how)
    }

    /// Makes the mount at `new_root` the root, and moves the old root to `put_old`. This context is
    /// moved along, if it was at the old root. Other contexts are not moved. `EBUSY`, `EINVAL` as
    /// on Linux. Source: `pivot_root(2)`.
    pub fn pivot_root<P: AsPath + ?Sized, Q: AsPath + ?Sized>(&mut self, new_root: &P, put_old: &Q) -> Result<(), Errno> {
        self.may_change()?;
        let new = mounts::pivot_root(&self.asker, new_root.path_bytes(), put_old.path_bytes())?;
        let new = Handle::from_pinned(&self.vfs().clone(), new);
        let old = self.root.place();
        if self.cwd.place() == old {
            self.cwd = new.clone();
            self.asker.cwd = new.place();
        }
        self.asker.root = new.place();
        self.root = new;
        Ok(())
    }

    /// Gives this context a namespace of its own: a copy of all mounts of its current one. The
    /// namespace ends with its last context, which unmounts all in it. `EPERM`; `EINVAL` where the
    /// current namespace has ended; `ENOSPC`. Cost: linear in the number of mounts. Source:
    /// `unshare(2)` with `CLONE_NEWNS`.
    pub fn unshare(&mut self) -> Result<(), Errno> {
        self.may_change()?;
        let (id, root, cwd) = mounts::unshare(&self.asker)?;
        let vfs = self.vfs().clone();
        let (root, cwd) = (Handle::from_pinned(&vfs, root), Handle::from_pinned(&vfs, cwd));
        self.go_to(Namespace::new(&vfs, id), root, cwd);
        Ok(())
    }

    /// Returns the namespace of this context.
    pub fn namespace(&self) -> Namespace {
        self.namespace.clone().unwrap_or_else(|| Namespace::first(self.vfs()))
    }

    /// Enters a namespace: root and working directory become the topmost place at its root.
    /// `EPERM`, also for a [confined](Self::confined) context; `EINVAL` if it is of another `Vfs`,
    /// or nothing is mounted in it any more. Source: `setns(2)`.
    pub fn setns(&mut self, namespace: &Namespace) -> Result<(), Errno> {
        self.may_change()?;
        if self.asker.rules.is_confined() {
            return Err(Errno::EPERM);
        }
        if !namespace.vfs().is(self.vfs()) {
            return Err(Errno::EINVAL);
        }
        let vfs = self.vfs().clone();
        let root = Handle::from_pinned(&vfs, mounts::root_of(&self.asker, namespace.id())?);
        self.go_to(namespace.clone(), root.clone(), root);
        Ok(())
    }

    fn go_to(&mut self, namespace: Namespace, root: Handle, cwd: Handle) {
        (self.asker.root, self.asker.cwd, self.asker.namespace) = (root.place(), cwd.place(), namespace.id());
        // The old places are given back before the old namespace.
        (self.root, self.cwd) = (root, cwd);
        self.namespace = (!namespace.is_first()).then_some(namespace);
    }

    /// Returns the mounts of this context's namespace that are below its root, in the order in
    /// which they were made. Cost: linear in the number of mounts, with the tree locked. Source:
    /// `proc_pid_mountinfo(5)`.
    pub fn mountinfo(&self) -> Vec<MountInfo> {
        MountInfo::all(&self.asker)
    }
}
