//! The key of a node: (mount id, device, inode number), packed without loss.
//!
//! | bits | what |
//! |---|---|
//! | 0..64 | inode number |
//! | 64..96 | device: 12 bits of major, 20 of minor, all that Linux has |
//! | 96..128 | mount id, which Linux keeps in an `int` |
//!
//! Device and inode number alone would not do: a bind mount shows one directory under two names, and each has its own `..`.

use pathwalk::{Errno, NodeKey};
use rustix::fs::Statx;

const MINOR_BITS: u32 = 20;
const MAJOR_BITS: u32 = 12;

/// The key of what `stat` is about; `EOVERFLOW` if a number is larger than Linux makes them.
pub(crate) fn of(stat: &Statx) -> Result<NodeKey, Errno> {
    pack(stat.stx_mnt_id, stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino)
}

/// The id of the mount that a node was found on.
pub(crate) fn mount_of(key: NodeKey) -> u32 {
    (key.0 >> 96) as u32
}

fn pack(mount: u64, major: u32, minor: u32, ino: u64) -> Result<NodeKey, Errno> {
    let mount = u32::try_from(mount).map_err(|_| Errno::EOVERFLOW)?;
    if major >> MAJOR_BITS != 0 || minor >> MINOR_BITS != 0 {
        return Err(Errno::EOVERFLOW);
    }
    let device = major << MINOR_BITS | minor;
    Ok(NodeKey(u128::from(mount) << 96 | u128::from(device) << 64 | u128::from(ino)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_bits_of_its_own() {
        let all = [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (u32::MAX as u64, 4095, (1 << 20) - 1, u64::MAX)];
        let keys = all.map(|(mount, major, minor, ino)| pack(mount, major, minor, ino).unwrap());
        for (i, a) in keys.iter().enumerate() {
            assert!(keys[..i].iter().all(|b| a != b));
        }
        assert_eq!(keys[4].0, u128::MAX);
        assert_eq!(mount_of(keys[0]), 1);
    }

    #[test]
    fn too_large_is_refused_and_not_folded() {
        assert_eq!(pack(1 << 32, 0, 0, 0), Err(Errno::EOVERFLOW));
        assert_eq!(pack(0, 4096, 0, 0), Err(Errno::EOVERFLOW));
        assert_eq!(pack(0, 0, 1 << 20, 0), Err(Errno::EOVERFLOW));
    }
}
