//! The invariants of a tree, for tests.

use std::collections::HashSet;

use super::node::{State, some};
use super::{NamespaceId, Place, Tree};
use crate::memory::slot::MountId;

impl Tree {
    /// Panics if an invariant that holds outside an operation is violated.
    pub(crate) fn check(&self) {
        let mounts: Vec<MountId> = self.nodes.ids().collect();
        for &mount in &mounts {
            self.check_place(mount);
            self.check_children(mount);
            self.check_peers(mount);
            self.check_slaves(mount);
        }
        let placed = mounts.iter().filter(|&&mount| self.nodes[mount].is(State::PLACED)).count();
        assert_eq!(self.places.len(), placed);
        let on_points: usize = self.points.keys().map(|&point| self.on_point(point).count()).sum();
        assert_eq!(on_points, placed);
        self.check_namespaces(&mounts);
    }

    fn check_place(&self, mount: MountId) {
        let node = &self.nodes[mount];
        assert!(!node.state.intersects(State::CANDIDATE | State::MARKED), "{mount:?}");
        assert_eq!(node.is(State::LISTED), node.is(State::PLACED), "{mount:?}");
        assert_eq!(node.is(State::PLACED), some(node.parent).is_some(), "{mount:?}");
        if some(node.parent).is_none() {
            return;
        }
        let place = Place::new(node.parent, node.point);
        assert_eq!(self.lookup(place), Some(mount));
        assert!(self.on_point(node.point).any(|other| other == mount));
        assert!(self.children(node.parent).any(|child| child == mount));
        assert_eq!(node.namespace, self.nodes[node.parent].namespace);
    }

    fn check_children(&self, mount: MountId) {
        let mut last = MountId::NONE;
        for child in self.children(mount) {
            assert_eq!(self.nodes[child].parent, mount);
            assert_eq!(self.nodes[child].previous_sibling, last);
            last = child;
        }
        assert_eq!(self.nodes[mount].last_child, last);
    }

    fn check_peers(&self, mount: MountId) {
        let node = &self.nodes[mount];
        assert_eq!(node.is(State::SHARED), node.group != 0, "{mount:?}");
        assert!(!node.state.contains(State::SHARED | State::UNBINDABLE));
        assert_eq!(self.nodes[node.next_peer].previous_peer, mount);
        for peer in self.peers(mount).skip(1) {
            assert!(self.are_peers(mount, peer));
            assert_eq!(self.nodes[peer].master, node.master);
        }
        if node.is(State::UNMOUNTED) {
            assert!(node.group == 0 && node.master == MountId::NONE);
            assert!(node.namespace == NamespaceId::NONE && node.first_slave == MountId::NONE);
            assert!(node.first_child != MountId::NONE || node.parent != MountId::NONE);
        }
    }

    /// Checks the list of slaves, in which the peers of each group follow each other in the order
    /// of their ring.
    fn check_slaves(&self, mount: MountId) {
        let mut last = MountId::NONE;
        let mut groups = HashSet::new();
        for slave in self.slaves(mount) {
            let node = &self.nodes[slave];
            assert_eq!((node.master, node.previous_slave), (mount, last));
            let follows = last != MountId::NONE && self.are_peers(last, slave);
            assert!(!follows || self.nodes[last].next_peer == slave);
            assert!(node.group == 0 || follows || groups.insert(node.group), "a group is split");
            last = slave;
        }
        assert!(self.nodes[mount].first_slave == MountId::NONE || self.nodes[mount].group != 0);
    }

    fn check_namespaces(&self, mounts: &[MountId]) {
        let in_namespaces = mounts.iter().filter(|&&mount| self.nodes[mount].namespace != NamespaceId::NONE);
        let listed: usize = self.namespaces.values().map(|namespace| namespace.mounts.len()).sum();
        assert_eq!(in_namespaces.count(), listed);
        for (&number, namespace) in &self.namespaces {
            let tree: HashSet<MountId> = self.subtree(namespace.root).into_iter().collect();
            assert_eq!(tree, namespace.mounts.values().copied().collect());
            assert_eq!(self.nodes[namespace.root].parent, MountId::NONE);
            for (&key, &mount) in &namespace.mounts {
                let node = &self.nodes[mount];
                assert_eq!((node.number, node.namespace), (key, number));
                assert!(!node.is(State::UNMOUNTED));
            }
        }
    }
}
