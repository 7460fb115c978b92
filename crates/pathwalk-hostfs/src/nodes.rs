//! From a key to the way there: which name in which directory, for every node that the engine holds.
//!
//! The engine asks by key; the host is asked by path.
//!
//! Invariants:
//! - An entry lives while the engine holds its node (`held` > 0) or an entry has it as its directory (`children` > 0): a
//!   file with two names may outlive the directory it was first found in.
//! - Directories form a tree with the root at slot 0: an entry moves to another directory only if it does not thereby come
//!   to lie below itself. So the way up always ends.
//!
//! What it does not do: talk to the host, or lock.

use std::collections::HashMap;
use std::sync::Arc;

use pathwalk::NodeKey;

use crate::guard::Guard;
use crate::slab::{NONE, Slab};
use crate::small_name::SmallName;

const ROOT: u32 = 0;

/// All nodes that the engine holds.
pub(crate) struct Nodes {
    slab: Slab,
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
        Nodes { slab, guards: HashMap::new(), refreshes: 0, heap: 0 }
    }

    /// The path of `name` in the directory `dir`, relative to the root; `None` if no such directory was handed out. An empty
    /// name: the path of `dir` itself.
    pub(crate) fn path_in(&self, dir: NodeKey, name: &[u8]) -> Option<Vec<u8>> {
        self.slab.find(dir).map(|slot| self.path(slot, name))
    }

    /// The path of a node's directory, and its name there. Both are empty for the root.
    pub(crate) fn place(&self, node: NodeKey) -> Option<(Vec<u8>, SmallName)> {
        let entry = &self.slab[self.slab.find(node)?];
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
        Some(())
    }

    /// Takes back one `hold`; drops what nobody needs any more.
    pub(crate) fn forget(&mut self, node: NodeKey) {
        let Some(slot) = self.slab.find(node) else { return };
        self.slab[slot].held = self.slab[slot].held.saturating_sub(1);
        self.release(slot);
    }

    /// The guard of a node, if one is kept.
    pub(crate) fn guard(&self, node: NodeKey) -> Option<Arc<Guard>> {
        self.guards.get(&self.slab.find(node)?).cloned()
    }

    /// Keeps a guard for as long as its node, in place of the one before.
    pub(crate) fn set_guard(&mut self, node: NodeKey, guard: Option<Arc<Guard>>) {
        let Some(slot) = self.slab.find(node) else { return };
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
        (self.slab.memory() + guards) as u64 + self.heap
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
mod tests {
    use pathwalk::{Attributes, FileType};

    use super::*;

    fn key(i: u128) -> NodeKey {
        NodeKey(i)
    }

    /// root/1/2/3, each held once.
    fn chain() -> Nodes {
        let mut nodes = Nodes::new(key(0));
        nodes.hold_root();
        nodes.hold(key(1), key(0), b"one").unwrap();
        nodes.hold(key(2), key(1), b"two").unwrap();
        nodes.hold(key(3), key(2), b"a name of more than twenty-two bytes").unwrap();
        nodes
    }

    fn path(nodes: &Nodes, of: u128) -> Option<String> {
        nodes.path_in(key(of), b"").map(|path| String::from_utf8(path).unwrap())
    }

    #[test]
    fn paths_lead_from_the_root() {
        let nodes = chain();
        assert_eq!(path(&nodes, 0).unwrap(), "");
        assert_eq!(path(&nodes, 2).unwrap(), "one/two");
        assert_eq!(nodes.path_in(key(0), b"x").unwrap(), b"x");
        assert_eq!(nodes.path_in(key(2), b"x").unwrap(), b"one/two/x");
        let (dir, name) = nodes.place(key(3)).unwrap();
        assert_eq!((&*dir, name.bytes().len()), (&b"one/two"[..], 36));
        let (dir, name) = nodes.place(key(0)).unwrap();
        assert!(dir.is_empty() && name.bytes().is_empty());
        assert!(nodes.path_in(key(9), b"").is_none());
    }

    #[test]
    fn what_is_above_a_held_node_stays() {
        let mut nodes = chain();
        let one = nodes.memory();
        nodes.forget(key(2));
        nodes.forget(key(1));
        assert_eq!(path(&nodes, 2).unwrap(), "one/two");
        nodes.forget(key(3));
        assert!((1..=3).all(|i| path(&nodes, i).is_none()));
        assert_eq!(nodes.slab.len(), 1);
        assert_eq!(one - nodes.memory(), 48, "the long name is given back");
        nodes.forget(key(3));
        nodes.forget(key(0));
        assert!(path(&nodes, 0).is_some(), "the root stays");
    }

    #[test]
    fn each_hold_takes_a_forget() {
        let mut nodes = chain();
        nodes.hold(key(3), key(0), b"link").unwrap();
        assert_eq!(path(&nodes, 3).unwrap(), "link");
        nodes.forget(key(3));
        assert!(path(&nodes, 3).is_some());
        nodes.forget(key(3));
        assert!(path(&nodes, 3).is_none());
        assert_eq!(nodes.hold(key(4), key(3), b"x"), None, "not in a directory that was forgotten");
    }

    #[test]
    fn nothing_comes_to_lie_below_itself() {
        let mut nodes = chain();
        nodes.hold(key(1), key(2), b"loop").unwrap();
        nodes.hold(key(1), key(1), b"self").unwrap();
        nodes.hold(key(0), key(1), b"root").unwrap();
        assert_eq!(path(&nodes, 2).unwrap(), "one/two");
        assert_eq!(path(&nodes, 0).unwrap(), "");
        nodes.hold(key(2), key(0), b"up").unwrap();
        nodes.hold(key(1), key(2), b"down").unwrap();
        assert_eq!(path(&nodes, 1).unwrap(), "up/down");
    }

    #[test]
    fn guards_go_with_their_node() {
        let mut nodes = chain();
        let before = nodes.heap;
        let guard = Arc::new(Guard::new(&Attributes::new(FileType::Regular, 0), None));
        nodes.set_guard(key(3), Some(Arc::clone(&guard)));
        nodes.set_guard(key(3), Some(guard));
        assert!(nodes.guard(key(3)).is_some() && nodes.heap > before);
        nodes.set_guard(key(3), None);
        assert!(nodes.guard(key(3)).is_none() && nodes.heap == before);
        nodes.set_guard(key(9), None);
    }
}
