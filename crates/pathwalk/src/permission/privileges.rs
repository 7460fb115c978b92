//! The mode bits that give rights to the users that execute a file, and the cases in which they are
//! cleared. Source: `inode(7)`.

use super::{Capabilities, Subject};

/// `S_ISUID`
pub(crate) const SUID: u16 = 0o4000;
/// `S_ISGID`
pub(crate) const SGID: u16 = 0o2000;
/// `S_IXGRP`
pub(crate) const GROUP_EXECUTE: u16 = 0o010;

/// The owner and the group that a file system stores for a node.
#[derive(Clone, Copy)]
pub(crate) struct Owners {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// Returns whether a subject keeps the sgid bit on a node whose group is, or will be, `gid`.
pub(crate) fn in_group_or_capable(who: &Subject<'_>, of: Owners, gid: u32) -> bool {
    who.in_group(gid) || who.has_for(Capabilities::FSETID, of.uid, of.gid)
}

/// Returns the mode without the bits that a change of owner clears.
pub(crate) fn without_privileges(who: &Subject<'_>, mode: u16, of: Owners) -> u16 {
    let drops_sgid = mode & GROUP_EXECUTE != 0 || !in_group_or_capable(who, of, of.gid);
    mode & !SUID & !if drops_sgid { SGID } else { 0 }
}
