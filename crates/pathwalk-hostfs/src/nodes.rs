//! The table from keys to paths: for every node that the engine holds, its name and its directory.
//!
//! The engine identifies nodes by key, and the host identifies them by path.
//!
//! Invariants:
//! - An entry lives while the engine holds its node (`held` > 0) or an entry has it as its
//!   directory (`children` > 0): a file with two names may outlive the directory it was first found
//!   in.
//! - A file that was handed out with its neighbours is in a batch, alone or in addition to its
//!   entry. If a file has both, the entry is the valid place.
//! - Directories form a tree with the root at slot 0: an entry moves to another directory only if
//!   it does not thereby come to lie below itself. So every way up ends.
//! - Where changes are carried out, each name that a file was found under is stored, so that the
//!   removal of one leaves the others; and a node that is held and has no name that is known keeps
//!   a descriptor.
//!
//! What it does not do: make system calls, or lock. Descriptors are handed back to be closed.

use std::collections::HashMap;
use std::sync::Arc;

use pathwalk::{FileType, Name, Node, NodeKey};

use crate::batches::{Batches, Taken, group_of};
use crate::guard::Guard;
use crate::slab::{Indexed, NONE, Slab};
use crate::small_name::SmallName;
use places::Places;

mod places;

pub(crate) use places::{Kept, Whereabouts};

const ROOT: u32 = 0;

/// The smallest number of neighbouring files that are stored as a batch. For fewer files, an entry
/// each takes less memory.
const WORTH_A_BATCH: usize = 8;

/// Returns whether the node is a file that has one name only.
fn has_one_name(node: &Node) -> bool {
    node.attributes.kind == FileType::Regular && node.attributes.nlink == 1
}

/// The result of taking back a hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Forgotten {
    /// The node is held by others, or was in a batch.
    Once,
    /// The engine holds the node no more.
    ForGood,
}

/// All nodes that the engine holds.
pub(crate) struct Nodes {
    slab: Slab,
    /// The files that are not in the slab, or that were handed out once more.
    batches: Batches,
    /// The guards by slot: of nodes with a list, and of those that were checked on a read-only or
    /// noexec mount.
    guards: HashMap<u32, Arc<Guard>>,
    /// The number of times that attributes were reloaded. A guard that was read before the last
    /// reload may be out of date.
    refreshes: u64,
    /// The bytes of long names and guards.
    heap: u64,
    /// The further names of nodes, and the descriptors of those without a name.
    places: Places,
}

impl Nodes {
    /// Creates the table with the root alone, which is never dropped.
    pub(crate) fn new(root: NodeKey, kept: Kept) -> Nodes {
        let indexed = if kept == Kept::Newest { Indexed::ByKey } else { Indexed::ByTag };
        let mut slab = Slab::new(indexed);
        let slot = slab.insert(root, NONE, SmallName::default());
        debug_assert_eq!(slot, ROOT);
        let places = Places::new(kept);
        Nodes { slab, batches: Batches::default(), guards: HashMap::new(), refreshes: 0, heap: 0, places }
    }

    /// Returns the path of `name` in the directory `dir`, relative to the root. If `name` is empty,
    /// returns the path of `dir` itself. Returns `None` if no such directory was handed out.
    pub(crate) fn path_in(&self, dir: NodeKey, name: &[u8]) -> Option<Vec<u8>> {
        if let Some(slot) = self.slab.find(dir) {
            return self.path(slot, name);
        }
        let (above, file) = self.batches.find(dir).filter(|_| name.is_empty())?;
        self.path(above, file)
    }

    /// Returns the path of a node's directory, and the node's name there. Both are empty for the
    /// root.
    pub(crate) fn place(&self, node: NodeKey) -> Option<(Vec<u8>, SmallName)> {
        let Some(slot) = self.slab.find(node) else {
            let (directory, name) = self.batches.find(node)?;
            return Some((self.path(directory, b"")?, SmallName::new(name)));
        };
        if self.is_nowhere(slot) {
            return None;
        }
        let entry = &self.slab[slot];
        let dir = if entry.directory == NONE { Vec::new() } else { self.path(entry.directory, b"")? };
        Some((dir, entry.name.clone()))
    }

    /// Returns the key of the root.
    pub(crate) fn root_key(&self) -> NodeKey {
        self.slab[ROOT].key()
    }

    /// Returns the directory in which a node was found last, if one is known.
    pub(crate) fn directory_of(&self, node: NodeKey) -> Option<NodeKey> {
        let directory = match self.slab.find(node) {
            Some(slot) => self.slab[slot].directory,
            None => self.batches.find(node)?.0,
        };
        (directory != NONE).then(|| self.slab[directory].key())
    }

    /// Counts the root as handed out once more.
    pub(crate) fn hold_root(&mut self) {
        self.slab[ROOT].held += 1;
    }

    /// Counts `node`, found as `name` in `dir`, as handed out once more. Returns `None` if there is
    /// no such directory.
    pub(crate) fn hold(&mut self, node: NodeKey, dir: NodeKey, name: &[u8]) -> Option<()> {
        let directory = self.slab.find(dir)?;
        self.hold_in(directory, node, name);
        Some(())
    }

    /// Counts many nodes in one directory as handed out once more: all of them or, where there is
    /// no such directory, none. Files with neighbouring keys should be given in the order of their
    /// keys, because only adjacent ones form a batch.
    pub(crate) fn hold_all(&mut self, dir: NodeKey, all: &[(Name<'_>, Node)]) -> Option<()> {
        let directory = self.slab.find(dir)?;
        let together = |a: &(Name<'_>, Node), b: &(Name<'_>, Node)| {
            has_one_name(&a.1) && has_one_name(&b.1) && group_of(a.1.key) == group_of(b.1.key)
        };
        for some in all.chunk_by(together) {
            if some.len() < WORTH_A_BATCH || self.places.kept() != Kept::Newest {
                some.iter().for_each(|(name, node)| self.hold_in(directory, node.key, name.bytes()));
            } else {
                self.slab[directory].children += 1;
                self.batches.insert(directory, some);
            }
        }
        Some(())
    }

    fn hold_in(&mut self, directory: u32, node: NodeKey, name: &[u8]) {
        let slot = match self.slab.find(node) {
            Some(slot) => {
                self.found_at(slot, directory, name);
                slot
            }
            None => {
                let name = SmallName::new(name);
                self.heap += name.heap();
                self.slab[directory].children += 1;
                self.slab.insert(node, directory, name)
            }
        };
        self.slab[slot].held += 1;
    }

    /// Takes back one `hold`, and drops entries that are no longer needed.
    pub(crate) fn forget(&mut self, node: NodeKey) -> Forgotten {
        match self.slab.find(node) {
            Some(slot) if self.slab[slot].held > 0 => {
                self.slab[slot].held -= 1;
                let forgotten = if self.slab[slot].held == 0 { Forgotten::ForGood } else { Forgotten::Once };
                self.release(slot);
                forgotten
            }
            _ => {
                _ = self.take_from_batch(node);
                Forgotten::Once
            }
        }
    }

    /// Returns whether a node has an entry and is held by the engine.
    pub(crate) fn is_held(&self, node: NodeKey) -> bool {
        self.slab.find(node).is_some_and(|slot| self.slab[slot].held > 0)
    }

    /// Returns the nodes with this tag, also by chance. Only where each node has an entry.
    pub(crate) fn with_tag(&self, tag: u32) -> impl Iterator<Item = NodeKey> {
        self.slab.with_tag(tag)
    }

    /// Counts a file of a batch as handed out once less. Drops the batch's directory if the file
    /// was the last in the batch and nothing else needs the directory. Returns `None` if the file
    /// is in no batch.
    fn take_from_batch(&mut self, node: NodeKey) -> Option<()> {
        if let Taken::LastOf(directory) = self.batches.take(node)? {
            self.slab[directory].children -= 1;
            self.release(directory);
        }
        Some(())
    }

    /// Returns the entry of a node. For a file that is only in a batch, makes an entry.
    fn entry(&mut self, node: NodeKey) -> Option<u32> {
        let slot = self.slab.find(node);
        slot.or_else(|| {
            let (directory, name) = self.batches.find(node).map(|(directory, name)| (directory, SmallName::new(name)))?;
            self.hold_in(directory, node, name.bytes());
            self.take_from_batch(node)?;
            self.slab.find(node)
        })
    }

    /// Returns the guard of a node, if one is stored.
    pub(crate) fn guard(&self, node: NodeKey) -> Option<Arc<Guard>> {
        self.guards.get(&self.slab.find(node)?).cloned()
    }

    /// Stores a guard for as long as its node is held, and drops the previous guard.
    pub(crate) fn set_guard(&mut self, node: NodeKey, guard: Option<Arc<Guard>>) {
        if guard.is_none() && self.slab.find(node).is_none() {
            return;
        }
        let Some(slot) = self.entry(node) else { return };
        self.drop_guard(slot);
        if let Some(guard) = guard {
            self.heap += guard.memory();
            self.guards.insert(slot, guard);
        }
    }

    /// Replaces a guard that is out of date by `guard`, or by nothing until the next check.
    pub(crate) fn refresh_guard(&mut self, node: NodeKey, guard: Option<Arc<Guard>>) {
        self.refreshes += 1;
        self.set_guard(node, guard);
    }

    /// Returns the number of reloads of attributes. The caller reads it before it reads a guard
    /// from the host, and compares it before it stores the guard.
    pub(crate) fn refreshes(&self) -> u64 {
        self.refreshes
    }

    /// Returns the number of bytes that the table holds.
    pub(crate) fn memory(&self) -> u64 {
        let guards = self.guards.capacity() * (size_of::<(u32, Arc<Guard>)>() + 1);
        (self.slab.memory() + guards) as u64 + self.batches.memory() + self.places.memory() + self.heap
    }

    /// Builds the path of `last` in a directory. It is built from its end, so that nothing but the
    /// path is allocated. Returns `None` below a directory that lost its name.
    fn path(&self, directory: u32, last: &[u8]) -> Option<Vec<u8>> {
        let up = || std::iter::successors(Some(directory), |slot| Some(self.slab[*slot].directory));
        let up = || up().take_while(|slot| !matches!(*slot, ROOT | NONE));
        let mut length = 0;
        for slot in up() {
            if self.slab[slot].directory == NONE {
                return None;
            }
            length += self.slab[slot].name.bytes().len() + 1;
        }
        let mut path = vec![b'/'; length + last.len()];
        path[length..].copy_from_slice(last);
        let mut end = length;
        for slot in up() {
            let name = self.slab[slot].name.bytes();
            end -= name.len() + 1;
            path[end..end + name.len()].copy_from_slice(name);
        }
        if last.is_empty() {
            path.pop();
        }
        Some(path)
    }

    fn is_at_or_below(&self, mut slot: u32, above: u32) -> bool {
        while slot != NONE && slot != above {
            slot = self.slab[slot].directory;
        }
        slot == above
    }

    /// Drops the entry if it is no longer needed, and all entries above it that only it kept.
    fn release(&mut self, mut slot: u32) {
        while slot != ROOT && self.slab[slot].held == 0 && self.slab[slot].children == 0 {
            self.drop_guard(slot);
            self.drop_places(slot);
            let entry = self.slab.remove(slot);
            self.heap -= entry.name.heap();
            if entry.directory == NONE {
                return;
            }
            self.slab[entry.directory].children -= 1;
            slot = entry.directory;
        }
    }

    fn drop_guard(&mut self, slot: u32) {
        if let Some(guard) = self.guards.remove(&slot) {
            self.heap -= guard.memory();
        }
    }
}

#[cfg(test)]
mod tests;
