//! Changes of mounts at their places: of their propagation and their attributes.

use super::{Caller, Change, Ground, Place, Tree};
use crate::Errno;
use crate::abi::{MountFlags, Propagation, SuperblockFlags};
use crate::memory::slot::MountId;
use crate::permission::IdMap;

/// A change of attributes. Source: `mount_setattr(2)`.
#[derive(Clone, Default)]
pub(crate) struct Setting {
    pub(crate) set: MountFlags,
    /// The switches that are cleared before any are set.
    pub(crate) clear: MountFlags,
    /// An id map for mounts that have none.
    pub(crate) id_map: Option<IdMap>,
}

impl Setting {
    /// Returns whether this changes nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.clear.is_empty() && self.id_map.is_none()
    }
}

impl Tree {
    /// Changes the propagation of a mount, and of all mounts below it if `recursive`. Fails with
    /// `EINVAL` if the place is not the root of a mount in a namespace. Linux: `do_change_type`.
    pub(crate) fn set_propagation(&mut self, at: Place, kind: Propagation, recursive: bool) -> Result<(), Errno> {
        if !self.is_root(at) || self.namespace_of(at.mount()).is_none() {
            return Err(Errno::EINVAL);
        }
        let mounts = self.these(at.mount(), recursive);
        if kind == Propagation::Shared {
            mounts.iter().for_each(|&mount| self.number_group(mount));
        }
        mounts.iter().for_each(|&mount| self.change_propagation(mount, kind));
        Ok(())
    }

    fn these(&self, mount: MountId, recursive: bool) -> Vec<MountId> {
        if recursive { self.subtree(mount) } else { vec![mount] }
    }
}

impl<G: Ground> Change<'_, G> {
    /// Changes the attributes of a mount, and of all mounts below it if `recursive`: of all or of
    /// none. An empty setting succeeds everywhere. Linux: `mount_setattr(2)`.
    ///
    /// Fails with `EINVAL` if the place is not the root of a mount that is in the caller's
    /// namespace or is the root of a detached tree. `EBUSY` if a mount with writers would become
    /// read-only or id-mapped. For an id map: `EPERM` if a mount has one; `EINVAL` if its file
    /// system allows none, or if the mount is in a namespace, where it may have been seen without
    /// the map; `ENOSPC` if there are too many maps.
    pub(crate) fn set_attributes(&mut self, caller: &Caller, at: Place, setting: &Setting, recursive: bool) -> Result<(), Errno> {
        if setting.is_empty() {
            return Ok(());
        }
        if !self.tree.is_root(at) {
            return Err(Errno::EINVAL);
        }
        if !self.tree.is_detached_root(at.mount()) && !self.tree.is_in(at.mount(), caller.namespace) {
            return Err(Errno::EINVAL);
        }
        let mounts = self.tree.these(at.mount(), recursive);
        let barred = self.bar_all(&mounts, setting)?;
        let id_map = setting.id_map.as_ref().map(|map| self.ground.enter_id_map(map)).transpose();
        let id_map = id_map.inspect_err(|_| self.admit(&barred))?;
        for mount in mounts {
            let attributes = &mut self.tree.nodes[mount].attributes;
            attributes.flags = (attributes.flags - setting.clear) | setting.set;
            attributes.id_map = id_map.or(attributes.id_map);
            self.ground.set(mount, attributes);
        }
        Ok(())
    }

    /// Changes the switches of a mount and of its superblock: both become read-only, or neither is
    /// read-only afterwards. The mount keeps its switches for times of access, unless `to` has
    /// some. Linux: `do_remount`.
    ///
    /// Fails with `EINVAL` if the place is not the root of a mount in the caller's namespace, and
    /// with `EBUSY` if the superblock cannot become read-only.
    pub(crate) fn remount(&mut self, caller: &Caller, at: Place, to: MountFlags) -> Result<(), Errno> {
        if !self.tree.is_root(at) || !self.tree.is_in(at.mount(), caller.namespace) {
            return Err(Errno::EINVAL);
        }
        let node = &mut self.tree.nodes[at.mount()];
        self.ground.set_superblock(node.superblock, to.of_superblock())?;
        let kept = if to.intersects(MountFlags::OF_ACCESS) { MountFlags::empty() } else { MountFlags::OF_ACCESS };
        node.attributes.flags = to | node.attributes.flags & kept;
        self.ground.set(at.mount(), &node.attributes);
        Ok(())
    }

    /// Makes the superblock of a mount read-only, and leaves the mount as it is. Fails with `EBUSY`
    /// as [`remount`](Self::remount) does. Linux: `do_umount_root`.
    pub(super) fn quiesce(&mut self, mount: MountId) -> Result<(), Errno> {
        let superblock = self.tree.nodes[mount].superblock;
        let flags = self.ground.superblock_flags(superblock) | SuperblockFlags::READ_ONLY;
        self.ground.set_superblock(superblock, flags)
    }

    /// Keeps writers out of these mounts where the setting requires it, or out of none. Returns the
    /// mounts that refuse writers now.
    fn bar_all(&self, mounts: &[MountId], setting: &Setting) -> Result<Vec<MountId>, Errno> {
        let mut barred = Vec::new();
        for &mount in mounts {
            let result = self.bar(mount, setting);
            match result {
                Ok(true) => barred.push(mount),
                Ok(false) => {}
                Err(errno) => {
                    self.admit(&barred);
                    return Err(errno);
                }
            }
        }
        Ok(barred)
    }

    fn admit(&self, barred: &[MountId]) {
        barred.iter().for_each(|&mount| self.ground.admit_writers(mount));
    }

    /// Prepares one mount for a setting; returns whether writers were kept out.
    fn bar(&self, mount: MountId, setting: &Setting) -> Result<bool, Errno> {
        let changes_ids = setting.id_map.is_some();
        if changes_ids {
            self.may_map_ids(mount)?;
        }
        // A mount that is read-only has no writers, and accepts none.
        let is_read_only = self.tree.nodes[mount].attributes.flags.contains(MountFlags::READ_ONLY);
        if is_read_only || !changes_ids && !setting.set.contains(MountFlags::READ_ONLY) {
            return Ok(false);
        }
        if self.ground.bar_writers(mount) { Ok(true) } else { Err(Errno::EBUSY) }
    }

    /// Checks whether a mount may get an id map. Linux: `can_idmap_mount`.
    fn may_map_ids(&self, mount: MountId) -> Result<(), Errno> {
        let node = &self.tree.nodes[mount];
        if node.attributes.id_map.is_some() {
            return Err(Errno::EPERM);
        }
        let may = self.ground.allows_id_maps(node.superblock) && self.tree.is_anonymous(node.namespace);
        if may { Ok(()) } else { Err(Errno::EINVAL) }
    }
}
