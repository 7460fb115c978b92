//! Access control lists, and attribute bits that protect a node from changes.
//!
//! A list is kept consistent with the mode: the owner's and the other entry are the mode's highest
//! and lowest bits, and the mask, or else the owning group's entry, is the middle ones. A list of
//! only those three entries grants the same as the mode, so it is dropped. A directory's default
//! list grants nothing: new nodes get it.
//!
//! Source: `posix_acl_permission`, `posix_acl_valid`, `posix_acl_equiv_mode`, `posix_acl_create`,
//! `__posix_acl_chmod_masq`, `vfs_set_acl`, `vfs_get_acl`, `ioctl_setflags` of Linux.

use crate::errno::{Errno, Result};
use crate::flags::{Access, AtFlags, Capabilities, NodeFlags};
use crate::node::{Id, Node};
use crate::permission::{in_group_or_capable, owner_or_capable};
use crate::process::{Credentials, NO_ID, Process};
use crate::walk::{Empty, Follow};
use crate::{AT_FDCWD, Call, Model};

/// The users that an entry applies to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AclTag {
    /// The owner.
    Owner,
    /// The user with this id.
    User(u32),
    /// The owning group.
    Group,
    /// The group with this id.
    NamedGroup(u32),
    /// The upper limit for named users and all groups.
    Mask,
    /// All other users.
    Other,
}

/// One entry of a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AclEntry {
    /// The users that the entry applies to.
    pub tag: AclTag,
    /// The rights that the entry grants.
    pub grants: Access,
}

/// The two lists of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AclKind {
    /// `system.posix_acl_access`
    Access,
    /// `system.posix_acl_default`
    Default,
}

impl Model {
    /// Sets a list as `setxattrat` does, or removes it as `removexattrat` does if there are no
    /// entries. Flags: `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
    pub fn set_acl(
        &self,
        process: &mut Process,
        at: i32,
        path: &[u8],
        (kind, entries): (AclKind, &[AclEntry]),
        flags: AtFlags,
    ) -> Result<()> {
        let mut call = self.call(process);
        let id = call.lookup_of_list(at, path, flags)?;
        call.change_list(id, kind, entries)
    }

    /// Returns a list as `getxattrat` does; without entries if there is none, which is `ENODATA`
    /// there. Flags: `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
    pub fn acl(&self, process: &mut Process, at: i32, path: &[u8], kind: AclKind, flags: AtFlags) -> Result<Vec<AclEntry>> {
        let call = self.call(process);
        let id = call.lookup_of_list(at, path, flags)?;
        call.state.node(id).list(kind).map(<[AclEntry]>::to_vec)
    }

    /// Sets the flags that users set as `file_setattr` does on a file or directory, and clears all
    /// others: `EOPNOTSUPP` for any other node. Flags: `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
    pub fn set_flags(&self, process: &mut Process, at: i32, path: &[u8], set: NodeFlags, flags: AtFlags) -> Result<()> {
        let mut call = self.call(process);
        let id = call.lookup_of_list(at, path, flags)?;
        let (node, who) = (call.state.node(id), call.who());
        node.has_flags()?;
        if !owner_or_capable(node, who) {
            return Err(Errno::EPERM);
        }
        let protecting = NodeFlags::IMMUTABLE | NodeFlags::APPEND;
        if (node.flags ^ set).intersects(protecting) && !who.has(Capabilities::LINUX_IMMUTABLE) {
            return Err(Errno::EPERM);
        }
        call.state.node_mut(id).flags = set;
        call.state.touch_changed(id);
        Ok(())
    }

    /// Returns the flags that users set as `file_getattr` does: `EOPNOTSUPP` for a node that is
    /// neither file nor directory. Flags: `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
    pub fn flags(&self, process: &mut Process, at: i32, path: &[u8], flags: AtFlags) -> Result<NodeFlags> {
        let call = self.call(process);
        let node = call.state.node(call.lookup_of_list(at, path, flags)?);
        node.has_flags().map(|()| node.flags)
    }
}

impl Call<'_> {
    /// Sets a list, or removes it if there are no entries.
    pub(crate) fn change_list(&mut self, id: Id, kind: AclKind, entries: &[AclEntry]) -> Result<()> {
        let node = self.state.node(id);
        node.may_be_set()?;
        if node.link_body().is_some() {
            return Err(Errno::EOPNOTSUPP);
        }
        if kind == AclKind::Default && !node.is_directory() {
            return if entries.is_empty() { Ok(()) } else { Err(Errno::EACCES) };
        }
        if !owner_or_capable(node, self.who()) {
            return Err(Errno::EPERM);
        }
        if !entries.is_empty() && !is_valid(entries) {
            return Err(Errno::EINVAL);
        }
        let mode = mode_of(entries, node.mode);
        let mode = if in_group_or_capable(node.gid, self.who()) { mode } else { mode & !crate::permission::SGID };
        self.state.touch_changed(id);
        let node = self.state.node_mut(id);
        match kind {
            AclKind::Default => node.default_acl = entries.to_vec(),
            AclKind::Access => {
                node.mode = mode;
                node.acl = if adds_to_mode(entries) { entries.to_vec() } else { Vec::new() };
            }
        }
        Ok(())
    }

    /// Looks up the node whose list is read or set. With an empty path, a descriptor has to be more
    /// than a place (`EBADF`).
    fn lookup_of_list(&self, at: i32, path: &[u8], flags: AtFlags) -> Result<Id> {
        if !(AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH).contains(flags) {
            return Err(Errno::EINVAL);
        }
        let empty = if flags.contains(AtFlags::EMPTY_PATH) { Empty::Start } else { Empty::Refused };
        if path.is_empty() && empty == Empty::Start && at != AT_FDCWD {
            return self.file(at).map(|(_, file)| file.node);
        }
        self.lookup(at, path, Follow::unless(flags.contains(AtFlags::SYMLINK_NOFOLLOW)), empty)
    }
}

impl Node {
    /// Returns the entries of a list; `EOPNOTSUPP` for a link.
    pub(crate) fn list(&self, kind: AclKind) -> Result<&[AclEntry]> {
        match kind {
            _ if self.link_body().is_some() => Err(Errno::EOPNOTSUPP),
            AclKind::Access => Ok(&self.acl),
            AclKind::Default => Ok(&self.default_acl),
        }
    }

    /// Gives a new node with this mode the default list of its directory.
    pub(crate) fn inherit(&mut self, default: &[AclEntry], mode: u32) {
        let class = group_class(default);
        let mut entries = default.to_vec();
        for entry in &mut entries {
            if let Some(shift) = shift(entry.tag, class) {
                entry.grants &= Access::from_bits_truncate(mode >> shift & 7);
            }
        }
        self.mode = mode_of(&entries, mode);
        self.acl = if adds_to_mode(&entries) { entries } else { Vec::new() };
        self.default_acl = if self.is_directory() { default.to_vec() } else { Vec::new() };
    }

    fn has_flags(&self) -> Result<()> {
        if self.is_file() || self.is_directory() { Ok(()) } else { Err(Errno::EOPNOTSUPP) }
    }

    pub(crate) fn is_immutable(&self) -> bool {
        self.flags.contains(NodeFlags::IMMUTABLE)
    }

    pub(crate) fn is_append_only(&self) -> bool {
        self.flags.contains(NodeFlags::APPEND)
    }

    /// Fails with `EPERM` if neither mode, owner nor times can be set.
    pub(crate) fn may_be_set(&self) -> Result<()> {
        if self.flags.intersects(NodeFlags::IMMUTABLE | NodeFlags::APPEND) { Err(Errno::EPERM) } else { Ok(()) }
    }

    /// Sets the mode, and the entries of the list that correspond to it.
    pub(crate) fn set_mode(&mut self, mode: u32) {
        self.mode = mode;
        let class = group_class(&self.acl);
        for entry in &mut self.acl {
            let shift = shift(entry.tag, class);
            entry.grants = shift.map_or(entry.grants, |shift| Access::from_bits_truncate(mode >> shift & 7));
        }
    }

    /// Returns the list's decision for a caller that is not the owner. `None` if there is no list,
    /// or if the mode's middle bits are empty.
    pub(crate) fn acl_grants(&self, who: &Credentials, wanted: Access) -> Option<bool> {
        if self.acl.is_empty() || self.mode & 0o070 == 0 {
            return None;
        }
        let mask = self.grants_of(AclTag::Mask).unwrap_or(Access::all());
        if let Some(grants) = self.grants_of(AclTag::User(who.fsuid)) {
            return Some((grants & mask).contains(wanted));
        }
        let mut groups = self.acl.iter().filter(|entry| match entry.tag {
            AclTag::Group => who.in_group(self.gid),
            AclTag::NamedGroup(gid) => who.in_group(gid),
            _ => false,
        });
        if groups.clone().next().is_some() {
            return Some(groups.any(|entry| (entry.grants & mask).contains(wanted)));
        }
        self.grants_of(AclTag::Other).map(|grants| grants.contains(wanted))
    }

    fn grants_of(&self, tag: AclTag) -> Option<Access> {
        self.acl.iter().find(|entry| entry.tag == tag).map(|entry| entry.grants)
    }
}

/// Returns whether a list says more than a mode can.
fn adds_to_mode(entries: &[AclEntry]) -> bool {
    entries.iter().any(|entry| !matches!(entry.tag, AclTag::Owner | AclTag::Group | AclTag::Other))
}

/// Returns whether the entries are in order and complete, by the kernel's states.
fn is_valid(entries: &[AclEntry]) -> bool {
    #[derive(PartialEq)]
    enum State {
        Begin,
        Users,
        Groups,
        Masked,
        End,
    }
    let (mut state, mut needs_mask) = (State::Begin, false);
    for AclEntry { tag, grants } in entries {
        state = match (tag, state) {
            _ if !Access::all().contains(*grants) => return false,
            (AclTag::User(NO_ID) | AclTag::NamedGroup(NO_ID), _) => return false,
            (AclTag::Owner, State::Begin) => State::Users,
            (AclTag::User(_), State::Users) => {
                needs_mask = true;
                State::Users
            }
            (AclTag::Group, State::Users) => State::Groups,
            (AclTag::NamedGroup(_), State::Groups) => {
                needs_mask = true;
                State::Groups
            }
            (AclTag::Mask, State::Groups) => State::Masked,
            (AclTag::Other, State::Masked) => State::End,
            (AclTag::Other, State::Groups) if !needs_mask => State::End,
            _ => return false,
        };
    }
    state == State::End
}

/// Returns the mode that corresponds to a list.
fn mode_of(entries: &[AclEntry], mode: u32) -> u32 {
    let class = group_class(entries);
    let set = |mode, entry: &AclEntry| match shift(entry.tag, class) {
        Some(shift) => mode & !(7 << shift) | entry.grants.bits() << shift,
        None => mode,
    };
    entries.iter().fold(mode, set)
}

/// Returns the entry that corresponds to the mode's middle bits.
fn group_class(entries: &[AclEntry]) -> AclTag {
    if entries.iter().any(|entry| entry.tag == AclTag::Mask) { AclTag::Mask } else { AclTag::Group }
}

/// Returns the position of an entry's bits in the mode.
fn shift(tag: AclTag, class: AclTag) -> Option<u32> {
    match tag {
        AclTag::Owner => Some(6),
        AclTag::Other => Some(0),
        tag if tag == class => Some(3),
        _ => None,
    }
}
