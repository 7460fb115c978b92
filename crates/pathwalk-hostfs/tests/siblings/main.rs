//! What a directory has is asked for as a whole after some of its names were asked for one by one; and is then what the host has.
//!
//! - `given`: everything is as the kernel tells it; `absent`: what is not there; `quiet`: no trace is left, and no right taken;
//!   `confined`: nothing from outside of the root; `mounted`: mounts on what is in the directory, and below; `changing`: while others change
//!   the directory; `memory`: what is handed out is given back.

#[path = "../common/mod.rs"]
mod common;

mod absent;
mod changing;
mod confined;
mod given;
mod memory;
mod mounted;
mod quiet;

use std::fs;
use std::path::Path;

use pathwalk::{
    Access, Attributes, Context, Credentials, Directory, Errno, FileSystem, Name, Node, NodeKey, OpenFile, OpenFor, Siblings,
    SuperblockFlags, Vfs, permission::Subject,
};
use pathwalk_hostfs::HostFs;

/// Names that are asked for one by one, after which the rest is asked for at once.
const SOME: [&str; 16] =
    ["one", "two", "three", "four", "a01", "a02", "a03", "a04", "a05", "a06", "a07", "a08", "a09", "a10", "a11", "a12"];

/// How many names a directory may have at most for that.
const MOST: usize = 64;

/// Makes those files.
fn make_some(dir: &Path) {
    SOME.iter().for_each(|name| fs::write(dir.join(name), name).unwrap());
}

/// Asks for those names of a directory, one after the other.
fn ask_for_some(context: &Context, dir: &str) {
    for name in SOME {
        context.stat(&format!("{dir}/{name}")).unwrap();
    }
}

/// What `ask` says, and how many names the file system was asked for meanwhile.
fn lookups<T>(context: &Context, ask: impl FnOnce() -> T) -> (T, u64) {
    let before = context.vfs().stats().fs_lookups;
    let told = ask();
    (told, context.vfs().stats().fs_lookups - before)
}

/// How many names were given unasked.
fn given(context: &Context) -> u64 {
    context.vfs().stats().siblings
}

/// A directory of the host where something happens each time before a directory is asked for as a whole.
struct After<F>(HostFs, F);

/// An engine on it, and root's context there.
fn walk_after(root: &Path, happens: impl Fn() + Send + Sync + 'static) -> Context {
    Vfs::builder().build(After(HostFs::open(root).unwrap(), happens)).unwrap().context(Credentials::root())
}

impl<F: Fn() + Send + Sync> FileSystem for After<F> {
    fn root(&self) -> Result<Node, Errno> {
        self.0.root()
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.0.lookup(dir, name)
    }

    fn lookup_siblings(&self, dir: &Directory<'_>, siblings: &mut Siblings<'_>) -> Result<(), Errno> {
        (self.1)();
        self.0.lookup_siblings(dir, siblings)
    }

    fn superblock_flags(&self) -> SuperblockFlags {
        self.0.superblock_flags()
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.0.attributes(node)
    }

    fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        self.0.read_link(node)
    }

    fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        self.0.permission(node, who, want)
    }

    fn acl(&self, node: NodeKey) -> Result<pathwalk::AclState, Errno> {
        self.0.acl(node)
    }

    fn forget(&self, node: NodeKey) {
        self.0.forget(node);
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.0.open(node, what_for)
    }
}
