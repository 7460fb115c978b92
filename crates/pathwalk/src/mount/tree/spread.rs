//! The mounts that are unmounted along with those that a caller unmounts.
//!
//! A mount at the same place of a mount that gets propagation is a candidate. A candidate is spared
//! if a mount that stays is mounted on it, since that mount would be lost. A mount that covers the
//! candidate entirely is not lost, since it takes the candidate's place. Source: Linux's
//! `Documentation/filesystems/propagate_umount.txt`.
//!
//! There are no locked mounts here, so no candidate is spared because a mount on it would be
//! revealed.

use super::node::{State, some};
use super::{Change, Ground, Place, Tree};
use crate::memory::slot::MountId;

impl<G: Ground> Change<'_, G> {
    /// Adds to the mounts that are being unmounted those that are unmounted along with them. The
    /// mounts that stay on them have new places afterwards. Linux: `propagate_umount`.
    pub(super) fn spread_umount(&mut self, mounts: &mut Vec<MountId>) {
        let mut candidates = self.tree.candidates(mounts);
        let mut along = Vec::new();
        candidates.retain(|&mount| self.tree.trim(mount, &mut along));
        for &mount in &candidates {
            self.tree.settle(mount, &mut along);
        }
        self.uncover(&along);
        mounts.extend(along);
    }
}

impl Tree {
    /// Returns the candidates, the last found first. Linux: `gather_candidates`.
    fn candidates(&mut self, mounts: &[MountId]) -> Vec<MountId> {
        let mut found = Vec::new();
        for &mount in mounts {
            if !self.nodes[mount].is(State::CANDIDATE) {
                self.nodes[mount].state.insert(State::CANDIDATE);
                self.candidates_like(mount, &mut found);
            }
        }
        for &mount in mounts {
            self.nodes[mount].state.remove(State::CANDIDATE);
        }
        found.reverse();
        found
    }

    /// Finds the mounts at the same place of all mounts that the parent propagates to.
    fn candidates_like(&mut self, mount: MountId, found: &mut Vec<MountId>) {
        let place = self.place_of(mount);
        let (parent, dentry) = (place.mount(), place.dentry());
        if some(parent).is_none() {
            return;
        }
        let mut next = self.propagation_next(parent, parent);
        while let Some(at) = next {
            if let Some(child) = self.lookup(Place::new(at, dentry)) {
                let node = &mut self.nodes[child];
                if node.is(State::CANDIDATE) {
                    // An earlier mount passed here, so all mounts that get propagation from here
                    // are known.
                    next = self.propagation_skip(at, parent);
                    continue;
                }
                node.state.insert(State::CANDIDATE);
                if !node.is(State::UNMOUNTED) {
                    found.push(child);
                }
            }
            next = self.propagation_next(at, parent);
        }
    }

    /// Decides about a candidate as far as its children determine it; returns whether it stays
    /// undecided. Linux: `trim_one`.
    fn trim(&mut self, mount: MountId, along: &mut Vec<MountId>) -> bool {
        if !self.nodes[mount].is(State::CANDIDATE) {
            self.spare(mount);
            return false;
        }
        let stays = |child: &MountId| !self.nodes[*child].is(State::CANDIDATE);
        let staying: Vec<MountId> = self.children(mount).filter(stays).collect();
        let loses = staying.iter().any(|&child| !self.is_overmount(child));
        if !staying.is_empty() {
            self.trim_above(mount);
        }
        if loses {
            self.spare(mount);
            return false;
        }
        if staying.is_empty() && !self.has_children(mount) {
            self.spare(mount);
            self.take_along(mount, along);
            return false;
        }
        true
    }

    /// Spares the candidates above one that has a child that stays, except those that the next one
    /// covers. Linux: `trim_ancestors`.
    fn trim_above(&mut self, mut mount: MountId) {
        loop {
            let parent = self.nodes[mount].parent;
            if some(parent).is_none() || !self.nodes[parent].is(State::CANDIDATE) {
                return;
            }
            if self.nodes[mount].is(State::MARKED) {
                return;
            }
            self.nodes[mount].state.insert(State::MARKED);
            if !self.is_overmount(mount) {
                self.nodes[parent].state.remove(State::CANDIDATE);
            }
            mount = parent;
        }
    }

    /// Clears a mount's state as a candidate.
    fn spare(&mut self, mount: MountId) {
        self.nodes[mount].state.remove(State::CANDIDATE | State::MARKED);
    }

    /// Decides that an undecided candidate is unmounted, with the candidates that it is on. Linux:
    /// `handle_locked`.
    fn settle(&mut self, mut mount: MountId, along: &mut Vec<MountId>) {
        if !self.nodes[mount].is(State::CANDIDATE) {
            return self.spare(mount);
        }
        while self.nodes[mount].is(State::CANDIDATE) {
            self.spare(mount);
            self.take_along(mount, along);
            mount = self.nodes[mount].parent;
        }
    }

    /// Decides that a candidate is unmounted. Linux: `umount_one`.
    fn take_along(&mut self, mount: MountId, along: &mut Vec<MountId>) {
        self.nodes[mount].state.insert(State::UNMOUNTED);
        self.unlist(mount);
        self.take_from_namespace(mount);
        along.push(mount);
    }
}
