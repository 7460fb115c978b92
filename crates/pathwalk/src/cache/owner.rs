//! The owner of nodes, which the caches tell when they let go of one.

use crate::memory::slot::SuperblockId;
use crate::node::NodeKey;

/// The owner of the nodes that the caches hold: the file systems, seen from below.
pub(crate) trait NodeOwner: Send + Sync {
    /// Takes back a node that was handed out, once for each time. Called under no lock of an inode
    /// or of children; perhaps under a directory's lock.
    fn forget(&self, superblock: SuperblockId, key: NodeKey);

    /// Reports that an inode of a superblock was freed, and its node forgotten.
    fn freed(&self, superblock: SuperblockId);
}
