//! A `Vfs` over a file system that is late, and what is true when a scenario is over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[cfg(shuttle)]
pub(super) use shuttle::thread;
#[cfg(not(shuttle))]
pub(super) use std::thread;

use pathwalk::{Attributes, Context, Credentials, Directory, Errno, FileSystem, FileType, Name, NewNode, Node, NodeKey, Vfs};

use crate::sync::Mutex;
use crate::{Pool, Ring};

/// `/a`, `/b` and `/c` are files; `/fails` is `EIO`; every other name is absent until it is made.
#[derive(Default)]
pub(super) struct TestFs {
    lookups: Mutex<BTreeMap<Vec<u8>, u64>>,
    made: Mutex<Vec<Vec<u8>>>,
}

const ROOT: NodeKey = NodeKey(1);

fn file(name: &[u8]) -> Node {
    Node::new(NodeKey(u128::from(name[0])), Attributes::new(FileType::Regular, 0o644))
}

impl FileSystem for TestFs {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(ROOT, self.attributes(ROOT)?))
    }

    fn lookup(&self, _: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        *self.lookups.lock().entry(name.bytes().to_vec()).or_default() += 1;
        // An answer may be late.
        thread::yield_now();
        let is_made = self.made.lock().iter().any(|made| made == name.bytes());
        match name.bytes() {
            b"fails" => Err(Errno::EIO),
            b"a" | b"b" | b"c" => Ok(Some(file(name.bytes()))),
            name => Ok(is_made.then(|| file(name))),
        }
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        Ok(if node == ROOT { Attributes::new(FileType::Directory, 0o777) } else { Attributes::new(FileType::Regular, 0o644) })
    }

    fn create(&self, _: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        self.made.lock().push(name.bytes().to_vec());
        Ok(Node::new(NodeKey(u128::from(name.bytes()[0])), Attributes::new(new.kind.file_type(), new.mode)))
    }
}

/// Shared by the threads of a scenario.
#[derive(Clone)]
pub(super) struct World {
    pub(super) fs: Arc<TestFs>,
    pub(super) context: Context,
    pub(super) pool: Pool,
}

impl TestFs {
    /// How often a name was looked up.
    pub(super) fn asked(&self, name: &str) -> u64 {
        self.lookups.lock().get(name.as_bytes()).copied().unwrap_or(0)
    }
}

impl World {
    /// With so many workers at most.
    pub(super) fn new(workers: usize) -> World {
        let fs = Arc::new(TestFs::default());
        let vfs = Vfs::builder().budget(Vfs::budget_for(14)).seed(1).build(fs.clone()).expect("a small budget is enough");
        let pool = Pool::builder().workers(workers).idle(Duration::from_millis(1)).build();
        World { fs, context: vfs.context(Credentials::root()), pool }
    }

    pub(super) fn ring(&self) -> Ring {
        Ring::builder(self.context.clone()).entries(8).completions(8).pool(self.pool.clone()).build()
    }

    /// How often a name was looked up.
    pub(super) fn asked(&self, name: &str) -> u64 {
        self.fs.asked(name)
    }

    /// Whether a directory of this name was made.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fs.made.lock().iter().any(|made| made == name.as_bytes())
    }

    /// The scenario is over: rings and futures are dropped, and other threads that shared this world have ended.
    pub(super) fn end(self) {
        let World { pool, .. } = self;
        let shared = pool.shared().clone();
        drop(pool);
        while shared.lock().workers != 0 {
            thread::yield_now();
        }
        let state = shared.lock();
        assert!(state.is_empty(), "work was left");
        assert_eq!(state.idle, 0);
    }
}
