//! The checks of permission.
//!
//! Source: `generic_permission`, `acl_permission_check`, `check_sticky`, `may_delete`, `may_create`
//! and `in_group_or_capable` of Linux.

use crate::errno::{Errno, Result};
use crate::flags::{Access, Capabilities};
use crate::node::{Id, Node, State};
use crate::process::{Credentials, NO_ID};

pub(crate) const SUID: u32 = 0o4000;
pub(crate) const SGID: u32 = 0o2000;
pub(crate) const STICKY: u32 = 0o1000;
pub(crate) const GROUP_EXECUTE: u32 = 0o010;

/// Checks that a node may be accessed in this way: `EPERM` for writing to an immutable node.
/// Otherwise mode bits or the list decide, then capabilities: `EACCES`.
pub(crate) fn permission(node: &Node, who: &Credentials, wanted: Access) -> Result<()> {
    if wanted.contains(Access::WRITE) && node.is_immutable() {
        return Err(Errno::EPERM);
    }
    if mode_grants(node, who, wanted) || capabilities_grant(node, who, wanted) { Ok(()) } else { Err(Errno::EACCES) }
}

/// Returns whether the mode grants the access. The owner's bits decide for the owner; else the
/// list, if there is one; else the group's bits for the group; else the others' bits.
fn mode_grants(node: &Node, who: &Credentials, wanted: Access) -> bool {
    if who.fsuid != node.uid
        && let Some(granted) = node.acl_grants(who, wanted)
    {
        return granted;
    }
    let triad = match () {
        () if who.fsuid == node.uid => node.mode >> 6,
        () if who.in_group(node.gid) => node.mode >> 3,
        () => node.mode,
    };
    Access::from_bits_truncate(triad & 7).contains(wanted)
}

fn capabilities_grant(node: &Node, who: &Credentials, wanted: Access) -> bool {
    let only_reads = if node.is_directory() { !wanted.contains(Access::WRITE) } else { wanted == Access::READ };
    if only_reads && who.has(Capabilities::DAC_READ_SEARCH) {
        return true;
    }
    let executable = node.is_directory() || !wanted.contains(Access::EXECUTE) || node.mode & 0o111 != 0;
    executable && who.has(Capabilities::DAC_OVERRIDE)
}

pub(crate) fn owner_or_capable(node: &Node, who: &Credentials) -> bool {
    who.fsuid == node.uid || who.has(Capabilities::FOWNER)
}

/// Returns whether the sgid bit may stay on a node of this group.
pub(crate) fn in_group_or_capable(gid: u32, who: &Credentials) -> bool {
    who.in_group(gid) || who.has(Capabilities::FSETID)
}

/// Checks that a name may be added to a directory. The name is known not to exist.
pub(crate) fn may_create(state: &State, who: &Credentials, directory: Id) -> Result<()> {
    let node = state.node(directory);
    if node.is_removed_directory() {
        return Err(Errno::ENOENT);
    }
    may_own(who)?;
    permission(node, who, Access::WRITE | Access::EXECUTE)
}

/// Checks that the caller may own a new node: `fsuidgid_has_mapping`.
pub(crate) fn may_own(who: &Credentials) -> Result<()> {
    if who.fsuid == NO_ID || who.fsgid == NO_ID { Err(Errno::EOVERFLOW) } else { Ok(()) }
}

/// The type of node that a call removes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    Directory,
    Other,
}

impl Victim {
    pub(crate) fn of(node: &Node) -> Victim {
        if node.is_directory() { Victim::Directory } else { Victim::Other }
    }
}

/// Checks that a call for nodes of type `expected` may remove a name of a directory, which leads to
/// `victim`.
pub(crate) fn may_delete(state: &State, who: &Credentials, directory: Id, victim: Id, expected: Victim) -> Result<()> {
    let (directory, victim) = (state.node(directory), state.node(victim));
    permission(directory, who, Access::WRITE | Access::EXECUTE)?;
    let is_kept = directory.is_append_only() || victim.is_append_only() || victim.is_immutable();
    if is_kept || sticky_forbids(directory, victim, who) {
        return Err(Errno::EPERM);
    }
    match (expected, Victim::of(victim)) {
        (Victim::Directory, Victim::Other) => Err(Errno::ENOTDIR),
        (Victim::Other, Victim::Directory) => Err(Errno::EISDIR),
        _ if directory.is_removed_directory() => Err(Errno::ENOENT),
        _ => Ok(()),
    }
}

fn sticky_forbids(directory: &Node, victim: &Node, who: &Credentials) -> bool {
    directory.mode & STICKY != 0 && who.fsuid != victim.uid && who.fsuid != directory.uid && !who.has(Capabilities::FOWNER)
}
