//! A file system for the scenarios: a tree under one lock, which counts the nodes that it hands
//! out, and checks the engine's calls.

mod calls;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::attr::{AclState, Attributes, FileType, InodeFlags, StatxFlags, Timestamp};
use crate::node::{Freshness, Node, NodeKey};
use crate::permission::Acl;
use crate::sync::Mutex;

pub(super) const ROOT: u128 = 1;

/// The fault of the next lookup of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Error,
    Panic,
}

/// A node of the test file system.
pub(super) struct Entry {
    kind: FileType,
    pub(super) mode: u16,
    names: BTreeMap<Vec<u8>, u128>,
    pub(super) body: Option<Box<[u8]>>,
    pub(super) uid: u32,
    pub(super) freshness: Freshness,
    /// What attributes say of the list.
    pub(super) acl: AclState,
    list: Option<Acl>,
    /// The value of `security.capability`.
    pub(super) capability: Option<Box<[u8]>>,
    inode_flags: InodeFlags,
    /// The times of the last access and of the last change.
    times: [i64; 2],
}

impl Entry {
    fn new(kind: FileType, mode: u16, body: Option<Box<[u8]>>) -> Entry {
        let (names, freshness, acl) = (BTreeMap::new(), Freshness::Stable, AclState::Absent);
        let (list, capability, inode_flags) = (None, None, InodeFlags::empty());
        Entry { kind, mode, names, body, uid: 0, freshness, acl, list, capability, inode_flags, times: [0; 2] }
    }
}

#[derive(Default)]
struct Tree {
    nodes: BTreeMap<u128, Entry>,
    /// The counts of nodes that were handed out and not forgotten yet.
    held: BTreeMap<u128, u64>,
    /// The counts of lookups and revalidations, by name.
    asked: BTreeMap<Vec<u8>, u32>,
    faults: BTreeMap<Vec<u8>, Fault>,
    siblings: Tells,
    /// The clock. From the first time that it is set, the engine keeps times of access.
    clock: i64,
}

/// The answer to a call of `lookup_siblings`.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Tells {
    #[default]
    Nothing,
    /// All siblings, two at a time.
    All,
}

impl Tree {
    fn hand_out(&mut self, key: u128) -> Node {
        *self.held.entry(key).or_default() += 1;
        let entry = &self.nodes[&key];
        let node = Node::new(NodeKey(key), self.attributes(key));
        Node { link_body: entry.body.clone(), freshness: entry.freshness, ..node }
    }

    fn attributes(&self, key: u128) -> Attributes {
        let entry = &self.nodes[&key];
        let mut attributes = Attributes::new(entry.kind, entry.mode);
        attributes.ino = key as u64;
        (attributes.uid, attributes.acl) = (entry.uid, entry.acl);
        let [accessed, changed] = entry.times.map(|seconds| Timestamp { seconds, nanoseconds: 0 });
        (attributes.atime, attributes.ctime) = (accessed, changed);
        attributes.flags = StatxFlags::from_kernel(entry.inode_flags.bits().into());
        attributes.nlink =
            self.nodes.values().flat_map(|dir| dir.names.values()).filter(|leads_to| **leads_to == key).count() as u32;
        attributes
    }

    fn names(&mut self, dir: u128) -> &mut BTreeMap<Vec<u8>, u128> {
        &mut self.nodes.get_mut(&dir).expect("a directory that was handed out").names
    }

    fn add(&mut self, dir: u128, name: &[u8], entry: Entry) -> u128 {
        let key = self.nodes.keys().last().map_or(ROOT, |last| last + 1);
        self.nodes.insert(key, entry);
        if key != ROOT {
            self.names(dir).insert(name.to_vec(), key);
        }
        key
    }

    fn check_held(&self, key: u128) {
        assert!(self.held.get(&key).is_some_and(|held| *held > 0), "node {key} was forgotten, or never handed out");
    }
}

/// A file system of a tree under one lock.
pub(super) struct TestFs(Arc<Mutex<Tree>>);

impl TestFs {
    pub(super) fn new() -> TestFs {
        let mut tree = Tree::default();
        tree.add(0, b"", Entry::new(FileType::Directory, 0o755, None));
        TestFs(Arc::new(Mutex::new(tree)))
    }

    fn with<T>(&self, what: impl FnOnce(&mut Tree) -> T) -> T {
        what(&mut self.0.lock())
    }

    /// Adds a new node without the engine.
    pub(super) fn add(&self, dir: u128, name: &str, kind: FileType, mode: u16) -> u128 {
        self.with(|tree| tree.add(dir, name.as_bytes(), Entry::new(kind, mode, None)))
    }

    /// Adds a new link.
    pub(super) fn add_link(&self, dir: u128, name: &str, body: &str) -> u128 {
        let body = Some(body.as_bytes().into());
        self.with(|tree| tree.add(dir, name.as_bytes(), Entry::new(FileType::Symlink, 0o777, body)))
    }

    /// Sets the clock.
    pub(super) fn set_clock(&self, seconds: i64) {
        self.with(|tree| tree.clock = seconds);
    }

    /// Returns the time of the last access to a node.
    pub(super) fn accessed_at(&self, key: u128) -> i64 {
        self.with(|tree| tree.nodes[&key].times[0])
    }

    /// Returns the times of the last access to a node and of its last change.
    pub(super) fn times(&self, key: u128) -> [i64; 2] {
        self.with(|tree| tree.nodes[&key].times)
    }

    /// Adds a second name of a node.
    pub(super) fn add_name(&self, dir: u128, name: &str, key: u128) {
        self.with(|tree| tree.names(dir).insert(name.into(), key));
    }

    /// Removes a name without the engine.
    pub(super) fn take_name(&self, dir: u128, name: &str) -> u128 {
        self.with(|tree| tree.names(dir).remove(name.as_bytes()).expect("a name that is there"))
    }

    /// Returns whether a name is there.
    pub(super) fn has(&self, dir: u128, name: &str) -> bool {
        self.with(|tree| tree.names(dir).contains_key(name.as_bytes()))
    }

    /// Moves a name without the engine.
    pub(super) fn move_name(&self, from: (u128, &str), to: (u128, &str)) {
        self.with(|tree| {
            let key = tree.names(from.0).remove(from.1.as_bytes()).expect("a name that is there");
            tree.names(to.0).insert(to.1.into(), key);
        });
    }

    /// Changes a mode without the engine.
    pub(super) fn set_mode(&self, key: u128, mode: u16) {
        self.with(|tree| tree.nodes.get_mut(&key).expect("a node").mode = mode);
    }

    /// Changes a node without the engine.
    pub(super) fn alter(&self, key: u128, change: impl FnOnce(&mut Entry)) {
        self.with(|tree| change(tree.nodes.get_mut(&key).expect("a node")));
    }

    /// Makes the next lookup of a name fail.
    pub(super) fn fail_next(&self, name: &str, fault: Fault) {
        self.with(|tree| tree.faults.insert(name.into(), fault));
    }

    /// Makes the file system answer `lookup_siblings` from now on.
    pub(super) fn tell_siblings(&self) {
        self.with(|tree| tree.siblings = Tells::All);
    }

    /// Returns the number of lookups of a name.
    pub(super) fn asked(&self, name: &str) -> u32 {
        self.with(|tree| tree.asked.get(name.as_bytes()).copied().unwrap_or(0))
    }

    /// Returns the nodes that are held now, with their counts.
    pub(super) fn held(&self) -> Vec<(u128, u64)> {
        self.with(|tree| tree.held.iter().filter(|(_, held)| **held > 0).map(|(key, held)| (*key, *held)).collect())
    }
}
