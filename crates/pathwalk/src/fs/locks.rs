//! The locks of the standard library's `File`, which are those of `flock(2)`.

use std::fmt;
use std::io;

use crate::Errno;
use crate::error::Error;
use crate::file::File;
use crate::locks::request::{LockKind, LockWait};

/// # Locks as in `std::fs`
///
/// ```
/// use pathwalk::{Credentials, File, TryLockError, Vfs};
/// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let (one, other) = (File::create(&context, "/lock")?, File::open(&context, "/lock")?);
/// one.lock()?;
/// assert!(matches!(other.try_lock_shared(), Err(TryLockError::WouldBlock)));
/// one.unlock()?;
/// one.lock_shared()?;
/// other.try_lock_shared()?;
/// assert!(matches!(one.try_lock(), Err(TryLockError::WouldBlock)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl File {
    /// Waits for the exclusive lock. Errors as [`flock`](Self::flock), which waits as well. Source:
    /// [`std::fs::File::lock`].
    pub fn lock(&self) -> Result<(), Error> {
        self.flock(LockKind::Exclusive, LockWait::Yes).map_err(|errno| self.failed("lock", errno))
    }

    /// Waits for a shared lock. Errors as [`flock`](Self::flock), which waits as well. Source:
    /// [`std::fs::File::lock_shared`].
    pub fn lock_shared(&self) -> Result<(), Error> {
        self.flock(LockKind::Shared, LockWait::Yes).map_err(|errno| self.failed("lock_shared", errno))
    }

    /// Takes the exclusive lock, unless another file has a lock. Source:
    /// [`std::fs::File::try_lock`].
    pub fn try_lock(&self) -> Result<(), TryLockError> {
        self.try_flock("try_lock", LockKind::Exclusive)
    }

    /// Takes a shared lock, unless another file has the exclusive one. Source:
    /// [`std::fs::File::try_lock_shared`].
    pub fn try_lock_shared(&self) -> Result<(), TryLockError> {
        self.try_flock("try_lock_shared", LockKind::Shared)
    }

    /// Releases the lock, if the file has one. Errors as [`flock`](Self::flock). Source:
    /// [`std::fs::File::unlock`].
    pub fn unlock(&self) -> Result<(), Error> {
        self.flock(LockKind::Unlock, LockWait::No).map_err(|errno| self.failed("unlock", errno))
    }

    fn try_flock(&self, operation: &'static str, kind: LockKind) -> Result<(), TryLockError> {
        self.flock(kind, LockWait::No).map_err(|errno| match errno {
            Errno::EWOULDBLOCK => TryLockError::WouldBlock,
            errno => TryLockError::Error(self.failed(operation, errno)),
        })
    }

    /// Returns an error with the path that the file has now; none once it was removed.
    #[cold]
    fn failed(&self, operation: &'static str, errno: Errno) -> Error {
        Error::new(operation, &self.handle().path().unwrap_or_default(), errno)
    }
}

/// The reason why a lock was not taken at once. Source: [`std::fs::TryLockError`].
///
/// [`File`] has an example.
#[derive(Debug)]
pub enum TryLockError {
    /// Another reason than a lock.
    Error(Error),
    /// Another file has a lock that conflicts.
    WouldBlock,
}

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryLockError::Error(error) => error.fmt(f),
            TryLockError::WouldBlock => f.write_str("another file has a lock that conflicts"),
        }
    }
}

impl std::error::Error for TryLockError {}

impl From<TryLockError> for io::Error {
    fn from(error: TryLockError) -> io::Error {
        match error {
            TryLockError::Error(error) => error.into(),
            TryLockError::WouldBlock => Errno::EWOULDBLOCK.into(),
        }
    }
}
