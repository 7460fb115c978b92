//! Attaching a tree of mounts to a place, with propagation.
//!
//! If the place is in a shared mount, the tree is copied to the same directory of all mounts that
//! the shared mount propagates to. A mount that is there already is moved on top of the copy. All
//! counting, and all taking of slots, is done before the first change.

use std::collections::HashSet;

use super::copy::{How, Selection};
use super::node::some;
use super::{Attributes, Caller, Change, Ground, NamespaceId, Place, Tree};
use crate::Errno;
use crate::memory::slot::{DentryId, MountId, SuperblockId};

/// The mounts that get a copy, by peer groups, and what the copies need.
struct Plan {
    groups: Vec<Vec<MountId>>,
    selection: Selection,
    slots: Vec<MountId>,
}

impl<G: Ground> Change<'_, G> {
    /// Mounts a file system and returns the new mount. Linux: `do_add_mount`.
    ///
    /// Fails with `ENOENT` if the place was removed; with `EINVAL` if it is not in the caller's
    /// namespace; with `EBUSY` if the place is the root of a mount of the same file system; with
    /// `ENOTDIR` if one of place and root is a directory and the other is not; with `ENOSPC` if a
    /// namespace would get too many mounts.
    pub(crate) fn mount(
        &mut self,
        caller: &Caller,
        superblock: SuperblockId,
        root: DentryId,
        attributes: Attributes,
        at: Place,
    ) -> Result<MountId, Errno> {
        let place = self.point(at)?;
        if !self.tree.is_in(place.mount(), caller.namespace) {
            return Err(Errno::EINVAL);
        }
        if self.tree.nodes[place.mount()].superblock == superblock && self.tree.is_root(place) {
            return Err(Errno::EBUSY);
        }
        let mount = self.ground.new_mount(superblock, root, &attributes)?;
        self.tree.add_node(mount, superblock, root, attributes);
        self.graft(mount, place)
    }

    /// Mounts a directory in another place and returns the new mount: a copy of the source's mount,
    /// with the mounts below it if `recursive`. Linux: `do_loopback`.
    ///
    /// Fails with `ENOENT` if the place was removed; with `EINVAL` if it is not in the caller's
    /// namespace, if the source is unbindable, or if the caller may not use it; with `ENOTDIR` and
    /// `ENOSPC` as [`mount`](Self::mount) does; with `ENOENT` if the source was removed.
    pub(crate) fn bind(&mut self, caller: &Caller, source: Place, at: Place, recursive: bool) -> Result<MountId, Errno> {
        let place = self.point(at)?;
        if !self.tree.is_in(place.mount(), caller.namespace) {
            return Err(Errno::EINVAL);
        }
        let copy = self.copy_for(caller, source, recursive)?;
        self.graft(copy, place)
    }

    /// Attaches a tree that is in no namespace; unmakes the tree if that fails. Linux:
    /// `graft_tree`.
    fn graft(&mut self, mount: MountId, place: Place) -> Result<MountId, Errno> {
        let is_directory = self.ground.is_directory(self.tree.nodes[mount].root);
        let attached = if self.ground.is_directory(place.dentry()) == is_directory {
            self.attach(mount, place)
        } else {
            Err(Errno::ENOTDIR)
        };
        if attached.is_err() {
            self.unmake(mount);
        }
        attached.map(|()| mount)
    }

    /// Attaches a tree to a place, with propagation: a new tree, a detached one, or one that is
    /// moved. Fails with `ENOENT` if the topmost mount on the tree's root has a removed root
    /// itself, and with `ENOSPC` if a namespace would get too many mounts. Linux:
    /// `attach_recursive_mnt`.
    pub(super) fn attach(&mut self, source: MountId, place: Place) -> Result<(), Errno> {
        // A mount that is on the place already goes onto the root of the tree's topmost mount.
        let top = self.tree.topmost(source);
        if self.ground.is_removed(self.tree.nodes[top].root) {
            return Err(Errno::ENOENT);
        }
        let moving = some(self.tree.nodes[source].parent).is_some();
        let plan = self.plan(source, place, moving)?;
        let copies = if self.tree.is_shared(place.mount()) {
            let mounts = self.tree.subtree(source);
            mounts.iter().for_each(|&mount| self.tree.number_group(mount));
            let copies = self.copy_to_all(plan, source, place);
            mounts.iter().for_each(|&mount| self.tree.share(mount));
            copies
        } else {
            Vec::new()
        };
        if moving {
            self.unlink(source);
        } else {
            self.tree.leave_namespace(source);
        }
        self.commit(source, place);
        for &copy in copies.iter().rev() {
            let node = &self.tree.nodes[copy];
            self.commit(copy, Place::new(node.parent, node.point));
        }
        Ok(())
    }

    /// Finds the mounts that get copies, checks whether there is room for them, and takes their
    /// slots.
    fn plan(&mut self, source: MountId, place: Place, moving: bool) -> Result<Plan, Errno> {
        let mut groups = Vec::new();
        if self.tree.is_shared(place.mount()) {
            groups = self.tree.propagation_groups(place.mount());
            let needs = |&mount: &MountId| self.needs_copy(mount, place.dentry());
            groups.iter_mut().for_each(|group| group.retain(needs));
        }
        let selection = self.tree.select_all(source);
        let mut targets: Vec<MountId> = groups.iter().flatten().copied().collect();
        let copies = targets.len();
        if !moving {
            targets.push(place.mount());
        }
        self.tree.check_room(&targets, selection.len())?;
        let slots = self.reserve(&selection, copies)?;
        Ok(Plan { groups, selection, slots })
    }

    /// Returns whether a mount on `point` is copied to this mount, to which the point's mount
    /// propagates. It is not if this mount is being made, does not show the point, or is in a
    /// detached tree. Linux: `need_secondary`.
    fn needs_copy(&self, mount: MountId, point: DentryId) -> bool {
        let node = &self.tree.nodes[mount];
        node.namespace != NamespaceId::NONE && self.ground.is_below(point, node.root) && !self.tree.is_anonymous(node.namespace)
    }

    /// Makes the copies, in the order of their numbers. They store their places and are not
    /// attached. Linux: `propagate_mnt`.
    fn copy_to_all(&mut self, plan: Plan, source: MountId, place: Place) -> Vec<MountId> {
        let Plan { groups, mut selection, slots } = plan;
        let mut slots = slots.chunks_exact(selection.len());
        let mut masters = HashSet::from([self.tree.nodes[place.mount()].master]);
        let mut copies = Vec::new();
        let mut last = source;
        for (index, group) in groups.iter().enumerate() {
            for (position, &target) in group.iter().enumerate() {
                let mut how = How::MAKE_SHARED;
                if index > 0 && position == 0 {
                    how.insert(How::SLAVE);
                    how.set(How::MAKE_SHARED, self.tree.is_shared(target));
                    last = self.tree.nearest_copy(target, last, source, &masters);
                }
                self.tree.reselect(&mut selection, last);
                let slots = slots.next().expect("slots for each copy");
                last = self.copy(&selection, slots, how);
                let node = &mut self.tree.nodes[last];
                node.parent = target;
                node.point = place.dentry();
                masters.insert(self.tree.nodes[target].master);
                copies.push(last);
            }
        }
        copies
    }

    /// Attaches a tree to a place that it was prepared for, below the mount that is there.
    fn commit(&mut self, mount: MountId, place: Place) {
        let covering = self.tree.lookup(place);
        if let Some(covering) = covering {
            self.unlink(covering);
        }
        self.tree.join_namespace(mount, place.mount());
        self.link(mount, place);
        if let Some(covering) = covering {
            let top = self.tree.topmost(mount);
            let dentry = self.tree.nodes[top].root;
            self.link(covering, Place::new(top, dentry));
        }
    }
}

impl Tree {
    /// Returns the copy that the copy for `target` is a slave of: the last one made for a mount
    /// that `target` gets propagation from. Linux: `find_master`.
    fn nearest_copy(&self, mut target: MountId, mut last: MountId, original: MountId, masters: &HashSet<MountId>) -> MountId {
        let master = loop {
            let master = self.nodes[target].master;
            if master == MountId::NONE || masters.contains(&master) {
                break master;
            }
            target = master;
        };
        while !self.are_peers(last, original) {
            let parent = self.nodes[last].parent;
            if self.nodes[parent].master == master {
                if !self.are_peers(parent, target) {
                    last = self.nodes[last].master;
                }
                break;
            }
            last = self.nodes[last].master;
        }
        last
    }

    /// Checks that each namespace has room for `mounts` more mounts for each target in it. Fails
    /// with `ENOSPC` if not. Linux: `count_mounts`.
    fn check_room(&self, targets: &[MountId], mounts: usize) -> Result<(), Errno> {
        let mut wanted = std::collections::HashMap::<NamespaceId, usize>::new();
        for &target in targets {
            *wanted.entry(self.nodes[target].namespace).or_default() += mounts;
        }
        let fits = |(number, &wanted): (&NamespaceId, &usize)| {
            let namespace = &self.namespaces[number];
            wanted <= self.limit.saturating_sub(namespace.mounts.len())
        };
        if wanted.iter().all(fits) { Ok(()) } else { Err(Errno::ENOSPC) }
    }

    /// Takes a tree out of its namespace, if it is in one.
    fn leave_namespace(&mut self, top: MountId) {
        for mount in self.subtree(top) {
            self.take_from_namespace(mount);
            self.nodes[mount].namespace = NamespaceId::NONE;
        }
    }

    /// Adds a tree that is in no namespace to the namespace of another mount.
    fn join_namespace(&mut self, top: MountId, other: MountId) {
        if self.nodes[top].namespace == NamespaceId::NONE {
            let namespace = self.nodes[other].namespace;
            for mount in self.subtree(top) {
                self.add_to_namespace(mount, namespace);
            }
        }
    }
}
