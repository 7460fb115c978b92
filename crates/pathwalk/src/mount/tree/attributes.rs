//! The attributes of a mount: what it allows its users, whatever its file system says, and the ids
//! by which it shows owners.
//!
//! A copy of a mount has the attributes of the original. These are the mount's own attributes;
//! those of the superblock are elsewhere.

use crate::abi::MountFlags;

pub(crate) use crate::mount::id_maps::IdMapNumber;

/// The attributes of a mount.
#[derive(Clone, Default, Debug)]
pub(crate) struct Attributes {
    pub(crate) flags: MountFlags,
    /// The number of the mount's id map. Linux: `mnt_idmap`.
    pub(crate) id_map: Option<IdMapNumber>,
}

impl Attributes {
    /// Returns attributes with these switches, and no id map.
    pub(crate) fn new(flags: MountFlags) -> Attributes {
        Attributes { flags, id_map: None }
    }
}
