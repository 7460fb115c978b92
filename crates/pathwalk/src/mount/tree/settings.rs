//! Changing mounts where they are: their propagation and their attributes.

use super::{Caller, Change, Ground, Place, Tree};
use crate::Errno;
use crate::abi::MountFlags;
use crate::abi::Propagation;
use crate::memory::slot::MountId;

/// Attributes to be changed. Source: `mount_setattr(2)`.
#[derive(Clone, Default)]
pub(crate) struct Setting {
    pub(crate) set: MountFlags,
    /// What is cleared before anything is set.
    pub(crate) clear: MountFlags,
}

impl Setting {
    /// Whether this changes nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.clear.is_empty()
    }
}

impl Tree {
    /// Changes the propagation of a mount, and of all below it if `recursive`.
    /// `EINVAL` if the place is no root of a mount in a namespace. Linux: `do_change_type`.
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
    /// Changes the attributes of a mount, and of all below it if `recursive`: of all or of none.
    /// Linux: `mount_setattr(2)`. An empty setting succeeds everywhere.
    ///
    /// `EINVAL` if the place is no root of a mount that is in the caller's namespace or is the
    /// root of a detached tree. `EBUSY` if a mount with writers would become read-only.
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
        self.bar_all(&mounts, setting)?;
        for mount in mounts {
            let attributes = &mut self.tree.nodes[mount].attributes;
            attributes.flags = (attributes.flags - setting.clear) | setting.set;
            self.ground.set(mount, attributes);
        }
        Ok(())
    }

    /// Keeps writers out of all these mounts as far as is needed, or out of none.
    fn bar_all(&self, mounts: &[MountId], setting: &Setting) -> Result<(), Errno> {
        let mut barred = Vec::new();
        for &mount in mounts {
            let result = self.bar(mount, setting);
            match result {
                Ok(true) => barred.push(mount),
                Ok(false) => {}
                Err(errno) => {
                    barred.iter().for_each(|&mount| self.ground.admit_writers(mount));
                    return Err(errno);
                }
            }
        }
        Ok(())
    }

    /// Prepares one mount for a setting; returns whether writers were kept out.
    fn bar(&self, mount: MountId, setting: &Setting) -> Result<bool, Errno> {
        let attributes = &self.tree.nodes[mount].attributes;
        let read_only = MountFlags::READ_ONLY;
        let becomes = setting.set.contains(read_only) && !attributes.flags.contains(read_only);
        if !becomes {
            return Ok(false);
        }
        if self.ground.bar_writers(mount) { Ok(true) } else { Err(Errno::EBUSY) }
    }
}
