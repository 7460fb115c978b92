//! The data about mounts that users see. Source: `proc_pid_mountinfo(5)`.
//!
//! The caller adds the paths, since it has the dentries.

use super::node::{State, some};
use super::{Ground, NamespaceId, Place, Tree};
use crate::abi::{MountFlags, SuperblockFlags};
use crate::memory::slot::{DentryId, MountId, SuperblockId};

/// A mount as its users see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TreeInfo {
    /// The number, which is never used again. Linux: `mnt_id_unique`.
    pub(crate) number: u64,
    /// The parent's number; its own for the namespace's root.
    pub(crate) parent_number: u64,
    pub(crate) mount: MountId,
    /// The parent; the mount itself for the namespace's root.
    pub(crate) parent: MountId,
    pub(crate) superblock: SuperblockId,
    pub(crate) root: DentryId,
    /// The dentry in the parent that the mount is on; `NONE` for the namespace's root.
    pub(crate) point: DentryId,
    pub(crate) flags: MountFlags,
    pub(crate) superblock_flags: SuperblockFlags,
    /// The peer group, if the mount is shared.
    pub(crate) shared: Option<u32>,
    /// The peer group of the master, if the mount is a slave.
    pub(crate) master: Option<u32>,
    /// The nearest group below the caller's root that propagates to the mount, if it is not the
    /// master's.
    pub(crate) propagate_from: Option<u32>,
    pub(crate) unbindable: bool,
    /// True if the mount has an id map. Linux: `is_idmapped_mnt`.
    pub(crate) id_mapped: bool,
}

impl Tree {
    /// Returns the mounts of a namespace that are below a root directory, in the order of their
    /// numbers. Linux: `show_mountinfo`.
    pub(crate) fn mountinfo<G: Ground>(&self, ground: &G, namespace: NamespaceId, root: Place) -> Vec<TreeInfo> {
        let Some(namespace) = self.namespaces.get(&namespace) else { return Vec::new() };
        let visible = |mount: &&MountId| self.is_mount_reachable(ground, **mount, root) && self.has_way_up(ground, **mount, root);
        let mounts = namespace.mounts.values().filter(visible);
        mounts.map(|&mount| self.info(ground, mount, root)).collect()
    }

    /// Returns whether each place that is covered on the way up from a mount is below the root of
    /// the mount that it is in. Linux: `prepend_path`, which detects paths that escaped.
    fn has_way_up<G: Ground>(&self, ground: &G, mount: MountId, root: Place) -> bool {
        let mut at = mount;
        while at != root.mount()
            && let Some(parent) = some(self.nodes[at].parent)
        {
            if parent != root.mount() && !ground.is_below(self.nodes[at].point, self.nodes[parent].root) {
                return false;
            }
            at = parent;
        }
        true
    }

    fn is_mount_reachable<G: Ground>(&self, ground: &G, mount: MountId, root: Place) -> bool {
        self.is_reachable(ground, Place::new(mount, self.nodes[mount].root), root)
    }

    fn info<G: Ground>(&self, ground: &G, mount: MountId, root: Place) -> TreeInfo {
        let node = &self.nodes[mount];
        let parent = some(node.parent).unwrap_or(mount);
        let master = some(node.master).map(|master| self.nodes[master].group);
        let dominating = some(node.master).and_then(|_| self.dominating(ground, mount, root));
        TreeInfo {
            number: node.number,
            parent_number: self.nodes[parent].number,
            mount,
            parent,
            superblock: node.superblock,
            root: node.root,
            point: node.point,
            flags: node.attributes.flags,
            superblock_flags: ground.superblock_flags(node.superblock),
            shared: self.is_shared(mount).then_some(node.group),
            master,
            propagate_from: dominating.filter(|&group| Some(group) != master),
            unbindable: node.is(State::UNBINDABLE),
            id_mapped: node.attributes.id_map.is_some(),
        }
    }

    /// Returns the nearest group, going from master to master, with a mount in the same namespace
    /// below the root. Linux: `get_dominating_id`.
    fn dominating<G: Ground>(&self, ground: &G, mount: MountId, root: Place) -> Option<u32> {
        let namespace = self.nodes[mount].namespace;
        let visible = |peer: MountId| self.nodes[peer].namespace == namespace && self.is_mount_reachable(ground, peer, root);
        let next = |&master: &MountId| some(self.nodes[master].master);
        let mut masters = std::iter::successors(next(&mount), next);
        let seen = masters.find(|&master| self.peers(master).any(visible))?;
        Some(self.nodes[seen].group)
    }
}
