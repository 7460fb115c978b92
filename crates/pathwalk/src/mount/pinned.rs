//! Pins on mounts, and on places.
//!
//! What always holds: while a mount is pinned, its number stands for it, its root stays, and its
//! file system is not shut down. A pin keeps no mount where it is: it may be moved, or unmounted
//! lazily.

use super::place::Place;
use super::records::{MountRecords, Standing};
use super::world::World;
use crate::cache::Pinned;
use crate::memory::slot::{DentryId, MountId};

/// A pin on a mount, given back when dropped.
pub(crate) struct MountPin<'a> {
    world: &'a World,
    id: MountId,
}

impl<'a> MountPin<'a> {
    /// Takes over a pin that the caller holds.
    pub(crate) fn new(world: &'a World, id: MountId) -> MountPin<'a> {
        MountPin { world, id }
    }

    /// Takes another pin of a mount of which the caller knows that it is pinned.
    pub(crate) fn again(world: &'a World, id: MountId) -> MountPin<'a> {
        world.mounts.pin_again(id);
        MountPin { world, id }
    }

    /// Takes a pin of a mount that was sampled; none if it is another by now.
    pub(crate) fn sampled(world: &'a World, standing: Standing) -> Option<MountPin<'a>> {
        world.mounts.pin_sampled(standing).then(|| MountPin::new(world, standing.mount))
    }

    pub(crate) fn id(&self) -> MountId {
        self.id
    }

    /// Hands the pin over.
    pub(crate) fn into_id(self) -> MountId {
        let id = self.id;
        std::mem::forget(self);
        id
    }
}

impl Clone for MountPin<'_> {
    fn clone(&self) -> Self {
        MountPin::again(self.world, self.id)
    }
}

impl Drop for MountPin<'_> {
    fn drop(&mut self) {
        self.world.unpin_mount(self.id);
    }
}

/// A change that is under way, or a file that is open to be written to, as the mount counts it, until
/// dropped: the mount does not become read-only meanwhile. Linux: `mnt_get_write_access`.
pub(crate) struct MountWriter<'a> {
    mounts: &'a MountRecords,
    id: MountId,
}

impl<'a> MountWriter<'a> {
    /// Counts a writer of a mount on which the caller has a pin for as long; none if it is
    /// read-only, or about to be.
    pub(crate) fn new(world: &'a World, id: MountId) -> Option<MountWriter<'a>> {
        let mounts = &world.mounts;
        // Not before it is counted: its drop would count it no longer.
        mounts.begin_writing(id).then(|| MountWriter { mounts, id })
    }

    /// Hands the count over.
    pub(crate) fn into_id(self) -> MountId {
        let id = self.id;
        std::mem::forget(self);
        id
    }
}

impl Drop for MountWriter<'_> {
    fn drop(&mut self) {
        self.mounts.end_writing(self.id);
    }
}

/// A pinned place: neither the mount nor the dentry becomes another one while it is held.
#[derive(Clone)]
pub(crate) struct PinnedPlace<'a> {
    /// Given back first: the mount keeps the dentry's file system.
    pub(crate) node: Pinned<'a>,
    pub(crate) mount: MountPin<'a>,
}

impl<'a> PinnedPlace<'a> {
    /// Takes another pin of a place of which the caller knows that it is pinned.
    pub(crate) fn again(world: &'a World, place: Place) -> PinnedPlace<'a> {
        PinnedPlace { node: Pinned::again(world.caches(), place.dentry()), mount: MountPin::again(world, place.mount()) }
    }

    /// Returns the dentry.
    pub(crate) fn id(&self) -> DentryId {
        self.node.id()
    }

    pub(crate) fn place(&self) -> Place {
        Place::new(self.mount.id(), self.node.id())
    }

    /// Returns a dentry that was found from here, in the same mount.
    pub(crate) fn with(&self, node: Pinned<'a>) -> PinnedPlace<'a> {
        PinnedPlace { node, mount: self.mount.clone() }
    }

    /// Hands both pins over.
    pub(crate) fn into_place(self) -> Place {
        Place::new(self.mount.into_id(), self.node.into_id())
    }
}
