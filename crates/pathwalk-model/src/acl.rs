//! Access control lists, and attribute bits that protect a node from changes.
//!
//! A list is kept consistent with the mode: the owner's and the other entry are the mode's highest
//! and lowest bits, and the mask, or else the owning group's entry, is the middle ones. A list of
//! only those three entries grants the same as the mode, so it is dropped.
//!
//! Source: `posix_acl_permission`, `posix_acl_equiv_mode`, `__posix_acl_chmod_masq`, `vfs_set_acl`,
//! `ioctl_setflags` of Linux.
//!
//! What it does not do: default lists, and so no inheritance.

use crate::Model;
use crate::errno::{Errno, Result};
use crate::flags::{Access, AtFlags, NodeFlags};
use crate::node::Node;
use crate::permission::{in_group_or_capable, owner_or_capable};
use crate::process::{Credentials, Process};
use crate::walk::{Empty, Follow};

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

impl Model {
    /// Sets the list as `setxattrat` of `system.posix_acl_access` does, or removes it as
    /// `removexattrat` does if there are no entries. Entries come in the order of [`AclTag`], with
    /// a mask if any user or group is named. Flags: `SYMLINK_NOFOLLOW`.
    pub fn set_acl(&self, process: &mut Process, at: i32, path: &[u8], entries: &[AclEntry], flags: AtFlags) -> Result<()> {
        let mut call = self.call(process);
        if !AtFlags::SYMLINK_NOFOLLOW.contains(flags) {
            return Err(Errno::EINVAL);
        }
        let id = call.lookup(at, path, Follow::unless(!flags.is_empty()), Empty::Refused)?;
        let node = call.state.node(id);
        node.may_be_set()?;
        if node.link_body().is_some() {
            return Err(Errno::EOPNOTSUPP);
        }
        if !owner_or_capable(node, call.who()) {
            return Err(Errno::EPERM);
        }
        let mode = mode_of(entries, node.mode);
        let mode = if in_group_or_capable(node.gid, call.who()) { mode } else { mode & !crate::permission::SGID };
        let adds = entries.iter().any(|entry| !matches!(entry.tag, AclTag::Owner | AclTag::Group | AclTag::Other));
        call.state.touch_changed(id);
        let node = call.state.node_mut(id);
        node.mode = mode;
        node.acl = if adds { entries.to_vec() } else { Vec::new() };
        Ok(())
    }

    /// Sets attribute bits as `FS_IOC_SETFLAGS` does on a file or directory, with
    /// `CAP_LINUX_IMMUTABLE`: `EOPNOTSUPP` for any other node. Flags: `SYMLINK_NOFOLLOW`.
    pub fn set_flags(&self, process: &mut Process, at: i32, path: &[u8], set: NodeFlags, flags: AtFlags) -> Result<()> {
        let mut call = self.call(process);
        if !AtFlags::SYMLINK_NOFOLLOW.contains(flags) {
            return Err(Errno::EINVAL);
        }
        let id = call.lookup(at, path, Follow::unless(!flags.is_empty()), Empty::Refused)?;
        let node = call.state.node_mut(id);
        if !node.is_file() && !node.is_directory() {
            return Err(Errno::EOPNOTSUPP);
        }
        node.flags = set;
        call.state.touch_changed(id);
        Ok(())
    }
}

impl Node {
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
