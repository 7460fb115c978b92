//! One event by node.

use crate::security::NodeId;

/// A change in any file system of a `Vfs`, by the nodes that it concerns. A
/// [`NodeSubscription`](crate::NodeSubscription) has an example.
///
/// It is for programs that keep answers by node: a change through any name is told, and so is one
/// of a node that has lost its names. A change of a name changes attributes of its directory, too,
/// which is not told apart. Reads, and the times of them, are not told.
///
/// | event | operations |
/// |---|---|
/// | `Name` | a name is made or removed; one for each name of a rename; a report about a name |
/// | `Attributes` | attributes are set, or a node gets or loses a name |
/// | `Data` | data is written, the size is set; a report about a node |
/// | `Names` | a report about a directory |
/// | `Mounts` | something is mounted, moved or unmounted |
/// | `Anything` | a report about more than one node; events that were lost |
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NodeEvent {
    /// What a name leads to, or whether it is there.
    Name {
        /// The directory.
        directory: NodeId,
        /// The name.
        name: Box<[u8]>,
        /// The node of a name that was removed; `None` for any other change.
        removed: Option<NodeId>,
    },
    /// Attributes of a node: all that `statx` shows, rights, lists, extended attributes.
    Attributes(NodeId),
    /// The data of a node, and its attributes.
    Data(NodeId),
    /// Any names in a directory, but nothing below them.
    Names(NodeId),
    /// Any names on which something may be mounted.
    Mounts,
    /// Anything of any node.
    Anything,
}
