//! Extended attributes, as a tmpfs keeps them: the calls `getxattrat`, `setxattrat`, `listxattrat`
//! and `removexattrat`, and the file capability, which changes of a file remove.
//!
//! Source: `fs/xattr.c`, `simple_xattr_set`, `shmem_xattr_handler_set`, `cap_inode_setxattr`,
//! `cap_inode_removexattr`, `cap_convert_nscap`, `cap_inode_getsecurity` of Linux.
//!
//! The names of access control lists lead to `acl`.

use crate::acl::AclKind;
use crate::acl_value::{decoded, encoded};
use crate::errno::{Errno, Result};
use crate::flags::{Access, AtFlags, Capabilities, XattrFlags};
use crate::node::{Id, Node};
use crate::permission::{STICKY, owner_or_capable, permission};
use crate::process::{Credentials, Process};
use crate::walk::{Empty, Follow};
use crate::{AT_FDCWD, Call, Model};

/// The length of the longest name, value and list, in bytes.
const LONGEST_NAME: usize = 255;
const LONGEST_VALUE: usize = 1 << 16;
const LONGEST_LIST: usize = 1 << 16;

const CAPABILITY: &[u8] = b"security.capability";

impl Model {
    /// Returns the value of an attribute. Flags, here and below: `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
    /// An empty path that starts at a descriptor is what `fgetxattr` takes.
    pub fn getxattr(&self, process: &mut Process, at: i32, path: &[u8], name: &[u8], flags: AtFlags) -> Result<Vec<u8>> {
        let call = self.call(process);
        check(flags, Some(name))?;
        let node = call.state.node(call.lookup_xattrs(at, path, flags, Cwd::Taken)?);
        if let Some(kind) = AclKind::of_xattr(name) {
            let list = node.list(kind)?;
            return if list.is_empty() { Err(Errno::ENODATA) } else { Ok(encoded(list)) };
        }
        may(node, call.who(), name, Access::READ)?;
        supported(name)?;
        shown(name, node.xattrs.get(name).ok_or(Errno::ENODATA)?)
    }

    /// Sets an attribute.
    #[expect(clippy::too_many_arguments, reason = "the system call has as many")]
    pub fn setxattr(
        &self,
        process: &mut Process,
        at: i32,
        path: &[u8],
        name: &[u8],
        value: &[u8],
        how: XattrFlags,
        flags: AtFlags,
    ) -> Result<()> {
        let mut call = self.call(process);
        check(flags, None)?;
        if !XattrFlags::all().contains(how) {
            return Err(Errno::EINVAL);
        }
        check(flags, Some(name))?;
        if value.len() > LONGEST_VALUE {
            return Err(Errno::E2BIG);
        }
        let id = call.lookup_xattrs(at, path, flags, Cwd::Taken)?;
        let (node, who) = (call.state.node(id), call.who());
        if let Some(kind) = AclKind::of_xattr(name) {
            return call.change_list(id, kind, &decoded(value)?);
        }
        if name == CAPABILITY && !value.is_empty() {
            let root = capability_revision(value).ok_or(Errno::EINVAL)?;
            if !who.has(Capabilities::SETFCAP) {
                return Err(Errno::EPERM);
            }
            if root == 3 && value[20..] == [0xff; 4] {
                return Err(Errno::EINVAL);
            }
        }
        may(node, who, name, Access::WRITE)?;
        if name != CAPABILITY && name.starts_with(b"security.") && !who.has(Capabilities::SYS_ADMIN) {
            return Err(Errno::EPERM);
        }
        supported(name)?;
        call.room_for_xattr(name, value)?;
        let exists = node.xattrs.contains_key(name);
        if exists && how.contains(XattrFlags::CREATE) {
            return Err(Errno::EEXIST);
        }
        if !exists && how.contains(XattrFlags::REPLACE) {
            return Err(Errno::ENODATA);
        }
        call.state.node_mut(id).xattrs.insert(name.to_vec(), value.to_vec());
        call.state.touch_changed(id);
        Ok(())
    }

    /// Returns the names of the attributes in the order of a tmpfs: lists, and then backwards.
    pub fn listxattr(&self, process: &mut Process, at: i32, path: &[u8], flags: AtFlags) -> Result<Vec<Vec<u8>>> {
        let call = self.call(process);
        check(flags, None)?;
        let node = call.state.node(call.lookup_xattrs(at, path, flags, Cwd::Refused)?);
        let sees_all = call.who().has(Capabilities::SYS_ADMIN);
        let seen = node.xattrs.keys().rev().filter(|name| sees_all || !name.starts_with(b"trusted."));
        let has = |kind: &AclKind| node.list(*kind).is_ok_and(|list| !list.is_empty());
        let lists = [AclKind::Access, AclKind::Default].into_iter().filter(has).map(|kind| kind.xattr_name().to_vec());
        let names: Vec<Vec<u8>> = lists.chain(seen.cloned()).collect();
        let length: usize = names.iter().map(|name| name.len() + 1).sum();
        if length > LONGEST_LIST { Err(Errno::E2BIG) } else { Ok(names) }
    }

    /// Removes an attribute.
    pub fn removexattr(&self, process: &mut Process, at: i32, path: &[u8], name: &[u8], flags: AtFlags) -> Result<()> {
        let mut call = self.call(process);
        check(flags, Some(name))?;
        let id = call.lookup_xattrs(at, path, flags, Cwd::Refused)?;
        let (node, who) = (call.state.node(id), call.who());
        if let Some(kind) = AclKind::of_xattr(name) {
            return call.change_list(id, kind, &[]);
        }
        may(node, who, name, Access::WRITE)?;
        let needed = if name == CAPABILITY { Capabilities::SETFCAP } else { Capabilities::SYS_ADMIN };
        if name.starts_with(b"security.") && !who.has(needed) {
            return Err(Errno::EPERM);
        }
        supported(name)?;
        if call.state.node_mut(id).xattrs.remove(name).is_none() {
            return Err(Errno::ENODATA);
        }
        call.state.touch_changed(id);
        Ok(())
    }
}

/// The treatment of an empty path at the working directory: `listxattrat` and `removexattrat` look
/// for a descriptor, and there is none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cwd {
    Taken,
    Refused,
}

impl Call<'_> {
    /// Removes the capability of a file whose data, size or owner is about to change. An empty one
    /// counts as none.
    pub(crate) fn drop_capability(&mut self, id: Id) {
        let node = self.state.node(id);
        let has_one = node.xattrs.get(CAPABILITY).is_some_and(|value| !value.is_empty());
        if has_one && !node.is_directory() {
            self.state.node_mut(id).xattrs.remove(CAPABILITY);
            self.state.touch_changed(id);
        }
    }

    /// Returns the node; `EBADF` for an empty path at a mere place.
    fn lookup_xattrs(&self, at: i32, path: &[u8], flags: AtFlags, cwd: Cwd) -> Result<Id> {
        let may_be_empty = flags.contains(AtFlags::EMPTY_PATH);
        if path.is_empty() && may_be_empty && (at != AT_FDCWD || cwd == Cwd::Refused) {
            return self.file(at).map(|(_, file)| file.node);
        }
        let empty = if may_be_empty { Empty::Start } else { Empty::Refused };
        self.lookup(at, path, Follow::unless(flags.contains(AtFlags::SYMLINK_NOFOLLOW)), empty)
    }
}

/// Checks the arguments that come before the path.
fn check(flags: AtFlags, name: Option<&[u8]>) -> Result<()> {
    if !(AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH).contains(flags) {
        return Err(Errno::EINVAL);
    }
    let fits = name.is_none_or(|name| (1..=LONGEST_NAME).contains(&name.len()));
    if fits { Ok(()) } else { Err(Errno::ERANGE) }
}

/// Checks the right to an attribute of this name: `xattr_permission`.
fn may(node: &Node, who: &Credentials, name: &[u8], wanted: Access) -> Result<()> {
    let writes = wanted == Access::WRITE;
    if writes {
        node.may_be_set()?;
    }
    let refused = if writes { Errno::EPERM } else { Errno::ENODATA };
    if name.starts_with(b"security.") || name.starts_with(b"system.") {
        return Ok(());
    }
    if name.starts_with(b"trusted.") {
        return if who.has(Capabilities::SYS_ADMIN) { Ok(()) } else { Err(refused) };
    }
    if name.starts_with(b"user.") {
        if !node.is_file() && !node.is_directory() {
            return Err(refused);
        }
        if writes && node.is_directory() && node.mode & STICKY != 0 && !owner_or_capable(node, who) {
            return Err(Errno::EPERM);
        }
    }
    permission(node, who, wanted)
}

/// Checks that a tmpfs keeps attributes of this name.
fn supported(name: &[u8]) -> Result<()> {
    let prefixes: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];
    match prefixes.into_iter().find(|prefix| name.starts_with(prefix)) {
        None => Err(Errno::EOPNOTSUPP),
        Some(prefix) if prefix == name => Err(Errno::EINVAL),
        Some(_) => Ok(()),
    }
}

/// Returns a value as it is read: a capability for the user 0 of revision 3 becomes one of revision
/// 2. `EINVAL` for an empty capability.
pub(crate) fn shown(name: &[u8], value: &[u8]) -> Result<Vec<u8>> {
    if name != CAPABILITY {
        return Ok(value.to_vec());
    }
    match capability_revision(value) {
        Some(3) if value[20..] == [0; 4] => Ok([&value[..3], &[2], &value[4..20]].concat()),
        Some(_) => Ok(value.to_vec()),
        None => Err(Errno::EINVAL),
    }
}

/// Returns the revision of a file capability; `None` if the value is none.
fn capability_revision(value: &[u8]) -> Option<u8> {
    match (value.len(), value.get(..4)?) {
        (20, [0 | 1, 0, 0, 2]) => Some(2),
        (24, [0 | 1, 0, 0, 3]) => Some(3),
        _ => None,
    }
}
