//! Calls of a file system's code: which calls happen under the engine's inner locks, and the order
//! in which what it handed out is dropped.
//!
//! Always: the file system is asked how long an absence lasts under no lock but a directory's, and
//! before a change. An open file is closed before its node is forgotten, and before the file system
//! is dropped.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

use pathwalk::{
    At, Attributes, Context, Credentials, Directory, Errno, FileSystem, Freshness, Name, NewNode, Node, NodeKey, OpenFile,
    OpenFlags, OpenFor, OpenHow, RenameFlags, SuperblockFlags, Vfs,
};
use pathwalk_memfs::MemFs;

/// The calls, in order; and the call that panics, counted from 0.
#[derive(Default)]
struct Calls {
    log: Mutex<Vec<&'static str>>,
    panics: Mutex<Option<usize>>,
}

impl Calls {
    fn called(&self, what: &'static str) {
        let mut log = self.log.lock().unwrap();
        log.push(what);
        let panics = *self.panics.lock().unwrap() == Some(log.len() - 1);
        drop(log);
        if panics {
            resume_unwind(Box::new("as it was told to"));
        }
    }

    /// Returns the calls since the last time, and sets the call that panics.
    fn take(&self, panics: Option<usize>) -> Vec<&'static str> {
        *self.panics.lock().unwrap() = panics;
        std::mem::take(&mut self.log.lock().unwrap())
    }
}

struct Told {
    inner: Box<dyn FileSystem>,
    calls: Arc<Calls>,
}

struct Open(Arc<Calls>);

impl OpenFile for Open {}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.called("close");
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.calls.called("end");
    }
}

impl FileSystem for Told {
    fn root(&self) -> Result<Node, Errno> {
        self.inner.root()
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.inner.lookup(dir, name)
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.inner.attributes(node)
    }

    fn superblock_flags(&self) -> SuperblockFlags {
        self.inner.superblock_flags()
    }

    fn absence(&self) -> Freshness {
        self.calls.called("absence");
        Freshness::Stable
    }

    fn forget(&self, node: NodeKey) {
        self.calls.called("forget");
        self.inner.forget(node);
    }

    fn create(&self, dir: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        self.calls.called("create");
        self.inner.create(dir, name, new)
    }

    fn unlink(&self, dir: &Directory<'_>, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        self.calls.called("unlink");
        self.inner.unlink(dir, name, node)
    }

    fn rename(&self, from: (&Directory<'_>, Name<'_>), to: (&Directory<'_>, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
        self.calls.called("rename");
        self.inner.rename(from, to, flags)
    }

    fn open(&self, _: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        Ok(Box::new(Open(self.calls.clone())))
    }
}

fn world() -> (Arc<Calls>, Context) {
    let fs = MemFs::new();
    ["/a", "/b", "/held"].into_iter().for_each(|path| fs.file(path, 0o644).unwrap());
    fs.mkdir("/d", 0o755).unwrap();
    let calls = Arc::<Calls>::default();
    let vfs = Vfs::builder().budget(1 << 20).build(Told { inner: Box::new(fs), calls: calls.clone() }).unwrap();
    (calls, vfs.context(Credentials::root()))
}

#[test]
fn an_open_file_is_closed_before_its_node_is_forgotten() {
    let (calls, context) = world();
    let file = context.open("/a", OpenFlags::READ).unwrap();
    context.unlink("/a").unwrap();
    calls.take(None);
    drop(file);
    assert_eq!(calls.take(None), ["close", "forget"]);
}

#[test]
fn the_last_open_file_is_closed_before_the_file_system_goes() {
    let (calls, context) = world();
    let how = OpenHow { flags: OpenFlags::WRITE | OpenFlags::CREATE, mode: 0o600, ..OpenHow::default() };
    let file = context.open("/new", how).unwrap();
    drop(context);
    calls.take(None);
    drop(file);
    let calls = calls.take(None);
    assert_eq!((calls.first(), calls.last()), (Some(&"close"), Some(&"end")));
}

/// Checks the order of the calls. A panic under an inner lock, or between a change and its entry in
/// the cache, would leave both broken.
#[test]
fn absences_are_asked_about_before_a_change() {
    type Change = fn(&Context) -> Result<(), Errno>;
    let changes: [(&str, Change); 5] = [
        ("unlink", |context| context.unlink("/a")),
        ("unlink", |context| context.unlink("/held")),
        ("unlink", |context| context.rmdir("/d")),
        ("create", |context| context.mkdir("/new", 0o700)),
        ("rename", |context| context.renameat(At::Cwd, "/a", At::Cwd, "/b", RenameFlags::empty())),
    ];
    for (call, change) in changes {
        let (calls, context) = world();
        let _held = context.lookup("/held").unwrap();
        calls.take(None);
        change(&context).unwrap();
        let log = calls.take(None);
        let changed = log.iter().position(|called| *called == call).unwrap();
        // A new directory is asked about itself, with its entry in the cache.
        let later = log[changed..].iter().filter(|called| **called == "absence").count();
        assert_eq!(later, usize::from(call == "create"), "{log:?}");
    }
}

/// Checks that the names are as before and nothing stays held, at whichever call the file system
/// panics.
#[test]
fn a_panic_about_absences_breaks_nothing() {
    for at in 0.. {
        let (calls, context) = world();
        let once = |context: &Context| {
            _ = context.stat("/d/none");
            _ = context.mkdir("/made", 0o700);
            _ = context.stat("/made/none");
            _ = context.rmdir("/made");
            _ = context.unlink("/none");
            _ = context.unlink("/a");
            _ = context.rmdir("/d");
        };
        calls.take(None);
        *calls.panics.lock().unwrap() = Some(at);
        let ended = catch_unwind(AssertUnwindSafe(|| once(&context)));
        let panicked = calls.log.lock().unwrap().get(at).copied();
        calls.take(None);
        if ended.is_ok() {
            assert!(at > 5, "{at} calls");
            break;
        }
        once(&context);
        let gone = ["/a", "/d", "/none", "/made"].map(|path| context.stat(path).err());
        assert_eq!(gone, [Some(Errno::ENOENT); 4], "at {at}, {panicked:?}");
        let vfs = context.vfs().clone();
        drop(context);
        pathwalk::internals::evict(&vfs, usize::MAX);
        let stats = vfs.stats();
        assert_eq!((stats.dentries.used, stats.inodes.used), (1, 1), "only the root is left: at {at}, {panicked:?}");
    }
}
