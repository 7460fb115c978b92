//! The group of fanotify: file systems that are watched as a whole.
//!
//! An event has the handles of the directory and of the node. Keys have a hash of the handle in
//! them, by which the table of nodes finds them: nothing is stored for a node.
//!
//! A node that is about to be handed out is not in the table yet, and an event about it would be
//! dropped. So events are counted by the stripe of their tag, before the table is searched; and the
//! thread that hands a node out compares the count, after the node is in the table, with that from
//! before it read the attributes.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use pathwalk::NodeKey;
use rustix::io;

use super::records::Handle;
use crate::beneath::Reached;
use crate::calls;
use crate::key;
use crate::tree::Tree;

/// The number of counts. A power of two.
const STRIPES: usize = 64;

/// The group.
pub(super) struct Fanotify {
    queue: OwnedFd,
    /// The numbers of events by the tags of their handles. `SeqCst`, with the lock of the table of
    /// nodes: either the search finds the node, or the thread that entered it sees the count.
    begun: [AtomicU64; STRIPES],
}

/// The counts of events before the attributes of nodes were read.
#[derive(Clone, Copy)]
pub(crate) struct Begun([u64; STRIPES]);

fn stripe(tag: u32) -> usize {
    tag as usize % STRIPES
}

impl Fanotify {
    /// Makes the group. `None` without `CAP_SYS_ADMIN`, or before Linux 5.17.
    pub(super) fn new() -> Option<Fanotify> {
        let begun = || std::array::from_fn(|_| AtomicU64::new(0));
        calls::fanotify().ok().map(|queue| Fanotify { queue, begun: begun() })
    }

    pub(super) fn queue(&self) -> &OwnedFd {
        &self.queue
    }

    /// Watches the file system that a node is on.
    pub(super) fn mark(&self, reached: &Reached) -> io::Result<()> {
        let path = reached.through_proc().map_err(|_| io::Errno::OPNOTSUPP)?;
        calls::fanotify_mark(self.queue.as_fd(), &path)
    }

    /// Returns the nodes with this handle that are known.
    pub(super) fn nodes_of(&self, tree: &Tree, handle: Handle<'_>) -> Vec<NodeKey> {
        let tag = key::tag_of_handle(handle.kind, handle.bytes);
        self.begun[stripe(tag)].fetch_add(1, Ordering::SeqCst);
        tree.nodes.read().with_tag(tag).collect()
    }

    /// Returns the counts, before attributes are read.
    pub(super) fn begun(&self) -> Begun {
        Begun(std::array::from_fn(|at| self.begun[at].load(Ordering::SeqCst)))
    }

    /// Returns whether an event about a node may have been dropped since. The node is in the table.
    pub(super) fn may_have_dropped(&self, node: NodeKey, since: &Begun) -> bool {
        let at = stripe(key::tag_of(node));
        self.begun[at].load(Ordering::SeqCst) != since.0[at]
    }
}
