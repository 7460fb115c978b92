//! The conversion of `statx(2)` results to [`Attributes`]: every field as the kernel reports it.

use pathwalk::{AclState, Attributes, Device, Errno, FileType, StatxFlags, Timestamp};
use rustix::fs::{Statx, StatxFlags as Mask, StatxTimestamp};

/// The fields that are requested from `statx`.
pub(crate) const MASK: Mask = Mask::BASIC_STATS.union(Mask::BTIME).union(Mask::MNT_ID);

/// Converts the result of `statx`. A symbolic link has no ACL. For all other types, the ACL is
/// still unknown. Fails with `EIO` if the mode has no valid type.
pub(crate) fn from_statx(stat: &Statx) -> Result<Attributes, Errno> {
    let kind = FileType::from_mode(u32::from(stat.stx_mode)).ok_or(Errno::EIO)?;
    Ok(Attributes {
        kind,
        mode: stat.stx_mode & 0o7777,
        nlink: stat.stx_nlink,
        uid: stat.stx_uid,
        gid: stat.stx_gid,
        ino: stat.stx_ino,
        size: stat.stx_size,
        blocks: stat.stx_blocks,
        block_size: stat.stx_blksize,
        device: Device { major: stat.stx_dev_major, minor: stat.stx_dev_minor },
        device_node: Device { major: stat.stx_rdev_major, minor: stat.stx_rdev_minor },
        atime: timestamp(&stat.stx_atime),
        mtime: timestamp(&stat.stx_mtime),
        ctime: timestamp(&stat.stx_ctime),
        btime: (stat.stx_mask & Mask::BTIME.bits() != 0).then(|| timestamp(&stat.stx_btime)),
        flags: StatxFlags::from_kernel(stat.stx_attributes.bits()),
        flags_mask: StatxFlags::from_kernel(stat.stx_attributes_mask.bits()),
        acl: if kind == FileType::Symlink { AclState::Absent } else { AclState::Unknown },
    })
}

fn timestamp(time: &StatxTimestamp) -> Timestamp {
    Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec }
}
