//! The node that a hook is asked about, and the nodes above it.

use crate::attr::FileType;
use crate::memory::slot::SuperblockId;
use crate::node::NodeKey;

/// The identity of a node in a `Vfs`: its file system, and its key there. It is valid as long as
/// the node is held, by a [`Handle`](crate::Handle) for example.
///
/// [`SecurityHook`](super::SecurityHook) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NodeId {
    superblock: u16,
    key: NodeKey,
}

impl NodeId {
    pub(crate) fn new(superblock: SuperblockId, key: NodeKey) -> NodeId {
        NodeId { superblock: superblock.0, key }
    }

    /// Returns the key by which its file system knows the node.
    ///
    /// [`SecurityHook`](super::SecurityHook) has an example.
    pub fn key(self) -> NodeKey {
        self.key
    }
}

/// A node with those above it, as they were found one after the other.
pub(crate) struct Way {
    pub(crate) kind: FileType,
    /// The node, its directory, and so on up to the root of the topmost mount. Of a node that is
    /// covered by a mount, the mount's root stands for it.
    pub(crate) nodes: Vec<NodeId>,
    /// The number of nodes up to the root of the node's own mount, that root included.
    pub(crate) in_mount: usize,
}

impl Way {
    pub(crate) fn object(&self) -> Object<'_> {
        Object { way: self }
    }
}

/// The node that a [`SecurityHook`](super::SecurityHook) is asked about.
///
/// [`SecurityHook`](super::SecurityHook) has an example.
#[derive(Clone, Copy)]
pub struct Object<'a> {
    way: &'a Way,
}

impl<'a> Object<'a> {
    /// Returns the node.
    ///
    /// [`SecurityHook`](super::SecurityHook) has an example.
    pub fn node(&self) -> NodeId {
        self.way.nodes[0]
    }

    /// Returns the type of the node.
    ///
    /// [`SecurityHook`](super::SecurityHook) has an example.
    pub fn kind(&self) -> FileType {
        self.way.kind
    }

    /// Returns the node, the directory that it is in, and so on up to the root of the topmost
    /// mount. A directory on which something is mounted is left out: the mount's root is seen in
    /// its place.
    ///
    /// [`SecurityHook`](super::SecurityHook) has an example.
    pub fn and_above(&self) -> impl Iterator<Item = NodeId> + use<'a> {
        self.way.nodes.iter().copied()
    }

    /// Returns the part of [`and_above`](Self::and_above) that is in the node's own mount.
    pub(crate) fn in_mount(&self) -> &'a [NodeId] {
        &self.way.nodes[..self.way.in_mount]
    }

    /// Returns the part of [`and_above`](Self::and_above) from the root of the node's mount on.
    pub(crate) fn mount_and_above(&self) -> &'a [NodeId] {
        &self.way.nodes[self.way.in_mount - 1..]
    }
}

impl std::fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Object").field("kind", &self.kind()).field("nodes", &self.way.nodes).finish()
    }
}
