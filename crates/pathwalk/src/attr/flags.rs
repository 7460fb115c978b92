//! The attribute bits of a node, as `statx(2)` has them, and as the cache keeps them in 16 bits;
//! the flags that users set, which the cache does not keep.

use bitflags::bitflags;

bitflags! {
    /// `stx_attributes`. Source: `statx(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, StatxFlags, Vfs};
    /// use pathwalk_memfs::MemFs;
    /// let fs = MemFs::new();
    /// fs.file("/fixed", 0o644)?;
    /// fs.set_flags("/fixed", StatxFlags::IMMUTABLE)?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// assert_eq!(context.unlink("/fixed"), Err(Errno::EPERM));
    /// // The bits of `stx_attributes`, and back.
    /// assert_eq!(StatxFlags::IMMUTABLE.to_kernel(), 0x10);
    /// assert_eq!(StatxFlags::from_kernel(0x10), StatxFlags::IMMUTABLE);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct StatxFlags: u16 {
        /// `STATX_ATTR_COMPRESSED`
        const COMPRESSED = 1;
        /// `STATX_ATTR_IMMUTABLE`: no user may write, whatever the mode (`EPERM`)
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

bitflags! {
    /// The flags of a node that users set: those of `chattr(1)`, with the bits of Linux. Bits
    /// without a name here are kept as they are. Source: `FS_IOC_SETFLAGS`, `ioctl_iflags(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, InodeFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/log", "")?;
    /// context.set_inode_flags("/log", InodeFlags::APPEND | InodeFlags::NODUMP)?;
    /// assert_eq!(context.truncate("/log", 0), Err(Errno::EPERM));
    /// assert_eq!(context.set_inode_flags("/log", InodeFlags::COMPRESSED), Err(Errno::EOPNOTSUPP));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct InodeFlags: u32 {
        /// `FS_COMPR_FL`: the data is compressed.
        const COMPRESSED = 0x4;
        /// `FS_SYNC_FL`: writes are synchronous.
        const SYNC = 0x8;
        /// `FS_IMMUTABLE_FL`: the node cannot be changed (`EPERM`).
        const IMMUTABLE = 0x10;
        /// `FS_APPEND_FL`: the node can only grow (`EPERM`).
        const APPEND = 0x20;
        /// `FS_NODUMP_FL`: backups leave the node out.
        const NODUMP = 0x40;
        /// `FS_NOATIME_FL`: reads do not update the time of access.
        const NOATIME = 0x80;
        /// `FS_ENCRYPT_FL`: the data is encrypted.
        const ENCRYPTED = 0x800;
        /// `FS_DIRSYNC_FL`: changes of the directory are synchronous.
        const DIRSYNC = 0x1_0000;
        /// `FS_VERITY_FL`: reads are verified.
        const VERITY = 0x10_0000;
        /// `FS_NOCOW_FL`: writes are in place.
        const NO_COPY_ON_WRITE = 0x80_0000;
        /// `FS_DAX_FL`: the data is accessed without a page cache.
        const DAX = 0x200_0000;
        /// `FS_PROJINHERIT_FL`: new nodes get the directory's project.
        const PROJECT_INHERIT = 0x2000_0000;
        /// `FS_CASEFOLD_FL`: names of the directory match in any case.
        const CASEFOLD = 0x4000_0000;
        const _ = !0;
    }
}

/// The kernel's bit for each [`StatxFlags`] bit, in order.
const STATX_BITS: [u64; 10] = [0x4, 0x10, 0x20, 0x40, 0x800, 0x1000, 0x2000, 0x10_0000, 0x20_0000, 0x40_0000];

impl StatxFlags {
    /// Converts `stx_attributes` of the kernel. Bits without a name here are dropped.
    pub fn from_kernel(bits: u64) -> StatxFlags {
        let set = STATX_BITS.iter().enumerate().filter(|(_, bit)| bits & **bit != 0);
        StatxFlags::from_bits_truncate(set.fold(0, |acc, (i, _)| acc | 1 << i))
    }

    /// Returns the bits as `stx_attributes` of the kernel.
    pub fn to_kernel(self) -> u64 {
        let set = STATX_BITS.iter().enumerate().filter(|(i, _)| self.bits() & (1 << i) != 0);
        set.fold(0, |acc, (_, bit)| acc | bit)
    }
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
}
