//! What a mount lets its walkers do, whatever its file system says.
//!
//! A copy of a mount has the attributes of the original. They are the mount's own: those of the
//! superblock are elsewhere.

use crate::abi::MountFlags;

/// The attributes of a mount.
#[derive(Clone, Default, Debug)]
pub(crate) struct Attributes {
    pub(crate) flags: MountFlags,
}

impl Attributes {
    /// Returns attributes with these switches.
    pub(crate) fn new(flags: MountFlags) -> Attributes {
        Attributes { flags }
    }
}
