//! Unmounting.
//!
//! A mount that is unmounted leaves its namespace, its peers and masters, and its place. It ends
//! when the last holder has given it back. The tree drops it before that, unless mounts are still
//! connected to it. Such a mount lingers: it is in no namespace, propagates nothing, and keeps its
//! children until it is collected.

use bitflags::bitflags;

use super::node::{State, some};
use super::{Caller, Change, Ground, NamespaceId, Place, Tree};
use crate::Errno;
use crate::abi::UmountFlags;
use crate::memory::slot::MountId;

bitflags! {
    /// The options of unmounting a tree. Linux: `enum umount_tree_flags`.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(super) struct Way: u8 {
        /// The top is closed already or has no holder. No mount stays connected.
        const SYNC = 1;
        /// The mounts that these propagate to are unmounted, too.
        const PROPAGATE = 2;
        /// The mounts stay connected with each other.
        const CONNECTED = 4;
    }
}

impl<G: Ground> Change<'_, G> {
    /// Unmounts the mount whose root is this place. The caller has given its own hold back, or the
    /// ground does not count it. A path for this call is followed to the topmost mount at its end,
    /// also if it is `/` or `.` (Linux: `LOOKUP_MOUNTPOINT`). Linux: `path_umount`, `do_umount`.
    ///
    /// Fails with `EINVAL` if the place is not the root of a mount in the caller's namespace, if
    /// the mount is the namespace's root, or for `EXPIRE` with `DETACH` or of the caller's root.
    /// `EBUSY` without `DETACH` if the mount, or one that would be unmounted along with it, has
    /// holders, or if there are mounts below it. `EAGAIN` for the first `EXPIRE`.
    ///
    /// Without `DETACH`, the mount of the caller's root stays, and its superblock becomes read-only
    /// instead. This fails with `EBUSY` if it cannot.
    pub(crate) fn umount(&mut self, caller: &Caller, at: Place, flags: UmountFlags) -> Result<(), Errno> {
        let mount = at.mount();
        if !self.tree.is_root(at) || !self.tree.is_in(mount, caller.namespace) {
            return Err(Errno::EINVAL);
        }
        if flags.contains(UmountFlags::EXPIRE) {
            self.expire(caller, mount, flags)?;
        }
        if caller.root.mount() == mount && !flags.contains(UmountFlags::DETACH) {
            return self.quiesce(mount);
        }
        if some(self.tree.nodes[mount].parent).is_none() {
            return Err(Errno::EINVAL);
        }
        if flags.contains(UmountFlags::DETACH) {
            self.umount_tree(mount, Way::PROPAGATE);
            return Ok(());
        }
        if self.is_propagated_busy(mount) || !self.ground.close(mount) {
            return Err(Errno::EBUSY);
        }
        self.umount_tree(mount, Way::PROPAGATE | Way::SYNC);
        Ok(())
    }

    /// Marks a mount for expiry. Succeeds only if it was marked before.
    fn expire(&mut self, caller: &Caller, mount: MountId, flags: UmountFlags) -> Result<(), Errno> {
        if flags.contains(UmountFlags::DETACH) || caller.root.mount() == mount {
            return Err(Errno::EINVAL);
        }
        if self.tree.has_children(mount) || self.ground.is_busy(mount) {
            return Err(Errno::EBUSY);
        }
        if self.ground.expire(mount) { Ok(()) } else { Err(Errno::EAGAIN) }
    }

    /// Returns whether a holder prevents unmounting this mount, or one that would be unmounted
    /// along with it. A mount with others below it is not unmounted along, so its holders do not
    /// matter. Linux: `propagate_mount_busy`.
    fn is_propagated_busy(&self, mount: MountId) -> bool {
        let tree = &*self.tree;
        if tree.has_children(mount) || self.ground.is_busy(mount) {
            return true;
        }
        let place = tree.place_of(mount);
        let (parent, dentry) = (place.mount(), place.dentry());
        let mut next = tree.propagation_next(parent, parent);
        while let Some(at) = next {
            if let Some(child) = tree.lookup(Place::new(at, dentry))
                && tree.is_bare(child)
                && self.ground.is_busy(child)
            {
                return true;
            }
            next = tree.propagation_next(at, parent);
        }
        false
    }

    /// Unmounts a tree. Linux: `umount_tree`.
    pub(super) fn umount_tree(&mut self, top: MountId, way: Way) {
        let mut mounts = self.tree.subtree(top);
        for &mount in &mounts {
            self.tree.nodes[mount].state.insert(State::UNMOUNTED);
            self.tree.take_from_namespace(mount);
        }
        for &mount in &mounts {
            self.tree.unlist(mount);
        }
        if way.contains(Way::PROPAGATE) {
            self.spread_umount(&mut mounts);
        }
        self.tree.end_propagation(&mounts);
        let closed = (way.contains(Way::SYNC | Way::PROPAGATE)).then_some(top);
        let mut gone = Vec::with_capacity(mounts.len());
        for &mount in &mounts {
            self.tree.nodes[mount].namespace = NamespaceId::NONE;
            if self.stays_connected(mount, way) {
                self.tree.list(mount);
            } else {
                self.unlink(mount);
                gone.push(mount);
            }
        }
        for mount in gone {
            if Some(mount) == closed {
                self.tree.nodes.remove(mount);
            } else {
                self.give_back(mount);
            }
        }
    }

    /// Returns whether an unmounted mount stays on its parent. Linux: `disconnect_mount`.
    fn stays_connected(&self, mount: MountId, way: Way) -> bool {
        let node = &self.tree.nodes[mount];
        way.contains(Way::CONNECTED) && some(node.parent).is_some_and(|parent| self.tree.nodes[parent].is(State::UNMOUNTED))
    }

    /// Gives back an unmounted mount that is at no place. If mounts are connected to it, it lingers
    /// as long as it has another holder. Linux: `mntput` after `namespace_unlock`.
    pub(super) fn give_back(&mut self, top: MountId) {
        let mut waiting = vec![top];
        while let Some(mount) = waiting.pop() {
            if !self.tree.has_children(mount) {
                self.tree.nodes.remove(mount);
                self.ground.release(mount);
            } else if self.ground.close(mount) {
                let children: Vec<MountId> = self.tree.children(mount).collect();
                children.iter().for_each(|&child| self.unlink(child));
                self.tree.nodes.remove(mount);
                waiting.extend(children);
            } else {
                self.ground.linger(mount);
            }
        }
    }

    /// Gives back a lingering mount whose last other holder has given it back. Does nothing for a
    /// mount that does not linger, or that has got another holder.
    pub(crate) fn collect(&mut self, mount: MountId) {
        let lingers = |tree: &Tree| {
            let node = tree.nodes.get(mount)?;
            Some(node.is(State::UNMOUNTED) && some(node.parent).is_none())
        };
        if lingers(self.tree) == Some(true) {
            self.give_back(mount);
        }
    }
}

impl Tree {
    /// Returns the place where a mount is mounted.
    pub(super) fn place_of(&self, mount: MountId) -> Place {
        let node = &self.nodes[mount];
        Place::new(node.parent, node.point)
    }

    /// Returns whether there are mounts on this one.
    pub(super) fn has_children(&self, mount: MountId) -> bool {
        some(self.nodes[mount].first_child).is_some()
    }

    /// Returns whether there is no mount on this one but one that covers it.
    fn is_bare(&self, mount: MountId) -> bool {
        let node = &self.nodes[mount];
        !self.has_children(mount) || (node.first_child == node.last_child && self.is_overmount(node.first_child))
    }
}
