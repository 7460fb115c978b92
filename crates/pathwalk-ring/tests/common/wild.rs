//! A file system around one in memory. Each of its methods and drops calls a hook, before it has
//! its effect and after.

#![allow(dead_code)] // Each test uses a part of it.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::{Arc, RwLock};

use pathwalk::permission::{Acl, AclKind, Subject};
use pathwalk::{
    Access, AclState, Attributes, Details, Directory, Entry, EntrySink, Errno, FallocateFlags, FileHandle, FileSystem, FoundName,
    Freshness, HandleFor, InodeFlags, Name, NewNode, Node, NodeKey, OpenFile, OpenFor, RenameFlags, SetAttributes, Siblings,
    StatFs, StatxMask, SyncWhat, Validity, WriteAt, Written, XattrFlags, XattrName,
};
use pathwalk_memfs::MemFs;

/// The moment at which a hook is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    Before,
    After,
}

/// A function that may wait, panic, or return an error with which the method fails. The error
/// counts before an effect only, and not in a call that cannot fail.
pub(crate) type Hook = dyn Fn(&'static str, When) -> Result<(), Errno> + Send + Sync;

/// The name of the drop of an open file.
pub(crate) const CLOSE: &str = "close";
/// The name of the drop of the file system.
pub(crate) const END: &str = "drop of the file system";
/// The calls that must not block.
pub(crate) const AT_ONCE: [&str; 4] = ["try_open", "try_read_at", "absence", "memory"];

/// Panics without a message.
pub(crate) fn throw() -> ! {
    resume_unwind(Box::new("as it was told to"))
}

/// The hook of all calls: initially, it does nothing.
#[derive(Clone)]
pub(crate) struct Hooks(Arc<RwLock<Arc<Hook>>>);

impl Hooks {
    fn new() -> Hooks {
        Hooks(Arc::new(RwLock::new(Arc::new(|_, _| Ok(())))))
    }

    /// Sets the hook of each call from now on.
    pub(crate) fn set(&self, hook: impl Fn(&'static str, When) -> Result<(), Errno> + Send + Sync + 'static) {
        let before = std::mem::replace(&mut *self.0.write().unwrap(), Arc::new(hook));
        drop(before);
    }

    /// Makes calls do nothing from now on.
    pub(crate) fn clear(&self) {
        self.set(|_, _| Ok(()));
    }

    fn meet(&self, call: &'static str, when: When) -> Result<(), Errno> {
        let hook = self.0.read().unwrap().clone();
        hook(call, when)
    }

    fn around<T>(&self, call: &'static str, what: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        self.meet(call, When::Before)?;
        let answer = what();
        _ = self.meet(call, When::After);
        answer
    }

    fn around_sure<T>(&self, call: &'static str, what: impl FnOnce() -> T) -> T {
        _ = self.meet(call, When::Before);
        let answer = what();
        _ = self.meet(call, When::After);
        answer
    }
}

pub(crate) struct Wild {
    inner: Box<dyn FileSystem>,
    hooks: Hooks,
}

impl Wild {
    pub(crate) fn new(inner: MemFs) -> (Wild, Hooks) {
        let hooks = Hooks::new();
        (Wild { inner: Box::new(inner), hooks: hooks.clone() }, hooks)
    }

    fn wrapped(&self, inner: Box<dyn OpenFile>) -> Box<dyn OpenFile> {
        Box::new(WildFile { inner, hooks: self.hooks.clone() })
    }
}

impl Drop for Wild {
    fn drop(&mut self) {
        _ = self.hooks.meet(END, When::Before);
    }
}

impl FileSystem for Wild {
    fn superblock_flags(&self) -> pathwalk::SuperblockFlags {
        self.inner.superblock_flags()
    }

    fn root(&self) -> Result<Node, Errno> {
        self.inner.root()
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.hooks.around("lookup", || self.inner.lookup(dir, name))
    }

    fn lookup_siblings(&self, dir: &Directory<'_>, siblings: &mut Siblings<'_>) -> Result<(), Errno> {
        self.hooks.around("lookup_siblings", || self.inner.lookup_siblings(dir, siblings))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.hooks.around("attributes", || self.inner.attributes(node))
    }

    fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        self.hooks.around("read_link", || self.inner.read_link(node))
    }

    fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        self.hooks.around("permission", || self.inner.permission(node, who, want))
    }

    fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
        self.hooks.around("acl", || self.inner.acl(node))
    }

    fn keeps_acls(&self) -> bool {
        self.hooks.around_sure("keeps_acls", || self.inner.keeps_acls())
    }

    fn acl_removal_clears_sgid(&self, node: NodeKey) -> bool {
        self.hooks.around_sure("acl_removal_clears_sgid", || self.inner.acl_removal_clears_sgid(node))
    }

    fn get_acl(&self, node: NodeKey, kind: AclKind) -> Result<Option<Acl>, Errno> {
        self.hooks.around("get_acl", || self.inner.get_acl(node, kind))
    }

    fn set_acl(&self, node: NodeKey, kind: AclKind, acl: Option<&Acl>, mode: Option<u16>) -> Result<Attributes, Errno> {
        self.hooks.around("set_acl", || self.inner.set_acl(node, kind, acl, mode))
    }

    fn revalidate(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Validity, Errno> {
        self.hooks.around("revalidate", || self.inner.revalidate(dir, name, node))
    }

    fn absence(&self) -> Freshness {
        self.hooks.around_sure("absence", || self.inner.absence())
    }

    fn absence_in(&self, dir: NodeKey) -> Freshness {
        self.hooks.around_sure("absence", || self.inner.absence_in(dir))
    }

    fn attributes_freshness(&self, node: NodeKey) -> Freshness {
        self.hooks.around_sure("attributes_freshness", || self.inner.attributes_freshness(node))
    }

    fn confirm(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Option<Freshness>, Errno> {
        self.hooks.around("confirm", || self.inner.confirm(dir, name, node))
    }

    fn forget(&self, node: NodeKey) {
        self.hooks.around_sure("forget", || self.inner.forget(node));
    }

    fn memory(&self) -> u64 {
        self.hooks.around_sure("memory", || self.inner.memory())
    }

    fn create(&self, dir: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        self.hooks.around("create", || self.inner.create(dir, name, new))
    }

    fn create_unnamed(&self, dir: &Directory<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        self.hooks.around("create_unnamed", || self.inner.create_unnamed(dir, new))
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.hooks.around("open", || self.inner.open(node, what_for)).map(|file| self.wrapped(file))
    }

    fn try_open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.hooks.around("try_open", || self.inner.try_open(node, what_for)).map(|file| self.wrapped(file))
    }

    fn statfs(&self) -> Result<StatFs, Errno> {
        self.hooks.around("statfs", || self.inner.statfs())
    }

    fn statfs_of(&self, node: NodeKey) -> Result<StatFs, Errno> {
        self.hooks.around("statfs", || self.inner.statfs_of(node))
    }

    fn link(&self, node: NodeKey, dir: &Directory<'_>, name: Name<'_>) -> Result<Node, Errno> {
        self.hooks.around("link", || self.inner.link(node, dir, name))
    }

    fn unlink(&self, dir: &Directory<'_>, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        self.hooks.around("unlink", || self.inner.unlink(dir, name, node))
    }

    fn rename(&self, from: (&Directory<'_>, Name<'_>), to: (&Directory<'_>, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
        self.hooks.around("rename", || self.inner.rename(from, to, flags))
    }

    fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        self.hooks.around("set_attributes", || self.inner.set_attributes(node, set))
    }

    fn get_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<Option<Box<[u8]>>, Errno> {
        self.hooks.around("get_xattr", || self.inner.get_xattr(node, name))
    }

    fn set_xattr(&self, node: NodeKey, name: XattrName<'_>, value: &[u8], flags: XattrFlags) -> Result<(), Errno> {
        self.hooks.around("set_xattr", || self.inner.set_xattr(node, name, value, flags))
    }

    fn list_xattrs(&self, node: NodeKey, each: &mut dyn FnMut(&[u8])) -> Result<(), Errno> {
        self.hooks.around("list_xattrs", || self.inner.list_xattrs(node, each))
    }

    fn remove_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<(), Errno> {
        self.hooks.around("remove_xattr", || self.inner.remove_xattr(node, name))
    }

    fn inode_flags(&self, node: NodeKey) -> Result<InodeFlags, Errno> {
        self.hooks.around("inode_flags", || self.inner.inode_flags(node))
    }

    fn set_inode_flags(&self, node: NodeKey, to: InodeFlags) -> Result<Attributes, Errno> {
        self.hooks.around("set_inode_flags", || self.inner.set_inode_flags(node, to))
    }

    fn details(&self, node: NodeKey, wanted: StatxMask) -> Result<Details, Errno> {
        self.hooks.around("details", || self.inner.details(node, wanted))
    }

    fn generation(&self, node: NodeKey) -> Result<u32, Errno> {
        self.hooks.around("generation", || self.inner.generation(node))
    }

    fn set_generation(&self, node: NodeKey, to: u32) -> Result<Attributes, Errno> {
        self.hooks.around("set_generation", || self.inner.set_generation(node, to))
    }

    fn encode_handle(&self, node: NodeKey, what_for: HandleFor) -> Result<FileHandle, Errno> {
        self.hooks.around("encode_handle", || self.inner.encode_handle(node, what_for))
    }

    fn decode_handle(&self, handle: &FileHandle, near: NodeKey) -> Result<Node, Errno> {
        self.hooks.around("decode_handle", || self.inner.decode_handle(handle, near))
    }

    fn find_name(&self, node: NodeKey) -> Result<FoundName, Errno> {
        self.hooks.around("find_name", || self.inner.find_name(node))
    }
}

struct WildFile {
    inner: Box<dyn OpenFile>,
    hooks: Hooks,
}

impl Drop for WildFile {
    fn drop(&mut self) {
        _ = self.hooks.meet(CLOSE, When::Before);
    }
}

impl OpenFile for WildFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.hooks.around("read_at", || self.inner.read_at(buffer, offset))
    }

    fn try_read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.hooks.around("try_read_at", || self.inner.try_read_at(buffer, offset))
    }

    fn write_at(&self, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        self.hooks.around("write_at", || self.inner.write_at(data, at))
    }

    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        self.hooks.around("read_dir", || self.inner.read_dir(from, each))
    }

    fn read_dir_with_nodes(&self, from: u64, sink: &mut EntrySink<'_>) -> Result<(), Errno> {
        self.hooks.around("read_dir_with_nodes", || self.inner.read_dir_with_nodes(from, sink))
    }

    fn fallocate(&self, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        self.hooks.around("fallocate", || self.inner.fallocate(mode, offset, length))
    }

    fn lists_all_names(&self) -> bool {
        self.hooks.around_sure("lists_all_names", || self.inner.lists_all_names())
    }

    fn sync(&self, what: SyncWhat) -> Result<(), Errno> {
        self.hooks.around("sync", || self.inner.sync(what))
    }
}
