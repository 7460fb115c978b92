//! A mount as the writers see it, and the table of all mounts.
//!
//! The links of a node are numbers of other nodes; `NONE` is no link. The modules that change the
//! links say what they mean, and which belong together: `links` for places, `peers` for
//! propagation.

use std::ops::{Index, IndexMut};

use bitflags::bitflags;

use super::attributes::Attributes;
use super::caller::NamespaceId;
use crate::memory::slot::{DentryId, MountId, SuperblockId};

bitflags! {
    /// The states that a mount is in.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub(super) struct State: u8 {
        /// The mount has peers or could get some: its group is not 0, and no operation is under
        /// way.
        const SHARED = 1;
        /// The mount cannot be copied, except with its namespace.
        const UNBINDABLE = 2;
        /// The mount is unmounted, or will be at the end of this operation.
        const UNMOUNTED = 4;
        /// The mount may be unmounted with another mount. Set only during an operation.
        const CANDIDATE = 16;
        /// The mount was visited already. Set only during an operation.
        const MARKED = 32;
        /// The mount is among its parent's children.
        const LISTED = 64;
        /// The mount is found at its place.
        const PLACED = 128;
    }
}

/// A mount.
#[derive(Debug)]
pub(super) struct Node {
    /// The number that users see, which is never used again. Linux: `mnt_id_unique`.
    pub(super) number: u64,
    /// The namespace; `NONE` for a mount that is being made or is unmounted.
    pub(super) namespace: NamespaceId,
    pub(super) attributes: Attributes,
    pub(super) root: DentryId,
    pub(super) superblock: SuperblockId,
    pub(super) state: State,

    /// The mount that this one is mounted on, and (next field) the dentry.
    pub(super) parent: MountId,
    pub(super) point: DentryId,
    /// The children, in the order in which they were attached.
    pub(super) first_child: MountId,
    pub(super) last_child: MountId,
    pub(super) next_sibling: MountId,
    pub(super) previous_sibling: MountId,
    /// The mounts on the same dentry, in whatever mount.
    pub(super) next_on_point: MountId,
    pub(super) previous_on_point: MountId,

    /// The peer group's number, or 0.
    pub(super) group: u32,
    /// The ring of peers; the mount itself if it is alone.
    pub(super) next_peer: MountId,
    pub(super) previous_peer: MountId,
    /// The mount that this one is a slave of.
    pub(super) master: MountId,
    pub(super) first_slave: MountId,
    pub(super) next_slave: MountId,
    pub(super) previous_slave: MountId,
}

impl Node {
    /// Creates a mount in no place, no namespace and no peer group.
    pub(super) fn new(id: MountId, number: u64, superblock: SuperblockId, root: DentryId, attributes: Attributes) -> Node {
        Node {
            number,
            namespace: NamespaceId::NONE,
            attributes,
            root,
            superblock,
            state: State::empty(),
            parent: MountId::NONE,
            point: DentryId::NONE,
            first_child: MountId::NONE,
            last_child: MountId::NONE,
            next_sibling: MountId::NONE,
            previous_sibling: MountId::NONE,
            next_on_point: MountId::NONE,
            previous_on_point: MountId::NONE,
            group: 0,
            next_peer: id,
            previous_peer: id,
            master: MountId::NONE,
            first_slave: MountId::NONE,
            next_slave: MountId::NONE,
            previous_slave: MountId::NONE,
        }
    }

    /// Returns whether the mount is in this state.
    pub(super) fn is(&self, state: State) -> bool {
        self.state.contains(state)
    }
}

/// The nodes, by the number of their slot.
#[derive(Default)]
pub(super) struct Nodes {
    slots: Vec<Option<Node>>,
}

impl Nodes {
    /// Returns the node of a mount, or `None` if it has left the tree.
    pub(super) fn get(&self, id: MountId) -> Option<&Node> {
        self.slots.get(id.0 as usize)?.as_ref()
    }

    /// Adds a node with the number of a free slot.
    pub(super) fn insert(&mut self, id: MountId, node: Node) {
        let index = id.0 as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        debug_assert!(self.slots[index].is_none());
        self.slots[index] = Some(node);
    }

    /// Removes a node.
    pub(super) fn remove(&mut self, id: MountId) {
        self.slots[id.0 as usize] = None;
    }

    /// Returns the numbers of all nodes.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn ids(&self) -> impl Iterator<Item = MountId> + '_ {
        let taken = self.slots.iter().enumerate().filter(|(_, slot)| slot.is_some());
        taken.map(|(index, _)| MountId(index as u32))
    }
}

impl Index<MountId> for Nodes {
    type Output = Node;

    fn index(&self, id: MountId) -> &Node {
        self.slots[id.0 as usize].as_ref().expect("a mount of the tree")
    }
}

impl IndexMut<MountId> for Nodes {
    fn index_mut(&mut self, id: MountId) -> &mut Node {
        self.slots[id.0 as usize].as_mut().expect("a mount of the tree")
    }
}

/// Returns the mount, if the link leads to one.
pub(super) fn some(mount: MountId) -> Option<MountId> {
    (mount != MountId::NONE).then_some(mount)
}
