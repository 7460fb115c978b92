//! The key of a node: (type, mount id, device, inode number), packed without loss.
//!
//! | bits | what |
//! |---|---|
//! | 0..64 | inode number |
//! | 64..96 | device: 12 bits of major, 20 of minor, all that Linux has |
//! | 96..124 | mount id: Linux assigns the lowest free one, and no machine has 2^28 mounts |
//! | 124..128 | type, as in the mode |
//!
//! Device and inode number alone do not suffice: a bind mount shows one directory under two names,
//! and each has its own `..`. The type is included because inode numbers are reused. A question
//! about a link gives `ESTALE` if its number now belongs to a file.

use pathwalk::{Errno, FileType, NodeKey};
use rustix::fs::Statx;

const MINOR_BITS: u32 = 20;
const MAJOR_BITS: u32 = 12;
const MOUNT_BITS: u32 = 28;
const TYPE_SHIFT: u32 = 12;

/// The bits of mount id and device.
const PLACE: u128 = (1 << 124) - (1 << 64);

/// Returns the key of the node that `stat` describes. Fails with `EOVERFLOW` if a number is larger
/// than any that Linux assigns.
pub(crate) fn of(stat: &Statx) -> Result<NodeKey, Errno> {
    pack(stat.stx_mode >> TYPE_SHIFT, stat.stx_mnt_id, stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino)
}

/// Returns the key of a node that a directory lists, assuming that it is on the directory's mount.
/// If something is mounted there, the node that a lookup finds has another key.
pub(crate) fn beside(dir: NodeKey, kind: FileType, ino: u64) -> NodeKey {
    let place = dir.0 & PLACE;
    NodeKey(u128::from(kind.mode_bits() >> TYPE_SHIFT) << 124 | place | u128::from(ino))
}

/// Returns the id of the mount that a node was found on.
pub(crate) fn mount_of(key: NodeKey) -> u32 {
    (key.0 >> 96) as u32 & ((1 << MOUNT_BITS) - 1)
}

fn pack(kind: u16, mount: u64, major: u32, minor: u32, ino: u64) -> Result<NodeKey, Errno> {
    if mount >> MOUNT_BITS != 0 || major >> MAJOR_BITS != 0 || minor >> MINOR_BITS != 0 {
        return Err(Errno::EOVERFLOW);
    }
    let device = major << MINOR_BITS | minor;
    let high = u128::from(kind) << MOUNT_BITS | u128::from(mount);
    Ok(NodeKey(high << 96 | u128::from(device) << 64 | u128::from(ino)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_bits_of_its_own() {
        let most = (15, (1 << 28) - 1, 4095, (1 << 20) - 1, u64::MAX);
        let all = [(1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 1, 0), (0, 0, 0, 0, 1), most];
        let keys = all.map(|(kind, mount, major, minor, ino)| pack(kind, mount, major, minor, ino).unwrap());
        for (i, a) in keys.iter().enumerate() {
            assert!(keys[..i].iter().all(|b| a != b));
        }
        assert_eq!(keys[5].0, u128::MAX);
        assert_eq!([0, 1, 5].map(|i| mount_of(keys[i])), [0, 1, (1 << 28) - 1]);
    }

    #[test]
    fn what_is_listed_is_on_the_mount_of_its_directory() {
        let dir = pack(0o4, 77, 8, 1, 2).unwrap();
        assert_eq!(beside(dir, FileType::Regular, 99), pack(0o10, 77, 8, 1, 99).unwrap());
        assert_eq!(beside(NodeKey(u128::MAX), FileType::Fifo, 0), pack(1, (1 << 28) - 1, 4095, 0xf_ffff, 0).unwrap());
    }

    #[test]
    fn too_large_is_refused_and_not_folded() {
        assert_eq!(pack(0, 1 << 28, 0, 0, 0), Err(Errno::EOVERFLOW));
        assert_eq!(pack(0, 0, 4096, 0, 0), Err(Errno::EOVERFLOW));
        assert_eq!(pack(0, 0, 0, 1 << 20, 0), Err(Errno::EOVERFLOW));
    }
}
