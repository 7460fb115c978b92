//! File systems by pointer: an [`Arc`] and a [`Box`] of a file system are file systems.
//!
//! What always holds: each method of the trait is passed on, those with a default too.

use std::sync::Arc;

use super::{
    AccessTimes, Accessed, Directory, FileHandle, FileSystem, FoundName, FoundToRead, HandleFor, Leases, Locks, Notifier,
    OpenFile, OpenFor, Siblings, SpecialFiles, StatFs, XattrName,
};
use crate::Errno;
use crate::abi::{SuperblockFlags, XattrFlags};
use crate::attr::{AclState, Attributes, Details, FileType, InodeFlags, StatxMask, Timestamp};
use crate::node::{Freshness, NewNode, Node, NodeKey, RenameFlags, SetAttributes, Validity};
use crate::permission::{Access, Acl, AclKind, Subject};
use crate::text::Name;

/// Implements the trait for pointers to file systems.
macro_rules! by_pointer {
    ($($pointer:ty)*) => {
        $(impl<T: FileSystem + ?Sized> FileSystem for $pointer {
            fn root(&self) -> Result<Node, Errno> {
                (**self).root()
            }
            fn attached(&self, notifier: Notifier) {
                (**self).attached(notifier);
            }
            fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
                (**self).lookup(dir, name)
            }
            fn lookup_to_read(
                &self,
                dir: &Directory<'_>,
                name: Name<'_>,
                expected: Option<FileType>,
            ) -> Result<Option<FoundToRead>, Errno> {
                (**self).lookup_to_read(dir, name, expected)
            }
            fn lookup_siblings(&self, dir: &Directory<'_>, siblings: &mut Siblings<'_>) -> Result<(), Errno> {
                (**self).lookup_siblings(dir, siblings)
            }
            fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
                (**self).attributes(node)
            }
            fn read_link(&self, node: NodeKey) -> Result<Box<[u8]>, Errno> {
                (**self).read_link(node)
            }
            fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
                (**self).permission(node, who, want)
            }
            fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
                (**self).acl(node)
            }
            fn keeps_acls(&self) -> bool {
                (**self).keeps_acls()
            }
            fn acl_removal_clears_sgid(&self, node: NodeKey) -> bool {
                (**self).acl_removal_clears_sgid(node)
            }
            fn get_acl(&self, node: NodeKey, kind: AclKind) -> Result<Option<Acl>, Errno> {
                (**self).get_acl(node, kind)
            }
            fn set_acl(&self, node: NodeKey, kind: AclKind, acl: Option<&Acl>, mode: Option<u16>) -> Result<Attributes, Errno> {
                (**self).set_acl(node, kind, acl, mode)
            }
            fn revalidate(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Validity, Errno> {
                (**self).revalidate(dir, name, node)
            }
            fn absence(&self) -> Freshness {
                (**self).absence()
            }
            fn absence_in(&self, dir: NodeKey) -> Freshness {
                (**self).absence_in(dir)
            }
            fn attributes_freshness(&self, node: NodeKey) -> Freshness {
                (**self).attributes_freshness(node)
            }
            fn confirm(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Option<Freshness>, Errno> {
                (**self).confirm(dir, name, node)
            }
            fn forget(&self, node: NodeKey) {
                (**self).forget(node);
            }
            fn sync(&self) -> Result<(), Errno> {
                (**self).sync()
            }
            fn sync_at_end(&self) -> Result<(), Errno> {
                (**self).sync_at_end()
            }
            fn allows_id_maps(&self) -> bool {
                (**self).allows_id_maps()
            }
            fn superblock_flags(&self) -> SuperblockFlags {
                (**self).superblock_flags()
            }
            fn memory(&self) -> u64 {
                (**self).memory()
            }
            fn create(&self, dir: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
                (**self).create(dir, name, new)
            }
            fn create_unnamed(&self, dir: &Directory<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
                (**self).create_unnamed(dir, new)
            }
            fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
                (**self).open(node, what_for)
            }
            fn try_open(&self, node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
                (**self).try_open(node, what_for)
            }
            fn special_files(&self) -> SpecialFiles {
                (**self).special_files()
            }
            fn statfs(&self) -> Result<StatFs, Errno> {
                (**self).statfs()
            }
            fn statfs_of(&self, node: NodeKey) -> Result<StatFs, Errno> {
                (**self).statfs_of(node)
            }
            fn link(&self, node: NodeKey, dir: &Directory<'_>, name: Name<'_>) -> Result<Node, Errno> {
                (**self).link(node, dir, name)
            }
            fn unlink(&self, dir: &Directory<'_>, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
                (**self).unlink(dir, name, node)
            }
            fn rename(&self, from: (&Directory<'_>, Name<'_>), to: (&Directory<'_>, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
                (**self).rename(from, to, flags)
            }
            fn now(&self) -> Timestamp {
                (**self).now()
            }
            fn access_times(&self) -> AccessTimes {
                (**self).access_times()
            }
            fn accessed(&self, node: NodeKey, at: Timestamp) -> Result<Accessed, Errno> {
                (**self).accessed(node, at)
            }
            fn leases(&self) -> Leases {
                (**self).leases()
            }

            fn locks(&self) -> Option<&dyn Locks> {
                (**self).locks()
            }
            fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
                (**self).set_attributes(node, set)
            }
            fn check_size(&self, node: NodeKey, size: u64) -> Result<(), Errno> {
                (**self).check_size(node, size)
            }
            fn get_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<Option<Box<[u8]>>, Errno> {
                (**self).get_xattr(node, name)
            }
            fn set_xattr(&self, node: NodeKey, name: XattrName<'_>, value: &[u8], flags: XattrFlags) -> Result<(), Errno> {
                (**self).set_xattr(node, name, value, flags)
            }
            fn list_xattrs(&self, node: NodeKey, each: &mut dyn FnMut(&[u8])) -> Result<(), Errno> {
                (**self).list_xattrs(node, each)
            }
            fn remove_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<(), Errno> {
                (**self).remove_xattr(node, name)
            }
            fn encode_handle(&self, node: NodeKey, what_for: HandleFor) -> Result<FileHandle, Errno> {
                (**self).encode_handle(node, what_for)
            }
            fn decode_handle(&self, handle: &FileHandle, near: NodeKey) -> Result<Node, Errno> {
                (**self).decode_handle(handle, near)
            }
            fn find_name(&self, node: NodeKey) -> Result<FoundName, Errno> {
                (**self).find_name(node)
            }
            fn details(&self, node: NodeKey, wanted: StatxMask) -> Result<Details, Errno> {
                (**self).details(node, wanted)
            }
            fn generation(&self, node: NodeKey) -> Result<u32, Errno> {
                (**self).generation(node)
            }
            fn set_generation(&self, node: NodeKey, to: u32) -> Result<Attributes, Errno> {
                (**self).set_generation(node, to)
            }
            fn inode_flags(&self, node: NodeKey) -> Result<InodeFlags, Errno> {
                (**self).inode_flags(node)
            }
            fn set_inode_flags(&self, node: NodeKey, to: InodeFlags) -> Result<Attributes, Errno> {
                (**self).set_inode_flags(node, to)
            }
        })*
    };
}

by_pointer! { Arc<T> Box<T> }
