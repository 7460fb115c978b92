//! Pins on mounts, and on places.
//!
//! What always holds: while a mount is pinned, its slot number identifies it, its root stays, and
//! its file system is not shut down. A pin does not keep a mount at its place: the mount may be
//! moved, or unmounted lazily.

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

    /// Takes one more pin on a mount that the caller knows to be pinned.
    pub(crate) fn again(world: &'a World, id: MountId) -> MountPin<'a> {
        world.mounts.pin_again(id);
        MountPin { world, id }
    }

    /// Takes a pin on a mount that was sampled; returns `None` if the slot holds another mount by
    /// now.
    pub(crate) fn sampled(world: &'a World, standing: Standing) -> Option<MountPin<'a>> {
        world.mounts.pin_sampled(standing).then(|| MountPin::new(world, standing.mount))
    }

    pub(crate) fn id(&self) -> MountId {
        self.id
    }

    /// Returns the mount without giving the pin back: the caller takes the pin over.
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

/// A change that is under way, or a file that is open for writing, as the mount counts it. The
/// mount does not become read-only before this is dropped. Linux: `mnt_get_write_access`.
pub(crate) struct MountWriter<'a> {
    mounts: &'a MountRecords,
    id: MountId,
}

impl<'a> MountWriter<'a> {
    /// Counts a writer of a mount on which the caller keeps a pin meanwhile. Returns `None` if the
    /// mount is read-only, or about to be.
    pub(crate) fn new(world: &'a World, id: MountId) -> Option<MountWriter<'a>> {
        let mounts = &world.mounts;
        // Created only after the writer is counted, since the drop uncounts it.
        mounts.begin_writing(id).then(|| MountWriter { mounts, id })
    }

    /// Returns the mount without uncounting the writer: the caller takes the count over.
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
    /// The dentry's pin, given back first, since the mount keeps the dentry's file system.
    pub(crate) node: Pinned<'a>,
    pub(crate) mount: MountPin<'a>,
}

impl<'a> PinnedPlace<'a> {
    /// Takes one more pin on a place that the caller knows to be pinned.
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

    /// Returns the place of a dentry that was found from here, in the same mount.
    pub(crate) fn with(&self, node: Pinned<'a>) -> PinnedPlace<'a> {
        PinnedPlace { node, mount: self.mount.clone() }
    }

    /// Returns the place without giving the pins back: the caller takes both over.
    pub(crate) fn into_place(self) -> Place {
        Place::new(self.mount.into_id(), self.node.into_id())
    }
}
