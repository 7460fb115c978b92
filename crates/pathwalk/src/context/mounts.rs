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
/// use pathwalk::{Access, Credentials, Errno, MountFlags, Vfs};
/// # let (host, scratch) = (pathwalk_memfs::MemFs::new(), pathwalk_memfs::MemFs::new());
/// # host.mkdir("/tmp", 0o755)?;
/// # scratch.file("/note", 0o644)?;
/// let root = Vfs::builder().build(host)?.context(Credentials::root());
/// root.mount(scratch, "/tmp", MountFlags::NOEXEC)?;
/// assert_eq!(root.access("/tmp/note", Access::READ), Ok(()));
/// root.umount("/tmp", pathwalk::UmountFlags::empty())?;
/// assert_eq!(root.access("/tmp/note", Access::READ), Err(Errno::ENOENT));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Context {
    /// Mounts a file system on the place that `path` leads to. With `READ_ONLY`, the mount is
    /// read-only and so is the file system, as by `mount -o ro`. The file system is dropped when
    /// nothing of it is mounted any more: [`sync`](FileSystem::sync) is called, and each of its
    /// nodes is forgotten. Errors also of its [`root`](FileSystem::root). Source: `mount(2)`,
    /// `fsmount(2)`.
    pub fn mount(&self, fs: impl FileSystem + 'static, path: impl AsPath, flags: MountFlags) -> Result<(), Errno> {
        self.mount_at(fs, At::Cwd, path, flags)
    }

    /// Does the same as [`mount`](Self::mount) from a starting point.
    ///
    /// ```
    /// use pathwalk::{At, AtFlags, Credentials, MountFlags, Recursion, UmountFlags, Vfs};
    /// use pathwalk_memfs::MemFs;
    /// # let mut context = Vfs::builder().build(MemFs::new())?.context(Credentials::root());
    /// context.create_dir_all("/mnt/a")?;
    /// context.create_dir_all("/mnt/b")?;
    /// let mnt = context.lookup("/mnt")?;
    /// context.mount_at(MemFs::new(), &mnt, "a", MountFlags::empty())?;
    /// context.write("/mnt/a/file", "")?;
    /// context.bind("/mnt/a", "/mnt/b", Recursion::Alone)?;
    /// context.umount_at(&mnt, "b", UmountFlags::empty())?;
    /// context.bind_at(&mnt, "a", &mnt, "b", Recursion::Alone)?;
    /// assert!(context.stat("/mnt/b/file").is_ok());
    /// context.umount("/mnt/b", UmountFlags::empty())?;
    /// context.move_mount("/mnt/a", "/mnt/b")?;
    /// let points: Vec<_> = context.mountinfo().into_iter().map(|mount| mount.mount_point).collect();
    /// assert_eq!(points, [b"/".to_vec(), b"/mnt/b".to_vec()]);
    ///
    /// // A copy that is attached nowhere.
    /// let copy = context.open_tree_at(At::Cwd, "/mnt/b", AtFlags::empty(), Recursion::Alone)?;
    /// assert!(context.stat("/mnt/b/file").is_ok() && context.lookup_at(copy.handle(), "file", AtFlags::empty()).is_ok());
    /// drop(context.open_tree("/mnt/b", Recursion::Alone)?);
    ///
    /// // A namespace of its own, and back.
    /// let first = context.namespace();
    /// context.unshare()?;
    /// context.umount("/mnt/b", UmountFlags::empty())?;
    /// context.setns(&first)?;
    /// assert_eq!(context.mountinfo().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mount_at<'a>(
        &self,
        fs: impl FileSystem + 'static,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        flags: MountFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        mounts::mount(&self.asker, self.begin(at), path.path_bytes(), Arc::new(fs), flags)
    }

    /// Makes a mount of a file system that is attached nowhere yet, to be [moved](Self::move_mount)
    /// or used through its handle. Source: `fsmount(2)`.
    ///
    /// [`MoveFlags`](crate::MoveFlags) has an example.
    pub fn new_tree(&self, fs: impl FileSystem + 'static, flags: MountFlags) -> Result<DetachedTree, Errno> {
        self.may_change()?;
        let root = mounts::new_tree(&self.asker, Arc::new(fs), flags)?;
        Ok(DetachedTree::new(Handle::from_pinned(self.vfs(), root)))
    }

    /// Copies the mount at `path`, from there on, as one that is attached nowhere yet; with
    /// `RECURSIVE`, also all mounts below that are not unbindable. `EINVAL` for an unbindable
    /// mount. Source: `open_tree(2)` with `OPEN_TREE_CLONE`.
    ///
    /// [`mount_at`](Self::mount_at) has an example.
    pub fn open_tree(&self, path: impl AsPath, how: Recursion) -> Result<DetachedTree, Errno> {
        self.open_tree_at(At::Cwd, path, AtFlags::empty(), how)
    }

    /// Does the same as [`open_tree`](Self::open_tree) from a starting point and with flags.
    ///
    /// [`mount_at`](Self::mount_at) has an example.
    pub fn open_tree_at<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        flags: AtFlags,
        how: Recursion,
    ) -> Result<DetachedTree, Errno> {
        self.may_change()?;
        let root = mounts::open_tree(&self.asker, self.begin(at), path.path_bytes(), flags, how)?;
        Ok(DetachedTree::new(Handle::from_pinned(self.vfs(), root)))
    }

    /// Mounts the tree at `old` also at `new`: a copy of its mount from there on, with those below
    /// if `RECURSIVE`. The copy is a peer of the original, where that is shared. Source: `mount(2)`
    /// with `MS_BIND`.
    ///
    /// [`mount_at`](Self::mount_at) has an example.
    pub fn bind(&self, old: impl AsPath, new: impl AsPath, how: Recursion) -> Result<(), Errno> {
        self.bind_at(At::Cwd, old, At::Cwd, new, how)
    }

    /// Does the same as [`bind`](Self::bind) from two starting points.
    ///
    /// [`mount_at`](Self::mount_at) has an example.
    pub fn bind_at<'a, 'b>(
        &self,
        from: impl Into<At<'a>>,
        old: impl AsPath,
        to: impl Into<At<'b>>,
        new: impl AsPath,
        how: Recursion,
    ) -> Result<(), Errno> {
        self.may_change()?;
        mounts::bind(&self.asker, (self.begin(from), old.path_bytes()), (self.begin(to), new.path_bytes()), how)
    }

    /// Moves the mount whose root `old` leads to, with all mounts below it, to `new`. Links at the
    /// end are not followed. `ELOOP` below itself; `EINVAL` if the mount above it is shared.
    /// Source: `move_mount(2)`.
    ///
    /// [`mount_at`](Self::mount_at) has an example.
    pub fn move_mount(&self, old: impl AsPath, new: impl AsPath) -> Result<(), Errno> {
        self.move_mount_at(At::Cwd, old, At::Cwd, new, MoveFlags::empty())
    }

    /// Does the same as [`move_mount`](Self::move_mount) from two starting points and with flags;
    /// also for the tree of a [`DetachedTree`], by its handle and an empty path.
    ///
    /// [`MoveFlags`](crate::MoveFlags) has an example.
    pub fn move_mount_at<'a, 'b>(
        &self,
        from: impl Into<At<'a>>,
        old: impl AsPath,
        to: impl Into<At<'b>>,
        new: impl AsPath,
        how: MoveFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        mounts::move_mount(&self.asker, (self.begin(from), old.path_bytes()), (self.begin(to), new.path_bytes()), how)
    }

    /// Unmounts the mount whose root `path` leads to. `EBUSY` while something is mounted below it,
    /// or while a context, handle or open file is on it, unless by `DETACH`; `EAGAIN` for the first
    /// try with `EXPIRE`; `EINVAL` for a place that is no root of a mount, and for the root of the
    /// namespace. A file system is dropped with its last mount. Source: `umount2(2)`.
    ///
    /// Without `DETACH`, the mount of the context's own root stays: its file system becomes
    /// read-only, as by [`remount`](Self::remount), and its flags are left as they are.
    pub fn umount(&self, path: impl AsPath, flags: UmountFlags) -> Result<(), Errno> {
        self.umount_at(At::Cwd, path, flags)
    }

    /// Does the same as [`umount`](Self::umount) from a starting point.
    ///
    /// [`mount_at`](Self::mount_at) has an example.
    pub fn umount_at<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, flags: UmountFlags) -> Result<(), Errno> {
        self.may_change()?;
        mounts::umount(&self.asker, self.begin(at), path.path_bytes(), flags)
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
    /// use pathwalk::{Access, Credentials, Errno, MountFlags, OpenFlags, Vfs};
    /// # let (host, fs) = (pathwalk_memfs::MemFs::new(), pathwalk_memfs::MemFs::new());
    /// # host.mkdir("/data", 0o755)?;
    /// # fs.file("/note", 0o644)?;
    /// let root = Vfs::builder().build(host)?.context(Credentials::root());
    /// root.mount(fs, "/data", MountFlags::empty())?;
    /// let file = root.open("/data/note", OpenFlags::WRITE)?;
    /// assert_eq!(root.remount("/data", MountFlags::READ_ONLY), Err(Errno::EBUSY));
    /// drop(file);
    /// root.remount("/data", MountFlags::READ_ONLY)?;
    /// assert_eq!(root.access("/data/note", Access::WRITE), Err(Errno::EROFS));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remount(&self, path: impl AsPath, flags: MountFlags) -> Result<(), Errno> {
        self.remount_at(At::Cwd, path, flags)
    }

    /// Does the same as [`remount`](Self::remount) from a starting point.
    pub fn remount_at<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, flags: MountFlags) -> Result<(), Errno> {
        self.may_change()?;
        mounts::remount(&self.asker, self.begin(at), path.path_bytes(), flags)
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
    /// let tree = root.open_tree("/home", Recursion::Alone)?;
    /// let top = tree.handle();
    /// root.mount_setattr_at(top, "", AtFlags::EMPTY_PATH, &attributes, Recursion::Alone)?;
    /// root.move_mount_at(top, "", At::Cwd, "/guest", MoveFlags::FROM_EMPTY_PATH)?;
    /// assert_eq!((root.stat("/home/note")?.uid, root.stat("/guest/note")?.uid), (0, 1000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mount_setattr(&self, path: impl AsPath, attributes: &MountAttributes, how: Recursion) -> Result<(), Errno> {
        self.mount_setattr_at(At::Cwd, path, AtFlags::empty(), attributes, how)
    }

    /// Does the same as [`mount_setattr`](Self::mount_setattr) from a starting point and with flags.
    pub fn mount_setattr_at<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        flags: AtFlags,
        attributes: &MountAttributes,
        how: Recursion,
    ) -> Result<(), Errno> {
        self.may_change()?;
        mounts::set_attributes(&self.asker, self.begin(at), path.path_bytes(), flags, attributes, how)
    }

    /// Makes the mount at `new_root` the root, and moves the old root to `put_old`. This context is
    /// moved along, if it was at the old root. Other contexts are not moved. `EBUSY`, `EINVAL` as
    /// on Linux. Source: `pivot_root(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, MountFlags, UmountFlags, Vfs};
    /// use pathwalk_memfs::MemFs;
    /// # let mut context = Vfs::builder().build(MemFs::new())?.context(Credentials::root());
    /// context.mkdir("/container", 0o755)?;
    /// context.mount(MemFs::new(), "/container", MountFlags::empty())?;
    /// context.chroot("/container")?;
    ///
    /// let image = MemFs::new();
    /// image.mkdir("/old", 0o755)?;
    /// context.mkdir("/image", 0o755)?;
    /// context.mount(image, "/image", MountFlags::empty())?;
    /// context.chdir("/image")?;
    /// context.pivot_root(".", "old")?;
    /// assert!(context.stat("/old/image").is_ok());
    /// context.umount("/old", UmountFlags::DETACH)?;
    /// assert_eq!(context.mountinfo().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pivot_root(&mut self, new_root: impl AsPath, put_old: impl AsPath) -> Result<(), Errno> {
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
    ///
    /// [`mount_at`](Self::mount_at) has an example.
    pub fn unshare(&mut self) -> Result<(), Errno> {
        self.may_change()?;
        let (id, root, cwd) = mounts::unshare(&self.asker)?;
        let vfs = self.vfs().clone();
        let (root, cwd) = (Handle::from_pinned(&vfs, root), Handle::from_pinned(&vfs, cwd));
        self.go_to(Namespace::new(&vfs, id), root, cwd);
        Ok(())
    }

    /// Returns the namespace of this context.
    ///
    /// [`mount_at`](Self::mount_at) has an example.
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
    ///
    /// [`mount_at`](Self::mount_at) has an example.
    pub fn mountinfo(&self) -> Vec<MountInfo> {
        MountInfo::all(&self.asker)
    }
}
