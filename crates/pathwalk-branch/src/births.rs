//! Whether the times of birth tell nodes of the base apart.
//!
//! On overlayfs, a node of a lower layer has the time of birth of the copy in the upper layer from
//! its first change on. It keeps its number, and its handle if Linux is of 6.6 or later.
//!
//! What always holds: on overlayfs no two nodes are told apart by their times of birth alone. So a
//! node that has got the number and the path of one that was removed is taken for that one, if
//! there is no handle.

use nix::libc::OVERLAYFS_SUPER_MAGIC;
use pathwalk::{Attributes, Errno, Handle, Timestamp};

/// Whether the times of birth tell nodes of the base apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Births {
    /// Each node has one, if any, as long as it lives.
    Stay,
    /// A node may get another one.
    Move,
}

impl Births {
    /// Returns which holds on the file system of the base.
    pub(crate) fn of_base(root: &Handle) -> Result<Births, Errno> {
        let is_overlayfs = root.statfs()?.kind == OVERLAYFS_SUPER_MAGIC as u64;
        Ok(if is_overlayfs { Births::Move } else { Births::Stay })
    }

    /// Returns the time of birth of a node, if it tells the node apart.
    pub(crate) fn of(self, attributes: &Attributes) -> Option<Timestamp> {
        attributes.btime.filter(|_| self == Births::Stay)
    }
}
