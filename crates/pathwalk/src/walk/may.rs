//! Who may search, where the dentry's own bits do not say: what the inode of a cursor says.

use super::{Cursor, Env};
use crate::cache::dcache::dentry::inode_of;
use crate::cache::icache::snapshot::Snapshot;

/// Returns what the inode of a cursor says about permission, or `None` if something changed. The
/// dentry is rechecked, too: it is the inode of that name.
pub(crate) fn snapshot(env: &Env<'_>, cur: Cursor<'_>) -> Option<Snapshot> {
    let snapshot = Snapshot::read(env.caches(), inode_of(cur.line))?;
    cur.unchanged().then_some(snapshot)
}
