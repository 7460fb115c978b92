//! Reports of file systems that something changed without the engine.
//!
//! A report may come from inside a call of the file system, with locks of directories held, and
//! under locks of the file system's own. So it takes no lock that is held over such a call, and
//! calls no file system: it marks what is cached (`cache/dcache/doubt.rs`), and gives back no pin
//! that could be the last of a node.

use super::Trees;
use crate::cache::dcache::dentry::flags;
use crate::cache::icache::store::OfNode;
use crate::events::{Invalidated, NodeEvent};
use crate::fs_api::{Report, Reporter};
use crate::memory::slot::SuperblockId;
use crate::node::NodeKey;
use crate::security::NodeId;
use crate::text::Name;

impl Trees {
    /// Takes a report. Does nothing if the file system is not mounted any more.
    pub(crate) fn report(&self, from: Reporter, report: Report<'_>) {
        if !self.superblocks.has(from) {
            return;
        }
        let of = from.superblock;
        match report {
            Report::Name(dir, name) => self.name_reported(of, dir, name),
            Report::Attributes(node) | Report::Data(node) => self.node_reported(of, node, OfNode::Attributes),
            Report::Node(node) => self.node_reported(of, node, OfNode::All),
            Report::Subtree(dir) => self.subtree_reported(of, dir),
            Report::Kinds(kinds) => self.caches.doubt_kinds(of, kinds),
            Report::All => self.all_reported(of),
        }
    }

    fn name_reported(&self, of: SuperblockId, dir: NodeKey, name: Name<'_>) {
        let Some(dir) = self.caches.doubt_node(of, dir, OfNode::Names) else {
            let directory = NodeId::new(of, dir);
            return self.tell_unknown(of, NodeEvent::Name { directory, name: name.bytes().into(), removed: None });
        };
        let node = self.caches.doubt_name(dir.id(), name.bytes()).and_then(|entry| self.identity_of(&entry));
        self.tell_name_invalidated(dir.id(), name.bytes(), node);
    }

    /// Marks what is known of a node, with [`OfNode::All`] also the names in a directory.
    pub(crate) fn node_reported(&self, of: SuperblockId, node: NodeKey, what: OfNode) {
        let Some(dentry) = self.caches.doubt_node(of, node, what) else {
            return self.tell_unknown(of, NodeEvent::Data(NodeId::new(of, node)));
        };
        self.tell_node_invalidated(dentry.id());
        if what == OfNode::All && self.caches.dentries.word(dentry.id()) & flags::DIRECTORY != 0 {
            drop(self.caches.doubt_names(dentry.id()));
            self.tell_invalidated(dentry.id(), b"", Invalidated::Names);
        }
    }

    fn subtree_reported(&self, of: SuperblockId, dir: NodeKey) {
        let Some(dir) = self.caches.doubt_node(of, dir, OfNode::Names) else {
            return self.tell_unknown(of, NodeEvent::Anything);
        };
        drop(self.caches.doubt_below(dir.id()));
        self.tell_invalidated(dir.id(), b"", Invalidated::Below);
    }

    /// Marks everything of a file system.
    pub(crate) fn all_reported(&self, of: SuperblockId) {
        self.caches.doubt_all(of);
        self.tell_unknown(of, NodeEvent::Anything);
    }
}
