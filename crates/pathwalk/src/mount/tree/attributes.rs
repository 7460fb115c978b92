//! What a mount lets its walkers do, whatever its file system says, and by which ids it shows owners.
//!
//! A copy of a mount has the attributes of the original. They are the mount's own: those of the
//! superblock are elsewhere.

use crate::abi::MountFlags;

pub(crate) use crate::mount::id_maps::IdMapNumber;

/// The attributes of a mount.
#[derive(Clone, Default, Debug)]
pub(crate) struct Attributes {
    pub(crate) flags: MountFlags,
    /// Linux: `mnt_idmap`.
    pub(crate) id_map: Option<IdMapNumber>,
}

impl Attributes {
    /// Returns attributes with these switches, and no id map.
    pub(crate) fn new(flags: MountFlags) -> Attributes {
        Attributes { flags, id_map: None }
    }
}
