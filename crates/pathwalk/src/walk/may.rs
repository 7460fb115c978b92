//! The permission to search where the dentry's own bits do not decide: read from the cursor's
//! inode.

use super::{Cursor, Env};
use crate::cache::dcache::dentry::inode_of;
use crate::cache::icache::snapshot::Snapshot;

/// Returns what the inode of a cursor says about permission, or `None` if something changed. The
/// dentry is rechecked too, so the inode belongs to that name.
pub(crate) fn snapshot(env: &Env<'_>, cur: Cursor<'_>) -> Option<Snapshot> {
    let snapshot = Snapshot::read(env.caches(), inode_of(cur.line))?;
    cur.unchanged().then_some(snapshot)
}
