//! A lease as its holder has it.
//!
//! What always holds: a holder is told of a break under no lock of the engine, once a break, by the
//! thread that begins it, or by the one that asks to be told.

use std::sync::Arc;

use super::leases::LeaseTable;
use super::request::{FileNumber, Id, LockKind};
use crate::Errno;
use crate::memory::slot::InodeId;
use crate::sync::Mutex;

/// A lease on a file: as long as it is held, no other open can go on without its holder's leave.
/// Made by [`File::lease`](crate::File::lease). Source: `F_SETLEASE` of `fcntl(2)`.
///
/// A [`Shared`](LockKind::Shared) lease is broken by an open for writing and by `truncate`, an
/// [`Exclusive`](LockKind::Exclusive) one by any open. Names, attributes, and what is done through
/// files that are open break none. The holder learns of it by [`on_break`](Self::on_break), where
/// Linux has a signal, by [`wait`](Self::wait), or by [`broken`](Self::broken). Then it writes back
/// what it has, and gives way: [`release`](Self::release), or [`set`](Self::set) to `Shared` if
/// that is enough. Until then the open waits, but no longer than
/// [`VfsBuilder::leases`](crate::VfsBuilder::leases) says; then the lease is taken away.
///
/// Clones are the same lease. It ends when it is released, when the last clone is dropped, or when
/// its file is closed.
///
/// ```
/// use std::sync::mpsc::channel;
/// use pathwalk::{Credentials, Errno, LEASE_BREAK_TIME, LockKind, OpenFlags, Vfs};
/// # let fs = pathwalk_memfs::MemFs::new();
/// let vfs = Vfs::builder().leases(LEASE_BREAK_TIME).build(fs)?;
/// let context = vfs.context(Credentials::root());
/// context.write("/file", "old")?;
/// let file = context.open("/file", OpenFlags::READ | OpenFlags::WRITE)?;
/// let lease = file.lease(LockKind::Exclusive)?;
/// assert_eq!((lease.kind(), lease.broken()), (LockKind::Exclusive, None));
///
/// let (queue, breaks) = channel();
/// lease.on_break(move |to| _ = queue.send(to));
/// let text = std::thread::scope(|scope| {
///     let reader = scope.spawn(|| context.read_to_string("/file"));
///     // The holder is told, writes back what it has, and lets others read.
///     assert_eq!(breaks.recv().unwrap(), LockKind::Shared);
///     assert_eq!(lease.wait(), Ok(LockKind::Shared));
///     file.write_at(b"new", 0).unwrap();
///     lease.release();
///     reader.join().unwrap()
/// })?;
/// assert_eq!(text, "new");
///
/// // An open that does not wait still begins the break.
/// let lease = file.lease(LockKind::Exclusive)?;
/// let flags = OpenFlags::WRITE | OpenFlags::NONBLOCK;
/// assert_eq!(context.open("/file", flags).unwrap_err(), Errno::EAGAIN);
/// assert_eq!((lease.broken(), file.getlease()), (Some(LockKind::Unlock), Ok(LockKind::Unlock)));
/// lease.release();
/// assert_eq!(lease.kind(), LockKind::Unlock);
/// context.open("/file", flags)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Lease(pub(super) Arc<Shared>);

/// What the clones of a lease share. Its drop releases the lease.
pub(super) struct Shared {
    table: Arc<LeaseTable>,
    node: InodeId,
    file: FileNumber,
    /// Whether the file is open for writing.
    writes: bool,
    /// The number of the lease, which is another one after the file got a lease once more.
    id: Id,
    /// Above nothing.
    told: Mutex<Told>,
}

/// What the holder was told.
#[derive(Default)]
struct Told {
    tell: Option<Arc<dyn Fn(LockKind) + Send + Sync>>,
    /// The number of the last break of which the holder was told.
    last: u64,
}

impl Lease {
    pub(super) fn new(table: &Arc<LeaseTable>, node: InodeId, file: (FileNumber, bool), id: Id) -> Lease {
        let (table, (file, writes), told) = (table.clone(), file, Mutex::default());
        Lease(Arc::new(Shared { table, node, file, writes, id, told }))
    }

    /// Returns its kind: [`LockKind::Unlock`] once it has ended. Cost, as of all methods: a lock of
    /// the `Vfs`.
    pub fn kind(&self) -> LockKind {
        self.look(|kind, _, _| kind).unwrap_or(LockKind::Unlock)
    }

    /// Returns what it has to become, since an open is in its way: [`LockKind::Shared`] or
    /// [`LockKind::Unlock`]; `None` if there is no such open, or the lease has ended.
    pub fn broken(&self) -> Option<LockKind> {
        self.look(|_, broken, _| broken).flatten()
    }

    /// Waits until it is broken, and returns what it has to become; [`LockKind::Unlock`] also if it
    /// has ended. `ECANCELED` if its [`Cancellation`](crate::Cancellation) is cancelled.
    pub fn wait(&self) -> Result<LockKind, Errno> {
        let Shared { table, node, file, id, .. } = &*self.0;
        table.wait_for_break(*node, *file, *id)
    }

    /// Has `tell` called at each break with what the lease has to become; at once, if it is broken
    /// already. Takes the place of what was set before.
    ///
    /// The opener's thread calls it, under no lock of the engine, and goes on afterwards, so it
    /// must not wait for the holder. A panic in it goes to the opener.
    pub fn on_break(&self, tell: impl Fn(LockKind) + Send + Sync + 'static) {
        {
            // A callback that was set before is dropped without the lock.
            let mut told = self.0.told.lock();
            let before = told.tell.replace(Arc::new(tell));
            drop(told);
            drop(before);
        }
        if let Some((Some(to), number)) = self.look(|_, broken, breaks| (broken, breaks)) {
            self.tell(number, to);
        }
    }

    /// Changes its kind: to `Shared` as the holder of a lease that is broken does, or to
    /// `Exclusive`. [`LockKind::Unlock`] releases it.
    ///
    /// `EAGAIN` if another file that is open, or another lease, is in the way, or if it has ended.
    ///
    /// ```
    /// use pathwalk::{Credentials, LEASE_BREAK_TIME, LockKind, OpenFlags, Vfs};
    /// let vfs = Vfs::builder().leases(LEASE_BREAK_TIME).build(pathwalk_memfs::MemFs::new())?;
    /// let context = vfs.context(Credentials::root());
    /// context.write("/file", "text")?;
    /// let file = context.open("/file", OpenFlags::READ)?;
    /// let lease = file.lease(LockKind::Exclusive)?;
    /// lease.set(LockKind::Shared)?;
    /// assert_eq!(lease.kind(), LockKind::Shared);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set(&self, kind: LockKind) -> Result<(), Errno> {
        let Shared { table, node, file, writes, id, .. } = &*self.0;
        match kind {
            LockKind::Unlock if table.release(*node, *file, Some(*id)) => Ok(()),
            LockKind::Unlock => Err(Errno::EAGAIN),
            kind => table.change(*node, (*file, *writes), *id, kind),
        }
    }

    /// Releases it. An open that waits for it goes on.
    pub fn release(&self) {
        // It may have ended before.
        _ = self.set(LockKind::Unlock);
    }

    /// Tells the holder of the break of this number, unless it was told of that or of a later one.
    pub(super) fn tell(&self, number: u64, to: LockKind) {
        let tell = {
            let mut told = self.0.told.lock();
            if told.last >= number {
                return;
            }
            let tell = told.tell.clone();
            if tell.is_some() {
                told.last = number;
            }
            tell
        };
        if let Some(tell) = tell {
            tell(to);
        }
    }

    fn look<T>(&self, what: impl FnOnce(LockKind, Option<LockKind>, u64) -> T) -> Option<T> {
        let Shared { table, node, file, id, .. } = &*self.0;
        let seen = table.look(*node, *file, |held| (held.id, held.kind, held.broken(), held.breaks));
        seen.filter(|seen| seen.0 == *id).map(|(_, kind, broken, breaks)| what(kind, broken, breaks))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.table.release(self.node, self.file, Some(self.id));
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("file", &self.file).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lease").field("kind", &self.kind()).field("broken", &self.broken()).finish()
    }
}
