//! A file system that pauses before and after each call. Other threads then run between a change of
//! the file system and the update of the caches, where they would hardly ever run otherwise. From
//! inside some calls it reports that a name changed, without cause.

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use pathwalk::permission::{Acl, AclKind, Subject};
use pathwalk::{
    Access, AccessTimes, Accessed, AclState, Attributes, Details, Directory, Entry, EntrySink, Errno, FallocateFlags, FileHandle,
    FileSystem, FoundName, Freshness, HandleFor, InodeFlags, Name, NewNode, Node, NodeKey, Notifier, OpenFile, OpenFor,
    RenameFlags, SetAttributes, StatFs, StatxMask, SuperblockFlags, SyncWhat, Timestamp, Validity, WriteAt, Written, XattrFlags,
    XattrName,
};

pub(super) struct Late<F>(F, OnceLock<Notifier>);

/// The number of calls so far, from which the next call's pause follows. It pairs with nothing:
/// relaxed is enough.
static CALLS: AtomicU64 = AtomicU64::new(0);

impl<F: FileSystem> Late<F> {
    pub(super) fn new(fs: F) -> Late<F> {
        Late(fs, OnceLock::new())
    }
}

impl<F> Late<F> {
    /// Reports a name, or its directory, from inside one call in eight.
    fn report(&self, dir: &Directory<'_>, name: Name<'_>) {
        let Some(notifier) = self.1.get() else { return };
        match CALLS.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59 {
            0 | 1 => notifier.invalidate_name(dir.key(), name),
            2 => notifier.invalidate_node(dir.key()),
            3 => notifier.invalidate_subtree(dir.key()),
            _ => {}
        }
    }
}

/// Lets other threads run: most often for no time, seldom for long.
fn pause() {
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    match call.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60 {
        0..8 => {}
        8..14 => thread::yield_now(),
        14 => (0..8).for_each(|_| thread::yield_now()),
        _ => thread::sleep(Duration::from_micros(20)),
    }
}

fn late<T>(call: impl FnOnce() -> T) -> T {
    pause();
    let answer = call();
    pause();
    answer
}

impl<F: FileSystem> FileSystem for Late<F> {
    fn attached(&self, notifier: Notifier) {
        _ = self.1.set(notifier);
    }

    fn root(&self) -> Result<Node, Errno> {
        self.0.root()
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let found = late(|| self.0.lookup(dir, name));
        self.report(dir, name);
        found
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        late(|| self.0.attributes(node))
    }

    fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        late(|| self.0.read_link(node))
    }

    fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        late(|| self.0.permission(node, who, want))
    }

    fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
        late(|| self.0.acl(node))
    }

    fn keeps_acls(&self) -> bool {
        self.0.keeps_acls()
    }

    fn acl_removal_clears_sgid(&self, node: NodeKey) -> bool {
        self.0.acl_removal_clears_sgid(node)
    }

    fn get_acl(&self, node: NodeKey, kind: AclKind) -> Result<Option<Acl>, Errno> {
        late(|| self.0.get_acl(node, kind))
    }

    fn set_acl(&self, node: NodeKey, kind: AclKind, acl: Option<&Acl>, mode: Option<u16>) -> Result<Attributes, Errno> {
        late(|| self.0.set_acl(node, kind, acl, mode))
    }

    fn revalidate(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Validity, Errno> {
        late(|| self.0.revalidate(dir, name, node))
    }

    fn absence(&self) -> Freshness {
        self.0.absence()
    }

    fn absence_in(&self, dir: NodeKey) -> Freshness {
        self.0.absence_in(dir)
    }

    fn attributes_freshness(&self, node: NodeKey) -> Freshness {
        self.0.attributes_freshness(node)
    }

    fn confirm(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Option<Freshness>, Errno> {
        late(|| self.0.confirm(dir, name, node))
    }

    fn forget(&self, node: NodeKey) {
        self.0.forget(node);
    }

    fn superblock_flags(&self) -> SuperblockFlags {
        self.0.superblock_flags()
    }

    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn access_times(&self) -> AccessTimes {
        self.0.access_times()
    }

    fn accessed(&self, node: NodeKey, at: Timestamp) -> Result<Accessed, Errno> {
        late(|| self.0.accessed(node, at))
    }

    fn memory(&self) -> u64 {
        self.0.memory()
    }

    fn create(&self, dir: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        let made = late(|| self.0.create(dir, name, new));
        self.report(dir, name);
        made
    }

    fn create_unnamed(&self, dir: &Directory<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        late(|| self.0.create_unnamed(dir, new))
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        late(|| Ok(Box::new(LateFile(self.0.open(node, what_for)?)) as Box<dyn OpenFile>))
    }

    fn try_open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.open(node, what_for)
    }

    fn statfs(&self) -> Result<StatFs, Errno> {
        late(|| self.0.statfs())
    }

    fn statfs_of(&self, node: NodeKey) -> Result<StatFs, Errno> {
        late(|| self.0.statfs_of(node))
    }

    fn link(&self, node: NodeKey, dir: &Directory<'_>, name: Name<'_>) -> Result<Node, Errno> {
        late(|| self.0.link(node, dir, name))
    }

    fn unlink(&self, dir: &Directory<'_>, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        let removed = late(|| self.0.unlink(dir, name, node));
        self.report(dir, name);
        removed
    }

    fn rename(&self, from: (&Directory<'_>, Name<'_>), to: (&Directory<'_>, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
        let moved = late(|| self.0.rename(from, to, flags));
        self.report(from.0, from.1);
        self.report(to.0, to.1);
        moved
    }

    fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        late(|| self.0.set_attributes(node, set))
    }

    fn get_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<Option<Box<[u8]>>, Errno> {
        late(|| self.0.get_xattr(node, name))
    }

    fn set_xattr(&self, node: NodeKey, name: XattrName<'_>, value: &[u8], flags: XattrFlags) -> Result<(), Errno> {
        late(|| self.0.set_xattr(node, name, value, flags))
    }

    fn list_xattrs(&self, node: NodeKey, each: &mut dyn FnMut(&[u8])) -> Result<(), Errno> {
        late(|| self.0.list_xattrs(node, each))
    }

    fn remove_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<(), Errno> {
        late(|| self.0.remove_xattr(node, name))
    }

    fn inode_flags(&self, node: NodeKey) -> Result<InodeFlags, Errno> {
        late(|| self.0.inode_flags(node))
    }

    fn set_inode_flags(&self, node: NodeKey, to: InodeFlags) -> Result<Attributes, Errno> {
        late(|| self.0.set_inode_flags(node, to))
    }

    fn details(&self, node: NodeKey, wanted: StatxMask) -> Result<Details, Errno> {
        late(|| self.0.details(node, wanted))
    }

    fn generation(&self, node: NodeKey) -> Result<u32, Errno> {
        late(|| self.0.generation(node))
    }

    fn set_generation(&self, node: NodeKey, to: u32) -> Result<Attributes, Errno> {
        late(|| self.0.set_generation(node, to))
    }

    fn encode_handle(&self, node: NodeKey, what_for: HandleFor) -> Result<FileHandle, Errno> {
        late(|| self.0.encode_handle(node, what_for))
    }

    fn decode_handle(&self, handle: &FileHandle, near: NodeKey) -> Result<Node, Errno> {
        late(|| self.0.decode_handle(handle, near))
    }

    fn find_name(&self, node: NodeKey) -> Result<FoundName, Errno> {
        late(|| self.0.find_name(node))
    }
}

struct LateFile(Box<dyn OpenFile>);

impl OpenFile for LateFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        late(|| self.0.read_at(buffer, offset))
    }

    fn try_read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        late(|| self.0.try_read_at(buffer, offset))
    }

    fn write_at(&self, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        late(|| self.0.write_at(data, at))
    }

    fn allows_direct(&self) -> bool {
        self.0.allows_direct()
    }

    fn fallocate(&self, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        late(|| self.0.fallocate(mode, offset, length))
    }

    fn seek_data(&self, offset: u64, size: u64) -> Result<u64, Errno> {
        late(|| self.0.seek_data(offset, size))
    }

    fn seek_hole(&self, offset: u64, size: u64) -> Result<u64, Errno> {
        late(|| self.0.seek_hole(offset, size))
    }

    fn copy_range(&self, offset: u64, to: NodeKey, at: u64, length: usize) -> Result<usize, Errno> {
        late(|| self.0.copy_range(offset, to, at, length))
    }

    fn can_clone(&self) -> bool {
        self.0.can_clone()
    }

    fn clone_range(&self, offset: u64, to: NodeKey, at: u64, length: u64) -> Result<(), Errno> {
        late(|| self.0.clone_range(offset, to, at, length))
    }

    fn lists_all_names(&self) -> bool {
        self.0.lists_all_names()
    }

    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        late(|| self.0.read_dir(from, each))
    }

    fn read_dir_with_nodes(&self, from: u64, sink: &mut EntrySink<'_>) -> Result<(), Errno> {
        late(|| self.0.read_dir_with_nodes(from, sink))
    }

    fn sync(&self, what: SyncWhat) -> Result<(), Errno> {
        late(|| self.0.sync(what))
    }
}
