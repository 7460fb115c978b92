//! Flags and parameters of mount operations.

use bitflags::bitflags;

use crate::permission::IdMap;

bitflags! {
    /// The flags of a mount, independent of those of its file system. Source: `mount(8)`.
    ///
    /// ```
    /// use pathwalk::{Access, Credentials, Errno, MountFlags, Vfs};
    /// use pathwalk_memfs::MemFs;
    /// # let context = Vfs::builder().build(MemFs::new())?.context(Credentials::root());
    /// let tools = MemFs::new();
    /// tools.file("/cc", 0o755)?;
    /// context.mkdir("/tools", 0o755)?;
    /// context.mount(tools, "/tools", MountFlags::READ_ONLY | MountFlags::NOEXEC)?;
    /// assert_eq!(context.unlink("/tools/cc"), Err(Errno::EROFS));
    /// assert_eq!(context.access("/tools/cc", Access::EXECUTE), Err(Errno::EACCES));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct MountFlags: u32 {
        /// Writing is `EROFS`, after the mode was checked (`EACCES`).
        const READ_ONLY = 1;
        /// Executing a regular file is `EACCES`.
        const NOEXEC = 2;
        /// Following a link is `ELOOP`; reading its body is not.
        const NOSYMFOLLOW = 4;
        /// Suid and sgid bits are to be ignored where a file is executed. The engine executes none,
        /// and only reports the flag.
        const NOSUID = 8;
        /// Opening a device is `EACCES`.
        const NODEV = 16;
        /// Accesses through the mount change no time of access.
        const NOATIME = 32;
        /// Accesses to directories change no time of access.
        const NODIRATIME = 64;
        /// An access changes the time of access if that is not after the last change, or is a day
        /// old. A mount without this flag does the same; it is only reported.
        const RELATIME = 128;
        /// Each access changes the time of access, also with `NOATIME`. As long as a `Vfs` lives in
        /// which some mount had this flag, links cost a check of their mount, and no path through a
        /// link is remembered as a whole.
        const STRICTATIME = 256;
    }
}

bitflags! {
    /// The flags of a file system, in all its mounts. Source: the second options of
    /// `proc_pid_mountinfo(5)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, MountFlags, SuperblockFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.remount("/", MountFlags::READ_ONLY)?;
    /// assert_eq!(context.mountinfo()[0].superblock_flags, SuperblockFlags::READ_ONLY);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct SuperblockFlags: u32 {
        /// `SB_RDONLY`: writing is `EROFS`, and so is a check of the right to write to a regular
        /// file, a directory or a link, whatever its mode.
        const READ_ONLY = 1;
    }
}

impl MountFlags {
    /// The flags that concern times of access.
    pub(crate) const OF_ACCESS: MountFlags =
        MountFlags::NOATIME.union(MountFlags::NODIRATIME).union(MountFlags::RELATIME).union(MountFlags::STRICTATIME);

    /// Returns the flags that `mount(2)` sets in the superblock for these.
    pub(crate) fn of_superblock(self) -> SuperblockFlags {
        if self.contains(MountFlags::READ_ONLY) { SuperblockFlags::READ_ONLY } else { SuperblockFlags::empty() }
    }
}

/// The extent of an operation: one mount, or also all mounts below it.
///
/// ```
/// use pathwalk::{Credentials, Errno, MountFlags, Recursion, Vfs};
/// use pathwalk_memfs::MemFs;
/// # let context = Vfs::builder().build(MemFs::new())?.context(Credentials::root());
/// context.create_dir_all("/a/below")?;
/// let below = MemFs::new();
/// below.file("/file", 0o644)?;
/// context.mount(below, "/a/below", MountFlags::empty())?;
/// context.mkdir("/alone", 0o755)?;
/// context.mkdir("/all", 0o755)?;
/// context.bind("/a", "/alone", Recursion::Alone)?;
/// context.bind("/a", "/all", Recursion::Recursive)?;
/// assert_eq!(context.stat("/alone/below/file"), Err(Errno::ENOENT));
/// assert!(context.stat("/all/below/file").is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Recursion {
    /// The mount alone.
    #[default]
    Alone,
    /// `AT_RECURSIVE`, `MS_REC`: also all mounts below it.
    Recursive,
}

bitflags! {
    /// The options for moving a mount. Source: `move_mount(2)`.
    ///
    /// ```
    /// use pathwalk::{At, Credentials, MountFlags, MoveFlags, Vfs};
    /// use pathwalk_memfs::MemFs;
    /// # let context = Vfs::builder().build(MemFs::new())?.context(Credentials::root());
    /// let fs = MemFs::new();
    /// fs.file("/file", 0o644)?;
    /// let tree = context.new_tree(fs, MountFlags::empty())?;
    /// context.mkdir("/mnt", 0o755)?;
    /// context.move_mount_at(tree.handle(), "", At::Cwd, "/mnt", MoveFlags::FROM_EMPTY_PATH)?;
    /// assert!(context.stat("/mnt/file").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct MoveFlags: u32 {
        /// `MOVE_MOUNT_F_EMPTY_PATH`: an empty path of the source means the starting point itself.
        const FROM_EMPTY_PATH = 1;
        /// `MOVE_MOUNT_T_EMPTY_PATH`: an empty path of the target means the starting point itself.
        const TO_EMPTY_PATH = 4;
        /// `MOVE_MOUNT_BENEATH`: beneath the topmost mount there, so that it becomes visible when
        /// that is unmounted.
        const BENEATH = 2;
    }
}

bitflags! {
    /// The options for unmounting. Source: `umount2(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, MountFlags, UmountFlags, Vfs};
    /// # use pathwalk_memfs::MemFs;
    /// # let context = Vfs::builder().build(MemFs::new())?.context(Credentials::root());
    /// context.mkdir("/mnt", 0o755)?;
    /// context.mount(MemFs::new(), "/mnt", MountFlags::empty())?;
    /// let in_use = context.lookup("/mnt")?;
    /// assert_eq!(context.umount("/mnt", UmountFlags::empty()), Err(Errno::EBUSY));
    /// context.umount("/mnt", UmountFlags::DETACH)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct UmountFlags: u32 {
        /// `MNT_DETACH`: at once, with all mounts below, even while it is in use. A mount that is
        /// in use ends with its last use.
        const DETACH = 1;
        /// `MNT_EXPIRE`: only if it was not used since the last try with this flag. The first try
        /// is `EAGAIN`. `EINVAL` with `DETACH`.
        const EXPIRE = 2;
        /// `UMOUNT_NOFOLLOW`: a link in the last component is not followed.
        const NOFOLLOW = 4;
    }
}

/// The propagation of mount events between mounts. Source: `mount_namespaces(7)`.
///
/// ```
/// use pathwalk::{Credentials, MountAttributes, Propagation, Recursion, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let shared = MountAttributes::default().with_propagation(Propagation::Shared);
/// context.mount_setattr("/", &shared, Recursion::Alone)?;
/// assert!(context.mountinfo()[0].shared.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Propagation {
    /// A mount that neither sends events nor receives them.
    Private,
    /// A mount that sends to its peers and their slaves, and receives from its peers.
    Shared,
    /// A mount that receives from its former peers, and sends nothing.
    Slave,
    /// A private mount that cannot be bound.
    Unbindable,
}

/// The changes to be made to a mount. Source: `mount_setattr(2)`.
///
/// ```
/// use pathwalk::{Credentials, Errno, MountAttributes, MountFlags, Recursion, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let set = MountFlags::READ_ONLY | MountFlags::NOEXEC;
/// context.mount_setattr("/", &MountAttributes::default().with_set(set), Recursion::Recursive)?;
/// assert_eq!(context.mkdir("/new", 0o755), Err(Errno::EROFS));
/// assert_eq!(context.mountinfo()[0].flags, set);
/// let clear = MountAttributes::default().with_clear(MountFlags::READ_ONLY);
/// context.mount_setattr("/", &clear, Recursion::Recursive)?;
/// context.mkdir("/new", 0o755)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct MountAttributes {
    /// The flags to set.
    pub set: MountFlags,
    /// The flags to clear before.
    pub clear: MountFlags,
    /// The new propagation, if that changes.
    pub propagation: Option<Propagation>,
    /// `MOUNT_ATTR_IDMAP`: the map of ids by which the mount shows owners, if that changes. It can
    /// be set once, and before the mount is moved anywhere.
    pub id_map: Option<IdMap>,
}

impl MountAttributes {
    /// Returns the changes with other flags to set.
    #[must_use]
    pub fn with_set(mut self, flags: MountFlags) -> MountAttributes {
        self.set = flags;
        self
    }

    /// Returns the changes with other flags to clear before.
    #[must_use]
    pub fn with_clear(mut self, flags: MountFlags) -> MountAttributes {
        self.clear = flags;
        self
    }

    /// Returns the changes with a new propagation. [`Propagation`] has an example.
    #[must_use]
    pub fn with_propagation(mut self, propagation: Propagation) -> MountAttributes {
        self.propagation = Some(propagation);
        self
    }

    /// Returns the changes with a map of ids. [`IdMap`] has an example.
    #[must_use]
    pub fn with_id_map(mut self, map: IdMap) -> MountAttributes {
        self.id_map = Some(map);
        self
    }
}
