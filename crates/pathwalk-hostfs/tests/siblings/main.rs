//! Tests that a directory is read as a whole after some of its names were looked up one by one, and
//! that it is then as on the host.
//!
//! - `given`: everything is as the kernel reports it.
//! - `absent`: names that do not exist.
//! - `quiet`: no trace is left, and no permission is exceeded.
//! - `listed`: listings with attributes.
//! - `confined`: nothing comes from outside of the root.
//! - `mounted`: mounts on names of the directory, and below.
//! - `changing`: other processes change the directory meanwhile.
//! - `memory`: what is handed out is given back.

#[path = "../common/mod.rs"]
mod common;

mod absent;
mod changing;
mod confined;
mod given;
mod listed;
mod memory;
mod mounted;
mod quiet;

use std::fs;
use std::path::Path;

use pathwalk::{
    Access, Attributes, Context, Credentials, Directory, Errno, FileSystem, Name, Node, NodeKey, OpenFile, OpenFor, Siblings,
    SuperblockFlags, Vfs, permission::Subject,
};
use pathwalk_hostfs::{Coherence, HostFs};

/// The names that are looked up one by one, after which the directory is read as a whole.
const SOME: [&str; 16] =
    ["one", "two", "three", "four", "a01", "a02", "a03", "a04", "a05", "a06", "a07", "a08", "a09", "a10", "a11", "a12"];

/// The largest number of names that a directory may have to be read as a whole after that.
const MOST: usize = 64;

/// Makes files with those names.
fn make_some(dir: &Path) {
    SOME.iter().for_each(|name| fs::write(dir.join(name), name).unwrap());
}

/// Looks up those names in a directory, one after the other.
fn ask_for_some(context: &Context, dir: &str) {
    for name in SOME {
        context.stat(format!("{dir}/{name}")).unwrap();
    }
}

/// Runs `ask`. Returns its result, and the number of lookups that reached the file system
/// meanwhile.
fn lookups<T>(context: &Context, ask: impl FnOnce() -> T) -> (T, u64) {
    let before = context.vfs().stats().fs_lookups;
    let told = ask();
    (told, context.vfs().stats().fs_lookups - before)
}

/// Returns the number of names that were handed out unasked.
fn given(context: &Context) -> u64 {
    context.vfs().stats().siblings
}

/// A directory of the host that runs a function each time before a directory is read as a whole.
struct After<F>(HostFs, F);

/// Creates an engine on such a file system, and returns root's context in it.
fn walk_after(root: &Path, happens: impl Fn() + Send + Sync + 'static) -> Context {
    Vfs::builder()
        .build(After(HostFs::open(root).unwrap().with_coherence(Coherence::Frozen), happens))
        .unwrap()
        .context(Credentials::root())
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
