//! Who may do what.
//!
//! Source: `generic_permission`, `acl_permission_check`, `check_sticky`, `may_delete`, `may_create` and `in_group_or_capable` of Linux.

use crate::errno::{Errno, Result};
use crate::flags::{Access, Capabilities};
use crate::node::{Id, Node, State};
use crate::process::{Credentials, NO_ID};

pub(crate) const SUID: u32 = 0o4000;
pub(crate) const SGID: u32 = 0o2000;
pub(crate) const STICKY: u32 = 0o1000;
pub(crate) const GROUP_EXECUTE: u32 = 0o010;

/// Whether a node may be used so: `EPERM` for writing to what is immutable; mode bits or the list,
/// then capabilities: `EACCES`.
pub(crate) fn permission(node: &Node, who: &Credentials, wanted: Access) -> Result<()> {
    if wanted.contains(Access::WRITE) && node.is_immutable() {
        return Err(Errno::EPERM);
    }
    if mode_grants(node, who, wanted) || capabilities_grant(node, who, wanted) { Ok(()) } else { Err(Errno::EACCES) }
}

/// The owner's bits decide for the owner, else the list if there is one, else the group's for the
/// group, else the others'.
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

/// Whether the sgid bit may stay on something of this group.
pub(crate) fn in_group_or_capable(gid: u32, who: &Credentials) -> bool {
    who.in_group(gid) || who.has(Capabilities::FSETID)
}

/// Whether a directory may get a name. The name is known to be free.
pub(crate) fn may_create(state: &State, who: &Credentials, directory: Id) -> Result<()> {
    let node = state.node(directory);
    if node.is_removed_directory() {
        return Err(Errno::ENOENT);
    }
    may_own(who)?;
    permission(node, who, Access::WRITE | Access::EXECUTE)
}

/// Says whether something can belong to the caller: `fsuidgid_has_mapping`.
pub(crate) fn may_own(who: &Credentials) -> Result<()> {
    if who.fsuid == NO_ID || who.fsgid == NO_ID { Err(Errno::EOVERFLOW) } else { Ok(()) }
}

/// What the call removes.
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

/// Whether a name of a directory, which leads to `victim`, may be taken away by a call for things of type `expected`.
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
