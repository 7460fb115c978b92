//! From a key to the way there: which name in which directory, for every node that the engine holds.
//!
//! The engine asks by key; the host is asked by path.
//!
//! Invariants:
//! - An entry lives while the engine holds its node (`held` > 0) or an entry has it as its directory (`children` > 0): a
//!   file with two names may outlive the directory it was first found in.
//! - A file is in a batch as well, or instead, if it was handed out with its neighbours. Where it has an entry, that is right.
//! - Directories form a tree with the root at slot 0: an entry moves to another directory only if it does not thereby come
//!   to lie below itself. So the way up always ends.
//!
//! What it does not do: talk to the host, or lock.

use std::collections::HashMap;
use std::sync::Arc;

use pathwalk::{FileType, Name, Node, NodeKey};

use crate::batches::{Batches, Taken, group_of};
use crate::guard::Guard;
use crate::slab::{NONE, Slab};
use crate::small_name::SmallName;

const ROOT: u32 = 0;

/// Files that lie together are kept as a batch if they are so many: below, an entry each takes less.
const WORTH_A_BATCH: usize = 8;

/// Whether it is a file that is found under one name only.
fn has_one_name(node: &Node) -> bool {
    node.attributes.kind == FileType::Regular && node.attributes.nlink == 1
}

/// All nodes that the engine holds.
pub(crate) struct Nodes {
    slab: Slab,
    /// Files that are not in the slab, or were handed out once more.
    batches: Batches,
    /// Guards by slot: of nodes with a list, and of those that were checked on a read-only or noexec mount.
    guards: HashMap<u32, Arc<Guard>>,
    /// How often attributes were asked for anew: a guard that was read before may be out of date.
    refreshes: u64,
    /// Bytes of long names and guards.
    heap: u64,
}

impl Nodes {
    /// With the root alone, which is never dropped.
    pub(crate) fn new(root: NodeKey) -> Nodes {
        let mut slab = Slab::new();
        let slot = slab.insert(root, NONE, SmallName::default());
        debug_assert_eq!(slot, ROOT);
        Nodes { slab, batches: Batches::default(), guards: HashMap::new(), refreshes: 0, heap: 0 }
    }

    /// The path of `name` in the directory `dir`, relative to the root; `None` if no such directory was handed out. An empty
    /// name: the path of `dir` itself.
    pub(crate) fn path_in(&self, dir: NodeKey, name: &[u8]) -> Option<Vec<u8>> {
        if let Some(slot) = self.slab.find(dir) {
            return Some(self.path(slot, name));
        }
        let (above, file) = self.batches.find(dir).filter(|_| name.is_empty())?;
        Some(self.path(above, file))
    }

    /// The path of a node's directory, and its name there. Both are empty for the root.
    pub(crate) fn place(&self, node: NodeKey) -> Option<(Vec<u8>, SmallName)> {
        let Some(slot) = self.slab.find(node) else {
            let (directory, name) = self.batches.find(node)?;
            return Some((self.path(directory, b""), SmallName::new(name)));
        };
        let entry = &self.slab[slot];
        let dir = if entry.directory == NONE { Vec::new() } else { self.path(entry.directory, b"") };
        Some((dir, entry.name.clone()))
    }

    /// Counts the root as handed out once more.
    pub(crate) fn hold_root(&mut self) {
        self.slab[ROOT].held += 1;
    }

    /// Counts `node`, found as `name` in `dir`, as handed out once more. `None` if there is no such directory.
    pub(crate) fn hold(&mut self, node: NodeKey, dir: NodeKey, name: &[u8]) -> Option<()> {
        let directory = self.slab.find(dir)?;
        self.hold_in(directory, node, name);
        Some(())
    }

    /// The same with many in one directory: all of them or, where there is no such directory, none. Those that lie together are best told of in the
    /// order of their keys.
    pub(crate) fn hold_all(&mut self, dir: NodeKey, all: &[(Name<'_>, Node)]) -> Option<()> {
        let directory = self.slab.find(dir)?;
        let together = |a: &(Name<'_>, Node), b: &(Name<'_>, Node)| {
            has_one_name(&a.1) && has_one_name(&b.1) && group_of(a.1.key) == group_of(b.1.key)
        };
        for some in all.chunk_by(together) {
            if some.len() < WORTH_A_BATCH {
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

    /// Takes back one `hold`; drops what nobody needs any more.
    pub(crate) fn forget(&mut self, node: NodeKey) {
        match self.slab.find(node) {
            Some(slot) if self.slab[slot].held > 0 => {
                self.slab[slot].held -= 1;
                self.release(slot);
            }
            _ => _ = self.take_from_batch(node),
        }
    }

    /// A file of a batch is handed out once less there; its directory, which may be gone then, if it was in one.
    fn take_from_batch(&mut self, node: NodeKey) -> Option<()> {
        if let Taken::LastOf(directory) = self.batches.take(node)? {
            self.slab[directory].children -= 1;
            self.release(directory);
        }
        Some(())
    }

    /// The entry of a node; of a file that is in a batch it is made.
    fn entry(&mut self, node: NodeKey) -> Option<u32> {
        let slot = self.slab.find(node);
        slot.or_else(|| {
            let (directory, name) = self.batches.find(node).map(|(directory, name)| (directory, SmallName::new(name)))?;
            self.hold_in(directory, node, name.bytes());
            self.take_from_batch(node)?;
            self.slab.find(node)
        })
    }

    /// The guard of a node, if one is kept.
    pub(crate) fn guard(&self, node: NodeKey) -> Option<Arc<Guard>> {
        self.guards.get(&self.slab.find(node)?).cloned()
    }

    /// Keeps a guard for as long as its node, in place of the one before.
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

    /// What was kept is out of date: from now on `guard`, or nothing until the next check.
    pub(crate) fn refresh_guard(&mut self, node: NodeKey, guard: Option<Arc<Guard>>) {
        self.refreshes += 1;
        self.set_guard(node, guard);
    }

    /// To be read before a guard is, and compared before that is kept.
    pub(crate) fn refreshes(&self) -> u64 {
        self.refreshes
    }

    /// Bytes it holds.
    pub(crate) fn memory(&self) -> u64 {
        let guards = self.guards.capacity() * (size_of::<(u32, Arc<Guard>)>() + 1);
        (self.slab.memory() + guards) as u64 + self.batches.memory() + self.heap
    }

    /// Built from its end, so that nothing but the path is allocated.
    fn path(&self, directory: u32, last: &[u8]) -> Vec<u8> {
        let up =
            || std::iter::successors(Some(directory), |slot| Some(self.slab[*slot].directory)).take_while(|slot| *slot != ROOT);
        let length: usize = up().map(|slot| self.slab[slot].name.bytes().len() + 1).sum();
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
        path
    }

    /// A node that is known was found here. If that is another place than before, it has moved or has several names: the
    /// newest is the likeliest to last.
    fn found_at(&mut self, slot: u32, directory: u32, name: &[u8]) {
        let entry = &self.slab[slot];
        let same = entry.directory == directory && entry.name.bytes() == name;
        if same || slot == ROOT || self.is_at_or_below(directory, slot) {
            return;
        }
        let name = SmallName::new(name);
        self.heap += name.heap();
        self.slab[directory].children += 1;
        let entry = &mut self.slab[slot];
        let old_name = std::mem::replace(&mut entry.name, name);
        let old_directory = std::mem::replace(&mut entry.directory, directory);
        self.heap -= old_name.heap();
        self.slab[old_directory].children -= 1;
        self.release(old_directory);
    }

    fn is_at_or_below(&self, mut slot: u32, above: u32) -> bool {
        while slot != NONE && slot != above {
            slot = self.slab[slot].directory;
        }
        slot == above
    }

    /// Drops the entry if nobody needs it, and upwards those that only it kept.
    fn release(&mut self, mut slot: u32) {
        while slot != ROOT && self.slab[slot].held == 0 && self.slab[slot].children == 0 {
            self.drop_guard(slot);
            let entry = self.slab.remove(slot);
            self.heap -= entry.name.heap();
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
