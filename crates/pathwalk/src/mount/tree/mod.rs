//! The tree of mounts, with propagation and namespaces.
//!
//! This is the writers' structure. Linux keeps it under `namespace_sem` and `mount_lock`; here it
//! is under one mutex. Walks do not read it; they read what it writes to a [`Ground`].
//!
//! These hold outside an operation. A mount is in a namespace, or it is unmounted and lingers
//! because a holder can reach it. A namespace's mounts are one tree, whose top has no parent. A
//! parent and its children are in the same namespace. A dentry has at most one mount in each mount.
//! Peers have one group number and one master, and follow each other among its slaves. An unmounted
//! mount propagates nothing.
//!
//! An operation that fails changes nothing. The time of an operation is proportional to the number
//! of mounts that it changes, and of peers and slaves that it visits.
//!
//! What it does not do: path lookup and permission checks, which callers do; user namespaces and
//! locked mounts; and the shutdown of a superblock without mounts.

mod attach;
mod attributes;
mod caller;
mod copy;
mod detach;
mod ground;
mod group_numbers;
mod groups;
mod links;
mod mountinfo;
mod moves;
mod namespaces;
mod node;
mod peers;
mod pivot;
mod settings;
mod spread;
mod umount;
mod uncover;

#[cfg(all(test, not(any(loom, shuttle))))]
mod check;
#[cfg(all(test, not(any(loom, shuttle))))]
pub(crate) mod tests;

use std::collections::{BTreeMap, HashMap};

use super::place::Place;
use crate::Errno;
use crate::abi::Propagation;
use crate::memory::slot::{DentryId, MountId};
use group_numbers::GroupNumbers;
use node::Nodes;

pub(crate) use attributes::Attributes;
pub(crate) use caller::{Caller, NamespaceId};
pub(crate) use ground::Ground;
pub(crate) use mountinfo::TreeInfo;
pub(crate) use settings::Setting;

/// A namespace of mounts, or the holder of a detached tree.
struct Namespace {
    root: MountId,
    /// The mounts, by the numbers that users know, which is the order of `mountinfo`.
    mounts: BTreeMap<u64, MountId>,
    /// True if this holds a detached tree only. Linux: `is_anon_ns`.
    anonymous: bool,
    /// The namespace that a detached tree was copied from, or `NONE` for a new file system.
    origin: NamespaceId,
}

/// All mounts of all namespaces.
pub(crate) struct Tree {
    nodes: Nodes,
    /// The mount at each place.
    places: HashMap<Place, MountId>,
    /// The first of the mounts on each dentry.
    points: HashMap<DentryId, MountId>,
    namespaces: HashMap<NamespaceId, Namespace>,
    groups: GroupNumbers,
    last_number: u64,
    last_namespace: u64,
    /// The largest number of mounts that a namespace may have. Linux: `fs.mount-max`.
    limit: usize,
}

/// An operation on a tree above its ground.
pub(crate) struct Change<'a, G> {
    tree: &'a mut Tree,
    ground: &'a G,
}

impl Tree {
    /// Linux's default for `fs.mount-max`.
    pub(crate) const LIMIT: usize = 100_000;

    /// Creates a tree without mounts, whose namespaces may have `limit` mounts each.
    pub(crate) fn new(limit: usize) -> Tree {
        Tree {
            nodes: Nodes::default(),
            places: HashMap::new(),
            points: HashMap::new(),
            namespaces: HashMap::new(),
            groups: GroupNumbers::default(),
            last_number: 0,
            last_namespace: 0,
            limit,
        }
    }

    /// Begins an operation. All operations of a tree must get the same ground.
    pub(crate) fn on<'a, G: Ground>(&'a mut self, ground: &'a G) -> Change<'a, G> {
        Change { tree: self, ground }
    }

    /// Returns whether the mount is in this namespace. Linux: `check_mnt`.
    pub(crate) fn is_in(&self, mount: MountId, namespace: NamespaceId) -> bool {
        self.nodes.get(mount).is_some_and(|node| node.namespace == namespace)
    }

    /// Returns the namespace of a mount, or `None` if it is in none. Linux: `is_mounted`.
    pub(crate) fn namespace_of(&self, mount: MountId) -> Option<NamespaceId> {
        let namespace = self.nodes.get(mount)?.namespace;
        (namespace != NamespaceId::NONE).then_some(namespace)
    }

    /// Returns whether the place is the root of its mount. Linux: `path_mounted`.
    pub(crate) fn is_root(&self, place: Place) -> bool {
        self.nodes.get(place.mount()).is_some_and(|node| node.root == place.dentry())
    }

    /// Returns whether the namespace holds a detached tree. Linux: `is_anon_ns`.
    fn is_anonymous(&self, namespace: NamespaceId) -> bool {
        self.namespaces.get(&namespace).is_some_and(|namespace| namespace.anonymous)
    }

    /// Returns whether a mount is the top of a detached tree. Linux: `anon_ns_root`.
    fn is_detached_root(&self, mount: MountId) -> bool {
        let namespace = self.namespace_of(mount).and_then(|number| self.namespaces.get(&number));
        namespace.is_some_and(|namespace| namespace.anonymous && namespace.root == mount)
    }

    /// Returns whether the caller may use the mount: it is in the caller's namespace, or in a
    /// detached tree that was copied from that namespace or is new. Linux: `check_mnt`,
    /// `check_anonymous_mnt`.
    fn may_use(&self, caller: &Caller, mount: MountId) -> bool {
        if self.is_in(mount, caller.namespace) {
            return true;
        }
        let namespace = self.namespace_of(mount).and_then(|number| self.namespaces.get(&number));
        namespace.is_some_and(|namespace| {
            let origin = namespace.origin;
            namespace.anonymous && (origin == NamespaceId::NONE || origin == caller.namespace)
        })
    }

    /// Returns the number by which users know a mount, if it is in the tree.
    pub(crate) fn number(&self, mount: MountId) -> Option<u64> {
        self.nodes.get(mount).map(|node| node.number)
    }
}

impl<'a, G: Ground> Change<'a, G> {
    /// Returns the tree and its ground.
    pub(crate) fn parts(&self) -> (&Tree, &'a G) {
        (self.tree, self.ground)
    }

    /// Returns whether a slot is that of the mount with this number, by which users know it.
    pub(crate) fn is(&self, mount: MountId, number: u64) -> bool {
        self.tree.number(mount) == Some(number)
    }

    /// Changes the propagation of a mount: see [`Tree::set_propagation`].
    pub(crate) fn set_propagation(&mut self, at: Place, kind: Propagation, recursive: bool) -> Result<(), Errno> {
        self.tree.set_propagation(at, kind, recursive)
    }
}

impl<G: Ground> Change<'_, G> {
    /// Returns the place that a mount gets if it is mounted at this place: on top of the mounts
    /// that are there. Fails with `ENOENT` if the place was removed, or its mount is in no
    /// namespace. Linux: `lock_mount`.
    fn point(&self, at: Place) -> Result<Place, Errno> {
        let top = self.tree.top(at);
        self.check_point(top)?;
        Ok(top)
    }

    fn check_point(&self, place: Place) -> Result<(), Errno> {
        let attached = self.tree.namespace_of(place.mount()).is_some();
        if attached && !self.ground.is_removed(place.dentry()) { Ok(()) } else { Err(Errno::ENOENT) }
    }
}
