//! The locks that a file system keeps itself.

use crate::Errno;
use crate::locks::request::{LockKind, LockOwner, LockWait, RecordLock};
use crate::node::NodeKey;

/// The locks of a file system that others see too, such as one over a network. Returned by
/// [`FileSystem::locks`](crate::FileSystem::locks).
///
/// The engine has checked how the file was opened, and that the range is one. It calls under no
/// lock of its own, from any thread, and for nodes that are open. A method blocks only if it is
/// asked to wait. One that waits looks at
/// [`Cancellation::current`](crate::Cancellation::current), and returns `ECANCELED` soon after that is
/// cancelled. Source: the methods `lock` and `flock` of Linux's `file_operations`.
///
/// ```
/// use std::sync::Mutex;
///
/// use pathwalk::{Errno, LockKind, LockOwner, LockRange, LockWait, Locks, NodeKey, RecordLock};
///
/// /// One lock for each file, which no two owners share. It never waits.
/// #[derive(Default)]
/// struct Simple(Mutex<Vec<(NodeKey, LockOwner)>>);
///
/// impl Locks for Simple {
///     fn flock(&self, node: NodeKey, owner: LockOwner, kind: LockKind, _: LockWait) -> Result<(), Errno> {
///         let mut held = self.0.lock().unwrap();
///         held.retain(|lock| *lock != (node, owner));
///         match kind {
///             LockKind::Unlock => Ok(()),
///             _ if held.iter().any(|(of, _)| *of == node) => Err(Errno::EAGAIN),
///             _ => Ok(held.push((node, owner))),
///         }
///     }
///
///     fn set(&self, node: NodeKey, lock: &RecordLock, wait: LockWait) -> Result<(), Errno> {
///         self.flock(node, lock.owner, lock.kind, wait)
///     }
///
///     fn get(&self, node: NodeKey, lock: &RecordLock) -> Result<Option<RecordLock>, Errno> {
///         let held = self.0.lock().unwrap();
///         let other = held.iter().find(|(of, owner)| *of == node && *owner != lock.owner);
///         Ok(other.map(|(_, owner)| RecordLock::new(LockKind::Exclusive, LockRange::WHOLE, *owner)))
///     }
///
///     fn release(&self, node: NodeKey, owner: LockOwner) {
///         self.0.lock().unwrap().retain(|lock| *lock != (node, owner));
///     }
/// }
///
/// let (locks, node) = (Simple::default(), NodeKey(1));
/// locks.flock(node, LockOwner::new(1), LockKind::Exclusive, LockWait::No)?;
/// assert_eq!(locks.flock(node, LockOwner::new(2), LockKind::Shared, LockWait::No), Err(Errno::EAGAIN));
/// let wanted = RecordLock::new(LockKind::Shared, LockRange::WHOLE, LockOwner::new(2));
/// assert_eq!(locks.get(node, &wanted)?.map(|lock| lock.owner), Some(LockOwner::new(1)));
/// locks.release(node, LockOwner::new(1));
/// locks.set(node, &wanted, LockWait::No)?;
/// # Ok::<(), Errno>(())
/// ```
pub trait Locks: Send + Sync {
    /// Sets or releases the lock of an open file on a node as a whole. `EAGAIN` on a conflict, if
    /// it is not to wait. Source: `flock(2)`.
    fn flock(&self, node: NodeKey, owner: LockOwner, kind: LockKind, wait: LockWait) -> Result<(), Errno>;

    /// Sets or releases the lock of an owner on a range. `EAGAIN` on a conflict, if it is not to
    /// wait; `EDEADLK`. Source: `F_SETLK`, `F_SETLKW` and `F_OFD_SETLK` of `fcntl(2)`.
    fn set(&self, node: NodeKey, lock: &RecordLock, wait: LockWait) -> Result<(), Errno>;

    /// Returns a lock with which setting this one would conflict. Source: `F_GETLK` of `fcntl(2)`.
    fn get(&self, node: NodeKey, lock: &RecordLock) -> Result<Option<RecordLock>, Errno>;

    /// Releases all locks of an owner on a node. Called for an owner that may have some, when a
    /// file is closed. Must not block for long.
    fn release(&self, node: NodeKey, owner: LockOwner);
}
