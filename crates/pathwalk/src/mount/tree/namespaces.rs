//! Namespaces, and detached trees, which are namespaces without processes.
//!
//! A namespace lives until it is dropped. The namespace of a detached tree also ends when the tree
//! is moved elsewhere.

use std::collections::{BTreeMap, HashMap};

use super::copy::How;
use super::node::State;
use super::umount::Way;
use super::{Attributes, Caller, Change, Ground, Namespace, NamespaceId, Place, Tree};
use crate::Errno;
use crate::memory::slot::{DentryId, MountId, SuperblockId};

impl Tree {
    /// Returns the root mount of a namespace, which is below all others.
    pub(crate) fn root_of(&self, namespace: NamespaceId) -> Option<MountId> {
        self.namespaces.get(&namespace).map(|namespace| namespace.root)
    }

    /// Adds a mount to a namespace.
    pub(super) fn add_to_namespace(&mut self, mount: MountId, number: NamespaceId) {
        let node = &mut self.nodes[mount];
        node.namespace = number;
        if let Some(namespace) = self.namespaces.get_mut(&number) {
            namespace.mounts.insert(node.number, mount);
        }
    }

    /// Removes a mount from the list of its namespace. The node still names the namespace.
    pub(super) fn take_from_namespace(&mut self, mount: MountId) {
        let node = &self.nodes[mount];
        if let Some(namespace) = self.namespaces.get_mut(&node.namespace) {
            namespace.mounts.remove(&node.number);
        }
    }

    /// Creates a namespace for a tree that is in none.
    fn found(&mut self, root: MountId, anonymous: bool, origin: NamespaceId) -> NamespaceId {
        self.last_namespace += 1;
        let number = NamespaceId(self.last_namespace);
        let namespace = Namespace { root, mounts: BTreeMap::new(), anonymous, origin };
        self.namespaces.insert(number, namespace);
        for mount in self.subtree(root) {
            self.add_to_namespace(mount, number);
        }
        number
    }

    /// Drops the namespace of a detached tree that was moved elsewhere.
    pub(super) fn forget_emptied(&mut self, number: NamespaceId) {
        debug_assert!(self.namespaces[&number].mounts.is_empty());
        self.namespaces.remove(&number);
    }
}

impl<G: Ground> Change<'_, G> {
    /// Creates a namespace with one new mount. Fails with `ENOSPC` if there is no slot.
    pub(crate) fn new_namespace(
        &mut self,
        superblock: SuperblockId,
        root: DentryId,
        attributes: Attributes,
    ) -> Result<(NamespaceId, MountId), Errno> {
        self.new_alone(superblock, root, attributes, false)
    }

    /// Mounts a file system as a detached tree. Fails with `ENOSPC` if there is no slot. Linux:
    /// `fsmount`.
    pub(crate) fn new_detached(
        &mut self,
        superblock: SuperblockId,
        root: DentryId,
        attributes: Attributes,
    ) -> Result<(NamespaceId, MountId), Errno> {
        self.new_alone(superblock, root, attributes, true)
    }

    fn new_alone(
        &mut self,
        superblock: SuperblockId,
        root: DentryId,
        attributes: Attributes,
        anonymous: bool,
    ) -> Result<(NamespaceId, MountId), Errno> {
        let mount = self.ground.new_mount(superblock, root, &attributes)?;
        self.tree.add_node(mount, superblock, root, attributes);
        Ok((self.tree.found(mount, anonymous, NamespaceId::NONE), mount))
    }

    /// Copies a directory's mount, with the mounts below it if `recursive`, as a detached tree.
    /// Linux: `open_tree` with `OPEN_TREE_CLONE`.
    ///
    /// Fails with `EINVAL` if the mount is unbindable or the caller may not use it; with `ENOSPC`
    /// if there are too few slots.
    pub(crate) fn clone_tree(
        &mut self,
        caller: &Caller,
        source: Place,
        recursive: bool,
    ) -> Result<(NamespaceId, MountId), Errno> {
        let mount = self.copy_for(caller, source, recursive)?;
        let namespace = self.tree.nodes[source.mount()].namespace;
        let from_detached = self.tree.namespaces.get(&namespace).filter(|from| from.anonymous);
        let origin = from_detached.map_or(namespace, |from| from.origin);
        Ok((self.tree.found(mount, true, origin), mount))
    }

    /// Copies a mount, or a tree, if the caller may copy it. Linux: `__do_loopback`.
    pub(super) fn copy_for(&mut self, caller: &Caller, source: Place, recursive: bool) -> Result<MountId, Errno> {
        let node = self.tree.nodes.get(source.mount()).ok_or(Errno::EINVAL)?;
        if node.is(State::UNBINDABLE) || !self.tree.may_use(caller, source.mount()) {
            return Err(Errno::EINVAL);
        }
        let selection = if recursive { self.tree.select(self.ground, source, false) } else { self.tree.select_one(source) };
        let slots = self.reserve(&selection, 1)?;
        Ok(self.copy(&selection, &slots, How::empty()))
    }

    /// Copies a namespace with all its mounts. Returns the copy's number, and the copy of each
    /// mount. Linux: `copy_mnt_ns`.
    ///
    /// Fails with `EINVAL` if there is no such namespace; with `ENOSPC` if there are too few slots.
    pub(crate) fn clone_namespace(&mut self, of: NamespaceId) -> Result<(NamespaceId, HashMap<MountId, MountId>), Errno> {
        let root = self.tree.root_of(of).ok_or(Errno::EINVAL)?;
        let selection = self.tree.select_all(root);
        let slots = self.reserve(&selection, 1)?;
        let mounts = self.tree.subtree(root);
        let copy = self.copy(&selection, &slots, How::empty());
        let number = self.tree.found(copy, false, NamespaceId::NONE);
        Ok((number, mounts.into_iter().zip(slots).collect()))
    }

    /// Ends a namespace, and unmounts all its mounts lazily and without propagation. Linux:
    /// `put_mnt_ns`.
    pub(crate) fn drop_namespace(&mut self, number: NamespaceId) {
        let Some(root) = self.tree.root_of(number) else { return };
        self.umount_tree(root, Way::empty());
        self.tree.namespaces.remove(&number);
    }

    /// Ends the detached tree whose top this is. Does nothing if it was moved elsewhere. Its mounts
    /// stay connected for holders of the top. Linux: `dissolve_on_fput`.
    pub(crate) fn dissolve(&mut self, top: MountId) {
        if self.tree.is_detached_root(top) {
            let number = self.tree.nodes[top].namespace;
            self.umount_tree(top, Way::CONNECTED);
            self.tree.namespaces.remove(&number);
        }
    }

    /// Unmakes a copy that could not be attached.
    pub(super) fn unmake(&mut self, top: MountId) {
        self.umount_tree(top, Way::SYNC);
    }
}
