//! The places of mounts: parents, children, and the mounts on a dentry.
//!
//! A listed mount is among its parent's children, in the order in which they were attached. A
//! placed mount is the only one at its place, is in the list of its dentry, and is shown to walks.
//! Outside an operation a mount is both listed and placed, or neither. A copy that is being made
//! has a parent and a point already, and is neither listed nor placed.

use super::node::{State, some};
use super::{Change, Ground, Place, Tree};
use crate::memory::slot::{DentryId, MountId};

impl Tree {
    /// Returns the mount at this place. Linux: `__lookup_mnt`.
    pub(crate) fn lookup(&self, place: Place) -> Option<MountId> {
        self.places.get(&place).copied()
    }

    /// Returns the place that is seen at this place: the root of the topmost mount there.
    pub(crate) fn top(&self, mut place: Place) -> Place {
        while let Some(mount) = self.lookup(place) {
            place = Place::new(mount, self.nodes[mount].root);
        }
        place
    }

    /// Returns the mount on the root of this one. Linux: `overmount`.
    pub(super) fn overmount(&self, mount: MountId) -> Option<MountId> {
        self.lookup(Place::new(mount, self.nodes[mount].root))
    }

    /// Returns whether a mount is mounted on its parent's root, so that it covers the parent.
    pub(super) fn is_overmount(&self, mount: MountId) -> bool {
        let node = &self.nodes[mount];
        node.point == self.nodes[node.parent].root
    }

    /// Returns the topmost mount on the root of this one. Linux: `topmost_overmount`.
    pub(super) fn topmost(&self, mut mount: MountId) -> MountId {
        while let Some(over) = self.overmount(mount) {
            mount = over;
        }
        mount
    }

    /// Returns the children of a mount, in order.
    pub(super) fn children(&self, mount: MountId) -> impl Iterator<Item = MountId> + '_ {
        let first = self.nodes[mount].first_child;
        std::iter::successors(some(first), |&child| some(self.nodes[child].next_sibling))
    }

    /// Returns a mount and all mounts below it, each before its children. Linux: `next_mnt`.
    pub(super) fn subtree(&self, top: MountId) -> Vec<MountId> {
        let mut all = vec![top];
        let mut at = top;
        while let Some(next) = self.after(at, top) {
            all.push(next);
            at = next;
        }
        all
    }

    fn after(&self, mount: MountId, top: MountId) -> Option<MountId> {
        if let Some(child) = some(self.nodes[mount].first_child) {
            return Some(child);
        }
        let mut at = mount;
        while at != top {
            if let Some(next) = some(self.nodes[at].next_sibling) {
                return Some(next);
            }
            at = self.nodes[at].parent;
        }
        None
    }

    /// Returns whether `top` is `mount` or a mount above it. Linux: `mount_is_ancestor`.
    pub(super) fn is_ancestor(&self, top: MountId, mut mount: MountId) -> bool {
        while mount != top {
            let Some(parent) = some(self.nodes[mount].parent) else { return false };
            mount = parent;
        }
        true
    }

    /// Returns the mounts on this dentry, in whatever mount.
    pub(super) fn on_point(&self, point: DentryId) -> impl Iterator<Item = MountId> + '_ {
        let first = self.points.get(&point).copied();
        std::iter::successors(first, |&mount| some(self.nodes[mount].next_on_point))
    }

    /// Adds a mount to the end of its parent's children.
    pub(super) fn list(&mut self, mount: MountId) {
        let parent = self.nodes[mount].parent;
        let last = std::mem::replace(&mut self.nodes[parent].last_child, mount);
        match some(last) {
            Some(last) => self.nodes[last].next_sibling = mount,
            None => self.nodes[parent].first_child = mount,
        }
        let node = &mut self.nodes[mount];
        node.previous_sibling = last;
        node.state.insert(State::LISTED);
    }

    /// Removes a mount from its parent's children, if it is among them.
    pub(super) fn unlist(&mut self, mount: MountId) {
        let node = &mut self.nodes[mount];
        if !node.is(State::LISTED) {
            return;
        }
        node.state.remove(State::LISTED);
        let parent = node.parent;
        let next = std::mem::replace(&mut node.next_sibling, MountId::NONE);
        let previous = std::mem::replace(&mut node.previous_sibling, MountId::NONE);
        match some(previous) {
            Some(previous) => self.nodes[previous].next_sibling = next,
            None => self.nodes[parent].first_child = next,
        }
        match some(next) {
            Some(next) => self.nodes[next].previous_sibling = previous,
            None => self.nodes[parent].last_child = previous,
        }
    }

    fn add_to_point(&mut self, mount: MountId, point: DentryId) {
        if let Some(next) = self.points.insert(point, mount) {
            self.nodes[mount].next_on_point = next;
            self.nodes[next].previous_on_point = mount;
        }
    }

    fn take_from_point(&mut self, mount: MountId, point: DentryId) {
        let node = &mut self.nodes[mount];
        let next = std::mem::replace(&mut node.next_on_point, MountId::NONE);
        let previous = std::mem::replace(&mut node.previous_on_point, MountId::NONE);
        if let Some(next) = some(next) {
            self.nodes[next].previous_on_point = previous;
        }
        if let Some(previous) = some(previous) {
            self.nodes[previous].next_on_point = next;
        } else if let Some(next) = some(next) {
            self.points.insert(point, next);
        } else {
            self.points.remove(&point);
        }
    }
}

impl<G: Ground> Change<'_, G> {
    /// Attaches a mount that is at no place, as its parent's last child. Linux: `attach_mnt`.
    pub(super) fn link(&mut self, mount: MountId, place: Place) {
        let node = &mut self.tree.nodes[mount];
        node.parent = place.mount();
        node.point = place.dentry();
        node.state.insert(State::PLACED);
        let before = self.tree.places.insert(place, mount);
        debug_assert!(before.is_none());
        self.tree.add_to_point(mount, place.dentry());
        self.tree.list(mount);
        self.ground.show(mount, place.mount(), place.dentry());
    }

    /// Removes a mount from its place, if it is there; keeps its parent and point.
    pub(super) fn unplace(&mut self, mount: MountId) {
        let node = &mut self.tree.nodes[mount];
        if !node.is(State::PLACED) {
            return;
        }
        node.state.remove(State::PLACED);
        let place = Place::new(node.parent, node.point);
        self.tree.places.remove(&place);
        self.tree.take_from_point(mount, place.dentry());
        self.ground.hide(mount);
    }

    /// Detaches a mount from its parent; the mounts on it stay on it. Linux: `umount_mnt`.
    pub(super) fn unlink(&mut self, mount: MountId) {
        self.unplace(mount);
        self.tree.unlist(mount);
        let node = &mut self.tree.nodes[mount];
        node.parent = MountId::NONE;
        node.point = DentryId::NONE;
    }

    /// Moves a mount to another place. Linux: `mnt_change_mountpoint`.
    pub(super) fn relink(&mut self, mount: MountId, place: Place) {
        self.unlink(mount);
        self.link(mount, place);
    }
}
