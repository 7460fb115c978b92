//! The conversion of `statx(2)` results to [`Attributes`]: every field as the kernel reports it;
//! and what else `statx` tells.

use pathwalk::{AclState, Attributes, ChangeCookie, Details, Device, Errno, FileType, NodeKey, StatxFlags, StatxMask, Timestamp};
use rustix::fs::{Statx, StatxFlags as Mask, StatxTimestamp};

use crate::HostFs;
use crate::beneath::Reached;
use crate::open_file::host;
use crate::watch::coverage::Handing;

/// The fields that are requested from `statx`.
pub(crate) const MASK: Mask = Mask::BASIC_STATS.union(Mask::BTIME).union(Mask::MNT_ID);

/// Converts the result of `statx`. A symbolic link has no ACL. For all other types, the ACL is
/// still unknown. Fails with `EIO` if the mode has no valid type.
pub(crate) fn from_statx(stat: &Statx) -> Result<Attributes, Errno> {
    let kind = FileType::from_mode(u32::from(stat.stx_mode)).ok_or(Errno::EIO)?;
    let mut attributes = Attributes::new(kind, stat.stx_mode);
    attributes.nlink = stat.stx_nlink;
    attributes.uid = stat.stx_uid;
    attributes.gid = stat.stx_gid;
    attributes.ino = stat.stx_ino;
    attributes.size = stat.stx_size;
    attributes.blocks = stat.stx_blocks;
    attributes.block_size = stat.stx_blksize;
    attributes.device = Device { major: stat.stx_dev_major, minor: stat.stx_dev_minor };
    attributes.device_node = Device { major: stat.stx_rdev_major, minor: stat.stx_rdev_minor };
    attributes.atime = timestamp(&stat.stx_atime);
    attributes.mtime = timestamp(&stat.stx_mtime);
    attributes.ctime = timestamp(&stat.stx_ctime);
    attributes.btime = (stat.stx_mask & Mask::BTIME.bits() != 0).then(|| timestamp(&stat.stx_btime));
    attributes.flags = StatxFlags::from_kernel(stat.stx_attributes.bits());
    attributes.flags_mask = StatxFlags::from_kernel(stat.stx_attributes_mask.bits());
    attributes.acl = if kind == FileType::Symlink { AclState::Absent } else { AclState::Unknown };
    Ok(attributes)
}

/// The number of the subvolume. Source: `STATX_SUBVOL`, Linux 6.10.
const SUBVOL: Mask = Mask::from_bits_retain(0x8000);

/// Returns what the host has of a node beside its attributes, of which the caller has just asked
/// for all. So the time of the last change was asked for, and the next change gets another one.
pub(crate) fn details_of(node: &Reached, attributes: &Attributes, wanted: StatxMask) -> Result<Details, Errno> {
    let without_times = if wanted.contains(StatxMask::SUBVOL) { Mask::TYPE | SUBVOL } else { Mask::TYPE };
    let found = node.stat_some(without_times).map_err(host)?;
    let mut details = Details::default();
    // Only file systems with times of several grains leave out a time that is not asked for.
    if found.stx_mask & Mask::CTIME.bits() == 0 && wanted.contains(StatxMask::CHANGE_COOKIE) {
        details.change = Some(ChangeCookie::Unordered(attributes.change_attribute()));
    }
    if found.stx_mask & SUBVOL.bits() != 0 {
        details.subvolume = Some(found.stx_subvol);
    }
    Ok(details)
}

impl HostFs {
    /// Returns the attributes of a node, and what `more` finds in it.
    pub(crate) fn attributes_with<T>(
        &self,
        node: NodeKey,
        more: impl Fn(&Reached, &Attributes) -> Result<T, Errno>,
    ) -> Result<(Attributes, T), Errno> {
        let found = self.tree.with_room(|| {
            let (reached, attributes) = self.tree.reach_or_open(node)?;
            let more = more(&reached, &attributes)?;
            Ok((reached, attributes, more))
        });
        let loaded =
            found.and_then(|(reached, attributes, more)| Ok((self.load((node, &reached), attributes, Handing::Again)?, more)));
        // This drops the guard even if the node is gone, because its key may be reused.
        let guard = loaded.as_ref().ok().and_then(|(loaded, _)| loaded.guard.clone());
        self.tree.nodes.write().refresh_guard(node, guard);
        loaded.map(|(loaded, more)| (loaded.attributes, more))
    }
}

fn timestamp(time: &StatxTimestamp) -> Timestamp {
    Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec }
}
