//! A `Vfs` over a file system that is late, and the checks at the end of a scenario.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[cfg(shuttle)]
pub(super) use shuttle::thread;
#[cfg(not(shuttle))]
pub(super) use std::thread;

use pathwalk::{
    Attributes, Context, Credentials, Directory, Errno, File, FileSystem, FileType, MountFlags, Name, NewNode, Node, NodeKey,
    OpenFile, OpenFlags, OpenFor, UmountFlags, Vfs,
};

use crate::sync::Mutex;
use crate::{Pool, Ring};

/// A file system in which `/a`, `/b` and `/c` are files, and `/fails` is `EIO`. Every other name is
/// absent until it is made.
#[derive(Default)]
pub(super) struct TestFs {
    lookups: Mutex<BTreeMap<Vec<u8>, u64>>,
    made: Mutex<Vec<Vec<u8>>>,
    files: Arc<Files>,
}

/// The counts of open files.
#[derive(Default)]
pub(super) struct Files {
    opened: Mutex<u64>,
    /// The threads that closed them.
    closed: Mutex<Vec<thread::ThreadId>>,
    /// The pool that a file uses when it is closed, before it panics.
    pool: Mutex<Option<Pool>>,
}

/// An open file that is late when it is closed, uses the pool, and panics.
struct Open(Arc<Files>);

impl OpenFile for Open {}

impl Drop for Open {
    fn drop(&mut self) {
        let pool = self.0.pool.lock().clone();
        if let Some(pool) = &pool {
            thread::yield_now();
            pool.stats();
        }
        self.0.closed.lock().push(thread::current().id());
        // Shuttle switches between threads while one unwinds, and all of them share a thread of the
        // system, which is panicking then.
        if pool.is_some() && cfg!(not(shuttle)) {
            drop(pool);
            std::panic::resume_unwind(Box::new("a file that panics when it is closed"));
        }
    }
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

    fn open(&self, _: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        thread::yield_now();
        *self.files.opened.lock() += 1;
        Ok(Box::new(Open(self.files.clone())))
    }

    fn create(&self, _: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        self.made.lock().push(name.bytes().to_vec());
        Ok(Node::new(NodeKey(u128::from(name.bytes()[0])), Attributes::new(new.kind.file_type(), new.mode)))
    }
}

/// The state shared by the threads of a scenario.
#[derive(Clone)]
pub(super) struct World {
    pub(super) fs: Arc<TestFs>,
    pub(super) context: Context,
    pub(super) pool: Pool,
}

impl TestFs {
    /// Returns how often a name was looked up.
    pub(super) fn asked(&self, name: &str) -> u64 {
        self.lookups.lock().get(name.as_bytes()).copied().unwrap_or(0)
    }
}

impl World {
    /// Creates a world with so many workers at most.
    pub(super) fn new(workers: usize) -> World {
        let fs = Arc::new(TestFs::default());
        let vfs = Vfs::builder().budget(Vfs::budget_for(14)).seed(1).build(fs.clone()).expect("a small budget is enough");
        let pool = Pool::builder().workers(workers).idle(Duration::from_millis(1)).build();
        World { fs, context: vfs.context(Credentials::root()), pool }
    }

    pub(super) fn ring(&self) -> Ring {
        Ring::builder(self.context.clone()).entries(8).completions(8).pool(self.pool.clone()).build()
    }

    /// Returns how often a name was looked up.
    pub(super) fn asked(&self, name: &str) -> u64 {
        self.fs.asked(name)
    }

    /// Returns whether a directory of this name was made.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fs.made.lock().iter().any(|made| made == name.as_bytes())
    }

    /// Opens a file, which only the caller holds.
    pub(super) fn file(&self) -> Arc<File> {
        Arc::new(self.context.open("/a", OpenFlags::READ).expect("a file"))
    }

    /// Makes files use the pool when they are closed, and panic, from now on.
    pub(super) fn closing_is_wild(&self) {
        *self.fs.files.pool.lock() = Some(self.pool.clone());
    }

    /// Mounts another file system over the root. Returns a context whose working directory it is.
    pub(super) fn in_a_mount(&self) -> Context {
        self.context.mount(Arc::new(TestFs::default()), "/", MountFlags::empty()).expect("the root can be mounted on");
        let mut context = self.context.clone();
        context.chdir("/..").expect("this leads to the mount on top");
        context
    }

    /// Unmounts it, which takes that no working directory is there.
    pub(super) fn unmount(&self) {
        assert_eq!(self.context.umount("/..", UmountFlags::empty()), Ok(()), "something keeps the mount busy");
    }

    /// Checks the end of a scenario: rings and futures are dropped, and other threads that shared
    /// this world have ended.
    pub(super) fn end(self) {
        let World { pool, fs, .. } = self;
        let shared = pool.shared().clone();
        while fs.files.pool.lock().is_some() && !shared.lock().is_quiet() {
            thread::yield_now();
        }
        let of_files = fs.files.pool.lock().take();
        drop((pool, of_files));
        while shared.lock().workers != 0 {
            thread::yield_now();
        }
        let state = shared.lock();
        assert!(state.is_empty(), "work was left");
        assert_eq!(state.idle, 0);
        let closed = fs.files.closed.lock();
        assert_eq!(closed.len() as u64, *fs.files.opened.lock(), "each file is closed once");
        assert!(!closed.contains(&thread::current().id()), "an owner closed a file");
    }
}
