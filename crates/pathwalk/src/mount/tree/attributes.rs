//! What a mount lets its walkers do, whatever its file system says.
//!
//! A copy of a mount has the attributes of the original. They are the mount's own: those of the
//! superblock are elsewhere.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::abi::MountFlags;

/// The attributes of a mount.
#[derive(Clone, Default)]
pub(crate) struct Attributes {
    pub(crate) flags: MountFlags,
    /// The mapping of owners, if the mount has one. The tree hands it on and never looks inside.
    pub(crate) idmap: Option<Arc<dyn Any + Send + Sync>>,
}

impl Attributes {
    /// Returns attributes with these switches and no mapping of owners.
    pub(crate) fn new(flags: MountFlags) -> Attributes {
        Attributes { flags, idmap: None }
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mapped = self.idmap.is_some();
        f.debug_struct("Attributes").field("flags", &self.flags).field("idmap", &mapped).finish()
    }
}
