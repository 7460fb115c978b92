//! Unmounting of what is mounted on a file that is removed.

use super::node::State;
use super::umount::Way;
use super::{Change, Ground, NamespaceId, Tree};
use crate::memory::slot::DentryId;

impl Tree {
    /// Returns whether there is a mount on this dentry in any namespace. Linux: `d_mountpoint`.
    pub(crate) fn is_mounted_on(&self, point: DentryId) -> bool {
        self.points.contains_key(&point)
    }

    /// Returns whether there is a mount on this dentry in this namespace, so that the file cannot
    /// be removed from there. Linux: `is_local_mountpoint`.
    pub(crate) fn is_mounted_in(&self, point: DentryId, namespace: NamespaceId) -> bool {
        self.on_point(point).any(|mount| self.nodes[mount].namespace == namespace)
    }
}

impl<G: Ground> Change<'_, G> {
    /// Unmounts all mounts on this dentry, in all namespaces. The mounts below them stay connected
    /// for their holders. Linux: `__detach_mounts`.
    pub(crate) fn detach_at(&mut self, point: DentryId) {
        while let Some(&mount) = self.tree.points.get(&point) {
            if self.tree.nodes[mount].is(State::UNMOUNTED) {
                self.unlink(mount);
                self.give_back(mount);
            } else {
                self.umount_tree(mount, Way::CONNECTED);
            }
        }
    }
}
