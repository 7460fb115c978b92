//! The arguments of calls that change a file system.

use bitflags::bitflags;

use crate::attr::{Device, FileType, Octal, Timestamp};

/// The kind of a new node.
///
/// ```
/// use pathwalk::{Credentials, Device, FileType, NewKind, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.mknod("/pipe", NewKind::Fifo, 0o600)?;
/// context.mknod("/null", NewKind::CharDevice(Device { major: 1, minor: 3 }), 0o666)?;
/// assert_eq!(context.stat("/pipe")?.kind, NewKind::Fifo.file_type());
/// assert_eq!(NewKind::Symlink(b"to").file_type(), FileType::Symlink);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewKind<'a> {
    /// An empty regular file.
    Regular,
    /// An empty directory.
    Directory,
    /// A link with this body.
    Symlink(&'a [u8]),
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharDevice(Device),
    /// A block device.
    BlockDevice(Device),
}

impl NewKind<'_> {
    /// Returns the type of the node that is made.
    pub const fn file_type(&self) -> FileType {
        match self {
            NewKind::Regular => FileType::Regular,
            NewKind::Directory => FileType::Directory,
            NewKind::Symlink(_) => FileType::Symlink,
            NewKind::Fifo => FileType::Fifo,
            NewKind::Socket => FileType::Socket,
            NewKind::CharDevice(_) => FileType::CharDevice,
            NewKind::BlockDevice(_) => FileType::BlockDevice,
        }
    }
}

/// A node to be made. Owner and group are final, and the rules of set-gid directories were applied
/// to the mode.
///
/// So was the umask, unless the file system has
/// [`FileSystem::keeps_acls`](crate::FileSystem::keeps_acls): in a directory with a default ACL, the
/// umask does not count. Such a file system makes the node with what
/// [`inherit`](NewNode::inherit) returns.
///
/// ```
/// use pathwalk::{Attributes, Errno, NewNode, Node, NodeKey};
///
/// /// The end of `FileSystem::create`, with the key that the store gave.
/// fn made(key: NodeKey, new: &NewNode<'_>) -> Result<Node, Errno> {
///     let attributes = Attributes::new(new.kind.file_type(), new.mode);
///     Ok(Node::new(key, attributes.with_owner(new.uid, new.gid)))
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewNode<'a> {
    /// The kind of the node.
    pub kind: NewKind<'a>,
    /// The permission bits, 0..=0o7777.
    pub mode: u16,
    /// The permission bits that the node does not get unless its directory has a default ACL:
    /// 0..=0o777. They are 0 where the umask was applied, and for links.
    pub umask: u16,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

impl<'a> NewNode<'a> {
    /// Creates the description of a node, to whose mode the umask was applied.
    pub const fn new(kind: NewKind<'a>, mode: u16, uid: u32, gid: u32) -> NewNode<'a> {
        NewNode { kind, mode, umask: 0, uid, gid }
    }

    /// Returns the description with a umask that is still to be applied.
    ///
    /// [`inherit`](Self::inherit) has an example.
    #[must_use]
    pub const fn with_umask(mut self, umask: u16) -> NewNode<'a> {
        self.umask = umask;
        self
    }
}

bitflags! {
    /// The treatment of a rename's target. Source: `renameat2(2)`.
    ///
    /// ```
    /// use pathwalk::{At, Credentials, Errno, RenameFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/a", "a")?;
    /// context.write("/b", "b")?;
    /// let rename = |flags| context.renameat(At::Cwd, "/a", At::Cwd, "/b", flags);
    /// assert_eq!(rename(RenameFlags::NOREPLACE), Err(Errno::EEXIST));
    /// rename(RenameFlags::EXCHANGE)?;
    /// assert_eq!(context.read("/a")?, b"b");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct RenameFlags: u32 {
        /// `RENAME_NOREPLACE`: `EEXIST` if the target exists.
        const NOREPLACE = 1;
        /// `RENAME_EXCHANGE`: swap the two, both of which must exist.
        const EXCHANGE = 2;
    }
}

/// Attributes to be set; `None` leaves one as it is. Every call also moves `ctime`.
///
/// ```
/// use pathwalk::{Attributes, FileType, SetAttributes, Timestamp};
///
/// /// The core of `FileSystem::set_attributes`.
/// fn set(attributes: &mut Attributes, set: &SetAttributes) {
///     attributes.mode = set.mode.unwrap_or(attributes.mode);
///     attributes.uid = set.uid.unwrap_or(attributes.uid);
///     attributes.gid = set.gid.unwrap_or(attributes.gid);
///     attributes.size = set.size.unwrap_or(attributes.size);
///     attributes.atime = set.atime.unwrap_or(attributes.atime);
///     attributes.mtime = set.mtime.unwrap_or(attributes.mtime);
/// }
///
/// let now = Timestamp::default();
/// let owner = SetAttributes::default().with_uid(5).with_gid(7);
/// let all = owner.with_mode(0o600).with_size(12).with_atime(now).with_mtime(now);
/// let mut attributes = Attributes::new(FileType::Regular, 0o644);
/// set(&mut attributes, &all);
/// assert_eq!(attributes, Attributes::new(FileType::Regular, 0o600).with_owner(5, 7).with_size(12));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SetAttributes {
    /// The permission bits, 0..=0o7777.
    pub mode: Option<u16>,
    /// The owner.
    pub uid: Option<u32>,
    /// The group.
    pub gid: Option<u32>,
    /// The size in bytes. Another size than before updates `mtime` and `ctime`; the same size alone
    /// updates no time, and frees what is allocated behind the end.
    pub size: Option<u64>,
    /// The time of the last access.
    pub atime: Option<Timestamp>,
    /// The time of the last change of the contents.
    pub mtime: Option<Timestamp>,
    /// The reason for the change.
    pub cause: SetCause,
}

/// The reason why attributes are set.
///
/// ```
/// use pathwalk::{SetAttributes, SetCause};
/// let of_chmod = SetAttributes::default().with_mode(0o600);
/// assert_eq!(of_chmod.cause, SetCause::Request);
/// let before_write = of_chmod.with_cause(SetCause::Write);
/// assert_ne!(before_write, of_chmod);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum SetCause {
    /// A caller asks for it, by `chmod`, `chown` and others.
    #[default]
    Request,
    /// An open file is about to be written, and its suid and sgid bits go before that. The write
    /// follows also if the file has become immutable meanwhile, so the change is not refused for
    /// that. Source: `ATTR_FORCE` of Linux.
    Write,
}

impl SetAttributes {
    /// Returns the changes with other permission bits.
    #[must_use]
    pub const fn with_mode(mut self, mode: u16) -> SetAttributes {
        self.mode = Some(mode);
        self
    }

    /// Returns the changes with another owner.
    #[must_use]
    pub const fn with_uid(mut self, uid: u32) -> SetAttributes {
        self.uid = Some(uid);
        self
    }

    /// Returns the changes with another group.
    #[must_use]
    pub const fn with_gid(mut self, gid: u32) -> SetAttributes {
        self.gid = Some(gid);
        self
    }

    /// Returns the changes with another size.
    #[must_use]
    pub const fn with_size(mut self, size: u64) -> SetAttributes {
        self.size = Some(size);
        self
    }

    /// Returns the changes with another time of the last access.
    #[must_use]
    pub const fn with_atime(mut self, time: Timestamp) -> SetAttributes {
        self.atime = Some(time);
        self
    }

    /// Returns the changes with another time of the last change of the contents.
    #[must_use]
    pub const fn with_mtime(mut self, time: Timestamp) -> SetAttributes {
        self.mtime = Some(time);
        self
    }

    /// Returns the changes with another cause. [`SetCause`] has an example.
    #[must_use]
    pub const fn with_cause(mut self, cause: SetCause) -> SetAttributes {
        self.cause = cause;
        self
    }
}

impl std::fmt::Debug for NewNode<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let NewNode { kind, mode, umask, uid, gid } = self;
        let mut shown = f.debug_struct("NewNode");
        shown.field("kind", kind).field("mode", &Octal(*mode)).field("umask", &Octal(*umask));
        shown.field("uid", uid).field("gid", gid).finish()
    }
}

impl std::fmt::Debug for SetAttributes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SetAttributes { mode, uid, gid, size, atime, mtime, cause } = self;
        let mut shown = f.debug_struct("SetAttributes");
        shown.field("mode", &mode.map(Octal)).field("uid", uid).field("gid", gid);
        shown.field("size", size).field("atime", atime).field("mtime", mtime).field("cause", cause).finish()
    }
}
