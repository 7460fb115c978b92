//! `getxattr(2)`, `setxattr(2)`, `listxattr(2)`, `removexattr(2)`: extended attributes.
//!
//! The checks come in Linux's order:
//!
//! 1. flags, name and length of the value (`EINVAL`, `ERANGE`, `E2BIG`), before the path is read;
//! 2. for a change, the mount (`EROFS`), and the form of a file capability (`EINVAL`, `EPERM`) or
//!    of an access control list (`EINVAL`, `EOPNOTSUPP`);
//! 3. what the namespace demands, and the right to read or write the node;
//! 4. whether the name is one that a file system may have (`EOPNOTSUPP`, `EINVAL`).
//!
//! The two names of access control lists lead to those ([`acl`](super::acl)), with its checks in
//! place of the last two steps. [`XattrFlags`] do not count there, and to remove a list that is not
//! there is no error.
//!
//! The check of a node and its change belong together, so each change does both under the lock for
//! changes of the node's attributes.
//!
//! Source: `fs/xattr.c`, `cap_inode_setxattr` and `cap_inode_removexattr` of Linux.

use std::borrow::Cow;

use super::acl::ListsOf;
use super::lookup;
use crate::Errno;
use crate::abi::{AtFlags, XattrFlags};
use crate::attr::FileType;
use crate::cache::icache::snapshot::Snapshot;
use crate::fs_api::{XattrList, XattrName, XattrNamespace};
use crate::limits::XATTR_SIZE_MAX;
use crate::memory::slot::InodeId;
use crate::mount::{MountWriter, PinnedPlace, Place, World};
use crate::permission::{Access, Acl, AclKind, Capabilities, Subject, file_capability};
use crate::walk::asker::{Asker, Begin};
use crate::walk::{Env, Whose};

const STICKY: u16 = 0o1000;

pub(crate) fn getxattrat(asker: &Asker, at: Begin, path: &[u8], name: &[u8], how: AtFlags) -> Result<Vec<u8>, Errno> {
    check_flags(how)?;
    XattrName::check(name)?;
    on_path(asker, at, path, how, |node| node.get(name))
}

pub(crate) fn setxattrat(
    asker: &Asker,
    at: Begin,
    path: &[u8],
    (name, value, flags): (&[u8], &[u8], XattrFlags),
    how: AtFlags,
) -> Result<(), Errno> {
    check_flags(how)?;
    check_new(name, value, flags)?;
    on_path(asker, at, path, how, |node| node.set(name, value, flags))
}

pub(crate) fn listxattrat(asker: &Asker, at: Begin, path: &[u8], how: AtFlags) -> Result<XattrList, Errno> {
    check_flags(how)?;
    not_cwd(at, path, how)?;
    on_path(asker, at, path, how, |node| node.list())
}

pub(crate) fn removexattrat(asker: &Asker, at: Begin, path: &[u8], name: &[u8], how: AtFlags) -> Result<(), Errno> {
    check_flags(how)?;
    XattrName::check(name)?;
    not_cwd(at, path, how)?;
    on_path(asker, at, path, how, |node| node.remove(name))
}

/// Checks what is to be set, apart from the node.
pub(crate) fn check_new(name: &[u8], value: &[u8], flags: XattrFlags) -> Result<(), Errno> {
    if !XattrFlags::all().contains(flags) {
        return Err(Errno::EINVAL);
    }
    XattrName::check(name)?;
    if value.len() > XATTR_SIZE_MAX { Err(Errno::E2BIG) } else { Ok(()) }
}

fn check_flags(how: AtFlags) -> Result<(), Errno> {
    if (AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH).contains(how) { Ok(()) } else { Err(Errno::EINVAL) }
}

/// Returns `EBADF` for an empty path at the working directory. To list and to remove, Linux looks
/// for a descriptor then, and `AT_FDCWD` is none; to get and to set, it does not.
fn not_cwd(at: Begin, path: &[u8], how: AtFlags) -> Result<(), Errno> {
    let is_cwd = path.is_empty() && how.contains(AtFlags::EMPTY_PATH) && matches!(at, Begin::Cwd);
    if is_cwd { Err(Errno::EBADF) } else { Ok(()) }
}

fn on_path<T>(
    asker: &Asker,
    at: Begin,
    path: &[u8],
    how: AtFlags,
    act: impl FnOnce(XattrsOf<'_>) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let node: PinnedPlace<'_> = lookup::pinned_at(&env, at, path, how)?;
    act(XattrsOf { world: env.world, place: node.place(), who: env.who_in(node.mount.id()) })
}

/// The attributes of a pinned node, and the subject that asks for them, as it comes through the
/// node's mount. Names were checked for their length.
pub(crate) struct XattrsOf<'a> {
    pub(crate) world: &'a World,
    pub(crate) place: Place,
    pub(crate) who: Subject<'a>,
}

impl XattrsOf<'_> {
    /// Returns the value of an attribute.
    pub(crate) fn get(&self, name: &[u8]) -> Result<Vec<u8>, Errno> {
        if let Some(kind) = AclKind::of_xattr(name) {
            return self.lists().get(kind)?.map(|list| list.to_xattr()).ok_or(Errno::ENODATA);
        }
        let id = self.inode();
        self.permission(id, &self.world.trees.known_snapshot(id)?, name, Access::READ)?;
        let name = XattrName::new(name)?;
        let value = self.world.trees.get_xattr(id, name)?;
        if value.len() > XATTR_SIZE_MAX {
            return Err(Errno::E2BIG);
        }
        if name == XattrName::CAPABILITY { file_capability::shown(&value, &self.who) } else { Ok(value.into()) }
    }

    /// Sets an attribute to a value of a valid length.
    pub(crate) fn set(&self, name: &[u8], value: &[u8], flags: XattrFlags) -> Result<(), Errno> {
        let writing = self.writing()?;
        if let Some(kind) = AclKind::of_xattr(name) {
            return self.lists().set(kind, Acl::to_be_set(value)?.as_ref(), &writing);
        }
        let (id, trees) = (self.inode(), &self.world.trees);
        let changing = trees.changing(self.place.dentry());
        let of = trees.known_snapshot(id)?;
        let is_capability = name == XattrName::CAPABILITY.bytes();
        let value = match is_capability && !value.is_empty() {
            true => file_capability::stored(value, of.owners(), &self.who)?,
            false => Cow::Borrowed(value),
        };
        self.permission(id, &of, name, Access::WRITE)?;
        if !is_capability {
            self.may_change_security(name)?;
        }
        trees.set_xattr(id, XattrName::new(name)?, &value, flags, &changing)?;
        trees.tell_attributes(self.place.dentry());
        Ok(())
    }

    /// Returns the names of all attributes that the subject may know of: those of access control
    /// lists first.
    pub(crate) fn list(&self) -> Result<XattrList, Errno> {
        let mut list = XattrList::default();
        for kind in [AclKind::Access, AclKind::Default] {
            match self.lists().get(kind) {
                Ok(None) | Err(Errno::EOPNOTSUPP) => {}
                Ok(Some(_)) => list.push(kind.xattr_name().as_bytes())?,
                Err(errno) => return Err(errno),
            }
        }
        let is_trusted = |name: &[u8]| matches!(XattrNamespace::of(name), Some((XattrNamespace::Trusted, _)));
        let sees_all = self.who.has(Capabilities::SYS_ADMIN);
        let shows = |name: &[u8]| AclKind::of_xattr(name).is_none() && (sees_all || !is_trusted(name));
        self.world.trees.list_xattrs(self.inode(), &mut list, shows)?;
        Ok(list)
    }

    /// Removes an attribute.
    pub(crate) fn remove(&self, name: &[u8]) -> Result<(), Errno> {
        let writing = self.writing()?;
        if let Some(kind) = AclKind::of_xattr(name) {
            return self.lists().set(kind, None, &writing);
        }
        let (id, trees) = (self.inode(), &self.world.trees);
        let changing = trees.changing(self.place.dentry());
        let of = trees.known_snapshot(id)?;
        self.permission(id, &of, name, Access::WRITE)?;
        if name != XattrName::CAPABILITY.bytes() {
            self.may_change_security(name)?;
        } else if !self.who.has_for(Capabilities::SETFCAP, of.uid(), of.gid()) {
            return Err(Errno::EPERM);
        }
        trees.remove_xattr(id, XattrName::new(name)?, &changing)?;
        trees.tell_attributes(self.place.dentry());
        Ok(())
    }

    fn lists(&self) -> ListsOf<'_> {
        ListsOf { world: self.world, place: self.place, who: &self.who }
    }

    fn inode(&self) -> InodeId {
        self.world.caches().dentries.inode(self.place.dentry())
    }

    fn writing(&self) -> Result<MountWriter<'_>, Errno> {
        MountWriter::new(self.world, self.place.mount()).ok_or(Errno::EROFS)
    }

    /// Checks the right to read or write an attribute of this name. Linux: `xattr_permission`.
    fn permission(&self, id: InodeId, of: &Snapshot, name: &[u8], want: Access) -> Result<(), Errno> {
        let writes = want == Access::WRITE;
        if writes && (of.is_immutable() || of.is_append_only() || !of.is_seen_by(&self.who)) {
            return Err(Errno::EPERM);
        }
        let refused = if writes { Errno::EPERM } else { Errno::ENODATA };
        match XattrNamespace::of(name).map(|(namespace, _)| namespace) {
            Some(XattrNamespace::Security | XattrNamespace::System) => return Ok(()),
            Some(XattrNamespace::Trusted) => {
                return if self.who.has(Capabilities::SYS_ADMIN) { Ok(()) } else { Err(refused) };
            }
            Some(XattrNamespace::User) => {
                let is_directory = of.kind() == FileType::Directory;
                if !is_directory && of.kind() != FileType::Regular {
                    return Err(refused);
                }
                // Any user may write to such a directory, and its attributes would stay.
                if writes && is_directory && of.mode() & STICKY != 0 && !self.who.owns_or_may(of.uid()) {
                    return Err(Errno::EPERM);
                }
            }
            None => {}
        }
        self.world.trees.may(id, &self.who, want)
    }

    /// Checks the right to change an attribute of a security module, if it is one.
    fn may_change_security(&self, name: &[u8]) -> Result<(), Errno> {
        let is_one = matches!(XattrNamespace::of(name), Some((XattrNamespace::Security, _)));
        if is_one && !self.who.has(Capabilities::SYS_ADMIN) { Err(Errno::EPERM) } else { Ok(()) }
    }
}
