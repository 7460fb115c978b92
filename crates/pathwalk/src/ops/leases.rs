//! What breaks leases: opens, truncations by path, and checks for execution.
//!
//! An operation is counted before it looks for leases, and waits under no lock, with pins and a
//! count of its mount's writers alone. Linux: `do_dentry_open`, `vfs_truncate`.

use super::open::Asks;
use crate::abi::OpenFlags;
use crate::attr::FileType;
use crate::locks::breaks::{Breaks, Counted};
use crate::locks::request::LockKind;
use crate::memory::slot::InodeId;
use crate::walk::Env;

/// Counts a regular file that is about to be opened. Returns `None` where no leases are granted.
pub(super) fn count<'a>(env: &Env<'a>, (inode, kind): (InodeId, FileType), flags: OpenFlags) -> Option<Counted<'a>> {
    let leases = env.world.locks.leases.as_ref().filter(|_| kind == FileType::Regular)?;
    Some(Counted::new(leases, inode, opener(flags)))
}

/// Counts a file that is about to be truncated, without an open.
pub(super) fn count_writer<'a>(env: &Env<'a>, inode: InodeId) -> Option<Counted<'a>> {
    env.world.locks.leases.as_ref().map(|leases| Counted::new(leases, inode, LockKind::Exclusive))
}

/// Returns the kind of lease whose holder would open in this way.
pub(crate) fn opener(flags: OpenFlags) -> LockKind {
    if flags.contains(OpenFlags::WRITE) { LockKind::Exclusive } else { LockKind::Shared }
}

pub(super) fn breaks(flags: OpenFlags, asks: Asks) -> Breaks {
    match asks {
        Asks::CachesOnly => Breaks::Not,
        Asks::FileSystem if flags.contains(OpenFlags::NONBLOCK) => Breaks::Begins,
        Asks::FileSystem => Breaks::Waits,
    }
}
