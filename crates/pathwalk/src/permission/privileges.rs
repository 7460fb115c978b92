//! The bits that give rights to those who execute a file, and when they go. Source: `inode(7)`.

use super::{Capabilities, Subject};

/// `S_ISUID`
pub(crate) const SUID: u16 = 0o4000;
/// `S_ISGID`
pub(crate) const SGID: u16 = 0o2000;
/// `S_IXGRP`
pub(crate) const GROUP_EXECUTE: u16 = 0o010;

/// Whether somebody keeps the sgid bit on a node of this group.
pub(crate) fn in_group_or_capable(who: &Subject<'_>, gid: u32) -> bool {
    who.in_group(gid) || who.has(Capabilities::FSETID)
}

/// The mode without the bits that a change of owner takes away, whoever makes it.
pub(crate) fn without_privileges(who: &Subject<'_>, mode: u16, gid: u32) -> u16 {
    let drops_sgid = mode & GROUP_EXECUTE != 0 || !in_group_or_capable(who, gid);
    mode & !SUID & !if drops_sgid { SGID } else { 0 }
}
