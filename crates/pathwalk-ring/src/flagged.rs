//! Reads and writes with flags, and leases, through the async face.

use std::sync::Arc;

use pathwalk::{Errno, File, Lease, LockKind, RwFlags};

use crate::{AsyncContext, Offset, Op, Value};

/// # Flags and leases
///
/// ```
/// use pathwalk::{Credentials, Errno, LEASE_BREAK_TIME, LockKind, OpenFlags, RwFlags, Vfs};
/// use pathwalk_ring::{AsyncContext, Offset, Pool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let vfs = Vfs::builder().leases(LEASE_BREAK_TIME).build(pathwalk_memfs::MemFs::new())?;
/// let vfs = AsyncContext::new(vfs.context(Credentials::root()), Pool::default());
/// let file = vfs.open("/log", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE).await?;
/// vfs.write_with(&file, b"one".to_vec(), Offset::At(0), RwFlags::DSYNC).await?;
/// vfs.write_with(&file, b"two".to_vec(), Offset::At(0), RwFlags::APPEND).await?;
/// assert_eq!(vfs.read_with(&file, vec![0; 9], Offset::At(0), RwFlags::NOWAIT).await?, b"onetwo");
///
/// let lease = vfs.lease(&file, LockKind::Exclusive).await?;
/// let without_wait = OpenFlags::READ | OpenFlags::NONBLOCK;
/// assert_eq!(vfs.open("/log", without_wait).await.unwrap_err(), Errno::EAGAIN);
/// assert_eq!(vfs.lease_break(&lease).await?, LockKind::Shared);
/// vfs.set_lease(&lease, LockKind::Unlock).await?;
/// vfs.open("/log", without_wait).await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl AsyncContext {
    /// Reads into a buffer, and returns it truncated to the bytes read, as [`File::preadv2`] does.
    pub async fn read_with(&self, file: &Arc<File>, buffer: Vec<u8>, offset: Offset, flags: RwFlags) -> Result<Vec<u8>, Errno> {
        match self.perform(Op::ReadWith { file: file.clone(), buffer, offset, flags }).await? {
            Value::Read(bytes) => Ok(bytes),
            other => unreachable!("{other:?} for a read"),
        }
    }

    /// Writes, and returns the number of bytes, as [`File::pwritev2`] does.
    pub async fn write_with(&self, file: &Arc<File>, data: Vec<u8>, offset: Offset, flags: RwFlags) -> Result<usize, Errno> {
        match self.perform(Op::WriteWith { file: file.clone(), data, offset, flags }).await? {
            Value::Written(bytes) => Ok(bytes),
            other => unreachable!("{other:?} for a write"),
        }
    }

    /// Leases a file as [`File::lease`] does.
    pub async fn lease(&self, file: &Arc<File>, kind: LockKind) -> Result<Lease, Errno> {
        match self.perform(Op::Lease { file: file.clone(), kind }).await? {
            Value::Lease(lease) => Ok(lease),
            other => unreachable!("{other:?} for an operation that gives a lease"),
        }
    }

    /// Changes or releases a lease as [`Lease::set`] does.
    pub async fn set_lease(&self, lease: &Lease, kind: LockKind) -> Result<(), Errno> {
        self.perform(Op::SetLease { lease: lease.clone(), kind }).await.map(drop)
    }

    /// Waits until a lease is broken, and returns what it has to become, as [`Lease::wait`] does. A
    /// future that is dropped ends the wait, and leaves the lease as it is.
    pub async fn lease_break(&self, lease: &Lease) -> Result<LockKind, Errno> {
        match self.perform(Op::LeaseBreak { lease: lease.clone() }).await? {
            Value::Break(to) => Ok(to),
            other => unreachable!("{other:?} for a wait for a break"),
        }
    }
}
