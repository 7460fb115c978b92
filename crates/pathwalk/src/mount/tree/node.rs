//! A mount as the writers see it, and the table of all mounts.
//!
//! The links of a node are numbers of other nodes; `NONE` is no link. What links mean, and which
//! belong together, is said where they are changed: `links` for places, `peers` for propagation.

use std::ops::{Index, IndexMut};

use bitflags::bitflags;

use super::attributes::Attributes;
use super::caller::NamespaceId;
use crate::memory::slot::{DentryId, MountId, SuperblockId};

bitflags! {
    /// What is true of a mount at the moment.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub(super) struct State: u8 {
        /// Has peers or could get some: its group is not 0, and no operation is under way.
        const SHARED = 1;
        /// Cannot be copied, except with its namespace.
        const UNBINDABLE = 2;
        /// Is unmounted, or will be at the end of this operation.
        const UNMOUNTED = 4;
        /// May be unmounted with another mount. Only during an operation.
        const CANDIDATE = 16;
        /// Was seen already. Only during an operation.
        const MARKED = 32;
        /// Is among its parent's children.
        const LISTED = 64;
        /// Is found at its place.
        const PLACED = 128;
    }
}

/// A mount.
#[derive(Debug)]
pub(super) struct Node {
    /// The number that users see, never used again. Linux: `mnt_id_unique`.
    pub(super) number: u64,
    /// The namespace, or `NONE` for one that is being made or is unmounted.
    pub(super) namespace: NamespaceId,
    pub(super) attributes: Attributes,
    pub(super) root: DentryId,
    pub(super) superblock: SuperblockId,
    pub(super) state: State,

    /// The mount that this one is mounted on, and where.
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
    /// Returns a mount in no place, no namespace and no peer group.
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

    /// Whether this is in the state.
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
    /// Returns the node of a mount that may be the tree's no longer.
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
