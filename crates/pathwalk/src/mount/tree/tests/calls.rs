//! The calls of the model's caller.

use super::super::{Attributes, Ground as _, MountFlags, NamespaceId, Place, Propagation, Setting, UmountFlags};
use super::model::{Model, errno};
use super::op::{Kind, Spot, Umount};
use super::system::Failure;
use crate::Errno;

impl Model {
    pub(super) fn mount(&mut self, at: &Spot) -> Result<(), Failure> {
        self.skip_if(self.is_full())?;
        let to = self.at(at);
        self.skip_if(to == Err(Failure::Skipped))?;
        let (superblock, root) = self.ground.filled();
        let mut change = self.tree.on(&self.ground);
        let new = change.new_detached(superblock, root, Attributes::default()).map_err(errno)?;
        let from = Place::new(new.1, root);
        let result = to.and_then(|to| change.move_mount(&self.caller, from, to).map_err(errno));
        change.dissolve(new.1);
        result
    }

    pub(super) fn mount_empty(&mut self, at: &Spot) -> Result<(), Failure> {
        self.skip_if(self.is_full())?;
        let to = self.directory(at)?;
        let (superblock, root) = self.ground.file_system();
        let mut change = self.tree.on(&self.ground);
        let mounted = change.mount(&self.caller, superblock, root, Attributes::default(), to);
        mounted.map(|_| ()).map_err(errno)
    }

    pub(super) fn bind(&mut self, from: &Spot, to: &Spot, recursive: bool) -> Result<(), Failure> {
        self.skip_if(self.is_full())?;
        self.skip_if(matches!((from, to), (Spot::Held(_), Spot::Held(_))))?;
        if matches!(from, Spot::Held(_)) {
            self.directory(from)?;
        }
        if matches!(to, Spot::Held(_)) {
            self.directory(to)?;
        }
        let to = self.at(to)?;
        let from = self.at(from)?;
        let mut change = self.tree.on(&self.ground);
        change.bind(&self.caller, from, to, recursive).map(|_| ()).map_err(errno)
    }

    pub(super) fn move_mount(&mut self, from: &Spot, to: &Spot, beneath: bool) -> Result<(), Failure> {
        self.skip_if(self.is_full())?;
        let held = |spot: &Spot| matches!(spot, Spot::Held(_)).then(|| self.at(spot));
        for spot in [from, to] {
            self.skip_if(held(spot) == Some(Err(Failure::Skipped)))?;
        }
        let (to, from) = (self.at(to)?, self.at(from)?);
        let mut change = self.tree.on(&self.ground);
        if beneath {
            change.move_beneath(&self.caller, from, to).map_err(errno)
        } else {
            change.move_mount(&self.caller, from, to).map_err(errno)
        }
    }

    pub(super) fn clone_tree(&mut self, from: &Spot, slot: usize, recursive: bool) -> Result<(), Failure> {
        self.skip_if(self.is_full())?;
        let from = self.at(from)?;
        let mut change = self.tree.on(&self.ground);
        let (_, mount) = change.clone_tree(&self.caller, from, recursive).map_err(errno)?;
        self.keep(slot, Place::new(mount, from.dentry()), true);
        Ok(())
    }

    pub(super) fn umount(&mut self, at: &Spot, way: Umount) -> Result<(), Failure> {
        let named = self.directory(at)?;
        // Linux: LOOKUP_MOUNTPOINT.
        let at = self.tree.top(named);
        // The mark of a mount above the one that is named cannot be cleared by opening it.
        self.skip_if(way == Umount::Expire && at != named)?;
        // The kernel would make the file system read-only.
        self.skip_if(at.mount() == self.caller.root.mount && way != Umount::Detach)?;
        let flags = match way {
            Umount::Plain => UmountFlags::empty(),
            Umount::Detach => UmountFlags::DETACH,
            Umount::Expire => UmountFlags::EXPIRE,
        };
        if way == Umount::Expire {
            self.tree.used(at.mount());
        }
        let mut change = self.tree.on(&self.ground);
        let mut result = change.umount(&self.caller, at, flags);
        if way == Umount::Expire && result == Err(Errno::EAGAIN) {
            result = change.umount(&self.caller, at, flags);
        }
        result.map_err(errno)
    }

    pub(super) fn set_propagation(&mut self, at: &Spot, kind: Kind, recursive: bool) -> Result<(), Failure> {
        let at = self.directory(at)?;
        let kind = match kind {
            Kind::Private => Propagation::Private,
            Kind::Shared => Propagation::Shared,
            Kind::Slave => Propagation::Slave,
            Kind::Unbindable => Propagation::Unbindable,
        };
        self.tree.set_propagation(at, kind, recursive).map_err(errno)
    }

    pub(super) fn set_attributes(&mut self, at: &Spot, (set, clear): (u32, u32), recursive: bool) -> Result<(), Failure> {
        let setting = Setting { set: MountFlags::from_bits_retain(set), clear: MountFlags::from_bits_retain(clear), idmap: None };
        let at = self.at(at);
        // Linux: an empty setting succeeds before the path is looked up.
        if setting.is_empty() && at != Err(Failure::Skipped) {
            return Ok(());
        }
        let at = at?;
        let mut change = self.tree.on(&self.ground);
        change.set_attributes(&self.caller, at, &setting, recursive).map_err(errno)
    }

    pub(super) fn pivot(&mut self, new: &Spot, old: &str) -> Result<(), Failure> {
        let new = self.directory(new)?;
        let not_a_directory = |place: Place| !self.ground.is_directory(place.dentry());
        if not_a_directory(new) {
            return Err(errno(Errno::ENOTDIR));
        }
        let old = self.walk(old)?;
        if not_a_directory(old) {
            return Err(errno(Errno::ENOTDIR));
        }
        let mut change = self.tree.on(&self.ground);
        let pivot = change.pivot_root(&self.caller, new, old).map_err(errno)?;
        self.set_root(pivot.new);
        Ok(())
    }

    pub(super) fn chroot(&mut self, path: &str) -> Result<(), Failure> {
        let place = self.walk(path)?;
        if !self.ground.is_directory(place.dentry()) {
            return Err(errno(Errno::ENOTDIR));
        }
        self.set_root(place);
        Ok(())
    }

    /// Returns the parent's place, and the name.
    fn parent_of<'p>(&self, path: &'p str) -> Result<(Place, &'p str), Failure> {
        let (parent, name) = path.rsplit_once('/').ok_or(Failure::Skipped)?;
        self.skip_if(name.is_empty())?;
        let parent = self.walk(parent)?;
        if !self.ground.is_directory(parent.dentry) {
            return Err(errno(Errno::ENOTDIR));
        }
        Ok((parent, name))
    }

    pub(super) fn is_read_only(&self, place: Place) -> bool {
        let node = self.tree.nodes.get(place.mount());
        node.is_some_and(|node| node.attributes.flags.contains(MountFlags::READ_ONLY))
    }

    pub(super) fn mkdir(&mut self, path: &str) -> Result<(), Failure> {
        let (parent, name) = self.parent_of(path)?;
        self.skip_if(self.tree.nodes.get(parent.mount).is_none())?;
        if self.ground.child(parent.dentry, name).is_some() {
            return Err(errno(Errno::EEXIST));
        }
        if self.ground.is_removed(parent.dentry) {
            return Err(errno(Errno::ENOENT));
        }
        if self.is_read_only(parent) {
            return Err(errno(Errno::EROFS));
        }
        self.ground.make(parent.dentry, name, true).map(|_| ()).ok_or(errno(Errno::ENOENT))
    }

    pub(super) fn rmdir(&mut self, path: &str) -> Result<(), Failure> {
        let (parent, name) = self.parent_of(path)?;
        self.skip_if(self.tree.nodes.get(parent.mount).is_none())?;
        if self.is_read_only(parent) {
            return Err(errno(Errno::EROFS));
        }
        let child = self.ground.child(parent.dentry, name).ok_or(errno(Errno::ENOENT))?;
        if !self.ground.is_directory(child) {
            return Err(errno(Errno::ENOTDIR));
        }
        if self.tree.is_mounted_in(child, self.caller.namespace) {
            return Err(errno(Errno::EBUSY));
        }
        if !self.ground.is_empty(child) {
            return Err(errno(Errno::ENOTEMPTY));
        }
        self.ground.remove(child);
        self.tree.on(&self.ground).detach_at(child);
        Ok(())
    }

    pub(super) fn unshare(&mut self, slot: usize) -> Result<(), Failure> {
        self.skip_if(self.is_full())?;
        let mut change = self.tree.on(&self.ground);
        let (new, copies) = change.clone_namespace(self.caller.namespace).map_err(errno)?;
        let Place { mount, dentry } = self.caller.root;
        let mount = copies.get(&mount).copied().unwrap_or(mount);
        let old = std::mem::replace(&mut self.caller.namespace, new);
        self.set_root(Place::new(mount, dentry));
        let closed = self.namespaces[slot].replace(new);
        for namespace in [closed, Some(old)].into_iter().flatten() {
            self.end_unless_used(namespace);
        }
        Ok(())
    }

    /// Ends a namespace that the caller neither is in nor holds.
    pub(super) fn end_unless_used(&mut self, namespace: NamespaceId) {
        let held = self.namespaces.contains(&Some(namespace));
        if !held && self.caller.namespace != namespace {
            self.tree.on(&self.ground).drop_namespace(namespace);
        }
    }

    pub(super) fn enter(&mut self, slot: usize) -> Result<(), Failure> {
        let namespace = self.namespaces[slot].ok_or(Failure::Skipped)?;
        let mount = self.tree.root_of(namespace).ok_or(Failure::Skipped)?;
        let below = Place::new(mount, self.tree.nodes[mount].root);
        let root = self.tree.top(below);
        // The caller would be in the file system of the machine.
        self.skip_if(root == below)?;
        let old = std::mem::replace(&mut self.caller.namespace, namespace);
        self.set_root(root);
        self.end_unless_used(old);
        Ok(())
    }
}
