//! Exchanging the caller's root for another mount.

use super::node::some;
use super::{Caller, Change, Ground, Place, Tree};
use crate::Errno;
use crate::memory::slot::MountId;

/// The effect of a pivot on root directories: each that was `old` becomes `new`. The same holds for
/// working directories. Linux: `chroot_fs_refs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pivot {
    pub(crate) old: Place,
    pub(crate) new: Place,
}

impl<G: Ground> Change<'_, G> {
    /// Mounts `new_root` at the place of the caller's root mount, and the latter on `put_old`. The
    /// caller has checked that both places are directories. Linux: `pivot_root(2)`.
    ///
    /// Fails with `ENOENT` if a place was removed. `EINVAL` if the mount of `put_old` or the parent
    /// of either root is shared, or a root is not in the caller's namespace. `EBUSY` if a place is
    /// in the caller's root mount. `EINVAL` if a root is not the root of a mount, or is the
    /// namespace's; if `put_old` is not below `new_root`; or if `new_root` is not below the
    /// caller's root.
    pub(crate) fn pivot_root(&mut self, caller: &Caller, new_root: Place, put_old: Place) -> Result<Pivot, Errno> {
        let old = self.point(put_old)?;
        self.check_pivot(caller, new_root, old)?;
        let (root, new) = (caller.root.mount(), new_root.mount());
        self.unlink(new);
        let place = self.tree.place_of(root);
        self.unplace(root);
        self.link(new, place);
        self.unlink(root);
        self.link(root, old);
        Ok(Pivot { old: caller.root, new: new_root })
    }

    fn check_pivot(&self, caller: &Caller, new_root: Place, old: Place) -> Result<(), Errno> {
        let tree = &*self.tree;
        let (root, new) = (caller.root.mount(), new_root.mount());
        let known = |mount: MountId| tree.nodes.get(mount).ok_or(Errno::EINVAL);
        let above = |mount: MountId| known(mount).map(|node| some(node.parent).unwrap_or(mount));
        if tree.is_shared(old.mount()) || tree.is_shared(above(new)?) || tree.is_shared(above(root)?) {
            return Err(Errno::EINVAL);
        }
        if !tree.is_in(root, caller.namespace) || !tree.is_in(new, caller.namespace) {
            return Err(Errno::EINVAL);
        }
        if self.ground.is_removed(new_root.dentry()) {
            return Err(Errno::ENOENT);
        }
        if new == root || old.mount() == root {
            return Err(Errno::EBUSY);
        }
        let is_mounted_root = |place: Place| tree.is_root(place) && some(tree.nodes[place.mount()].parent).is_some();
        if !is_mounted_root(caller.root) || !is_mounted_root(new_root) {
            return Err(Errno::EINVAL);
        }
        if !tree.is_reachable(self.ground, old, new_root) || !tree.is_reachable(self.ground, new_root, caller.root) {
            return Err(Errno::EINVAL);
        }
        Ok(())
    }
}

impl Tree {
    /// Returns whether a place is below a root directory. Linux: `is_path_reachable`.
    pub(super) fn is_reachable<G: Ground>(&self, ground: &G, at: Place, root: Place) -> bool {
        let mut at = at;
        while at.mount() != root.mount() {
            at = self.place_of(at.mount());
            if some(at.mount()).is_none() {
                return false;
            }
        }
        ground.is_below(at.dentry(), root.dentry())
    }
}
