//! Attributes: what `stat` answers with, and what a file system says of a node.
//!
//! Every field of `statx(2)` that belongs to a file is here; those that belong to a mount or to a moment (mount id,
//! direct-I/O alignment, subvolume) are not.

use bitflags::bitflags;

/// What a node is. Source: `inode(7)`.
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
    /// The type in the upper four bits of `st_mode`, or `None` where those bits name no type.
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

    /// The `S_IFMT` bits of this type.
    pub const fn mode_bits(self) -> u16 {
        (self as u16) << 12
    }

    /// Whether `access` for writing is left to the driver and not refused by a read-only mount.
    pub(crate) const fn is_special(self) -> bool {
        matches!(self, FileType::Fifo | FileType::CharDevice | FileType::BlockDevice | FileType::Socket)
    }
}

/// A moment: seconds and nanoseconds since the Epoch.
///
/// The cache keeps seconds in 50 bits, 17 million years to either side; nanoseconds are
/// 0..=999,999,999. A time before [`MIN`](Self::MIN) is that one, and one behind [`MAX`](Self::MAX)
/// is that, whether the caller sets it or a file system tells it. Source: `s_time_min` and
/// `s_time_max` of Linux's file systems.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Timestamp {
    /// Seconds since the Epoch, negative before it.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanoseconds: u32,
}

impl Timestamp {
    /// The earliest that is kept.
    pub const MIN: Timestamp = Timestamp { seconds: -(1 << 49), nanoseconds: 0 };

    /// The latest that is kept.
    pub const MAX: Timestamp = Timestamp { seconds: (1 << 49) - 1, nanoseconds: 0 };

    /// Returns the kept time that is nearest. Both ends have no nanoseconds, as in Linux's
    /// `timestamp_truncate`.
    pub(crate) fn kept(self) -> Timestamp {
        match self.seconds {
            seconds if seconds <= Self::MIN.seconds => Self::MIN,
            seconds if seconds >= Self::MAX.seconds => Self::MAX,
            seconds => Timestamp { seconds, nanoseconds: self.nanoseconds.min(999_999_999) },
        }
    }

    /// Now, by the system's clock.
    pub fn now() -> Timestamp {
        use std::time::{SystemTime, UNIX_EPOCH};
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => Timestamp { seconds: since.as_secs() as i64, nanoseconds: since.subsec_nanos() },
            // A clock before 1970.
            Err(_) => Timestamp::default(),
        }
    }
}

/// A device number. The cache keeps 12 bits of major and 20 of minor, which is what Linux has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Device {
    /// Major number, 0..=4095.
    pub major: u32,
    /// Minor number, 0..=1,048,575.
    pub minor: u32,
}

impl Device {
    /// Whether both numbers are in their ranges. No node is made for a device of which they are
    /// not: `EINVAL`.
    pub const fn is_valid(self) -> bool {
        self.major <= Self::MAJOR_MAX && self.minor <= Self::MINOR_MAX
    }

    /// Returns the device that is kept of one that a file system tells: each number is the nearest
    /// in its range.
    pub(crate) fn kept(self) -> Device {
        Device { major: self.major.min(Self::MAJOR_MAX), minor: self.minor.min(Self::MINOR_MAX) }
    }

    const MAJOR_MAX: u32 = 0xfff;
    const MINOR_MAX: u32 = 0xf_ffff;
}

bitflags! {
    /// `stx_attributes`. Source: `statx(2)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct StatxFlags: u16 {
        /// `STATX_ATTR_COMPRESSED`
        const COMPRESSED = 1;
        /// `STATX_ATTR_IMMUTABLE`: nobody may write, whatever the mode says (`EPERM`)
        const IMMUTABLE = 2;
        /// `STATX_ATTR_APPEND`
        const APPEND = 4;
        /// `STATX_ATTR_NODUMP`
        const NODUMP = 8;
        /// `STATX_ATTR_ENCRYPTED`
        const ENCRYPTED = 16;
        /// `STATX_ATTR_AUTOMOUNT`
        const AUTOMOUNT = 32;
        /// `STATX_ATTR_MOUNT_ROOT`
        const MOUNT_ROOT = 64;
        /// `STATX_ATTR_VERITY`
        const VERITY = 128;
        /// `STATX_ATTR_DAX`
        const DAX = 256;
        /// `STATX_ATTR_WRITE_ATOMIC`
        const WRITE_ATOMIC = 512;
    }
}

/// The kernel's bit of each [`StatxFlags`] bit, in order.
const STATX_BITS: [u64; 10] = [0x4, 0x10, 0x20, 0x40, 0x800, 0x1000, 0x2000, 0x10_0000, 0x20_0000, 0x40_0000];

impl StatxFlags {
    /// From `stx_attributes` as the kernel lays it out; bits without a name here are dropped.
    pub fn from_kernel(bits: u64) -> StatxFlags {
        let set = STATX_BITS.iter().enumerate().filter(|(_, bit)| bits & **bit != 0);
        StatxFlags::from_bits_truncate(set.fold(0, |acc, (i, _)| acc | 1 << i))
    }

    /// As the kernel lays out `stx_attributes`.
    pub fn to_kernel(self) -> u64 {
        let set = STATX_BITS.iter().enumerate().filter(|(i, _)| self.bits() & (1 << i) != 0);
        set.fold(0, |acc, (_, bit)| acc | bit)
    }
}

/// What is known of a node's access control list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum AclState {
    /// There is none: the mode bits say it all.
    #[default]
    Absent = 0,
    /// Nobody asked yet. The first check that depends on it leaves the lock-free walk and asks
    /// [`FileSystem::acl`](crate::FileSystem::acl).
    Unknown = 1,
    /// There is one: checks go to [`FileSystem::permission`](crate::FileSystem::permission).
    Present = 2,
}

/// The attributes of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attributes {
    /// What it is.
    pub kind: FileType,
    /// Permission bits with suid, sgid and sticky: 0..=0o7777.
    pub mode: u16,
    /// Number of links.
    pub nlink: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Inode number as users see it.
    pub ino: u64,
    /// Size in bytes.
    pub size: u64,
    /// Blocks of 512 bytes.
    pub blocks: u64,
    /// Preferred size of an access, in bytes.
    pub block_size: u32,
    /// The device that holds it.
    pub device: Device,
    /// The device that it is, for device nodes.
    pub device_node: Device,
    /// Last access.
    pub atime: Timestamp,
    /// Last change of the contents.
    pub mtime: Timestamp,
    /// Last change of the attributes.
    pub ctime: Timestamp,
    /// Creation, where the file system keeps it.
    pub btime: Option<Timestamp>,
    /// Attribute bits.
    pub flags: StatxFlags,
    /// Which attribute bits the file system keeps.
    pub flags_mask: StatxFlags,
    /// What is known of the access control list.
    pub acl: AclState,
}

impl Attributes {
    /// Attributes of an empty node of this type and mode, owned by root, one link (a directory: two), all times at the
    /// Epoch, no ACL.
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

    /// `st_mode`: type and permission bits.
    pub const fn st_mode(&self) -> u32 {
        (self.kind.mode_bits() | self.mode) as u32
    }
}

bitflags! {
    /// Which attributes are wanted, or there. Source: `stx_mask` in `statx(2)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct StatxMask: u32 {
        /// Type.
        const TYPE = 1;
        /// Permission bits.
        const MODE = 2;
        /// Number of links.
        const NLINK = 4;
        /// Owner.
        const UID = 8;
        /// Group.
        const GID = 0x10;
        /// Last access.
        const ATIME = 0x20;
        /// Last change of the contents.
        const MTIME = 0x40;
        /// Last change of the attributes.
        const CTIME = 0x80;
        /// Inode number.
        const INO = 0x100;
        /// Size.
        const SIZE = 0x200;
        /// Blocks.
        const BLOCKS = 0x400;
        /// All that `stat` gives.
        const BASIC_STATS = 0x7ff;
        /// Creation.
        const BTIME = 0x800;
        /// `STATX_MNT_ID_UNIQUE`: the mount's number.
        const MNT_ID = 0x4000;
    }
}

impl StatxMask {
    /// What the cache always knows.
    pub(crate) const KEPT: StatxMask =
        StatxMask::TYPE.union(StatxMask::MODE).union(StatxMask::UID).union(StatxMask::GID).union(StatxMask::MNT_ID);
}

/// Attributes, and which of them are to be believed. Source: `struct statx` in `statx(2)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Statx {
    /// These are up to date: at least those that were wanted, but for the time of birth where the file system keeps none.
    pub mask: StatxMask,
    /// The attributes. Among the flags is [`MOUNT_ROOT`](StatxFlags::MOUNT_ROOT) for the root of a mount.
    pub attributes: Attributes,
    /// The number of the mount through which it was seen, as
    /// [`mountinfo`](crate::Context::mountinfo) has it; no other mount ever has it.
    pub mount_id: u64,
}

impl Statx {
    pub(crate) fn new(mut attributes: Attributes, wanted: StatxMask, seen: Seen) -> Statx {
        attributes.flags.set(StatxFlags::MOUNT_ROOT, seen.is_root);
        attributes.flags_mask |= StatxFlags::MOUNT_ROOT;
        let known = if StatxMask::KEPT.contains(wanted) { StatxMask::KEPT } else { StatxMask::all() };
        let unborn = if attributes.btime.is_some() { StatxMask::empty() } else { StatxMask::BTIME };
        Statx { mask: known - unborn, attributes, mount_id: seen.mount }
    }
}

/// How a node was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// The number of the mount.
    pub(crate) mount: u64,
    /// Whether it is the mount's root.
    pub(crate) is_root: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statx_bits_go_there_and_back() {
        for flag in StatxFlags::all().iter() {
            assert_eq!(StatxFlags::from_kernel(flag.to_kernel()), flag);
        }
        assert_eq!(StatxFlags::IMMUTABLE.to_kernel(), 0x10);
        assert_eq!(StatxFlags::WRITE_ATOMIC.to_kernel(), 0x40_0000);
    }

    #[test]
    fn types_are_those_of_st_mode() {
        let link = Attributes::new(FileType::Symlink, 0o777);
        assert_eq!(link.st_mode(), 0o120777);
        assert_eq!(FileType::from_mode(link.st_mode()), Some(FileType::Symlink));
        assert_eq!(FileType::from_mode(0), None);
    }
}
