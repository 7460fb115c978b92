//! What is asked of a file system that can be changed.

use bitflags::bitflags;

use crate::attr::{Device, FileType, Timestamp};

/// What a new node is.
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
    /// The type of the node that comes of it.
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

/// A node to be made. Mode, owner and group are final: the umask and the rules of set-gid directories were applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewNode<'a> {
    /// What it is.
    pub kind: NewKind<'a>,
    /// Permission bits, 0..=0o7777.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

bitflags! {
    /// How a rename treats its target. Source: `renameat2(2)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct RenameFlags: u32 {
        /// `RENAME_NOREPLACE`: `EEXIST` if the target is there.
        const NOREPLACE = 1;
        /// `RENAME_EXCHANGE`: swap the two, both of which must be there.
        const EXCHANGE = 2;
    }
}

/// Attributes to be set; `None` leaves one as it is. Every call also moves `ctime`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SetAttributes {
    /// Permission bits, 0..=0o7777.
    pub mode: Option<u16>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Last access.
    pub atime: Option<Timestamp>,
    /// Last change of the contents.
    pub mtime: Option<Timestamp>,
}
