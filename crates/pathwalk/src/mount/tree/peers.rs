//! Peer groups, masters and slaves.
//!
//! Peers are a ring with one group number. A mount's slaves are a list. The slaves that are peers
//! of each other follow each other in the list, in the order of the ring. The orders matter: copies
//! are made in these orders, and the numbers of mounts show that.
//!
//! This module only keeps the links. Other modules decide which mount gets a copy.

use super::Tree;
use super::node::{State, some};
use crate::abi::Propagation;
use crate::memory::slot::MountId;

impl Tree {
    /// Returns whether the two are in one peer group.
    pub(super) fn are_peers(&self, a: MountId, b: MountId) -> bool {
        let group = self.nodes[a].group;
        group != 0 && group == self.nodes[b].group
    }

    /// Returns whether mounts on this one propagate.
    pub(super) fn is_shared(&self, mount: MountId) -> bool {
        self.nodes[mount].is(State::SHARED)
    }

    /// Returns the mount's slaves, in order.
    pub(super) fn slaves(&self, mount: MountId) -> impl Iterator<Item = MountId> + '_ {
        let first = self.nodes[mount].first_slave;
        std::iter::successors(some(first), |&slave| some(self.nodes[slave].next_slave))
    }

    /// Returns the peers of a mount, beginning with it, in the order of the ring.
    pub(super) fn peers(&self, mount: MountId) -> impl Iterator<Item = MountId> + '_ {
        let next = move |&peer: &MountId| {
            let next = self.nodes[peer].next_peer;
            (next != mount).then_some(next)
        };
        std::iter::successors(Some(mount), next)
    }

    /// Gives a mount a group number if it has none.
    pub(super) fn number_group(&mut self, mount: MountId) {
        if self.nodes[mount].group == 0 {
            self.nodes[mount].group = self.groups.take();
        }
    }

    /// Makes a mount with a group number shared. Linux: `set_mnt_shared`.
    pub(super) fn share(&mut self, mount: MountId) {
        let state = &mut self.nodes[mount].state;
        state.remove(State::UNBINDABLE);
        state.insert(State::SHARED);
    }

    /// Adds a lone mount to the ring, after `old`.
    pub(super) fn join(&mut self, mount: MountId, old: MountId) {
        let next = std::mem::replace(&mut self.nodes[old].next_peer, mount);
        self.nodes[next].previous_peer = mount;
        self.nodes[mount].next_peer = next;
        self.nodes[mount].previous_peer = old;
    }

    /// Takes a mount out of its group, and frees the group's number if it was the last member.
    pub(super) fn leave(&mut self, mount: MountId) {
        let node = &mut self.nodes[mount];
        let next = std::mem::replace(&mut node.next_peer, mount);
        let previous = std::mem::replace(&mut node.previous_peer, mount);
        let group = std::mem::replace(&mut node.group, 0);
        node.state.remove(State::SHARED);
        if next != mount {
            self.nodes[previous].next_peer = next;
            self.nodes[next].previous_peer = previous;
        } else if group != 0 {
            self.groups.give_back(group);
        }
    }

    /// Makes a mount that has no master the first slave of another.
    pub(super) fn enslave(&mut self, mount: MountId, master: MountId) {
        let next = std::mem::replace(&mut self.nodes[master].first_slave, mount);
        self.tie(MountId::NONE, mount);
        self.tie(mount, next);
        self.nodes[mount].master = master;
    }

    /// Makes a mount that has no master a slave of the slave's master, right after the slave.
    pub(super) fn enslave_after(&mut self, mount: MountId, slave: MountId) {
        let next = self.nodes[slave].next_slave;
        self.tie(slave, mount);
        self.tie(mount, next);
        self.nodes[mount].master = self.nodes[slave].master;
    }

    /// Removes a mount from its master's slaves. The caller has to update the mount's `master`.
    pub(super) fn unslave(&mut self, mount: MountId, master: MountId) {
        let node = &mut self.nodes[mount];
        let next = std::mem::replace(&mut node.next_slave, MountId::NONE);
        let previous = std::mem::replace(&mut node.previous_slave, MountId::NONE);
        if let Some(previous) = some(previous) {
            self.nodes[previous].next_slave = next;
        } else if some(master).is_some() {
            self.nodes[master].first_slave = next;
        }
        if let Some(next) = some(next) {
            self.nodes[next].previous_slave = previous;
        }
    }

    fn tie(&mut self, previous: MountId, next: MountId) {
        if let Some(previous) = some(previous) {
            self.nodes[previous].next_slave = next;
        }
        if let Some(next) = some(next) {
            self.nodes[next].previous_slave = previous;
        }
    }

    /// Passes a mount's slaves to another mount, before its own slaves. If `to` is `NONE`, they
    /// have no master afterwards. Linux: `transfer_propagation`.
    pub(super) fn hand_slaves(&mut self, mount: MountId, to: MountId) {
        let slaves: Vec<MountId> = self.slaves(mount).collect();
        self.nodes[mount].first_slave = MountId::NONE;
        for slave in slaves.into_iter().rev() {
            let node = &mut self.nodes[slave];
            node.next_slave = MountId::NONE;
            node.previous_slave = MountId::NONE;
            node.master = MountId::NONE;
            if some(to).is_some() {
                self.enslave(slave, to);
            }
        }
    }

    /// Returns the mount that will propagate to this mount's slaves once this one no longer does:
    /// its next peer, or its master if it has no peer. Linux: `propagation_source`.
    fn source(&self, mount: MountId) -> MountId {
        let next = self.nodes[mount].next_peer;
        if next != mount { next } else { self.nodes[mount].master }
    }

    /// Changes the propagation of one mount. For `Shared`, the mount must have a group number
    /// already. Linux: `change_mnt_propagation`.
    pub(super) fn change_propagation(&mut self, mount: MountId, kind: Propagation) {
        if kind == Propagation::Shared {
            return self.share(mount);
        }
        let old_master = self.nodes[mount].master;
        let mut master = old_master;
        if self.is_shared(mount) {
            master = self.source(mount);
            self.leave(mount);
            self.unslave(mount, old_master);
            self.hand_slaves(mount, master);
        } else {
            self.unslave(mount, old_master);
        }
        self.nodes[mount].master = MountId::NONE;
        if kind == Propagation::Slave {
            if some(master).is_some() {
                self.enslave(mount, master);
            }
            return;
        }
        let state = &mut self.nodes[mount].state;
        state.set(State::UNBINDABLE, kind == Propagation::Unbindable);
    }

    /// Ends all propagation to and from mounts that are being unmounted. Their slaves get
    /// propagation from the next peer that stays, or else from the master. Linux:
    /// `bulk_make_private`.
    pub(super) fn end_propagation(&mut self, mounts: &[MountId]) {
        for &mount in mounts {
            if !self.nodes[mount].is(State::MARKED) {
                let heir = self.trace(mount);
                self.set_heirs(mount, heir);
            }
        }
        for &mount in mounts {
            let heir = self.nodes[mount].master;
            self.hand_slaves(mount, heir);
            self.nodes[mount].master = MountId::NONE;
            self.nodes[mount].state.remove(State::MARKED);
        }
    }

    /// Follows the way to a mount's heir, and takes the mounts on it out of their groups and from
    /// their masters. The `master` of each is the next mount on the way afterwards. Linux:
    /// `trace_transfers`.
    fn trace(&mut self, mut mount: MountId) -> MountId {
        loop {
            let master = self.nodes[mount].master;
            let next = self.source(mount);
            self.unslave(mount, master);
            self.leave(mount);
            self.nodes[mount].master = next;
            self.nodes[mount].state.insert(State::MARKED);
            if some(next).is_none() || !self.nodes[next].is(State::UNMOUNTED) {
                return next;
            }
            if self.nodes[next].is(State::MARKED) {
                return self.nodes[next].master;
            }
            mount = next;
        }
    }

    /// Makes the heir the `master` of all mounts on the way to it. Linux: `set_destinations`.
    fn set_heirs(&mut self, mut mount: MountId, heir: MountId) {
        while self.nodes[mount].master != heir {
            let next = std::mem::replace(&mut self.nodes[mount].master, heir);
            mount = next;
        }
    }
}
