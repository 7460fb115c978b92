//! Moving a mount, with all mounts below it, to another place.

use super::node::{State, some};
use super::{Caller, Change, Ground, NamespaceId, Place, Tree};
use crate::Errno;
use crate::memory::slot::{DentryId, MountId};

impl<G: Ground> Change<'_, G> {
    /// Moves a mount, with all mounts below it, to another place. A detached tree is attached, and
    /// its namespace ends. Linux: `move_mount(2)`, `do_move_mount`.
    ///
    /// Fails with `EINVAL` if `from` is not the root of a mount, or if one of the two is a
    /// directory and the other is not. `ENOENT` if the place was removed. `EINVAL` if the mount is
    /// in the caller's namespace and is its root, or its parent is shared, or the place is not in
    /// that namespace. `EINVAL` if the mount is elsewhere and is not the root of a detached tree,
    /// or the place is in that tree, or the caller may not use the place. `EINVAL` if there are
    /// unbindable mounts and the place is in a shared one. `ELOOP` if the place is below the mount.
    /// `ENOENT` if the root of the mount was removed. `ENOSPC` if a namespace would get too many
    /// mounts.
    pub(crate) fn move_mount(&mut self, caller: &Caller, from: Place, to: Place) -> Result<(), Errno> {
        self.check_kinds(from, to)?;
        let place = self.point(to)?;
        self.check_source(caller, from.mount(), place)?;
        self.move_to(from.mount(), place)
    }

    /// Moves a mount beneath the topmost one at a place. Linux: `MOVE_MOUNT_BENEATH`.
    ///
    /// Fails with the errors of [`move_mount`](Self::move_mount), and with `EINVAL` in these cases:
    /// the place is not the root of a mount that is mounted on another one; there is a mount on the
    /// moved one's root; the topmost mount is the caller's root, or is on the namespace's root, or
    /// is above the moved one; propagation would put a copy between the two.
    pub(crate) fn move_beneath(&mut self, caller: &Caller, from: Place, to: Place) -> Result<(), Errno> {
        self.check_kinds(from, to)?;
        if self.ground.root(to.mount()) != to.dentry() {
            return Err(Errno::EINVAL);
        }
        self.tree.namespace_of(to.mount()).ok_or(Errno::ENOENT)?;
        let over = self.tree.topmost(to.mount());
        let place = self.tree.place_of(over);
        if some(place.mount()).is_none() {
            self.check_point(Place::new(over, self.tree.nodes[over].root))?;
            return Err(Errno::EINVAL);
        }
        self.check_point(place)?;
        self.check_source(caller, from.mount(), place)?;
        // Linux treats a mount without a parent as its own parent, and uses it as the upper mount
        // here.
        let is_its_own_parent = some(self.tree.nodes[to.mount()].parent).is_none();
        let over = if is_its_own_parent && place.mount() == to.mount() { to.mount() } else { over };
        self.tree.check_beneath(caller, from.mount(), over, place)?;
        self.move_to(from.mount(), place)
    }

    fn check_kinds(&self, from: Place, to: Place) -> Result<(), Errno> {
        let is_root = self.ground.root(from.mount()) == from.dentry();
        let is_directory = self.ground.is_directory(from.dentry());
        let alike = is_directory == self.ground.is_directory(to.dentry());
        if is_root && alike { Ok(()) } else { Err(Errno::EINVAL) }
    }

    /// Checks whether the caller may move this mount there.
    fn check_source(&self, caller: &Caller, mount: MountId, place: Place) -> Result<(), Errno> {
        let tree = &*self.tree;
        let allowed = if tree.is_in(mount, caller.namespace) {
            let parent = tree.nodes[mount].parent;
            some(parent).is_some() && !tree.is_shared(parent) && tree.is_in(place.mount(), caller.namespace)
        } else {
            tree.is_detached_root(mount)
                && tree.namespace_of(mount) != tree.namespace_of(place.mount())
                && tree.may_use(caller, place.mount())
        };
        if allowed { Ok(()) } else { Err(Errno::EINVAL) }
    }

    fn move_to(&mut self, mount: MountId, place: Place) -> Result<(), Errno> {
        let tree = &*self.tree;
        let unbindable = |mount: &MountId| tree.nodes[*mount].is(State::UNBINDABLE);
        if tree.is_shared(place.mount()) && tree.subtree(mount).iter().any(unbindable) {
            return Err(Errno::EINVAL);
        }
        if tree.is_ancestor(mount, place.mount()) {
            return Err(Errno::ELOOP);
        }
        let old = tree.nodes[mount].namespace;
        self.attach(mount, place)?;
        if old != NamespaceId::NONE && old != self.tree.nodes[mount].namespace {
            self.tree.forget_emptied(old);
        }
        Ok(())
    }
}

impl Tree {
    /// Checks whether a mount can go beneath another. Linux: `can_move_mount_beneath`.
    fn check_beneath(&self, caller: &Caller, mount: MountId, over: MountId, place: Place) -> Result<(), Errno> {
        let (parent, point) = (place.mount(), place.dentry());
        let refused = self.overmount(mount).is_some()
            || over == caller.root.mount()
            || self.root_of(caller.namespace) == Some(parent)
            || self.is_ancestor(over, mount)
            || self.would_overmount(parent, over, point)
            || (self.is_in(mount, caller.namespace) && self.would_overmount(parent, mount, point));
        if refused { Err(Errno::EINVAL) } else { Ok(()) }
    }

    /// Returns whether a mount on `point` of `from` would propagate to the root of `to`. Linux:
    /// `propagation_would_overmount`.
    fn would_overmount(&self, from: MountId, to: MountId, point: DentryId) -> bool {
        if !self.is_shared(from) || self.nodes[to].root != point {
            return false;
        }
        let masters = std::iter::successors(Some(to), |&mount| some(self.nodes[mount].master));
        masters.into_iter().any(|master| self.are_peers(from, master))
    }
}
