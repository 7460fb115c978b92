//! A file system around another, and something around each of its calls: a lock that is held, or
//! what happens behind it.

use std::ops::ControlFlow;
use std::sync::Arc;

use pathwalk::permission::{Acl, AclKind, Subject};
use pathwalk::{
    Access, AclState, Attributes, Details, Directory, Entry, Errno, FileHandle, FileSystem, FoundName, Freshness, HandleFor,
    InodeFlags, Name, NewNode, Node, NodeKey, Notifier, OpenFile, OpenFor, RenameFlags, SetAttributes, StatFs, StatxMask,
    SyncWhat, Validity, WriteAt, Written, XattrFlags, XattrName,
};

/// What is done around each call of a file system and of its open files.
pub(crate) trait Around: Send + Sync + 'static {
    fn around<T>(&self, call: impl FnOnce() -> T) -> T;

    /// Takes the file system's notifier.
    fn attached(&self, _: Notifier) {}

    /// Returns after how many entries of one call a listing fails with `EIO`.
    fn fails_behind(&self) -> Option<usize> {
        None
    }
}

pub(crate) struct Wrapped<F, A> {
    pub(crate) fs: F,
    pub(crate) with: Arc<A>,
}

impl<F: FileSystem, A: Around> FileSystem for Wrapped<F, A> {
    fn attached(&self, notifier: Notifier) {
        self.with.attached(notifier);
    }

    fn root(&self) -> Result<Node, Errno> {
        self.with.around(|| self.fs.root())
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.with.around(|| self.fs.lookup(dir, name))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.with.around(|| self.fs.attributes(node))
    }

    fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        self.with.around(|| self.fs.read_link(node))
    }

    fn revalidate(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Validity, Errno> {
        self.with.around(|| self.fs.revalidate(dir, name, node))
    }

    fn absence(&self) -> Freshness {
        self.fs.absence()
    }

    fn absence_in(&self, dir: NodeKey) -> Freshness {
        self.fs.absence_in(dir)
    }

    fn attributes_freshness(&self, node: NodeKey) -> Freshness {
        self.fs.attributes_freshness(node)
    }

    fn confirm(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Option<Freshness>, Errno> {
        self.with.around(|| self.fs.confirm(dir, name, node))
    }

    fn forget(&self, node: NodeKey) {
        self.with.around(|| self.fs.forget(node));
    }

    fn create(&self, dir: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        self.with.around(|| self.fs.create(dir, name, new))
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        let file = self.with.around(|| self.fs.open(node, what_for))?;
        Ok(Box::new(Open { file, with: self.with.clone() }))
    }

    fn statfs(&self) -> Result<StatFs, Errno> {
        self.with.around(|| self.fs.statfs())
    }

    fn statfs_of(&self, node: NodeKey) -> Result<StatFs, Errno> {
        self.with.around(|| self.fs.statfs_of(node))
    }

    fn link(&self, node: NodeKey, dir: &Directory<'_>, name: Name<'_>) -> Result<Node, Errno> {
        self.with.around(|| self.fs.link(node, dir, name))
    }

    fn unlink(&self, dir: &Directory<'_>, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        self.with.around(|| self.fs.unlink(dir, name, node))
    }

    fn rename(&self, from: (&Directory<'_>, Name<'_>), to: (&Directory<'_>, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
        self.with.around(|| self.fs.rename(from, to, flags))
    }

    fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        self.with.around(|| self.fs.permission(node, who, want))
    }

    fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
        self.with.around(|| self.fs.acl(node))
    }

    fn keeps_acls(&self) -> bool {
        self.fs.keeps_acls()
    }

    fn acl_removal_clears_sgid(&self, node: NodeKey) -> bool {
        self.fs.acl_removal_clears_sgid(node)
    }

    fn get_acl(&self, node: NodeKey, kind: AclKind) -> Result<Option<Acl>, Errno> {
        self.with.around(|| self.fs.get_acl(node, kind))
    }

    fn set_acl(&self, node: NodeKey, kind: AclKind, acl: Option<&Acl>, mode: Option<u16>) -> Result<Attributes, Errno> {
        self.with.around(|| self.fs.set_acl(node, kind, acl, mode))
    }

    fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        self.with.around(|| self.fs.set_attributes(node, set))
    }

    fn check_size(&self, node: NodeKey, size: u64) -> Result<(), Errno> {
        self.with.around(|| self.fs.check_size(node, size))
    }

    fn get_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<Option<Box<[u8]>>, Errno> {
        self.with.around(|| self.fs.get_xattr(node, name))
    }

    fn set_xattr(&self, node: NodeKey, name: XattrName<'_>, value: &[u8], flags: XattrFlags) -> Result<(), Errno> {
        self.with.around(|| self.fs.set_xattr(node, name, value, flags))
    }

    fn list_xattrs(&self, node: NodeKey, each: &mut dyn FnMut(&[u8])) -> Result<(), Errno> {
        self.with.around(|| self.fs.list_xattrs(node, each))
    }

    fn remove_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<(), Errno> {
        self.with.around(|| self.fs.remove_xattr(node, name))
    }

    fn inode_flags(&self, node: NodeKey) -> Result<InodeFlags, Errno> {
        self.with.around(|| self.fs.inode_flags(node))
    }

    fn set_inode_flags(&self, node: NodeKey, to: InodeFlags) -> Result<Attributes, Errno> {
        self.with.around(|| self.fs.set_inode_flags(node, to))
    }

    fn details(&self, node: NodeKey, wanted: StatxMask) -> Result<Details, Errno> {
        self.with.around(|| self.fs.details(node, wanted))
    }

    fn generation(&self, node: NodeKey) -> Result<u32, Errno> {
        self.with.around(|| self.fs.generation(node))
    }

    fn set_generation(&self, node: NodeKey, to: u32) -> Result<Attributes, Errno> {
        self.with.around(|| self.fs.set_generation(node, to))
    }

    fn encode_handle(&self, node: NodeKey, what_for: HandleFor) -> Result<FileHandle, Errno> {
        self.with.around(|| self.fs.encode_handle(node, what_for))
    }

    fn decode_handle(&self, handle: &FileHandle, near: NodeKey) -> Result<Node, Errno> {
        self.with.around(|| self.fs.decode_handle(handle, near))
    }

    fn find_name(&self, node: NodeKey) -> Result<FoundName, Errno> {
        self.with.around(|| self.fs.find_name(node))
    }
}

struct Open<A> {
    file: Box<dyn OpenFile>,
    with: Arc<A>,
}

impl<A: Around> OpenFile for Open<A> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.with.around(|| self.file.read_at(buffer, offset))
    }

    fn write_at(&self, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        self.with.around(|| self.file.write_at(data, at))
    }

    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        let fails_behind = self.with.fails_behind();
        let (mut given, mut failed) = (0, false);
        let mut counted = |entry: Entry<'_>| {
            failed = fails_behind == Some(given);
            given += 1;
            if failed { ControlFlow::Break(()) } else { each(entry) }
        };
        self.with.around(|| self.file.read_dir(from, &mut counted))?;
        if failed { Err(Errno::EIO) } else { Ok(()) }
    }

    fn sync(&self, what: SyncWhat) -> Result<(), Errno> {
        self.with.around(|| self.file.sync(what))
    }
}
