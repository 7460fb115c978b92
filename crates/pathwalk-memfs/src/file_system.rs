//! The engine's interface: each method counts its call and calls the store.

use pathwalk::permission::{Acl, AclKind, Subject};
use pathwalk::{
    Access, AccessTimes, Accessed, AclState, Attributes, Details, Directory, Errno, FileHandle, FileSystem, FoundName, Freshness,
    HandleFor, InodeFlags, Name, NewKind, NewNode, Node, NodeKey, OpenFile, OpenFor, RenameFlags, SetAttributes, StatFs,
    StatxMask, Timestamp, Validity, XattrFlags, XattrName, XattrNamespace,
};

use crate::MemFs;
use crate::open_file::Open;
use crate::store::Held;

impl FileSystem for MemFs {
    fn root(&self) -> Result<Node, Errno> {
        self.0.calls.root.count();
        Ok(self.0.root()?.into_node())
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.0.calls.lookup.count();
        Ok(self.0.lookup(dir.key(), name)?.map(Held::into_node))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.0.calls.attributes.count();
        self.0.attributes(node)
    }

    /// Returns a cookie that only grows. It is the time of the last change, which is moved beyond
    /// the clock's where the last cookie was asked for within the same tick.
    fn details(&self, node: NodeKey, wanted: StatxMask) -> Result<Details, Errno> {
        self.0.calls.details.count();
        self.0.details(node, wanted)
    }

    /// Returns the lower half of the number that [`encode_handle`](FileSystem::encode_handle) puts
    /// into handles.
    fn generation(&self, node: NodeKey) -> Result<u32, Errno> {
        self.0.calls.generation.count();
        self.0.generation(node)
    }

    fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        self.0.calls.read_link.count();
        self.0.read_link(node)
    }

    fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        self.0.calls.permission.count();
        self.0.permission(node, who, want)
    }

    fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
        self.0.calls.acl.count();
        self.0.acl(node)
    }

    /// Returns true: default lists are inherited, also by nodes that are made through paths.
    fn keeps_acls(&self) -> bool {
        true
    }

    fn get_acl(&self, node: NodeKey, kind: AclKind) -> Result<Option<Acl>, Errno> {
        self.0.calls.get_acl.count();
        self.0.get_acl(node, kind)
    }

    fn set_acl(&self, node: NodeKey, kind: AclKind, acl: Option<&Acl>, mode: Option<u16>) -> Result<Attributes, Errno> {
        self.0.calls.set_acl.count();
        self.0.set_acl(node, kind, acl, |before| mode.unwrap_or(before))
    }

    fn revalidate(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Validity, Errno> {
        self.0.calls.revalidate.count();
        let still = self.0.peek(dir.key(), name)? == node;
        Ok(if still { Validity::Valid } else { Validity::Invalid })
    }

    fn absence(&self) -> Freshness {
        self.0.options.absence
    }

    fn attributes_freshness(&self, _: NodeKey) -> Freshness {
        self.0.options.attributes
    }

    fn forget(&self, node: NodeKey) {
        self.0.forget(node);
    }

    /// Returns true, since the engine does all that concerns ids.
    fn allows_id_maps(&self) -> bool {
        true
    }

    fn memory(&self) -> u64 {
        self.0.memory()
    }

    fn create(&self, dir: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        self.0.calls.create.count();
        if new.kind == NewKind::Symlink(b"") {
            // As `symlink(2)` does. A tree that is built through paths may have such links.
            return Err(Errno::ENOENT);
        }
        Ok(self.0.create(dir.key(), name, new)?.into_node())
    }

    fn create_unnamed(&self, dir: &Directory<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        self.0.calls.create_unnamed.count();
        Ok(self.0.create_unnamed(dir.key(), new)?.into_node())
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.0.calls.open.count();
        Ok(Box::new(Open::new(&self.0, node, what_for)?))
    }

    fn try_open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.open(node, what_for)
    }

    fn statfs(&self) -> Result<StatFs, Errno> {
        self.0.calls.statfs.count();
        Ok(self.0.statfs())
    }

    fn statfs_of(&self, node: NodeKey) -> Result<StatFs, Errno> {
        self.0.calls.statfs.count();
        self.0.statfs_of(node)
    }

    fn link(&self, node: NodeKey, dir: &Directory<'_>, name: Name<'_>) -> Result<Node, Errno> {
        self.0.calls.link.count();
        Ok(self.0.link(node, dir.key(), name)?.into_node())
    }

    fn unlink(&self, dir: &Directory<'_>, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        self.0.calls.unlink.count();
        self.0.unlink(dir.key(), name, node)
    }

    fn rename(&self, from: (&Directory<'_>, Name<'_>), to: (&Directory<'_>, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
        self.0.calls.rename.count();
        self.0.rename((from.0.key(), from.1), (to.0.key(), to.1), flags)
    }

    fn access_times(&self) -> AccessTimes {
        self.0.access_times()
    }

    fn accessed(&self, node: NodeKey, at: Timestamp) -> Result<Accessed, Errno> {
        self.0.calls.accessed.count();
        self.0.accessed(node, at)
    }

    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        self.0.calls.set_attributes.count();
        self.0.set_attributes(node, set)
    }

    fn get_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<Option<Box<[u8]>>, Errno> {
        self.0.calls.get_xattr.count();
        supported(name)?;
        self.0.get_xattr(node, name)
    }

    fn set_xattr(&self, node: NodeKey, name: XattrName<'_>, value: &[u8], flags: XattrFlags) -> Result<(), Errno> {
        self.0.calls.set_xattr.count();
        supported(name)?;
        self.0.set_xattr(node, name, value, flags)
    }

    fn list_xattrs(&self, node: NodeKey, each: &mut dyn FnMut(&[u8])) -> Result<(), Errno> {
        self.0.calls.list_xattrs.count();
        self.0.list_xattrs(node, each)
    }

    fn remove_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<(), Errno> {
        self.0.calls.remove_xattr.count();
        supported(name)?;
        self.0.remove_xattr(node, name)
    }

    /// Returns the same for each purpose: a node is found by its number, wherever it is.
    fn encode_handle(&self, node: NodeKey, _: HandleFor) -> Result<FileHandle, Errno> {
        self.0.calls.encode_handle.count();
        self.0.encode_handle(node)
    }

    fn decode_handle(&self, handle: &FileHandle, _near: NodeKey) -> Result<Node, Errno> {
        self.0.calls.decode_handle.count();
        Ok(self.0.decode_handle(handle)?.into_node())
    }

    fn find_name(&self, node: NodeKey) -> Result<FoundName, Errno> {
        self.0.calls.find_name.count();
        self.0.find_name(node)
    }

    fn inode_flags(&self, node: NodeKey) -> Result<InodeFlags, Errno> {
        self.0.calls.inode_flags.count();
        self.0.inode_flags(node)
    }

    fn set_inode_flags(&self, node: NodeKey, to: InodeFlags) -> Result<Attributes, Errno> {
        self.0.calls.set_inode_flags.count();
        self.0.set_inode_flags(node, to)
    }
}

/// Checks that a name is in a namespace that a tmpfs keeps: `EOPNOTSUPP` for `system.`.
fn supported(name: XattrName<'_>) -> Result<(), Errno> {
    if name.namespace() == XattrNamespace::System { Err(Errno::EOPNOTSUPP) } else { Ok(()) }
}
