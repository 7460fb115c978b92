//! What subscribers are told of changes: see [`events`](crate::events).
//!
//! Each function is called after its change, with the lock held that orders the change.

use super::Trees;
use crate::attr::FileType;
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::cache::icache::inode::{self, WORD};
use crate::events::Invalidated;
use crate::events::hub::{Change, Spot};
use crate::memory::slot::{DentryId, InodeId};
use crate::node::SetAttributes;
use crate::sync::Ordering;
use crate::text::Name;

/// A name in a directory on which the caller has a pin.
pub(super) type InDirectory<'n> = (DentryId, Name<'n>);

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

    /// Tells that a name was made, which has this entry.
    pub(super) fn tell_created(&self, at: InDirectory<'_>, entry: &Pinned<'_>) {
        if self.events.is_heard() {
            self.events.tell(&self.caches, &Change::Created(spot(at), self.kind_of(entry)));
        }
    }

    /// Tells that a name of a node of this type was removed.
    pub(super) fn tell_removed(&self, at: InDirectory<'_>, kind: FileType) {
        if self.events.is_heard() {
            self.events.tell(&self.caches, &Change::Removed(spot(at), kind));
        }
    }

    /// Returns the type of an entry's node, which is about to lose the name, if that is to be told.
    pub(super) fn heard_kind(&self, entry: &Pinned<'_>) -> FileType {
        if self.events.is_heard() { self.kind_of(entry) } else { FileType::Regular }
    }

    /// Tells that a name was moved, which has this entry.
    pub(super) fn tell_renamed(&self, from: InDirectory<'_>, to: InDirectory<'_>, entry: &Pinned<'_>) {
        if self.events.is_heard() {
            self.events.tell(&self.caches, &Change::Renamed(spot(from), spot(to), self.kind_of(entry)));
        }
    }

    /// Tells that attributes of a node were set, through a dentry on which the caller has a pin.
    pub(crate) fn tell_attributes(&self, node: DentryId) {
        if self.events.is_heard() {
            self.tell_of_node(node, |spot| Change::Attributes(spot, self.kind(self.caches.dentries.inode(node))));
        }
    }

    /// Tells that the data or size of a file was changed.
    pub(crate) fn tell_content(&self, node: DentryId) {
        if self.events.is_heard() {
            #[expect(clippy::redundant_closure, reason = "the variant itself is not general enough")]
            self.tell_of_node(node, |spot| Change::Content(spot));
        }
    }

    /// Tells what was set. Source: `fsnotify_change` of Linux.
    pub(crate) fn tell_set(&self, node: DentryId, set: &SetAttributes) {
        if !self.events.is_heard() {
            return;
        }
        let times = (set.atime.is_some(), set.mtime.is_some());
        if set.size.is_some() || times == (false, true) {
            self.tell_content(node);
        }
        let is_attribute = set.uid.is_some() || set.gid.is_some() || set.mode.is_some();
        if is_attribute || set.size.is_none() && times == (true, true) {
            self.tell_attributes(node);
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
            self.events.tell(&self.caches, &Change::Invalidated(Spot { dir, name }, what));
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
            self.tell_of_node(node, |spot| Change::Invalidated(spot, Invalidated::Node));
        }
    }
}
