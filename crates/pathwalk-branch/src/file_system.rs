//! The engine's interface to a branch.

use std::sync::Arc;

use pathwalk::limits::OFFSET_MAX;
use pathwalk::permission::{Acl, AclKind, Subject};
use pathwalk::{
    Access, AclState, Attributes, Directory, Errno, FileHandle, FileSystem, FoundName, Freshness, HandleFor, InodeFlags, Name,
    NewNode, Node, NodeKey, Notifier, OpenFile, OpenFor, RenameFlags, SetAttributes, StatFs, Timestamp, Validity, XattrFlags,
    XattrName, XattrNamespace,
};

use crate::Branch;
use crate::branch::{Inner, Side, number_of};
use crate::open_file::Open;

impl Branch {
    fn inner(&self) -> &Arc<Inner> {
        &self.0
    }
}

impl FileSystem for Branch {
    fn root(&self) -> Result<Node, Errno> {
        let root = self.0.shared.root;
        self.0.hold_root(root)
    }

    fn attached(&self, notifier: Notifier) {
        self.0.attach(notifier);
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        self.0.lookup(number_of(dir.key()), name.bytes())
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        self.0.attributes_of(number_of(node))
    }

    fn generation(&self, node: NodeKey) -> Result<u32, Errno> {
        self.0.generation(number_of(node))
    }

    fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
        self.0.read_link(number_of(node))
    }

    fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        self.0.permission(number_of(node), who, want)
    }

    fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
        self.0.acl_state(number_of(node))
    }

    fn keeps_acls(&self) -> bool {
        true
    }

    fn get_acl(&self, node: NodeKey, kind: AclKind) -> Result<Option<Acl>, Errno> {
        self.0.acl(number_of(node), kind)
    }

    fn set_acl(&self, node: NodeKey, kind: AclKind, acl: Option<&Acl>, mode: Option<u16>) -> Result<Attributes, Errno> {
        self.0.set_acl(number_of(node), kind, acl, mode)
    }

    fn revalidate(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Validity, Errno> {
        let still = self.0.peek(number_of(dir.key()), name.bytes())? == node.map(number_of);
        Ok(if still { Validity::Valid } else { Validity::Invalid })
    }

    fn absence_in(&self, dir: NodeKey) -> Freshness {
        self.0.absence_freshness(number_of(dir))
    }

    fn attributes_freshness(&self, node: NodeKey) -> Freshness {
        self.0.attributes_freshness(number_of(node))
    }

    fn forget(&self, node: NodeKey) {
        self.0.forget(number_of(node));
    }

    /// Returns true, since the engine does all that concerns ids.
    fn allows_id_maps(&self) -> bool {
        true
    }

    /// Returns the bytes of data that all branches of the base have stored together; none if they
    /// are in a store, which has them elsewhere.
    fn memory(&self) -> u64 {
        if self.0.shared.stored.is_some() { 0 } else { self.0.shared.store.bytes() }
    }

    /// Makes the whole branch durable, if it has a store.
    fn sync(&self) -> Result<(), Errno> {
        self.0.sync().map_err(|error| error.errno())
    }

    fn create(&self, dir: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        self.0.create(number_of(dir.key()), name.bytes(), new)
    }

    fn create_unnamed(&self, dir: &Directory<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        self.0.create_unnamed(number_of(dir.key()), new)
    }

    fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        Ok(Box::new(Open::new(self.inner(), number_of(node), what_for)?))
    }

    /// Returns size and limits of the base, since those of the store are not known.
    fn statfs(&self) -> Result<StatFs, Errno> {
        self.0.shared.base.statfs()
    }

    fn link(&self, node: NodeKey, dir: &Directory<'_>, name: Name<'_>) -> Result<Node, Errno> {
        self.0.link(number_of(node), number_of(dir.key()), name.bytes())
    }

    fn unlink(&self, dir: &Directory<'_>, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        self.0.unlink(number_of(dir.key()), name.bytes(), number_of(node))
    }

    fn rename(&self, from: (&Directory<'_>, Name<'_>), to: (&Directory<'_>, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
        let from = Side { dir: number_of(from.0.key()), name: from.1.bytes() };
        let to = Side { dir: number_of(to.0.key()), name: to.1.bytes() };
        self.0.rename(from, to, flags)
    }

    fn now(&self) -> Timestamp {
        self.0.shared.now()
    }

    fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        self.0.set_attributes(number_of(node), set)
    }

    fn check_size(&self, _: NodeKey, size: u64) -> Result<(), Errno> {
        if size > OFFSET_MAX { Err(Errno::EFBIG) } else { Ok(()) }
    }

    fn get_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<Option<Box<[u8]>>, Errno> {
        supported(name)?;
        self.0.xattr(number_of(node), name)
    }

    fn set_xattr(&self, node: NodeKey, name: XattrName<'_>, value: &[u8], flags: XattrFlags) -> Result<(), Errno> {
        supported(name)?;
        self.0.set_xattr(number_of(node), name, value, flags)
    }

    fn list_xattrs(&self, node: NodeKey, each: &mut dyn FnMut(&[u8])) -> Result<(), Errno> {
        self.0.xattr_names(number_of(node), each)
    }

    fn remove_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<(), Errno> {
        supported(name)?;
        self.0.remove_xattr(number_of(node), name)
    }

    /// Returns the same for each purpose: a node is found by its number, wherever it is.
    fn encode_handle(&self, node: NodeKey, _: HandleFor) -> Result<FileHandle, Errno> {
        self.0.encode_handle(number_of(node))
    }

    fn decode_handle(&self, handle: &FileHandle, _near: NodeKey) -> Result<Node, Errno> {
        self.0.decode_handle(handle)
    }

    fn find_name(&self, node: NodeKey) -> Result<FoundName, Errno> {
        self.0.find_name(number_of(node))
    }

    fn inode_flags(&self, node: NodeKey) -> Result<InodeFlags, Errno> {
        self.0.inode_flags(number_of(node))
    }

    fn set_inode_flags(&self, node: NodeKey, to: InodeFlags) -> Result<Attributes, Errno> {
        self.0.set_inode_flags(number_of(node), to)
    }
}

/// Checks that a name is in a namespace that branches keep: `EOPNOTSUPP` for `system.`.
fn supported(name: XattrName<'_>) -> Result<(), Errno> {
    if name.namespace() == XattrNamespace::System { Err(Errno::EOPNOTSUPP) } else { Ok(()) }
}
