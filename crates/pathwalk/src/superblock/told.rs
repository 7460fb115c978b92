//! What subscribers are told of changes: see [`events`](crate::events).
//!
//! Each function is called after its change, also in the caches, with the lock held that orders the
//! change.

use super::Trees;
use crate::attr::FileType;
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::cache::icache::inode::{self, WORD};
use crate::events::hub::{Change, Maker, Spot};
use crate::events::{Invalidated, NodeEvent};
use crate::memory::slot::{DentryId, InodeId, SuperblockId};
use crate::node::SetAttributes;
use crate::security::NodeId;
use crate::sync::Ordering;
use crate::text::Name;

/// A name in a directory on which the caller has a pin.
pub(super) type InDirectory<'n> = (DentryId, Name<'n>);

/// A node that is about to lose a name.
#[derive(Clone, Copy)]
pub(super) struct Heard {
    kind: FileType,
    /// The identity, if there are subscriptions.
    node: Option<NodeId>,
}

fn spot<'n>((dir, name): InDirectory<'n>) -> Spot<'n> {
    Spot { dir, name: name.bytes() }
}

impl Trees {
    fn kind_of(&self, entry: &Pinned<'_>) -> FileType {
        self.kind(self.caches.dentries.inode(entry.id()))
    }

    fn kind(&self, inode: InodeId) -> FileType {
        inode::kind_of(self.caches.inodes.record(inode)[WORD].load(Ordering::Relaxed))
    }

    /// Returns the identity of the node that a dentry has, on which the caller has a pin.
    fn identity(&self, node: DentryId) -> NodeId {
        let inode = self.caches.dentries.inode(node);
        NodeId::new(self.caches.superblock_of(inode), inode::key_of(self.caches.inodes.record(inode)))
    }

    fn tell_nodes<const N: usize>(&self, events: [NodeEvent; N], maker: Maker) {
        events.iter().for_each(|event| self.events.tell_of_nodes(event, maker));
    }

    fn of_name(&self, dir: DentryId, name: &[u8], removed: Option<NodeId>) -> NodeEvent {
        NodeEvent::Name { directory: self.identity(dir), name: name.into(), removed }
    }

    /// Tells that a name was made, which has this entry.
    pub(super) fn tell_created(&self, at: InDirectory<'_>, entry: &Pinned<'_>) {
        if self.events.is_heard() {
            self.events.tell(&self.caches, &Change::Created(spot(at), self.kind_of(entry)));
            let node = NodeEvent::Attributes(self.identity(entry.id()));
            self.tell_nodes([self.of_name(at.0, at.1.bytes(), None), node], Maker::Caller);
        }
    }

    /// Tells that a name of a node was removed.
    pub(super) fn tell_removed(&self, at: InDirectory<'_>, of: Heard) {
        if self.events.is_heard() {
            self.events.tell(&self.caches, &Change::Removed(spot(at), of.kind));
            self.tell_nodes([self.of_name(at.0, at.1.bytes(), of.node)], Maker::Caller);
            of.node.into_iter().for_each(|node| self.tell_nodes([NodeEvent::Attributes(node)], Maker::Caller));
        }
    }

    /// Returns what is to be told of an entry's node that is about to lose the name.
    pub(super) fn heard(&self, entry: &Pinned<'_>) -> Heard {
        if self.events.is_heard() {
            Heard { kind: self.kind_of(entry), node: Some(self.identity(entry.id())) }
        } else {
            Heard { kind: FileType::Regular, node: None }
        }
    }

    /// Tells that a name was moved, which has this entry, and what lost the name that it has now.
    pub(super) fn tell_renamed(&self, from: InDirectory<'_>, to: InDirectory<'_>, entry: &Pinned<'_>, replaced: Option<Heard>) {
        if self.events.is_heard() {
            self.events.tell(&self.caches, &Change::Renamed(spot(from), spot(to), self.kind_of(entry)));
            let names = [from, to].map(|(dir, name)| self.of_name(dir, name.bytes(), None));
            self.tell_nodes(names, Maker::Caller);
            let nodes = [Some(self.identity(entry.id())), replaced.and_then(|replaced| replaced.node)];
            nodes.into_iter().flatten().for_each(|node| self.tell_nodes([NodeEvent::Attributes(node)], Maker::Caller));
        }
    }

    /// Tells that attributes of a node were set, through a dentry on which the caller has a pin.
    pub(crate) fn tell_attributes(&self, node: DentryId) {
        if self.events.is_heard() {
            self.tell_nodes([NodeEvent::Attributes(self.identity(node))], Maker::Caller);
            self.tell_path_of_attributes(node);
        }
    }

    fn tell_path_of_attributes(&self, node: DentryId) {
        self.tell_of_node(node, |spot| Change::Attributes(spot, self.kind(self.caches.dentries.inode(node))));
    }

    /// Tells that the data or size of a file was changed.
    pub(crate) fn tell_content(&self, node: DentryId) {
        if self.events.is_heard() {
            self.tell_nodes([NodeEvent::Data(self.identity(node))], Maker::Caller);
            self.tell_path_of_content(node);
        }
    }

    fn tell_path_of_content(&self, node: DentryId) {
        #[expect(clippy::redundant_closure, reason = "the variant itself is not general enough")]
        self.tell_of_node(node, |spot| Change::Content(spot));
    }

    /// Tells what was set. Source: `fsnotify_change` of Linux.
    pub(crate) fn tell_set(&self, node: DentryId, set: &SetAttributes) {
        if !self.events.is_heard() {
            return;
        }
        let identity = self.identity(node);
        let of_node = if set.size.is_some() { NodeEvent::Data(identity) } else { NodeEvent::Attributes(identity) };
        self.tell_nodes([of_node], Maker::Caller);
        let times = (set.atime.is_some(), set.mtime.is_some());
        if set.size.is_some() || times == (false, true) {
            self.tell_path_of_content(node);
        }
        let is_attribute = set.uid.is_some() || set.gid.is_some() || set.mode.is_some();
        if is_attribute || set.size.is_none() && times == (true, true) {
            self.tell_path_of_attributes(node);
        }
    }

    #[cold]
    fn tell_of_node<'a>(&'a self, node: DentryId, change: impl for<'n> FnOnce(Spot<'n>) -> Change<'n>) {
        if let Some((dir, name)) = self.caches.name_in_directory(node) {
            self.events.tell(&self.caches, &change(Spot { dir: dir.id(), name: &name }));
        }
    }

    /// Tells that something at a name, or in a directory where `name` is empty, was reported to
    /// have changed.
    pub(crate) fn tell_invalidated(&self, dir: DentryId, name: &[u8], what: Invalidated) {
        if self.events.is_heard() {
            let of_node = match what {
                Invalidated::Name => self.of_name(dir, name, None),
                Invalidated::Node => NodeEvent::Data(self.identity(dir)),
                Invalidated::Names => NodeEvent::Names(self.identity(dir)),
                Invalidated::Below => NodeEvent::Anything,
            };
            self.tell_nodes([of_node], Maker::Outside);
            self.events.tell(&self.caches, &Change::Invalidated(Spot { dir, name }, what));
        }
    }

    /// Returns the identity of an entry's node, if it has one.
    pub(crate) fn identity_of(&self, entry: &Pinned<'_>) -> Option<NodeId> {
        (self.caches.dentries.inode(entry.id()) != InodeId::NONE).then(|| self.identity(entry.id()))
    }

    /// Tells that a name was reported to have changed, which leads to this node in the caches.
    pub(crate) fn tell_name_invalidated(&self, dir: DentryId, name: &[u8], node: Option<NodeId>) {
        self.tell_invalidated(dir, name, Invalidated::Name);
        if let Some(node) = node.filter(|_| self.events.is_heard()) {
            self.tell_nodes([NodeEvent::Attributes(node)], Maker::Outside);
        }
    }

    /// Tells that a node was reported to have changed, which has this dentry.
    pub(crate) fn tell_node_invalidated(&self, node: DentryId) {
        if !self.events.is_heard() {
            return;
        }
        if self.caches.dentries.word(node) & flags::DIRECTORY != 0 {
            self.tell_invalidated(node, b"", Invalidated::Node);
        } else {
            self.tell_nodes([NodeEvent::Data(self.identity(node))], Maker::Outside);
            self.tell_of_node(node, |spot| Change::Invalidated(spot, Invalidated::Node));
        }
    }

    /// Tells that something changed of which no path is known: the node is not cached, or has more
    /// than one name.
    pub(super) fn tell_unknown(&self, of: SuperblockId, event: NodeEvent) {
        if self.events.is_heard() {
            self.tell_nodes([event], Maker::Outside);
            let inode = |dir| self.caches.dentries.inode(dir);
            self.events.tell_all(|dir| inode(dir) != InodeId::NONE && self.caches.superblock_of(inode(dir)) == of);
        }
    }

    /// Tells that something was mounted, moved or unmounted.
    pub(crate) fn tell_mounts(&self) {
        if self.events.is_heard() {
            self.tell_nodes([NodeEvent::Mounts], Maker::Outside);
        }
    }
}
