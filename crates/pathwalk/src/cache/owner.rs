//! The one whom the caches tell that they let go of a node.

use crate::memory::slot::SuperblockId;
use crate::node::NodeKey;

/// Owner of the nodes that the caches hold: the file systems, seen from below.
pub(crate) trait NodeOwner: Send + Sync {
    /// Takes back a node that was handed out, once for each time. Called under no lock of an inode
    /// or of children; perhaps under a directory's.
    fn forget(&self, superblock: SuperblockId, key: NodeKey);

    /// An inode of a superblock was freed, and its node forgotten.
    fn freed(&self, superblock: SuperblockId);
}
