//! The group of fanotify: file systems that are watched as a whole.
//!
//! An event has the handles of the directory and of the node. Keys have a hash of the handle in
//! them, by which the table of nodes finds them: nothing is stored for a node.

use std::os::fd::{AsFd, OwnedFd};

use pathwalk::NodeKey;
use rustix::io;

use super::records::Handle;
use crate::beneath::Reached;
use crate::calls;
use crate::key;
use crate::tree::Tree;

/// The group.
pub(super) struct Fanotify(OwnedFd);

impl Fanotify {
    /// Makes the group. `None` without `CAP_SYS_ADMIN`, or before Linux 5.17.
    pub(super) fn new() -> Option<Fanotify> {
        calls::fanotify().ok().map(Fanotify)
    }

    pub(super) fn queue(&self) -> &OwnedFd {
        &self.0
    }

    /// Watches the file system that a node is on.
    pub(super) fn mark(&self, reached: &Reached) -> io::Result<()> {
        let path = reached.through_proc().map_err(|_| io::Errno::OPNOTSUPP)?;
        calls::fanotify_mark(self.0.as_fd(), &path)
    }
}

/// Returns the nodes with this handle that are known.
pub(super) fn nodes_of(tree: &Tree, handle: Handle<'_>) -> Vec<NodeKey> {
    tree.nodes.read().with_tag(key::tag_of_handle(handle.kind, handle.bytes)).collect()
}
