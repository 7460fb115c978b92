//! Copies of mounts and of trees of mounts.
//!
//! A copy is made in two steps. The first takes the slots; if it fails, they are given back. The
//! second fills them and cannot fail. A copy has the attributes of the original and belongs to its
//! peer group, unless it is made a slave. The top of a copied tree is at no place until the caller
//! attaches it.

use bitflags::bitflags;

use super::node::{Node, State};
use super::{Change, Ground, Place, Tree};
use crate::Errno;
use crate::memory::slot::{DentryId, MountId};

bitflags! {
    /// The differences of a copy from the original. Linux: `CL_SLAVE` and others.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(super) struct How: u8 {
        /// The copy is a slave of the original.
        const SLAVE = 1;
        /// The copy is shared, in a group of its own if the original has none.
        const MAKE_SHARED = 2;
    }
}

/// The mounts of a tree that are to be copied, each after the one it is mounted on.
pub(super) struct Selection {
    /// The directory of the first mount that becomes the root of its copy.
    root: DentryId,
    mounts: Vec<MountId>,
    /// The index in `mounts` of the mount that each is mounted on.
    parents: Vec<usize>,
}

impl Selection {
    /// Returns the number of mounts that are copied.
    pub(super) fn len(&self) -> usize {
        self.mounts.len()
    }
}

impl Tree {
    /// Selects one mount alone, as seen from one of its directories.
    pub(super) fn select_one(&self, place: Place) -> Selection {
        Selection { root: place.dentry(), mounts: vec![place.mount()], parents: vec![0] }
    }

    /// Selects a mount as seen from one of its directories, and all mounts below that directory.
    /// Leaves unbindable mounts out, with all mounts below them, unless `unbindable` is set. Linux:
    /// `copy_tree`.
    pub(super) fn select<G: Ground>(&self, ground: &G, place: Place, unbindable: bool) -> Selection {
        let mut selection = self.select_one(place);
        let mut waiting: Vec<(MountId, usize)> = Vec::new();
        let wanted = |child: &MountId| {
            let node = &self.nodes[*child];
            (unbindable || !node.is(State::UNBINDABLE))
                && (node.parent != place.mount() || ground.is_below(node.point, place.dentry()))
        };
        let push = |parent: MountId, index: usize, waiting: &mut Vec<(MountId, usize)>| {
            let begin = waiting.len();
            waiting.extend(self.children(parent).filter(wanted).map(|child| (child, index)));
            waiting[begin..].reverse();
        };
        push(place.mount(), 0, &mut waiting);
        while let Some((mount, parent)) = waiting.pop() {
            let index = selection.mounts.len();
            selection.mounts.push(mount);
            selection.parents.push(parent);
            push(mount, index, &mut waiting);
        }
        selection
    }

    /// Selects a whole tree, including unbindable mounts.
    pub(super) fn select_all(&self, top: MountId) -> Selection {
        let mounts = self.subtree(top);
        let mut index_of = std::collections::HashMap::with_capacity(mounts.len());
        index_of.extend(mounts.iter().enumerate().map(|(index, &mount)| (mount, index)));
        let parent = |mount: &MountId| index_of.get(&self.nodes[*mount].parent);
        let parents = mounts.iter().map(|mount| parent(mount).copied().unwrap_or(0)).collect();
        Selection { root: self.nodes[top].root, mounts, parents }
    }

    /// Replaces the mounts of a selection by those of a copy of the same tree.
    pub(super) fn reselect(&self, selection: &mut Selection, copy: MountId) {
        let mounts = self.subtree(copy);
        debug_assert_eq!(mounts.len(), selection.len());
        selection.mounts = mounts;
    }
}

impl<G: Ground> Change<'_, G> {
    /// Takes slots for a number of copies of a selection; takes none if there are too few.
    pub(super) fn reserve(&self, selection: &Selection, copies: usize) -> Result<Vec<MountId>, Errno> {
        let mut slots = Vec::with_capacity(selection.len() * copies);
        for _ in 0..copies {
            for (index, &mount) in selection.mounts.iter().enumerate() {
                let node = &self.tree.nodes[mount];
                let root = if index == 0 { selection.root } else { node.root };
                match self.ground.new_mount(node.superblock, root, &node.attributes) {
                    Ok(slot) => slots.push(slot),
                    Err(errno) => {
                        slots.into_iter().for_each(|slot| self.ground.release(slot));
                        return Err(errno);
                    }
                }
            }
        }
        Ok(slots)
    }

    /// Copies a selection into slots that were taken for it, and returns the top of the copy.
    pub(super) fn copy(&mut self, selection: &Selection, slots: &[MountId], how: How) -> MountId {
        for (index, (&old, &slot)) in selection.mounts.iter().zip(slots).enumerate() {
            let root = if index == 0 { selection.root } else { self.tree.nodes[old].root };
            self.tree.copy_mount(slot, old, root, how);
            if index > 0 {
                let parent = slots[selection.parents[index]];
                let dentry = self.tree.nodes[old].point;
                self.link(slot, Place::new(parent, dentry));
            }
        }
        slots[0]
    }
}

impl Tree {
    /// Adds a mount that is at no place yet to the tree.
    pub(super) fn add_node(
        &mut self,
        id: MountId,
        superblock: crate::memory::slot::SuperblockId,
        root: DentryId,
        attributes: super::Attributes,
    ) {
        self.last_number += 1;
        self.nodes.insert(id, Node::new(id, self.last_number, superblock, root, attributes));
    }

    /// Copies one mount. Linux: `clone_mnt`.
    fn copy_mount(&mut self, id: MountId, old: MountId, root: DentryId, how: How) {
        let node = &self.nodes[old];
        let group = if how.contains(How::SLAVE) { 0 } else { node.group };
        let (old_group, master) = (node.group, node.master);
        self.add_node(id, node.superblock, root, node.attributes.clone());
        self.nodes[id].group = group;
        if how.contains(How::MAKE_SHARED) {
            self.number_group(id);
        }
        if self.nodes[id].group != 0 {
            self.share(id);
        }
        if group != 0 {
            self.join(id, old);
        }
        if how.contains(How::SLAVE) && old_group != 0 {
            self.enslave(id, old);
        } else if master != MountId::NONE {
            self.enslave_after(id, old);
        }
    }
}
