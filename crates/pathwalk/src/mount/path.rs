//! The path of a place: the names from it up to a root, through the mounts between.
//!
//! This works as Linux's `d_path` does. The tree is locked meanwhile, so the mounts stay where they
//! are. A dentry that was moved out from under its mount's root has no path: the result is `/`.
//!
//! What it does not do: the names within one mount are true at one instant, but those of several
//! mounts are true at different instants.

use super::ground::Work;
use super::place::Place;
use super::records::Standing;
use super::tree::{Change, NamespaceId, TreeInfo};
use super::world::World;
use crate::Errno;
use crate::cache::dcache::dentry::flags;
use crate::memory::slot::DentryId;

impl World {
    /// Returns the path of a place that the caller has a pin on, from the root of the first
    /// namespace, or of the mounts that the place is in. Fails with `ENOENT` if the dentry, or a
    /// directory above it, was removed.
    pub(crate) fn path_of(&self, at: Place) -> Result<Vec<u8>, Errno> {
        if self.caches().dentries.word(at.dentry()) & flags::REMOVED != 0 {
            // The root of a mount has no name in its mount, so `path_below` would not notice the
            // removal.
            return Err(Errno::ENOENT);
        }
        let alone = at.mount() == self.root.mount();
        let _still = (!alone).then(|| self.tree.lock());
        self.path_in_still_tree(at, self.root)
    }

    /// Returns the path up to any root. The tree is locked, unless the place is in the root's own
    /// mount.
    fn path_in_still_tree(&self, at: Place, root: Place) -> Result<Vec<u8>, Errno> {
        let (mut at, mut parts) = (at, Vec::new());
        loop {
            let is_last = at.mount() == root.mount();
            let top = if is_last { root.dentry() } else { self.mounts.root(at.mount()) };
            parts.push(self.caches().path_below(at.dentry(), top)?);
            if !is_last && !self.is_shown_at_last(at) {
                return Ok(b"/".to_vec());
            }
            match self.mounts.covered(Standing::pinned(at.mount())) {
                Ok(Some(covered)) if !is_last => at = Place::new(covered.mount.mount, covered.dentry),
                _ => break,
            }
        }
        parts.reverse();
        let path = parts.concat();
        Ok(if path.is_empty() { b"/".to_vec() } else { path })
    }
}

impl Change<'_, Work<'_>> {
    /// Returns the mounts of a namespace below a root, each with the path of its root within its
    /// file system and the path of the place that it covers.
    pub(crate) fn listed(&mut self, namespace: NamespaceId, root: Place) -> Vec<(TreeInfo, Vec<u8>, Vec<u8>)> {
        let (tree, work) = self.parts();
        let world = work.world();
        let all = tree.mountinfo(work, namespace, root);
        let paths = |info: TreeInfo| {
            let within = world.caches().path_even_removed(info.root, DentryId::NONE);
            let own_root = if info.mount == root.mount() { root } else { Place::new(info.mount, info.root) };
            let at = world.path_in_still_tree(own_root, root);
            let or_root = |path: Vec<u8>| if path.is_empty() { b"/".to_vec() } else { path };
            (info, or_root(within), at.map_or_else(|_| b"//deleted".to_vec(), or_root))
        };
        all.into_iter().map(paths).collect()
    }
}
