//! Words of mounting: switches, and flags of operations.

use bitflags::bitflags;

use crate::permission::IdMap;

bitflags! {
    /// Switches of a mount, whatever its file system says. Source: `mount(8)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct MountFlags: u32 {
        /// Writing is `EROFS`, after what modes say (`EACCES`).
        const READ_ONLY = 1;
        /// Executing a regular file is `EACCES`.
        const NOEXEC = 2;
        /// Following a link is `ELOOP`; reading its body is not.
        const NOSYMFOLLOW = 4;
        /// Suid and sgid bits are to mean nothing where a file is executed. The engine executes
        /// none: it tells.
        const NOSUID = 8;
        /// Opening a device is `EACCES`.
        const NODEV = 16;
        /// Times of access are not to be kept. The engine keeps none by itself: it tells.
        const NOATIME = 32;
        /// The same of directories.
        const NODIRATIME = 64;
        /// Times of access are to be kept where they are older than a change, or a day. The engine
        /// tells.
        const RELATIME = 128;
    }
}

bitflags! {
    /// Switches of a file system, whichever mount it is seen through. Source: the second options of
    /// `proc_pid_mountinfo(5)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct SuperblockFlags: u32 {
        /// `SB_RDONLY`: writing is `EROFS`, and so is asking for the right to write to a regular
        /// file, a directory or a link, whatever its mode says.
        const READ_ONLY = 1;
    }
}

impl MountFlags {
    /// What is said of times of access.
    pub(crate) const OF_ACCESS: MountFlags = MountFlags::NOATIME.union(MountFlags::NODIRATIME).union(MountFlags::RELATIME);

    /// Returns what `mount(2)` sets of the superblock when it is given these.
    pub(crate) fn of_superblock(self) -> SuperblockFlags {
        if self.contains(MountFlags::READ_ONLY) { SuperblockFlags::READ_ONLY } else { SuperblockFlags::empty() }
    }
}

/// Whether an operation on a mount is one on all below it as well.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Recursion {
    /// On it alone.
    #[default]
    Alone,
    /// `AT_RECURSIVE`, `MS_REC`: on all that is mounted below it, too.
    Recursive,
}

bitflags! {
    /// How a mount is moved. Source: `move_mount(2)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct MoveFlags: u32 {
        /// `MOVE_MOUNT_F_EMPTY_PATH`: an empty path means the starting point itself, of what is
        /// moved.
        const FROM_EMPTY_PATH = 1;
        /// `MOVE_MOUNT_T_EMPTY_PATH`: the same, of where it is moved to.
        const TO_EMPTY_PATH = 4;
        /// `MOVE_MOUNT_BENEATH`: beneath what is mounted there, so that it is seen when that is
        /// unmounted.
        const BENEATH = 2;
    }
}

bitflags! {
    /// How a mount is unmounted. Source: `umount2(2)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct UmountFlags: u32 {
        /// `MNT_DETACH`: at once, with all that is mounted below, even while it is in use. What is
        /// in use goes when it is used no more.
        const DETACH = 1;
        /// `MNT_EXPIRE`: only if it was not used since the last try with this flag; the first is
        /// `EAGAIN`. `EINVAL` with `DETACH`.
        const EXPIRE = 2;
        /// `UMOUNT_NOFOLLOW`: a link in the last component is not followed.
        const NOFOLLOW = 4;
    }
}

/// What a mount gets from others and gives to them. Source: `mount_namespaces(7)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Propagation {
    /// Neither gives nor gets.
    Private,
    /// Gives to its peers and their slaves, and gets from its peers.
    Shared,
    /// Gets from the peers that it had, and gives nothing.
    Slave,
    /// Private, and cannot be bound.
    Unbindable,
}

/// What of a mount is to be changed. Source: `mount_setattr(2)`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MountAttributes {
    /// Switches that are set.
    pub set: MountFlags,
    /// Switches that are cleared before.
    pub clear: MountFlags,
    /// What it gets and gives from now on, if that changes.
    pub propagation: Option<Propagation>,
    /// `MOUNT_ATTR_IDMAP`: by which ids it shows owners, if that changes. Once, and before the
    /// mount is moved anywhere.
    pub id_map: Option<IdMap>,
}
