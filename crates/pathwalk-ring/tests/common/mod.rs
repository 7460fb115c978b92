//! A file system whose lookups can be held up, and rings over it.

#![allow(dead_code)] // Each test uses a part of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use pathwalk::{
    Attributes, Context, Credentials, Directory, Errno, FileSystem, Name, NewNode, Node, NodeKey, OpenFile, OpenFor, Vfs,
};
use pathwalk_memfs::MemFs;
use pathwalk_ring::{Completion, Entry, Pool, Ring};

/// A file system in which lookups of names that begin with "slow" wait until the gate is opened,
/// and those of names that begin with "late" wait a while.
pub(crate) struct Gated {
    inner: Box<dyn FileSystem>,
    open: Mutex<bool>,
    opened: Condvar,
    /// Whether files cannot be opened without blocking.
    pub(crate) opens_late: AtomicBool,
    /// The number of calls that have reached the gate.
    pub(crate) arrived: AtomicU64,
    /// The number of all lookups.
    pub(crate) lookups: AtomicU64,
    /// The number of files that were opened by a thread that may wait.
    pub(crate) opens: AtomicU64,
}

impl Gated {
    pub(crate) fn open_gate(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn pass(&self) {
        self.arrived.fetch_add(1, SeqCst);
        let mut open = self.open.lock().unwrap();
        while !*open {
            open = self.opened.wait(open).unwrap();
        }
    }

    /// Waits until so many calls are held up.
    pub(crate) fn wait_for(&self, calls: u64) {
        eventually("calls at the gate", || self.arrived.load(SeqCst) >= calls);
    }
}

/// Waits until a condition is true, and panics after a minute.
pub(crate) fn eventually(what: &str, is_true: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_true() {
        assert!(begin.elapsed() < Duration::from_secs(60), "not in a minute: {what}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

impl FileSystem for Gated {
    fn superblock_flags(&self) -> pathwalk::SuperblockFlags {
        self.inner.superblock_flags()
    }

    fn root(&self) -> Result<Node, Errno> {
        self.inner.root()
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.lookups.fetch_add(1, SeqCst);
        if name.bytes().starts_with(b"slow") {
            self.pass();
        }
        if name.bytes().starts_with(b"late") {
            std::thread::sleep(Duration::from_millis(100));
        }
        assert!(!name.bytes().starts_with(b"panic"), "as it was told to");
        self.inner.lookup(dir, name)
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.inner.attributes(node)
    }

    fn forget(&self, node: NodeKey) {
        self.inner.forget(node);
    }

    fn create(&self, dir: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        self.inner.create(dir, name, new)
    }

    fn link(&self, node: NodeKey, dir: &Directory<'_>, name: Name<'_>) -> Result<Node, Errno> {
        self.inner.link(node, dir, name)
    }

    fn unlink(&self, dir: &Directory<'_>, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        self.inner.unlink(dir, name, node)
    }

    fn rename(
        &self,
        from: (&Directory<'_>, Name<'_>),
        to: (&Directory<'_>, Name<'_>),
        flags: pathwalk::RenameFlags,
    ) -> Result<(), Errno> {
        self.inner.rename(from, to, flags)
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.opens.fetch_add(1, SeqCst);
        self.inner.open(node, what_for)
    }

    fn try_open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        if self.opens_late.load(SeqCst) { Err(Errno::EAGAIN) } else { self.inner.try_open(node, what_for) }
    }
}

/// Creates the files `/d/a`, `/d/b`, `/d/slow`, `/slow0` to `/slow9`, and a link `/link` to `d/a`.
pub(crate) fn world() -> (Arc<Gated>, Context) {
    let inner = MemFs::new();
    inner.mkdir("/d", 0o755).unwrap();
    for path in ["/d/a", "/d/b", "/d/slow"] {
        inner.file(path, 0o644).unwrap();
    }
    (0..10).for_each(|at| inner.file(format!("/slow{at}"), 0o644).unwrap());
    inner.symlink("d/a", "/link").unwrap();
    let (open, opened) = (Mutex::new(false), Condvar::new());
    let inner = Box::new(inner);
    let opens_late = AtomicBool::new(false);
    let [arrived, lookups, opens] = [0; 3].map(AtomicU64::new);
    let fs = Arc::new(Gated { inner, open, opened, opens_late, arrived, lookups, opens });
    let vfs = Vfs::builder().budget(1 << 20).build(fs.clone()).unwrap();
    (fs, vfs.context(Credentials::root()))
}

/// Creates a pool with so many workers.
pub(crate) fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).idle(Duration::from_millis(50)).build()
}

/// Creates a ring with so many workers.
pub(crate) fn ring(context: &Context, workers: usize) -> Ring {
    Ring::builder(context.clone()).pool(pool(workers)).build()
}

/// Submits all of them at once.
pub(crate) fn submit<'p>(ring: &mut Ring, entries: impl IntoIterator<Item = Entry<'p>>) {
    let mut queue = ring.queue();
    entries.into_iter().for_each(|entry| queue.push(entry).unwrap());
    let entries = queue.len();
    assert_eq!(ring.submit(&mut queue), Ok(entries));
}

/// Waits for all outstanding entries. Returns them in the order of `user_data`, each with its
/// number or negative errno.
pub(crate) fn results(ring: &mut Ring) -> Vec<(u64, i32)> {
    let mut results: Vec<_> = all(ring).iter().map(|done| (done.user_data, done.res())).collect();
    results.sort_unstable();
    results
}

pub(crate) fn all(ring: &mut Ring) -> Vec<Completion> {
    ring.wait(usize::MAX);
    std::iter::from_fn(|| ring.reap()).collect()
}

pub(crate) const ECANCELED: i32 = -125;
pub(crate) const EALREADY: i32 = -114;
pub(crate) const ETIME: i32 = -62;
pub(crate) const EINVAL: i32 = -22;
pub(crate) const EAGAIN: i32 = -11;
pub(crate) const ENOENT: i32 = -2;
pub(crate) const EIO: i32 = -5;
pub(crate) const EEXIST: i32 = -17;
