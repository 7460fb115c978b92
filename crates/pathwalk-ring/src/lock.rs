//! Locks on files: the request of an entry.
//!
//! A request is tried at once, in `submit`. One that has to wait takes a thread until it has the
//! lock or is cancelled, as a wait in a named pipe does: see [`waiting`](crate::waiting).

use pathwalk::{Errno, File, LockKind, LockOwner, LockRange, LockWait};

use crate::Value;

/// The lock that an entry sets. In [`Op::Lock`](crate::Op::Lock).
///
/// ```
/// use pathwalk::{Credentials, Errno, LockKind, LockWait, OpenFlags, Vfs};
/// use pathwalk_ring::{Entry, Lock, Op, Ring};
/// use std::sync::Arc;
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let flags = OpenFlags::READ | OpenFlags::CREATE;
/// let (one, file) = (context.open("/file", flags)?, Arc::new(context.open("/file", flags)?));
/// one.lock()?;
/// let mut ring = Ring::new(context);
/// let mut queue = ring.queue();
/// let lock = |kind, wait| Op::Lock { file: file.clone(), lock: Lock::Flock, kind, wait };
/// queue.push(Entry::new(1, lock(LockKind::Shared, LockWait::No))).map_err(Errno::from)?;
/// queue.push(Entry::new(2, lock(LockKind::Exclusive, LockWait::Yes))).map_err(Errno::from)?;
/// ring.submit(&mut queue)?;
/// ring.wait(1);
/// let first = ring.reap().unwrap();
/// assert_eq!((first.user_data, first.result.unwrap_err()), (1, Errno::EAGAIN));
/// one.unlock()?;
/// ring.wait(1);
/// let second = ring.reap().unwrap();
/// assert!(second.user_data == 2 && second.result.is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lock {
    /// The lock of the open file on the node as a whole: [`File::flock`].
    Flock,
    /// A range, owned by the context that opened the file: [`File::setlk`].
    Range(LockRange),
    /// A range, owned by the open file: [`File::ofd_setlk`].
    OfdRange(LockRange),
    /// A range of another owner: [`File::locks_of`].
    RangeOf(LockOwner, LockRange),
}

/// Sets a lock.
pub(crate) fn set(file: &File, lock: Lock, kind: LockKind, wait: LockWait) -> Result<Value, Errno> {
    let set = match lock {
        Lock::Flock => file.flock(kind, wait),
        Lock::Range(range) => file.setlk(kind, range, wait),
        Lock::OfdRange(range) => file.ofd_setlk(kind, range, wait),
        Lock::RangeOf(owner, range) => file.locks_of(owner).setlk(kind, range, wait),
    };
    set.map(|()| Value::Done)
}
