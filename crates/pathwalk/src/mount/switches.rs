//! The switches of a mount and of its superblock, which forbid things, in one word.
//!
//! What always holds: a record has its superblock's switches as the superblock has them, since the
//! tree of mounts is locked while either changes. So one load replaces two.

use crate::abi::{AccessRule, MountFlags, SuperblockFlags};
use crate::attr::FileType;

/// The position of the mount's own switches in a record's word; bit 0 is the count's.
const OWN_SHIFT: u32 = 1;
const OWN: u64 = 0xffff << OWN_SHIFT;
/// The position of the superblock's switches in a record's word.
const SUPERBLOCK_SHIFT: u32 = 17;
const SUPERBLOCK: u64 = 7 << SUPERBLOCK_SHIFT;

const _: () = assert!((MountFlags::all().bits() as u64) << OWN_SHIFT & !OWN == 0);
const _: () = assert!((SuperblockFlags::all().bits() as u64) << SUPERBLOCK_SHIFT & !SUPERBLOCK == 0);

/// The switches that hold for what is seen through a mount.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Switches {
    /// The mount's own switches.
    pub(crate) own: MountFlags,
    pub(crate) superblock: SuperblockFlags,
}

impl Switches {
    /// Returns the switches in a record's word.
    pub(super) fn of_word(word: u64) -> Switches {
        Switches {
            own: MountFlags::from_bits_truncate(((word & OWN) >> OWN_SHIFT) as u32),
            superblock: SuperblockFlags::from_bits_truncate(((word & SUPERBLOCK) >> SUPERBLOCK_SHIFT) as u32),
        }
    }

    /// Returns a record's flags with these switches in place of the old ones.
    pub(super) fn in_word(self, flags: u64) -> u64 {
        let (own, superblock) = (u64::from(self.own.bits()), u64::from(self.superblock.bits()));
        flags & !(OWN | SUPERBLOCK) | own << OWN_SHIFT | superblock << SUPERBLOCK_SHIFT
    }

    /// Returns whether the mount has this switch of its own.
    pub(crate) fn contains(self, flag: MountFlags) -> bool {
        self.own.contains(flag)
    }

    /// Returns whether the mount or its superblock is read-only. Linux: `__mnt_is_readonly`.
    pub(crate) fn is_read_only(self) -> bool {
        self.own.contains(MountFlags::READ_ONLY) || self.superblock.contains(SuperblockFlags::READ_ONLY)
    }

    /// Returns whether the superblock refuses the right to write to a node of this type, before its
    /// mode is looked at. Linux: `sb_permission`.
    pub(crate) fn refuse_writing_to(self, kind: FileType) -> bool {
        let is_on_disk = matches!(kind, FileType::Regular | FileType::Directory | FileType::Symlink);
        is_on_disk && self.superblock.contains(SuperblockFlags::READ_ONLY)
    }

    /// Returns the accesses to nodes of this type of which the time is stored. Linux:
    /// `atime_needs_update`.
    pub(crate) fn access_rule(self, kind: FileType) -> AccessRule {
        match self.own {
            _ if self.is_read_only() => AccessRule::Never,
            own if own.contains(MountFlags::NODIRATIME) && kind == FileType::Directory => AccessRule::Never,
            own if own.contains(MountFlags::STRICTATIME) => AccessRule::Always,
            own if own.contains(MountFlags::NOATIME) => AccessRule::Never,
            _ => AccessRule::Relative,
        }
    }

    /// Returns the switches as `statfs(2)` reports them. Linux: `calculate_f_flags`.
    pub(crate) fn told(self) -> MountFlags {
        let mut told = self.own;
        told.set(MountFlags::READ_ONLY, self.is_read_only());
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_them_apart_and_the_rest_as_it_is() {
        let others = !(OWN | SUPERBLOCK);
        for own in [MountFlags::empty(), MountFlags::READ_ONLY, MountFlags::all()] {
            for superblock in [SuperblockFlags::empty(), SuperblockFlags::READ_ONLY] {
                let switches = Switches { own, superblock };
                for before in [0, u64::MAX, others] {
                    let word = switches.in_word(before);
                    assert_eq!((Switches::of_word(word), word & others), (switches, before & others));
                }
            }
        }
    }

    #[test]
    fn a_superblock_refuses_no_device_pipe_or_socket() {
        let superblock = SuperblockFlags::READ_ONLY;
        let switches = Switches { own: MountFlags::empty(), superblock };
        let refused = |kind| switches.refuse_writing_to(kind);
        assert!(refused(FileType::Regular) && refused(FileType::Directory) && refused(FileType::Symlink));
        let special = [FileType::Fifo, FileType::Socket, FileType::CharDevice, FileType::BlockDevice];
        assert!(!special.into_iter().any(refused));
        let of_mount = Switches { own: MountFlags::READ_ONLY, superblock: SuperblockFlags::empty() };
        assert!(of_mount.is_read_only() && !of_mount.refuse_writing_to(FileType::Regular));
    }
}
