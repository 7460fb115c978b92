//! Mounts on an entry that its file system reports as no longer valid. They are unmounted, as by
//! `d_invalidate` of Linux.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pathwalk::{
    Access, Attributes, Context, Credentials, Directory, Errno, FileSystem, Freshness, MountFlags, Name, NewNode, Node, NodeKey,
    UmountFlags, Validity, Vfs,
};
use pathwalk_memfs::MemFs;

/// A file system that revalidates names at each use, with an answer that the test sets.
#[derive(Clone)]
struct Shifting {
    fs: Arc<MemFs>,
    is_valid: Arc<AtomicBool>,
}

impl FileSystem for Shifting {
    fn root(&self) -> Result<Node, Errno> {
        self.fs.root()
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let found = self.fs.lookup(dir, name)?;
        Ok(found.map(|node| node.with_freshness(Freshness::AskEachTime)))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.fs.attributes(node)
    }

    fn forget(&self, node: NodeKey) {
        self.fs.forget(node);
    }

    fn create(&self, dir: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        self.fs.create(dir, name, new)
    }

    fn revalidate(&self, _: &Directory<'_>, name: Name<'_>, _: Option<NodeKey>) -> Result<Validity, Errno> {
        // Invalid once, and valid afterwards.
        let is_valid = name.bytes() != b"d" || self.is_valid.swap(true, Ordering::Relaxed);
        Ok(if is_valid { Validity::Valid } else { Validity::Invalid })
    }
}

/// Creates a context with `/d/e`. Returns the switch that makes `/d` invalid, and a file system to
/// mount.
fn laid_out() -> (Context, Arc<AtomicBool>, MemFs) {
    let (fs, is_valid, mounted) = (MemFs::new(), Arc::new(AtomicBool::new(true)), MemFs::new());
    fs.mkdir("/d", 0o755).unwrap();
    fs.mkdir("/d/e", 0o755).unwrap();
    mounted.file("/on", 0o644).unwrap();
    let shifting = Shifting { fs: Arc::new(fs), is_valid: is_valid.clone() };
    let context = Vfs::builder().budget(4 << 20).build(shifting).unwrap().context(Credentials::root());
    (context, is_valid, mounted)
}

fn is_there(context: &Context, path: &str) -> Result<(), Errno> {
    context.access(path, Access::empty())
}

#[test]
fn what_is_mounted_on_a_dropped_entry_or_below_it_is_unmounted() {
    for point in ["/d", "/d/e"] {
        let (context, is_valid, fs) = laid_out();
        context.mount(fs.alias(), point, MountFlags::empty()).unwrap();
        let mut apart = context.clone();
        apart.unshare().unwrap();
        assert_eq!(is_there(&context, &format!("{point}/on")), Ok(()));
        assert_eq!((context.mountinfo().len(), apart.mountinfo().len()), (2, 2));
        is_valid.store(false, Ordering::Relaxed);
        assert_eq!(is_there(&context, &format!("{point}/on")), Err(Errno::ENOENT), "{point}");
        assert_eq!((context.mountinfo().len(), apart.mountinfo().len()), (1, 1), "{point}, in all namespaces");
        assert_eq!(context.vfs().stats().mounts, 2);
        assert_eq!(is_there(&context, "/d/e"), Ok(()));
        context.mount(fs, point, MountFlags::empty()).unwrap();
        assert_eq!(is_there(&context, &format!("{point}/on")), Ok(()));
        context.umount(point, UmountFlags::empty()).unwrap();
    }
}

#[test]
fn what_is_held_of_it_stays() {
    let (context, is_valid, fs) = laid_out();
    context.mount(fs, "/d/e", MountFlags::empty()).unwrap();
    let held = context.lookup("/d/e/on").unwrap();
    is_valid.store(false, Ordering::Relaxed);
    assert_eq!(is_there(&context, "/d/e/on"), Err(Errno::ENOENT));
    assert_eq!(context.mountinfo().len(), 1);
    assert_eq!(held.attributes().map(|of| of.nlink), Ok(1));
    drop(held);
    assert_eq!(context.vfs().stats().mounts, 1, "it went with what was held");
}
