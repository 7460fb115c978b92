//! A file system with slower lookups, as on a disk or over a network.

use std::thread::sleep;
use std::time::Duration;

use pathwalk::permission::Subject;
use pathwalk::{
    Access, AclState, Attributes, Directory, Errno, FileSystem, Name, Node, NodeKey, OpenFile, OpenFor, StatFs, SuperblockFlags,
};

/// A file system that sleeps before each lookup and passes on all other operations. It is
/// read-only: operations that change a tree are refused.
pub(super) struct Delayed<F> {
    pub(super) fs: F,
    pub(super) delay: Duration,
}

impl<F: FileSystem> FileSystem for Delayed<F> {
    fn root(&self) -> Result<Node, Errno> {
        self.fs.root()
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        if !self.delay.is_zero() {
            sleep(self.delay);
        }
        self.fs.lookup(dir, name)
    }

    fn superblock_flags(&self) -> SuperblockFlags {
        self.fs.superblock_flags()
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.fs.attributes(node)
    }

    fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        self.fs.read_link(node)
    }

    fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        self.fs.permission(node, who, want)
    }

    fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
        self.fs.acl(node)
    }

    fn forget(&self, node: NodeKey) {
        self.fs.forget(node);
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.fs.open(node, what_for)
    }

    fn try_open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.fs.try_open(node, what_for)
    }

    fn statfs(&self) -> Result<StatFs, Errno> {
        self.fs.statfs()
    }

    fn statfs_of(&self, node: NodeKey) -> Result<StatFs, Errno> {
        self.fs.statfs_of(node)
    }

    fn memory(&self) -> u64 {
        self.fs.memory()
    }
}
