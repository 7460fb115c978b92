//! A file system for the scenarios: a tree under one lock, which counts what it hands out and checks what it is asked.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::attr::{AclState, Attributes, FileType};
use crate::node::{Freshness, NewKind, NewNode, Node, NodeKey, RenameFlags, SetAttributes, Validity};
use crate::sync::{Mutex, yield_now};
use crate::text::Name;
use crate::{Directory, Entry as Listed, Errno, FileSystem, OpenFile, OpenFor, Siblings};

pub(super) const ROOT: u128 = 1;

/// What goes wrong with the next lookup of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Error,
    Panic,
}

/// A node.
pub(super) struct Entry {
    kind: FileType,
    mode: u16,
    names: BTreeMap<Vec<u8>, u128>,
    body: Option<Box<[u8]>>,
    pub(super) uid: u32,
    pub(super) freshness: Freshness,
    pub(super) acl: AclState,
}

impl Entry {
    fn new(kind: FileType, mode: u16, body: Option<Box<[u8]>>) -> Entry {
        Entry { kind, mode, names: BTreeMap::new(), body, uid: 0, freshness: Freshness::Stable, acl: AclState::Absent }
    }
}

#[derive(Default)]
struct Tree {
    nodes: BTreeMap<u128, Entry>,
    /// Nodes handed out and not forgotten yet.
    held: BTreeMap<u128, u64>,
    /// Lookups by name, and questions whether a name is still valid.
    asked: BTreeMap<Vec<u8>, u32>,
    faults: BTreeMap<Vec<u8>, Fault>,
    siblings: Tells,
}

/// What it says when it is asked for siblings.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Tells {
    #[default]
    Nothing,
    /// All of them, two by two.
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

/// See the module.
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

    /// A new node, behind the engine's back.
    pub(super) fn add(&self, dir: u128, name: &str, kind: FileType, mode: u16) -> u128 {
        self.with(|tree| tree.add(dir, name.as_bytes(), Entry::new(kind, mode, None)))
    }

    /// A new link.
    pub(super) fn add_link(&self, dir: u128, name: &str, body: &str) -> u128 {
        let body = Some(body.as_bytes().into());
        self.with(|tree| tree.add(dir, name.as_bytes(), Entry::new(FileType::Symlink, 0o777, body)))
    }

    /// A second name of a node.
    pub(super) fn add_name(&self, dir: u128, name: &str, key: u128) {
        self.with(|tree| tree.names(dir).insert(name.into(), key));
    }

    /// Takes a name away, behind the engine's back.
    pub(super) fn take_name(&self, dir: u128, name: &str) -> u128 {
        self.with(|tree| tree.names(dir).remove(name.as_bytes()).expect("a name that is there"))
    }

    /// Whether a name is there.
    pub(super) fn has(&self, dir: u128, name: &str) -> bool {
        self.with(|tree| tree.names(dir).contains_key(name.as_bytes()))
    }

    /// Moves a name, behind the engine's back.
    pub(super) fn move_name(&self, from: (u128, &str), to: (u128, &str)) {
        self.with(|tree| {
            let key = tree.names(from.0).remove(from.1.as_bytes()).expect("a name that is there");
            tree.names(to.0).insert(to.1.into(), key);
        });
    }

    /// Changes a mode, behind the engine's back.
    pub(super) fn set_mode(&self, key: u128, mode: u16) {
        self.with(|tree| tree.nodes.get_mut(&key).expect("a node").mode = mode);
    }

    /// Changes what is known of a node, behind the engine's back.
    pub(super) fn alter(&self, key: u128, change: impl FnOnce(&mut Entry)) {
        self.with(|tree| change(tree.nodes.get_mut(&key).expect("a node")));
    }

    /// Lets the next lookup of a name fail.
    pub(super) fn fail_next(&self, name: &str, fault: Fault) {
        self.with(|tree| tree.faults.insert(name.into(), fault));
    }

    /// From now on it tells of siblings.
    pub(super) fn tell_siblings(&self) {
        self.with(|tree| tree.siblings = Tells::All);
    }

    /// How often a name was looked up.
    pub(super) fn asked(&self, name: &str) -> u32 {
        self.with(|tree| tree.asked.get(name.as_bytes()).copied().unwrap_or(0))
    }

    /// Nodes that are held now, and how often.
    pub(super) fn held(&self) -> Vec<(u128, u64)> {
        self.with(|tree| tree.held.iter().filter(|(_, held)| **held > 0).map(|(key, held)| (*key, *held)).collect())
    }
}

/// A file without contents, or a directory.
struct Open {
    tree: Arc<Mutex<Tree>>,
    node: u128,
}

/// Names of up to seven bytes in order: so are their cookies.
fn cookie_of(name: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[1..=name.len()].copy_from_slice(name);
    u64::from_be_bytes(bytes)
}

impl OpenFile for Open {
    fn read_dir(&self, mut from: u64, each: &mut dyn FnMut(Listed<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        loop {
            // One at a time: names come and go meanwhile.
            yield_now();
            let next = {
                let tree = self.tree.lock();
                let next = tree.nodes[&self.node].names.iter().find(|(name, _)| cookie_of(name) > from);
                next.map(|(name, key)| (name.clone(), *key, tree.nodes[key].kind))
            };
            let Some((name, key, kind)) = next else { return Ok(()) };
            from = cookie_of(&name);
            if each(Listed { name: &name, key: NodeKey(key), ino: key as u64, kind, cookie: from }).is_break() {
                return Ok(());
            }
        }
    }
}

impl FileSystem for TestFs {
    fn allows_id_maps(&self) -> bool {
        true
    }

    fn root(&self) -> Result<Node, Errno> {
        Ok(self.with(|tree| tree.hand_out(ROOT)))
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let dir = dir.key().0;
        let fault = self.with(|tree| {
            tree.check_held(dir);
            *tree.asked.entry(name.bytes().to_vec()).or_default() += 1;
            tree.faults.remove(name.bytes())
        });
        // An answer may be late.
        yield_now();
        match fault {
            Some(Fault::Error) => return Err(Errno::EIO),
            // Without the hook, which would print it.
            Some(Fault::Panic) => std::panic::resume_unwind(Box::new("a file system that panics")),
            None => {}
        }
        let found = self.with(|tree| {
            let key = tree.names(dir).get(name.bytes()).copied();
            key.map(|key| tree.hand_out(key))
        });
        yield_now();
        Ok(found)
    }

    fn lookup_siblings(&self, dir: &Directory<'_>, siblings: &mut Siblings<'_>) -> Result<(), Errno> {
        let dir = dir.key().0;
        let names: Vec<_> = self.with(|tree| {
            tree.check_held(dir);
            tree.names(dir).keys().cloned().collect()
        });
        if self.with(|tree| tree.siblings) == Tells::Nothing || names.len() > siblings.most() {
            return Ok(());
        }
        let mut found = Vec::new();
        for name in names.iter().map(|name| Name::new(name).expect("a name")) {
            // One at a time, and given later.
            yield_now();
            if siblings.wants(name) {
                let key = self.with(|tree| tree.names(dir).get(name.bytes()).copied());
                found.extend(key.map(|key| (name, self.with(|tree| tree.hand_out(key)))));
            }
        }
        for two in found.chunks(2) {
            yield_now();
            siblings.give(two);
        }
        siblings.are_all();
        Ok(())
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        let attributes = self.with(|tree| {
            tree.check_held(node.0);
            tree.attributes(node.0)
        });
        yield_now();
        Ok(attributes)
    }

    fn revalidate(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Validity, Errno> {
        let (dir, node) = (dir.key().0, node.map(|node| node.0));
        let is_so = self.with(|tree| {
            *tree.asked.entry(name.bytes().to_vec()).or_default() += 1;
            tree.names(dir).get(name.bytes()).copied() == node
        });
        Ok(if is_so { Validity::Valid } else { Validity::Invalid })
    }

    fn open(&self, node: NodeKey, _what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.with(|tree| tree.check_held(node.0));
        Ok(Box::new(Open { tree: self.0.clone(), node: node.0 }))
    }

    fn forget(&self, node: NodeKey) {
        self.with(|tree| {
            tree.check_held(node.0);
            *tree.held.get_mut(&node.0).expect("it is held") -= 1;
        });
    }

    fn create(&self, dir: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        let dir = dir.key().0;
        let kind = if new.kind == NewKind::Directory { FileType::Directory } else { FileType::Regular };
        self.with(|tree| {
            tree.check_held(dir);
            if tree.names(dir).contains_key(name.bytes()) {
                return Err(Errno::EEXIST);
            }
            let key = tree.add(dir, name.bytes(), Entry::new(kind, new.mode, None));
            Ok(tree.hand_out(key))
        })
    }

    fn link(&self, node: NodeKey, dir: &Directory<'_>, name: Name<'_>) -> Result<Node, Errno> {
        let dir = dir.key().0;
        self.with(|tree| {
            tree.check_held(node.0);
            assert!(tree.attributes(node.0).nlink > 0, "node {} lost its last name before", node.0);
            tree.names(dir).insert(name.bytes().to_vec(), node.0);
            Ok(tree.hand_out(node.0))
        })
    }

    fn unlink(&self, dir: &Directory<'_>, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        let dir = dir.key().0;
        self.with(|tree| {
            tree.check_held(node.0);
            if !tree.nodes[&node.0].names.is_empty() {
                return Err(Errno::ENOTEMPTY);
            }
            tree.names(dir).remove(name.bytes()).map(drop).ok_or(Errno::ENOENT)
        })
    }

    fn rename(&self, from: (&Directory<'_>, Name<'_>), to: (&Directory<'_>, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
        let (from_dir, to_dir) = (from.0.key().0, to.0.key().0);
        let (old, new) = (from.1.bytes(), to.1.bytes());
        self.with(|tree| {
            let moved = tree.names(from_dir).remove(old).ok_or(Errno::ENOENT)?;
            let replaced = tree.names(to_dir).insert(new.to_vec(), moved);
            if flags.contains(RenameFlags::EXCHANGE) {
                tree.names(from_dir).insert(old.to_vec(), replaced.ok_or(Errno::ENOENT)?);
            }
            Ok(())
        })
    }

    fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        self.with(|tree| {
            tree.check_held(node.0);
            let entry = tree.nodes.get_mut(&node.0).expect("it is held");
            entry.mode = set.mode.unwrap_or(entry.mode);
            entry.uid = set.uid.unwrap_or(entry.uid);
            Ok(tree.attributes(node.0))
        })
    }
}
