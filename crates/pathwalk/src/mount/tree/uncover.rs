//! The mounts that stay on a stack of mounts when the stack below them is unmounted.
//!
//! The mount on top of the stack covers all of it. So the place where the stack begins looks the
//! same afterwards.

use super::node::State;
use super::{Change, Ground, Place};
use crate::memory::slot::MountId;

impl<G: Ground> Change<'_, G> {
    /// Moves mounts that cover these and stay to the places where their stacks begin.
    pub(super) fn uncover(&mut self, mounts: &[MountId]) {
        for &mount in mounts {
            if let Some(over) = self.tree.overmount(mount)
                && !self.tree.nodes[over].is(State::UNMOUNTED)
            {
                self.slide(over);
            }
        }
    }

    /// Moves a mount down to the place where the stack below it begins. The stack's first mount
    /// leaves that place. Linux: `reparent`.
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
