//! A base, layers that the kernel mounts over it, and trees as a whole.
//!
//! What always holds: mounts are those of the namespace of one thread, and go with it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pathwalk::{Context, Credentials, FileType, InodeFlags, Timestamp, Vfs};
use pathwalk_branch::{Aspects, BlobStore, Branch, Branches, Change};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_overlay::{Form, Layer, LayerFiles, Taking};
use pathwalk_tests::skipped;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::trees::{Copied, Node, assert_same, look};

/// The budget of caches of small trees, in bytes.
const BUDGET: u64 = 1 << 20;

/// Runs a test in a mount namespace of its own, as root.
pub(crate) fn as_root(test: impl FnOnce() + Send) {
    if Form::of_this_process() != Form::Trusted {
        return skipped("layers of root", "not root, or in a user namespace");
    }
    let in_namespace = || {
        enter().expect("root may enter a mount namespace");
        test();
    };
    std::thread::scope(|scope| scope.spawn(in_namespace).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
}

/// Gives this thread a mount namespace.
pub(crate) fn enter() -> io::Result<()> {
    // SAFETY: root, working directory and mounts become the thread's own; descriptors stay.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// Returns a context on a directory of the host that nothing else changes.
pub(crate) fn host(dir: &Path) -> Context {
    let fs = HostFs::open_writable(dir).expect("it is a directory").with_coherence(Coherence::Exclusive);
    Vfs::builder().budget(BUDGET).build(fs).expect("it has a root").context(Credentials::root())
}

/// Sets times of access that a read does not move, on a mount with `relatime`.
pub(crate) fn keep_accesses(dir: &Path) -> io::Result<()> {
    // Later than all times of random changes.
    let time = Timespec { tv_sec: (1 << 33) + 1, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT } };
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            keep_accesses(&entry.path())?;
        }
        rustix::fs::utimensat(CWD, entry.path(), &times, AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(())
}

/// Returns a context on a branch.
pub(crate) fn context(branch: Branch) -> Context {
    Vfs::builder().budget(BUDGET).build(branch).expect("there is a root").context(Credentials::root())
}

/// A base with a layer.
pub(crate) struct World {
    dir: tempfile::TempDir,
    layers: usize,
}

impl Drop for World {
    fn drop(&mut self) {
        // If it is on a file system of its own.
        _ = unmount(self.dir.path(), UnmountFlags::DETACH);
    }
}

/// A layer that is mounted.
pub(crate) struct Mounted {
    pub(crate) layer: Layer,
    pub(crate) at: PathBuf,
    pub(crate) mount: OwnedFd,
}

impl Mounted {
    /// Unmounts the layer.
    pub(crate) fn unmount(self) -> Layer {
        let Mounted { layer, at, mount } = self;
        drop(mount);
        unmount(&at, UnmountFlags::DETACH).expect("it is mounted");
        layer
    }
}

impl World {
    pub(crate) fn new() -> World {
        World::in_dir(tempfile::tempdir().expect("there is room"))
    }

    /// Makes one on a tmpfs, where an unmount is quick.
    pub(crate) fn in_memory() -> World {
        let dir = tempfile::tempdir().expect("there is room");
        mount("pathwalk", dir.path(), "tmpfs", MountFlags::empty(), None).expect("the namespace is its own");
        World::in_dir(dir)
    }

    fn in_dir(dir: tempfile::TempDir) -> World {
        ["base", "at"].iter().for_each(|name| std::fs::create_dir(dir.path().join(name)).expect("there is room"));
        World { dir, layers: 0 }
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.dir.path().join("base")
    }

    /// Mounts a new layer over the base.
    pub(crate) fn mount(&mut self) -> Mounted {
        self.layers += 1;
        let layer = Layer::create(&self.dir.path().join(format!("layer {}", self.layers)), &self.base()).expect("there is room");
        self.mount_again(layer)
    }

    pub(crate) fn mount_again(&self, layer: Layer) -> Mounted {
        let at = self.dir.path().join("at");
        let mount = layer.mount(&self.base()).expect("the kernel has overlayfs");
        Layer::attach(&mount, &at).expect("the namespace is its own");
        Mounted { layer, at, mount }
    }

    /// Returns the branches of the base, without any.
    pub(crate) fn branches(&self) -> Branches {
        Branches::new(host(&self.base())).expect("it is a base")
    }

    /// Takes a layer into branches, with its data copied and where it is. Each then shows what the
    /// mount showed. Returns what one of them changed.
    pub(crate) fn take(&self, layer: &Layer, shown: &Shown, what: &str) -> Vec<Change> {
        // In a user namespace, each look at a file of the layer is an access.
        if layer.form() == Form::Trusted {
            self.take_by_reference(layer, shown, what);
        }
        self.take_copied(layer, shown, what)
    }

    fn take_by_reference(&self, layer: &Layer, shown: &Shown, what: &str) {
        let branches = self.branches();
        let itself = branches.fork(None, "held").expect("the name is free");
        let files = Arc::new(LayerFiles::open(layer).expect("it is there"));
        branches.hold("held", Arc::clone(&files) as Arc<dyn BlobStore>).expect("it is there");
        let branch = context(itself.clone());
        let taking = Taking::of(layer, &host(&self.base()), &branch).unwrap_or_else(|error| panic!("{what}: {error}"));
        taking.with(itself).by_reference(files).take().unwrap_or_else(|error| panic!("{what}, by reference: {error}"));
        for state in ["held", "settled"] {
            let found = Shown::of(&branch);
            let found = if shown.links.is_empty() { found.without_links() } else { found };
            found.assert_same(shown, &format!("{what}, {state}"));
            branches.settle("held").expect("there is room");
        }
    }

    fn take_copied(&self, layer: &Layer, shown: &Shown, what: &str) -> Vec<Change> {
        let branches = self.branches();
        let itself = branches.fork(None, "work").expect("the name is free");
        let branch = context(itself.clone());
        let taking = Taking::of(layer, &host(&self.base()), &branch).unwrap_or_else(|error| panic!("{what}: {error}"));
        let changed: Vec<_> = taking.changed().iter().map(|path| path.escape_ascii().to_string()).collect();
        assert!(changed.is_empty(), "{what}: the base did not change: {changed:?}");
        taking.with(itself).take().unwrap_or_else(|error| panic!("{what}: {error}"));
        let found = Shown::of(&branch);
        let found = if shown.links.is_empty() { found.without_links() } else { found };
        found.assert_same(shown, what);
        let changes = branches.diff("work").expect("it is there");
        let before = context(branches.before("work").expect("it is there"));
        check(&changes, &before, &branch, what);
        changes
    }
}

/// All that a tree shows.
#[derive(Clone)]
pub(crate) struct Shown {
    nodes: Copied,
    /// The times of directories.
    times: BTreeMap<Vec<u8>, Timestamp>,
    links: BTreeMap<Vec<u8>, u32>,
}

impl Shown {
    /// Looks at a tree, without the flag that overlayfs does not copy.
    pub(crate) fn of(context: &Context) -> Shown {
        let mut nodes = look(context);
        nodes.values_mut().for_each(|node| node.flags &= InodeFlags::IMMUTABLE | InodeFlags::APPEND);
        let mut times = BTreeMap::new();
        let mut links = BTreeMap::new();
        for (path, node) in &nodes {
            let of = context.lstat(path).expect("it was listed");
            if node.kind == FileType::Directory {
                times.insert(path.clone(), of.mtime);
            } else {
                links.insert(path.clone(), of.nlink);
            }
        }
        // A look at a link of the base is an access, but not through the mount.
        for node in nodes.values_mut().filter(|node| node.kind == FileType::Symlink) {
            node.times = node.times.map(|(_, mtime)| (mtime, mtime));
        }
        Shown { nodes, times, links }
    }

    /// Leaves out which names lead to one node. In a user namespace, overlayfs shows other numbers
    /// by the name that a node had in the base.
    pub(crate) fn without_links(mut self) -> Shown {
        self.nodes.values_mut().for_each(|node| node.first.clear());
        Shown { links: BTreeMap::new(), ..self }
    }

    pub(crate) fn assert_same(&self, wanted: &Shown, what: &str) {
        assert_same(&self.nodes, &wanted.nodes, what);
        assert_eq!(self.times, wanted.times, "{what}: times of directories");
        assert_eq!(self.links, wanted.links, "{what}: links");
    }

    /// Asserts that all is the same but the times.
    pub(crate) fn assert_same_untimed(&self, wanted: &Shown, what: &str) {
        let untimed = |of: &Shown| -> Copied {
            of.nodes.iter().map(|(path, node)| (path.clone(), Node { times: None, ..node.clone() })).collect()
        };
        assert_same(&untimed(self), &untimed(wanted), what);
        assert_eq!(self.links, wanted.links, "{what}: links");
    }
}

/// Checks that each change that is told is one.
fn check(changes: &[Change], before: &Context, after: &Context, what: &str) {
    let (old, new) = (look(before), look(after));
    let by_number: BTreeMap<u64, &Node> =
        old.iter().map(|(path, node)| (before.lstat(path).expect("it is there").ino, node)).collect();
    for change in changes {
        let (Change::Changed { path, what: told, .. } | Change::Renamed { path, what: told, .. }) = change else { continue };
        let Some(now) = new.get(&path[..]) else { continue };
        let Some(was) = by_number.get(&after.lstat(&path[..]).expect("it is there").ino) else { continue };
        let shown = path.escape_ascii();
        let is_file = now.kind == FileType::Regular;
        assert!(!told.contains(Aspects::DATA) || !is_file || was.data != now.data, "{what}: no new data in {shown}");
        let attributes = |node: &Node| (node.mode, node.owner, node.times, node.flags);
        let has_new = attributes(was) != attributes(now) || was.data != now.data;
        assert!(!told.contains(Aspects::ATTRIBUTES) || has_new, "{what}: no new attributes of {shown}");
        let has_new = (&was.xattrs, &was.lists) != (&now.xattrs, &now.lists);
        assert!(!told.contains(Aspects::XATTRS) || has_new, "{what}: no new xattrs of {shown}");
    }
}
