//! The numbers of file systems, by which `statfs(2)` and `fstatfs(2)` say of what type one is.
//!
//! What always holds: a number stands here, or in a crate that this one depends on, and nowhere
//! else. The field `f_type` has another width on other machines; 32 bits of it are compared.
//!
//! What it does not do: say what a file system of a type does. The modules that need it have lists
//! of types.
//!
//! Source: `linux/magic.h`, and the file systems that are not in it.

use rustix::fs::StatFs;

pub(crate) const BCACHEFS: u32 = 0xca45_1a4e;
pub(crate) const BTRFS: u32 = libc::BTRFS_SUPER_MAGIC as u32;
pub(crate) const EROFS: u32 = 0xe0f5_e1e2;
pub(crate) const EXFAT: u32 = 0x2011_bab0;
/// Ext2, ext3 and ext4.
pub(crate) const EXT: u32 = libc::EXT4_SUPER_MAGIC as u32;
pub(crate) const F2FS: u32 = libc::F2FS_SUPER_MAGIC as u32;
pub(crate) const FAT: u32 = libc::MSDOS_SUPER_MAGIC as u32;
pub(crate) const HFS_PLUS: u32 = 0x482b;
pub(crate) const ISO_9660: u32 = libc::ISOFS_SUPER_MAGIC as u32;
pub(crate) const JFS: u32 = 0x3153_464a;
pub(crate) const NILFS: u32 = libc::NILFS_SUPER_MAGIC as u32;
pub(crate) const NTFS3: u32 = 0x7366_746e;
pub(crate) const OVERLAYFS: u32 = libc::OVERLAYFS_SUPER_MAGIC as u32;
/// The type of `/proc`.
pub(crate) const PROC: u32 = libc::PROC_SUPER_MAGIC as u32;
pub(crate) const RAMFS: u32 = 0x8584_58f6;
pub(crate) const SQUASHFS: u32 = 0x7371_7368;
pub(crate) const TMPFS: u32 = libc::TMPFS_MAGIC as u32;
pub(crate) const UBIFS: u32 = 0x2405_1905;
pub(crate) const UDF: u32 = libc::UDF_SUPER_MAGIC as u32;
pub(crate) const XFS: u32 = libc::XFS_SUPER_MAGIC as u32;
pub(crate) const ZFS: u32 = 0x2fc1_2fc1;

/// Returns the number of a file system's type.
pub(crate) fn of(stat: &StatFs) -> u32 {
    stat.f_type as u32
}
