//! The locks on one node as a whole, each of an open file.
//!
//! What always holds: a file has at most one. A request of another kind first releases the lock
//! that the file has, and then looks for conflicts. So a conversion that has to wait, or fails, has
//! lost the lock.
//!
//! Source: `flock_lock_inode` of Linux.

use super::request::{Held, Id, LockKind, Want};

/// The state of a request after the lock that its file has was looked at.
pub(super) enum Begun {
    /// There is nothing left to do: the file has such a lock, or is to have none.
    Done,
    /// A lock is to be added.
    Adds,
}

/// Releases the lock that the file of a request has, if it is of another kind. Returns that lock,
/// too.
pub(super) fn begin(locks: &mut Vec<Held>, want: &Want) -> (Begun, Option<Id>) {
    let own = locks.iter().position(|held| held.owner == want.owner);
    if own.is_some_and(|own| locks[own].kind == want.kind) {
        return (Begun::Done, None);
    }
    let released = own.map(|own| locks.remove(own).id);
    (if want.kind == LockKind::Unlock { Begun::Done } else { Begun::Adds }, released)
}
