//! Steps up and down across mounts, and checks whether a place is below another one. For callers
//! that have pins or may take locks.
//!
//! What always holds: a mount keeps the mount that it is mounted in, and the dentry that it covers.
//! So while the tree is locked, the way up from a pinned mount does not change.
//!
//! Source: `choose_mountpoint`, `lookup_mnt`, `path_connected` and `is_path_reachable` of Linux.

use super::pinned::{MountPin, PinnedPlace};
use super::place::Place;
use super::records::{Cover, Standing};
use super::tree::NamespaceId;
use super::world::World;
use crate::attr::Seen;
use crate::cache::Pinned;
use crate::memory::slot::DentryId;

impl World {
    /// Returns the root of the mount on a place, or `None` if nothing is mounted there. Waits for
    /// changes of the tree that are under way.
    pub(crate) fn mounted_on<'a>(&'a self, place: &PinnedPlace<'_>) -> Option<PinnedPlace<'a>> {
        match self.mounts.cover(place.place()) {
            Cover::Nothing => return None,
            Cover::Mount(mount, root) => {
                if let Some(found) = self.root_of_sampled(mount, root) {
                    return Some(found);
                }
            }
            Cover::NotNow => {}
        }
        let _still = self.tree.lock();
        match self.mounts.cover_in_still_tree(place.place()) {
            Some((mount, root)) => {
                let mount = MountPin::again(self, mount);
                Some(PinnedPlace { node: Pinned::again(self.caches(), root), mount })
            }
            None => None,
        }
    }

    /// Returns the root of the topmost mount on a place, or the place itself if nothing is mounted
    /// there.
    pub(crate) fn topmost<'a>(&'a self, mut at: PinnedPlace<'a>) -> PinnedPlace<'a> {
        while let Some(root) = self.mounted_on(&at) {
            at = root;
        }
        at
    }

    /// Returns the root of a namespace, if anything is mounted in it.
    pub(crate) fn root_of(&self, namespace: NamespaceId) -> Option<PinnedPlace<'_>> {
        let tree = self.tree.lock();
        let mount = tree.root_of(namespace)?;
        Some(PinnedPlace::again(self, Place::new(mount, self.mounts.root(mount))))
    }

    /// Returns the root of a mount that was sampled, pinned, if the mount is unchanged.
    fn root_of_sampled(&self, mount: Standing, root: DentryId) -> Option<PinnedPlace<'_>> {
        let mount = MountPin::sampled(self, mount)?;
        Some(PinnedPlace { node: Pinned::again(self.caches(), root), mount })
    }

    /// Returns the place that `..` leads to, or `None` where `..` stays: at `root`, and where there
    /// is nothing above.
    pub(crate) fn above<'a>(&'a self, of: &PinnedPlace<'_>, root: Place) -> Option<PinnedPlace<'a>> {
        let caches = self.caches();
        let here = of.place();
        if here == root {
            return None;
        }
        if self.mounts.root(here.mount()) != here.dentry() {
            let node = Pinned::new(caches, caches.pin_parent(here.dentry()));
            return Some(PinnedPlace { node, mount: MountPin::again(self, here.mount()) });
        }
        let covered = {
            let _still = self.tree.lock();
            let mut at = here;
            loop {
                at = self.covered_in_still_tree(at)?;
                if at == root {
                    return None;
                }
                if self.mounts.root(at.mount()) != at.dentry() {
                    break PinnedPlace::again(self, at);
                }
            }
        };
        Some(covered.with(Pinned::new(caches, caches.pin_parent(covered.id()))))
    }

    /// Returns whether `..` may lead out of what a mount shows: some mount shows a part of its file
    /// system, and some directory was moved, which may have been below that mount's root.
    #[inline(always)]
    pub(crate) fn may_stray(&self) -> bool {
        self.mounts.some_show_parts() && self.caches().moves.were_any()
    }

    /// Returns whether a place is below the root of its mount, as of one instant. Returns `None` if
    /// a directory was moved meanwhile. Takes no lock. The caller checks afterwards that the place
    /// is unchanged. Linux: `path_connected`.
    pub(crate) fn is_shown(&self, place: Place) -> Option<bool> {
        let root = self.mounts.root(place.mount());
        if self.caches().is_root(root) { Some(true) } else { self.caches().is_below(place.dentry(), root) }
    }

    /// Returns the same, and waits for a move if one is in the way. The caller has a pin on the
    /// place.
    pub(crate) fn is_shown_at_last(&self, place: Place) -> bool {
        let root = self.mounts.root(place.mount());
        self.caches().is_root(root) || self.caches().is_below_at_last(place.dentry(), root)
    }

    /// Returns the place that the mount of a place covers. The tree is locked. The mount is pinned,
    /// or above one that is.
    fn covered_in_still_tree(&self, at: Place) -> Option<Place> {
        let above = self.mounts.covered(Standing::pinned(at.mount())).ok().flatten();
        above.map(|covered| Place::new(covered.mount.mount, covered.dentry))
    }

    /// Returns how a place is seen. The caller has a pin on it.
    pub(crate) fn seen(&self, place: Place) -> Seen {
        let mount = place.mount();
        Seen { mount: self.mounts.number(mount), is_root: self.mounts.root(mount) == place.dentry() }
    }

    /// Returns whether something is mounted on a dentry in this namespace.
    pub(crate) fn is_mounted_in(&self, point: DentryId, namespace: NamespaceId) -> bool {
        self.tree.lock().is_mounted_in(point, namespace)
    }

    /// Returns the counts of moves of directories and of changes of mounts, or `None` while one of
    /// either is under way.
    pub(crate) fn still(&self) -> Option<(u64, u64)> {
        Some((self.caches().moves.still()?, self.mounts.settled()?))
    }

    /// Returns whether no directory was moved and no mount changed since the counts had these
    /// values.
    pub(crate) fn is_as_it_was(&self, (moves, mounts): (u64, u64)) -> bool {
        !self.caches().moves.moved_since(moves) && !self.mounts.changed_since(mounts)
    }

    /// Returns whether `top` is this place or above it, as of one instant. Returns `None` if a move
    /// or a change of mounts is in the way. Takes no lock. The caller checks afterwards that the
    /// dentry is unchanged.
    pub(crate) fn is_below(&self, mut mount: Standing, mut dentry: DentryId, top: Place) -> Option<bool> {
        let before = self.still()?;
        while mount.mount != top.mount() {
            let Some(covered) = self.mounts.covered(mount).ok()? else {
                return self.is_as_it_was(before).then_some(false);
            };
            (mount, dentry) = (covered.mount, covered.dentry);
        }
        let is_below = self.caches().is_below(dentry, top.dentry())?;
        self.is_as_it_was(before).then_some(is_below)
    }

    /// Returns the same, and waits for a move if one is in the way. The caller has a pin on the
    /// place.
    pub(crate) fn is_below_at_last(&self, place: Place, top: Place) -> bool {
        if let Some(is_below) = self.is_below(Standing::pinned(place.mount()), place.dentry(), top) {
            return is_below;
        }
        let _still = self.tree.lock();
        let mut at = place;
        while at.mount() != top.mount() {
            let Some(covered) = self.covered_in_still_tree(at) else { return false };
            at = covered;
        }
        self.caches().is_below_at_last(at.dentry(), top.dentry())
    }
}
