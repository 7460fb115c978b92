//! What stays on a stack of mounts that is unmounted below it.
//!
//! The mount on top of the stack covers all of it, so that it is seen the same at the place where
//! the stack begins.

use super::node::State;
use super::{Change, Ground, Place};
use crate::memory::slot::MountId;

impl<G: Ground> Change<'_, G> {
    /// Moves what covers these mounts, and stays, to the places where their stacks begin.
    pub(super) fn uncover(&mut self, mounts: &[MountId]) {
        for &mount in mounts {
            if let Some(over) = self.tree.overmount(mount)
                && !self.tree.nodes[over].is(State::UNMOUNTED)
            {
                self.slide(over);
            }
        }
    }

    /// Moves a mount down to where the stack below it begins; the stack's first mount gives up its
    /// place. Linux: `reparent`.
    fn slide(&mut self, mount: MountId) {
        let mut below = mount;
        let place = loop {
            let place = self.tree.place_of(below);
            let (parent, dentry) = (place.mount(), place.dentry());
            if !self.tree.nodes[parent].is(State::UNMOUNTED) {
                break Place::new(parent, dentry);
            }
            below = parent;
        };
        self.unplace(below);
        self.relink(mount, place);
    }
}
