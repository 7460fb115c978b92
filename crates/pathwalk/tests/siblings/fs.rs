//! A small file system that gives siblings as a test prescribes, counts its calls, and records what
//! it handed out.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard};

use pathwalk::{
    Access, Attributes, Context, Credentials, Directory, Entry, Errno, FIRST_COOKIE, File, FileSystem, FileType, Freshness, Name,
    Node, NodeKey, OpenFile, OpenFlags, OpenFor, SetAttributes, Siblings, Vfs, internals,
};

/// A function that answers a request for siblings: of the directory with this key.
pub(crate) type Tell = Arc<dyn Fn(&Tree, u128, &mut Siblings<'_>) -> Result<(), Errno> + Send + Sync>;

pub(crate) const ROOT: u128 = 1;

/// The number of names that tests look up before they count. The fourth lookup after them requests
/// a directory as a whole.
pub(crate) const BEFORE: usize = 12;

fn before(number: usize) -> String {
    format!("before {number}")
}

#[derive(Clone)]
enum Body {
    Directory(BTreeMap<Vec<u8>, u128>),
    File,
    Link(Vec<u8>),
}

#[derive(Clone)]
struct Kept {
    body: Body,
    mode: u16,
}

/// The calls of the file system.
#[derive(Default)]
pub(crate) struct Asked {
    /// The number of lookups of single names.
    pub(crate) lookups: u64,
    /// The requests for directories as a whole, with the maximum number of names.
    pub(crate) siblings: Vec<(u128, usize)>,
    pub(crate) attributes: u64,
}

struct State {
    nodes: BTreeMap<u128, Kept>,
    /// The count of each node: handed out, less forgotten.
    held: BTreeMap<u128, i64>,
    asked: Asked,
    tell: Tell,
    attributes_fail: Option<Fault>,
}

/// A failure of the next request for attributes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Error,
    Panic,
}

/// The file system. Clones share the same state.
#[derive(Clone)]
pub(crate) struct Tree {
    state: Arc<Mutex<State>>,
    absence: Freshness,
}

impl Tree {
    pub(crate) fn new() -> Tree {
        Tree::with_absence(Freshness::Stable)
    }

    pub(crate) fn with_absence(absence: Freshness) -> Tree {
        let root = Kept { body: Body::Directory(BTreeMap::new()), mode: 0o755 };
        let nodes = BTreeMap::from([(ROOT, root)]);
        let tell: Tell = Arc::new(|tree, dir, siblings| tree.give_all(dir, siblings));
        let state = State { nodes, held: BTreeMap::new(), asked: Asked::default(), tell, attributes_fail: None };
        Tree { state: Arc::new(Mutex::new(state)), absence }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn add(&self, dir: u128, name: &str, body: Body, mode: u16) -> u128 {
        let mut state = self.state();
        let key = state.nodes.keys().last().unwrap() + 1;
        state.nodes.insert(key, Kept { body, mode });
        state.names(dir).insert(name.into(), key);
        key
    }

    /// Adds a directory with so many files in it, named by their numbers.
    pub(crate) fn directory(&self, dir: u128, name: &str, files: usize) -> u128 {
        let new = self.add(dir, name, Body::Directory(BTreeMap::new()), 0o755);
        (0..files).for_each(|number| _ = self.file(new, &number.to_string()));
        new
    }

    /// Adds the names that are looked up before others.
    pub(crate) fn add_before(&self, dir: u128) {
        (0..BEFORE).for_each(|number| _ = self.file(dir, &before(number)));
    }

    fn is_there(&self, path: &str) -> bool {
        let tree = self.state();
        let step = |dir: u128, name: &str| match &tree.nodes[&dir].body {
            Body::Directory(names) => names.get(name.as_bytes()).copied(),
            _ => None,
        };
        path.split('/').filter(|name| !name.is_empty()).try_fold(ROOT, step).is_some()
    }

    pub(crate) fn file(&self, dir: u128, name: &str) -> u128 {
        self.add(dir, name, Body::File, 0o640)
    }

    pub(crate) fn link(&self, dir: u128, name: &str, to: &str) -> u128 {
        self.add(dir, name, Body::Link(to.into()), 0o777)
    }

    /// Adds another name of a node.
    pub(crate) fn name(&self, dir: u128, name: &str, key: u128) {
        self.state().names(dir).insert(name.into(), key);
    }

    /// Moves a name without the engine.
    pub(crate) fn move_name(&self, from: (u128, &str), to: (u128, &str)) {
        let mut state = self.state();
        let key = state.names(from.0).remove(from.1.as_bytes()).unwrap();
        state.names(to.0).insert(to.1.into(), key);
    }

    pub(crate) fn names(&self, dir: u128) -> Vec<Vec<u8>> {
        self.state().names(dir).keys().cloned().collect()
    }

    /// Sets the function that answers requests for siblings from now on.
    pub(crate) fn tell(&self, tell: impl Fn(&Tree, u128, &mut Siblings<'_>) -> Result<(), Errno> + Send + Sync + 'static) {
        self.state().tell = Arc::new(tell);
    }

    /// Makes the next request for attributes fail.
    pub(crate) fn attributes_fail(&self, fault: Fault) {
        self.state().attributes_fail = Some(fault);
    }

    /// Hands out the node behind a name.
    pub(crate) fn hand_out(&self, dir: u128, name: &[u8]) -> Option<Node> {
        self.state().hand_out(dir, name)
    }

    /// Gives the names that are wanted, all at once.
    pub(crate) fn give(&self, dir: u128, siblings: &mut Siblings<'_>, names: &[Vec<u8>]) {
        let names = names.iter().map(|name| Name::new(name).unwrap()).filter(|name| siblings.wants(*name));
        let found: Vec<_> = names.filter_map(|name| Some((name, self.hand_out(dir, name.bytes())?))).collect();
        siblings.give(&found);
    }

    /// Gives the whole directory, if it is small enough.
    pub(crate) fn give_all(&self, dir: u128, siblings: &mut Siblings<'_>) -> Result<(), Errno> {
        let names = self.names(dir);
        if names.len() <= siblings.most() {
            self.give(dir, siblings, &names);
            siblings.are_all();
        }
        Ok(())
    }

    /// Returns the calls since the last time.
    pub(crate) fn asked(&self) -> Asked {
        std::mem::take(&mut self.state().asked)
    }

    /// Returns the nodes that are held, and how often: a negative count if one was forgotten too
    /// often.
    pub(crate) fn held(&self) -> Vec<(u128, i64)> {
        self.state().held.iter().filter(|(_, held)| **held != 0).map(|(key, held)| (*key, *held)).collect()
    }
}

impl State {
    fn names(&mut self, dir: u128) -> &mut BTreeMap<Vec<u8>, u128> {
        match &mut self.nodes.get_mut(&dir).unwrap().body {
            Body::Directory(names) => names,
            Body::File | Body::Link(_) => panic!("{dir} is no directory"),
        }
    }

    fn hand_out(&mut self, dir: u128, name: &[u8]) -> Option<Node> {
        let key = *self.names(dir).get(name)?;
        *self.held.entry(key).or_default() += 1;
        let link_body = match &self.nodes[&key].body {
            Body::Link(to) => Some(to.clone().into()),
            Body::Directory(_) | Body::File => None,
        };
        Some(Node::new(NodeKey(key), self.attributes(key)).with_link_body(link_body))
    }

    fn attributes(&self, key: u128) -> Attributes {
        let Kept { body, mode } = &self.nodes[&key];
        let kind = match body {
            Body::Directory(_) => FileType::Directory,
            Body::File => FileType::Regular,
            Body::Link(_) => FileType::Symlink,
        };
        let names = |kept: &Kept| match &kept.body {
            Body::Directory(names) => names.values().filter(|of| **of == key).count() as u32,
            Body::File | Body::Link(_) => 0,
        };
        let nlink = self.nodes.values().map(names).sum();
        Attributes::new(kind, *mode).with_ino(key as u64).with_nlink(nlink)
    }
}

impl FileSystem for Tree {
    fn root(&self) -> Result<Node, Errno> {
        let mut state = self.state();
        *state.held.entry(ROOT).or_default() += 1;
        Ok(Node::new(NodeKey(ROOT), state.attributes(ROOT)))
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let mut state = self.state();
        state.asked.lookups += 1;
        Ok(state.hand_out(dir.key().0, name.bytes()))
    }

    fn lookup_siblings(&self, dir: &Directory<'_>, siblings: &mut Siblings<'_>) -> Result<(), Errno> {
        let tell = {
            let mut state = self.state();
            state.asked.siblings.push((dir.key().0, siblings.most()));
            state.tell.clone()
        };
        tell(self, dir.key().0, siblings)
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        let mut state = self.state();
        state.asked.attributes += 1;
        let (fault, attributes) = (state.attributes_fail.take(), state.attributes(node.0));
        drop(state);
        match fault {
            None => Ok(attributes),
            Some(Fault::Error) => Err(Errno::EIO),
            Some(Fault::Panic) => std::panic::resume_unwind(Box::new("as it was told to")),
        }
    }

    fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        let mut state = self.state();
        let kept = state.nodes.get_mut(&node.0).unwrap();
        kept.mode = set.mode.unwrap_or(kept.mode);
        Ok(state.attributes(node.0))
    }

    fn absence(&self) -> Freshness {
        self.absence
    }

    fn forget(&self, node: NodeKey) {
        *self.state().held.entry(node.0).or_default() -= 1;
    }

    fn open(&self, node: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        Ok(Box::new(Open { tree: self.clone(), node: node.0 }))
    }
}

struct Open {
    tree: Tree,
    node: u128,
}

impl OpenFile for Open {
    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        let names: Vec<_> = self.tree.state().names(self.node).clone().into_iter().collect();
        let cookies = FIRST_COOKIE..;
        for ((name, key), cookie) in names.iter().zip(cookies).filter(|(_, cookie)| *cookie > from) {
            if each(Entry { name, key: NodeKey(*key), ino: *key as u64, kind: FileType::Regular, cookie }).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// A tree and a context for lookups. Its drop checks that nothing is kept, and that all that was
/// handed out was forgotten once.
pub(crate) struct World {
    pub(crate) fs: Tree,
    who: Option<Context>,
    asked_before: Mutex<HashSet<String>>,
}

impl World {
    /// Creates a world with room for many.
    pub(crate) fn new(fs: Tree) -> World {
        World::with_room(fs, 20_000)
    }

    pub(crate) fn with_room(fs: Tree, files: u64) -> World {
        let vfs = Vfs::builder().budget(Vfs::budget_for(files)).build(fs.clone()).unwrap();
        World { fs, who: Some(vfs.context(Credentials::root())), asked_before: Mutex::default() }
    }

    pub(crate) fn who(&self) -> &Context {
        self.who.as_ref().unwrap()
    }

    /// Looks up once the names of a directory that have to be looked up before others.
    fn ask_before(&self, dir: &str) {
        if self.fs.is_there(&format!("{dir}/{}", before(0))) && self.asked_before.lock().unwrap().insert(dir.into()) {
            (0..BEFORE).for_each(|number| assert_eq!(self.exists(&format!("{dir}/{}", before(number))).0, Ok(())));
        }
    }

    /// Returns the answer, and the number of single names that the file system had to look up.
    pub(crate) fn exists(&self, path: &str) -> (Result<(), Errno>, u64) {
        let before = self.who().vfs().stats().fs_lookups;
        let answer = self.who().access(path, Access::empty());
        (answer, self.who().vfs().stats().fs_lookups - before)
    }

    /// Looks up files of a directory by their numbers, after those that come [before](BEFORE).
    /// Returns how many of them reached the file system. All have to exist.
    pub(crate) fn ask(&self, dir: &str, numbers: impl IntoIterator<Item = usize>) -> u64 {
        assert_eq!(self.exists(dir).0, Ok(()));
        self.ask_before(dir);
        let asked = |number| self.exists(&format!("{dir}/{number}"));
        numbers.into_iter().map(asked).map(|(answer, asked)| answer.map(|()| asked).unwrap()).sum()
    }

    pub(crate) fn open(&self, path: &str) -> File {
        self.who().open(path, OpenFlags::READ).unwrap()
    }

    pub(crate) fn evict_all(&self) {
        while internals::evict(self.who().vfs(), 1) > 0 {}
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.evict_all();
        let stats = self.who().vfs().stats();
        assert_eq!((stats.dentries.used, stats.inodes.used, stats.side.used), (1, 1, 0), "only the root is left");
        self.who = None;
        assert_eq!(self.fs.held(), []);
    }
}
