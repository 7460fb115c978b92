//! The places of nodes, as changes move them: further names, and descriptors of nodes without one.
//!
//! An entry has the name under which its node was found last. With [`Kept::All`], a file's other
//! names are here, and take over when that one is removed. An entry that is not the root and has no
//! directory is *nowhere*: no name of its node is known. While such a node is held, its descriptor
//! is here.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use pathwalk::{FileType, Name, NodeKey};

use super::{NONE, Nodes, ROOT, SmallName};
use crate::key;

/// The names of a node that are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// The one under which it was found last. Files that were found together share an entry.
    Newest,
    /// The one under which it was found last. Each node has an entry, and can be found by its tag.
    NewestAlone,
    /// All of them, and a descriptor once there is none.
    All,
}

/// The way to a node.
pub(crate) enum Whereabouts {
    /// A path from the root.
    Path(Vec<u8>),
    /// A descriptor, since no name is known.
    Kept(Arc<OwnedFd>),
}

/// A name in the directory with this slot.
type Place = (u32, SmallName);

/// The further places of nodes, by slot.
pub(super) struct Places {
    kept: Kept,
    others: HashMap<u32, Vec<Place>>,
    descriptors: HashMap<u32, Arc<OwnedFd>>,
    /// Descriptors that nothing needs any more. Closing one may free a file, which takes long, so
    /// that happens after the table is unlocked.
    done_with: Vec<Arc<OwnedFd>>,
    heap: u64,
}

impl Places {
    pub(super) fn new(kept: Kept) -> Places {
        Places { kept, others: HashMap::new(), descriptors: HashMap::new(), done_with: Vec::new(), heap: 0 }
    }

    pub(super) fn kept(&self) -> Kept {
        self.kept
    }

    /// Returns the number of bytes that are held here.
    pub(super) fn memory(&self) -> u64 {
        let tables = self.others.capacity() * (size_of::<(u32, Vec<Place>)>() + 1)
            + self.descriptors.capacity() * (size_of::<(u32, Arc<OwnedFd>)>() + 1);
        tables as u64 + self.heap
    }

    fn push(&mut self, slot: u32, place: Place) {
        self.heap += of_place(&place);
        self.others.entry(slot).or_default().push(place);
    }

    fn take(&mut self, slot: u32, which: impl Fn(&Place) -> bool) -> Option<Place> {
        let others = self.others.get_mut(&slot)?;
        let taken = others.swap_remove(others.iter().rposition(which)?);
        if others.is_empty() {
            self.others.remove(&slot);
        }
        self.heap -= of_place(&taken);
        Some(taken)
    }

    fn has(&self, slot: u32, directory: u32, name: &[u8]) -> bool {
        self.others.get(&slot).is_some_and(|others| others.iter().any(|place| is_at(place, directory, name)))
    }
}

fn is_at(place: &Place, directory: u32, name: &[u8]) -> bool {
    place.0 == directory && place.1.bytes() == name
}

fn of_place(place: &Place) -> u64 {
    size_of::<Place>() as u64 + place.1.heap()
}

impl Nodes {
    /// Returns the way to a node that was handed out.
    pub(crate) fn whereabouts(&self, node: NodeKey) -> Option<Whereabouts> {
        if let Some(path) = self.path_in(node, b"") {
            return Some(Whereabouts::Path(path));
        }
        let kept = self.places.descriptors.get(&self.slab.find(node)?)?;
        Some(Whereabouts::Kept(Arc::clone(kept)))
    }

    /// Returns the directory and name under which a node was found last, and the path of the
    /// directory.
    pub(crate) fn home(&self, node: NodeKey) -> Option<(NodeKey, SmallName, Vec<u8>)> {
        let (directory, name) = match self.slab.find(node) {
            Some(slot) => (self.slab[slot].directory, self.slab[slot].name.clone()),
            None => self.batches.find(node).map(|(directory, name)| (directory, SmallName::new(name)))?,
        };
        if directory == NONE {
            return None;
        }
        Some((self.slab[directory].key(), name, self.path(directory, b"")?))
    }

    /// Counts a node that is known as handed out once more. Returns `None` if it is not known.
    pub(crate) fn hold_again(&mut self, node: NodeKey) -> Option<()> {
        let slot = self.entry(node)?;
        self.slab[slot].held += 1;
        Some(())
    }

    /// Counts the last node of a way from the root as handed out once more, and records where the
    /// others are.
    pub(crate) fn hold_way(&mut self, way: &[(NodeKey, Name<'_>)]) {
        let mut directory = ROOT;
        for (node, name) in way {
            self.hold_in(directory, *node, name.bytes());
            directory = self.slab.find(*node).unwrap_or(ROOT);
        }
        let above = &way[..way.len().saturating_sub(1)];
        above.iter().for_each(|(node, _)| _ = self.forget(*node));
    }

    /// Counts a node without a name as handed out once more.
    pub(crate) fn hold_without_name(&mut self, node: NodeKey, fd: OwnedFd) {
        let slot = self.slab.find(node).unwrap_or_else(|| self.slab.insert(node, NONE, SmallName::default()));
        self.slab[slot].held += 1;
        if self.is_nowhere(slot) {
            self.keep(slot, Arc::new(fd));
        }
    }

    /// Records that a node lost a name. A node that is held and has no other name that is known
    /// keeps the descriptor.
    pub(crate) fn lost(&mut self, node: NodeKey, dir: NodeKey, name: &[u8], fd: OwnedFd) {
        let fd = Arc::new(fd);
        self.places.done_with.push(Arc::clone(&fd));
        let (Some(slot), Some(directory)) = (self.entry(node), self.slab.find(dir)) else { return };
        if !self.is_place(slot, directory, name) {
            if self.places.take(slot, |place| is_at(place, directory, name)).is_some() {
                self.leave(directory);
            }
            return;
        }
        let (next, rest) = self.places.take(slot, |_| true).unwrap_or((NONE, SmallName::default()));
        self.set_place(slot, next, rest);
        if next == NONE && self.slab[slot].held > 0 {
            self.keep(slot, fd);
        }
        self.leave(directory);
    }

    /// Records that a node has another name now.
    pub(crate) fn moved(&mut self, node: NodeKey, from: (NodeKey, &[u8]), to: (NodeKey, &[u8])) {
        let dirs = (self.entry(node), self.slab.find(from.0), self.slab.find(to.0));
        let (Some(slot), Some(old), Some(new)) = dirs else { return };
        if slot == ROOT || self.is_at_or_below(new, slot) {
            return;
        }
        self.slab[new].children += 1;
        let name = SmallName::new(to.1);
        if self.is_place(slot, old, from.1) || self.is_nowhere(slot) {
            let was_somewhere = !self.is_nowhere(slot);
            self.set_place(slot, new, name);
            if was_somewhere {
                self.leave(old);
            }
        } else {
            if self.places.take(slot, |place| is_at(place, old, from.1)).is_some() {
                self.leave(old);
            }
            self.places.push(slot, (new, name));
        }
    }

    /// Takes out the descriptors that are to be closed, which the caller drops without the lock.
    #[must_use]
    pub(crate) fn take_done_with(&mut self) -> Vec<Arc<OwnedFd>> {
        std::mem::take(&mut self.places.done_with)
    }

    /// Returns the number of descriptors of nodes without a name.
    #[cfg(test)]
    pub(crate) fn kept_descriptors(&self) -> usize {
        self.places.descriptors.len()
    }

    /// Records that a known node was found here. If this is another place than before, the node has
    /// moved or has several names. The newest place comes first, because it is the likeliest to
    /// last.
    pub(super) fn found_at(&mut self, slot: u32, directory: u32, name: &[u8]) {
        if self.is_place(slot, directory, name) || slot == ROOT || self.is_at_or_below(directory, slot) {
            return;
        }
        self.slab[directory].children += 1;
        let (old, old_name) = (self.slab[slot].directory, self.slab[slot].name.clone());
        let has_more = self.places.kept == Kept::All && key::kind_of(self.slab[slot].key()) != Some(FileType::Directory);
        let was_there = self.places.take(slot, |place| is_at(place, directory, name)).is_some();
        self.set_place(slot, directory, SmallName::new(name));
        if was_there {
            self.leave(directory);
        }
        if old == NONE {
            return;
        }
        if has_more && !self.places.has(slot, old, old_name.bytes()) {
            self.places.push(slot, (old, old_name));
        } else {
            self.leave(old);
        }
    }

    /// Returns whether an entry has no name that is known.
    pub(super) fn is_nowhere(&self, slot: u32) -> bool {
        slot != ROOT && self.slab[slot].directory == NONE
    }

    /// Drops what is stored here of an entry that is removed.
    pub(super) fn drop_places(&mut self, slot: u32) {
        self.places.done_with.extend(self.places.descriptors.remove(&slot));
        while let Some((directory, _)) = self.places.take(slot, |_| true) {
            self.leave(directory);
        }
    }

    fn is_place(&self, slot: u32, directory: u32, name: &[u8]) -> bool {
        let entry = &self.slab[slot];
        entry.directory == directory && entry.name.bytes() == name
    }

    /// Sets the first place of an entry. The caller counts the directory's children.
    fn set_place(&mut self, slot: u32, directory: u32, name: SmallName) {
        self.heap += name.heap();
        let entry = &mut self.slab[slot];
        entry.directory = directory;
        self.heap -= std::mem::replace(&mut entry.name, name).heap();
        if directory != NONE {
            self.places.done_with.extend(self.places.descriptors.remove(&slot));
        }
    }

    fn keep(&mut self, slot: u32, fd: Arc<OwnedFd>) {
        self.places.done_with.extend(self.places.descriptors.insert(slot, fd));
    }

    /// Counts one entry less in a directory.
    fn leave(&mut self, directory: u32) {
        self.slab[directory].children -= 1;
        self.release(directory);
    }
}
