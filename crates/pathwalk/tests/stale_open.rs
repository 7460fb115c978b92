//! Opens that the file system refuses with `ESTALE`: a second attempt is made only if the first one
//! did nothing that others see.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pathwalk::{
    Attributes, Context, Credentials, Directory, Errno, FileSystem, Name, NewNode, Node, NodeKey, OpenFile, OpenFlags, OpenFor,
    Vfs,
};
use pathwalk_memfs::MemFs;

const WRITE: OpenFlags = OpenFlags::WRITE.union(OpenFlags::CREATE);

/// A memory file system of which the first opens fail.
struct Stale {
    fs: MemFs,
    /// The number of opens that fail.
    fails: u32,
    opens: AtomicU32,
}

impl FileSystem for Stale {
    fn root(&self) -> Result<Node, Errno> {
        self.fs.root()
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.fs.lookup(dir, name)
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

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        let before = self.opens.fetch_add(1, Ordering::Relaxed);
        if before < self.fails { Err(Errno::ESTALE) } else { self.fs.open(node, what_for) }
    }
}

fn world(fails: u32) -> (Arc<Stale>, Context) {
    let fs = MemFs::new();
    fs.file("/there", 0o644).unwrap();
    let fs = Arc::new(Stale { fs, fails, opens: AtomicU32::new(0) });
    let vfs = Vfs::builder().budget(1 << 20).build(fs.clone()).unwrap();
    (fs, vfs.context(Credentials::root()))
}

#[test]
fn a_file_that_was_there_is_opened_again_once() {
    for (fails, opens, answer) in [(0, 1, Ok(())), (1, 2, Ok(())), (2, 2, Err(Errno::ESTALE))] {
        for flags in [WRITE, OpenFlags::WRITE] {
            let (fs, context) = world(fails);
            assert_eq!(context.open("/there", flags).map(drop), answer, "{fails} {flags:?}");
            assert_eq!(fs.opens.load(Ordering::Relaxed), opens, "{fails} {flags:?}");
        }
    }
}

/// Checks that the error is not hidden by a second attempt, which finds the file that the first one
/// made.
#[test]
fn a_file_that_was_made_is_not_opened_again() {
    for flags in [WRITE, WRITE | OpenFlags::EXCLUSIVE] {
        let (fs, context) = world(1);
        assert_eq!(context.open("/new", flags).map(drop), Err(Errno::ESTALE), "{flags:?}");
        assert_eq!(fs.opens.load(Ordering::Relaxed), 1, "{flags:?}");
        assert!(context.stat("/new").is_ok(), "it was made, and stays");
    }
}
