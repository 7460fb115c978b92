//! Attributes of nodes, as `stat` returns them and file systems report them.
//!
//! Every field of `statx(2)` that belongs to a file is here, also those that file systems are asked
//! for each time ([`Details`]). The alignment of direct I/O is not, nor are the sizes of atomic
//! writes: the engine requires no alignment of its own, and refuses such writes.

mod convert;
mod details;
mod flags;
mod metadata;
mod octal;
mod statx;

pub use details::{ChangeCookie, Details};
pub use flags::{InodeFlags, StatxFlags};
pub(crate) use octal::Octal;
pub(crate) use statx::Seen;
pub use statx::{Statx, StatxMask};

/// The type of a node. Source: `inode(7)`.
///
/// ```
/// use pathwalk::FileType;
/// let kind = FileType::from_mode(0o100644).unwrap();
/// assert_eq!(kind, FileType::Regular);
/// assert_eq!(u32::from(kind.mode_bits()) | 0o644, 0o100644);
/// assert!(kind.is_file() && !kind.is_dir() && !kind.is_symlink());
/// assert!(FileType::Fifo.is_fifo() && FileType::Socket.is_socket());
/// assert!(FileType::BlockDevice.is_block_device() && FileType::CharDevice.is_char_device());
/// assert_eq!(FileType::from_mode(0o644), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum FileType {
    /// A named pipe.
    Fifo = 1,
    /// A character device.
    CharDevice = 2,
    /// A directory.
    Directory = 4,
    /// A block device.
    BlockDevice = 6,
    /// A regular file.
    Regular = 8,
    /// A symbolic link.
    Symlink = 10,
    /// A socket.
    Socket = 12,
}

impl FileType {
    /// Returns the type in the upper four bits of `st_mode`, or `None` where those bits name no
    /// type.
    pub const fn from_mode(mode: u32) -> Option<FileType> {
        Some(match (mode >> 12) & 0xf {
            1 => FileType::Fifo,
            2 => FileType::CharDevice,
            4 => FileType::Directory,
            6 => FileType::BlockDevice,
            8 => FileType::Regular,
            10 => FileType::Symlink,
            12 => FileType::Socket,
            _ => return None,
        })
    }

    /// Returns the `S_IFMT` bits of this type.
    pub const fn mode_bits(self) -> u16 {
        (self as u16) << 12
    }

    /// Returns whether `access` for writing is left to the driver and not refused by a read-only
    /// mount.
    pub(crate) const fn is_special(self) -> bool {
        matches!(self, FileType::Fifo | FileType::CharDevice | FileType::BlockDevice | FileType::Socket)
    }
}

/// A moment: seconds and nanoseconds since the Epoch.
///
/// The cache keeps seconds in 50 bits, 17 million years to either side; nanoseconds are
/// 0..=999,999,999. A time before [`MIN`](Self::MIN) becomes `MIN`, and one after
/// [`MAX`](Self::MAX) becomes `MAX`, both when the caller sets it and when a file system reports
/// it. Source: `s_time_min` and `s_time_max` of Linux's file systems.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use pathwalk::Timestamp;
/// let moment = Timestamp::from(UNIX_EPOCH + Duration::from_millis(1500));
/// assert_eq!(moment, Timestamp { seconds: 1, nanoseconds: 500_000_000 });
/// assert!(Timestamp::MIN < moment && moment < Timestamp::now() && Timestamp::now() < Timestamp::MAX);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Timestamp {
    /// Seconds since the Epoch, negative before it.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanoseconds: u32,
}

impl Timestamp {
    /// The earliest time that the cache keeps.
    pub const MIN: Timestamp = Timestamp { seconds: -(1 << 49), nanoseconds: 0 };

    /// The latest time that the cache keeps.
    pub const MAX: Timestamp = Timestamp { seconds: (1 << 49) - 1, nanoseconds: 0 };

    /// Returns the nearest time that the cache keeps. Both ends have no nanoseconds, as in Linux's
    /// `timestamp_truncate`.
    pub(crate) fn kept(self) -> Timestamp {
        match self.seconds {
            seconds if seconds <= Self::MIN.seconds => Self::MIN,
            seconds if seconds >= Self::MAX.seconds => Self::MAX,
            seconds => Timestamp { seconds, nanoseconds: self.nanoseconds.min(999_999_999) },
        }
    }

    /// Returns the current time of the system's clock.
    pub fn now() -> Timestamp {
        std::time::SystemTime::now().into()
    }
}

/// A device number. The cache keeps 12 bits of major and 20 of minor, as Linux does.
///
/// ```
/// use pathwalk::Device;
/// assert!(Device { major: 8, minor: 1 }.is_valid());
/// assert!(!Device { major: 4096, minor: 0 }.is_valid(), "a major number has 12 bits");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Device {
    /// The major number, 0..=4095.
    pub major: u32,
    /// The minor number, 0..=1,048,575.
    pub minor: u32,
}

impl Device {
    /// Returns whether both numbers are in their ranges. No node is made for another device:
    /// `EINVAL`.
    pub const fn is_valid(self) -> bool {
        self.major <= Self::MAJOR_MAX && self.minor <= Self::MINOR_MAX
    }

    /// Returns the device that the cache keeps for one that a file system reports: each number
    /// becomes the nearest in its range.
    pub(crate) fn kept(self) -> Device {
        Device { major: self.major.min(Self::MAJOR_MAX), minor: self.minor.min(Self::MINOR_MAX) }
    }

    const MAJOR_MAX: u32 = 0xfff;
    const MINOR_MAX: u32 = 0xf_ffff;
}

/// The state of knowledge about a node's access control list.
///
/// ```
/// use pathwalk::{AclState, Attributes, FileType, Node, NodeKey};
/// // A file system that has no lists says so, and is not asked for them.
/// let node = Node::new(NodeKey(7), Attributes::new(FileType::Regular, 0o644)).with_acl(AclState::Absent);
/// assert_eq!(node.attributes.acl, AclState::Absent);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
#[non_exhaustive]
pub enum AclState {
    /// A node without a list: the mode bits suffice.
    #[default]
    Absent = 0,
    /// The file system was not asked yet. The first check that depends on the list leaves the
    /// lock-free walk and calls [`FileSystem::acl`](crate::FileSystem::acl).
    Unknown = 1,
    /// A node with a list: checks call [`FileSystem::permission`](crate::FileSystem::permission).
    Present = 2,
}

/// The attributes of a node.
///
/// ```
/// use pathwalk::{Attributes, FileType};
/// let mut attributes = Attributes::new(FileType::Regular, 0o640);
/// attributes.size = 12;
/// assert_eq!(attributes.st_mode(), 0o100640);
/// // The methods are those of `std::fs::Metadata`.
/// assert_eq!(attributes.file_type(), FileType::Regular);
/// assert!(attributes.is_file() && attributes.len() == 12);
/// assert_eq!((attributes.modified()?, attributes.accessed()?), (std::time::UNIX_EPOCH, std::time::UNIX_EPOCH));
/// assert!(attributes.created().is_err(), "the file system did not say");
/// // A file system makes them with the methods that begin with `with`.
/// let linked = Attributes::new(FileType::Regular, 0o644).with_ino(7).with_nlink(2).with_owner(5, 5);
/// let sized = linked.with_size(12).with_acl(pathwalk::AclState::Absent);
/// assert_eq!((sized.ino, sized.nlink, sized.uid, sized.len()), (7, 2, 5, 12));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attributes {
    /// The type.
    pub kind: FileType,
    /// Permission bits with suid, sgid and sticky: 0..=0o7777.
    pub mode: u16,
    /// The number of links.
    pub nlink: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The inode number as users see it.
    pub ino: u64,
    /// The size in bytes.
    pub size: u64,
    /// The number of blocks of 512 bytes.
    pub blocks: u64,
    /// The preferred size of an access, in bytes.
    pub block_size: u32,
    /// The device that holds the node.
    pub device: Device,
    /// The device that the node stands for, if it is a device node.
    pub device_node: Device,
    /// The time of the last access.
    pub atime: Timestamp,
    /// The time of the last change of the contents.
    pub mtime: Timestamp,
    /// The time of the last change of the attributes.
    pub ctime: Timestamp,
    /// The time of creation, where the file system keeps it.
    pub btime: Option<Timestamp>,
    /// The attribute bits.
    pub flags: StatxFlags,
    /// The attribute bits that the file system keeps.
    pub flags_mask: StatxFlags,
    /// The state of knowledge about the access control list.
    pub acl: AclState,
}

impl Attributes {
    /// Creates the attributes of an empty node of this type and mode, owned by root, one link (a
    /// directory: two), all times at the Epoch, no ACL.
    #[inline]
    pub const fn new(kind: FileType, mode: u16) -> Attributes {
        const EPOCH: Timestamp = Timestamp { seconds: 0, nanoseconds: 0 };
        const NO_DEVICE: Device = Device { major: 0, minor: 0 };
        Attributes {
            kind,
            mode: mode & 0o7777,
            nlink: if matches!(kind, FileType::Directory) { 2 } else { 1 },
            uid: 0,
            gid: 0,
            ino: 0,
            size: 0,
            blocks: 0,
            block_size: 4096,
            device: NO_DEVICE,
            device_node: NO_DEVICE,
            atime: EPOCH,
            mtime: EPOCH,
            ctime: EPOCH,
            btime: None,
            flags: StatxFlags::empty(),
            flags_mask: StatxFlags::empty(),
            acl: AclState::Absent,
        }
    }

    /// Returns the attributes with another owner and group.
    #[must_use]
    pub const fn with_owner(mut self, uid: u32, gid: u32) -> Attributes {
        (self.uid, self.gid) = (uid, gid);
        self
    }

    /// Returns the attributes with another inode number.
    #[must_use]
    pub const fn with_ino(mut self, ino: u64) -> Attributes {
        self.ino = ino;
        self
    }

    /// Returns the attributes with another number of links.
    #[must_use]
    pub const fn with_nlink(mut self, nlink: u32) -> Attributes {
        self.nlink = nlink;
        self
    }

    /// Returns the attributes with another size in bytes. The number of blocks stays.
    #[must_use]
    pub const fn with_size(mut self, size: u64) -> Attributes {
        self.size = size;
        self
    }

    /// Returns the attributes with another state of the access control list.
    #[must_use]
    pub const fn with_acl(mut self, acl: AclState) -> Attributes {
        self.acl = acl;
        self
    }

    /// Returns `st_mode`: type and permission bits.
    pub const fn st_mode(&self) -> u32 {
        (self.kind.mode_bits() | self.mode) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_st_mode() {
        let link = Attributes::new(FileType::Symlink, 0o777);
        assert_eq!(link.st_mode(), 0o120777);
        assert_eq!(FileType::from_mode(link.st_mode()), Some(FileType::Symlink));
        assert_eq!(FileType::from_mode(0), None);
    }
}
