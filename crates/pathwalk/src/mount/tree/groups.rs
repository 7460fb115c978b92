//! The order in which an event on a mount reaches the mounts that it propagates to.
//!
//! There are two orders. Unmounting goes from a mount to its slaves before its next peer. Mounting
//! takes a whole peer group first, since the copies for peers are peers of each other.

use super::Tree;
use super::node::some;
use crate::memory::slot::MountId;

impl Tree {
    /// Returns the mount that follows `mount` among those that `origin` propagates to. Linux:
    /// `propagation_next`.
    pub(super) fn propagation_next(&self, mount: MountId, origin: MountId) -> Option<MountId> {
        some(self.nodes[mount].first_slave).or_else(|| self.propagation_after(mount, origin))
    }

    /// Returns the mount that follows `mount` and the slaves below it.
    fn propagation_after(&self, mut mount: MountId, origin: MountId) -> Option<MountId> {
        loop {
            let node = &self.nodes[mount];
            if node.master == self.nodes[origin].master {
                return (node.next_peer != origin).then_some(node.next_peer);
            }
            if let Some(next) = some(node.next_slave) {
                return Some(next);
            }
            mount = node.master;
        }
    }

    /// Returns the mount that follows `mount`, its peers and all slaves below them.
    /// Linux: `skip_propagation_subtree`.
    pub(super) fn propagation_skip(&self, mount: MountId, origin: MountId) -> Option<MountId> {
        let mut next = self.propagation_after(mount, origin);
        while let Some(peer) = next.filter(|&next| self.are_peers(mount, next)) {
            next = self.propagation_after(peer, origin);
        }
        next
    }

    /// Returns the peer groups that `origin` propagates to, each after the group of its masters,
    /// its own group first, without itself. Linux: `next_group`.
    pub(super) fn propagation_groups(&self, origin: MountId) -> Vec<Vec<MountId>> {
        let own: Vec<MountId> = self.peers(origin).collect();
        let mut groups = vec![own[1..].to_vec()];
        let mut waiting: Vec<Vec<MountId>> = Vec::new();
        self.push_slaves(&own, &mut waiting);
        while let Some(group) = waiting.pop() {
            self.push_slaves(&group, &mut waiting);
            groups.push(group);
        }
        groups
    }

    /// Pushes the groups of the slaves of all these masters, so that the first is popped first.
    fn push_slaves(&self, masters: &[MountId], waiting: &mut Vec<Vec<MountId>>) {
        let begin = waiting.len();
        for &master in masters {
            for slave in self.slaves(master) {
                match waiting[begin..].last_mut() {
                    Some(group) if self.are_peers(group[0], slave) => group.push(slave),
                    _ => waiting.push(vec![slave]),
                }
            }
        }
        waiting[begin..].reverse();
    }
}
