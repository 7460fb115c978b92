//! The store in a directory of the host: rows in a database, blobs in plain files.
//!
//! | file | what it has |
//! |---|---|
//! | `rows` | the rows, in a database of `redb` that several processes share |
//! | `segments/` | the blobs, one behind the other; each file is written by one process |
//! | `leases` | nothing: a lock on the byte of a number is a lease |
//! | `users` | nothing: each process that has the store open shares a lock of it |
//!
//! What always holds: a file is in its directory for good before anything of it is used. A segment
//! is written at its end only.

mod files;
mod rows_file;
mod segments;

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use parking_lot::Mutex;
use pathwalk::Errno;
use redb::{
    Builder, ConcurrencyMode, Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition,
    TableError,
};
use rustix::fs::{FlockOperation, flock};

use super::{Applied, Batch, EachRow, Lease, Snapshot, Store};
use crate::blobs::{BlobId, BlobStore};
use files::{Files, HostFiles};
use segments::Segments;

/// The only table of the database.
const ROWS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("rows");

/// The bytes of the database that are kept in memory.
const CACHE: usize = 16 << 20;

/// The row of the next number of a segment. No other row begins with this byte.
const NEXT_SEGMENT: &[u8] = b"\0segment";

/// The store in a directory of the host. Several processes may have it open at once.
///
/// Nothing of it is lost when a process is killed or the power fails, as long as the disk keeps
/// what it says to have synced.
///
/// [`Store`] has an example.
pub struct DiskStore {
    files: Arc<dyn Files>,
    /// `None` after a failure, of which the database knows no way back: it is opened again then.
    rows: Mutex<Option<Arc<Database>>>,
    segments: Segments,
    leases: Arc<Leases>,
    users: Arc<File>,
    /// Whether rows were removed in large numbers, so that the file of the rows may be shorter.
    is_collected: AtomicBool,
}

/// The number of the lease of the process that tries to be alone.
const ALONE: u64 = i64::MAX as u64 - 1;

impl DiskStore {
    /// Opens the store in a directory, which is made if it is missing. `EUCLEAN` if it has lost its
    /// rows, and has data.
    pub fn open(directory: impl AsRef<Path>) -> Result<DiskStore, Errno> {
        let directory = directory.as_ref();
        let files = HostFiles::open(directory).map_err(errno)?;
        DiskStore::over(Arc::new(files), directory)
    }

    fn over(files: Arc<dyn Files>, directory: &Path) -> Result<DiskStore, Errno> {
        let open = |name| OpenOptions::new().read(true).write(true).create(true).truncate(false).open(directory.join(name));
        let (leases, users) = (open("leases").map_err(errno)?, open("users").map_err(errno)?);
        // As long as a process frees blobs alone, this waits.
        flock(&users, FlockOperation::LockShared).map_err(|error| Errno::from_raw(error.raw_os_error()))?;
        let rows = Mutex::new(Some(open_rows(&*files)?));
        let segments = Segments::new(Arc::clone(&files));
        let leases = Arc::new(Leases { file: leases, held: Mutex::default() });
        Ok(DiskStore { files, rows, segments, leases, users: Arc::new(users), is_collected: AtomicBool::new(false) })
    }

    fn rows(&self) -> Result<Arc<Database>, Errno> {
        let mut rows = self.rows.lock();
        let open = rows.take().map_or_else(|| open_rows(&*self.files), Ok)?;
        Ok(Arc::clone(rows.insert(open)))
    }

    fn try_apply(&self, batch: &Batch, decided: &mut dyn FnMut()) -> Result<Applied, Errno> {
        let rows = self.rows()?;
        let mut transaction = rows.begin_write().map_err(of_rows)?;
        // A process that finds the database after a crash need not read all of it.
        transaction.set_quick_repair(true);
        let holds = {
            let mut table = transaction.open_table(ROWS).map_err(of_rows)?;
            let holds = holds(&table, batch)?;
            if holds {
                for (key, value) in batch.changes() {
                    match value {
                        Some(value) => drop(table.insert(key, value).map_err(of_rows)?),
                        None => drop(table.remove(key).map_err(of_rows)?),
                    }
                }
            }
            holds
        };
        if !holds {
            transaction.abort().map_err(of_rows)?;
            return Ok(Applied::Refused);
        }
        decided();
        transaction.commit().map_err(of_rows)?;
        Ok(Applied::Done)
    }

    /// Returns the number of a new segment, which no process ever gets again.
    fn new_segment(&self) -> Result<u32, Errno> {
        loop {
            let value = self.snapshot()?.get(NEXT_SEGMENT)?;
            let next = value.as_deref().map_or(Ok(0), |value| value.try_into().map(u32::from_be_bytes));
            let next = next.map_err(|_| Errno::EIO)?;
            let mut batch = Batch::default();
            batch.check(NEXT_SEGMENT, value.as_deref());
            batch.put(NEXT_SEGMENT, &next.checked_add(1).ok_or(Errno::ENOSPC)?.to_be_bytes());
            if self.apply(&batch)? == Applied::Done {
                return Ok(next);
            }
        }
    }
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        if !self.is_collected.load(Relaxed) {
            self.files.leave_rows();
        }
    }
}

impl std::fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiskStore").finish_non_exhaustive()
    }
}

impl Store for DiskStore {
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>, Errno> {
        let snapshot = self.rows()?.begin_read().map_err(of_rows);
        // A database that has failed shows nothing any more.
        Ok(Box::new(Rows(snapshot.inspect_err(|_| *self.rows.lock() = None)?)))
    }

    fn apply(&self, batch: &Batch) -> Result<Applied, Errno> {
        self.apply_and_tell(batch, &mut || {})
    }

    fn apply_and_tell(&self, batch: &Batch, decided: &mut dyn FnMut()) -> Result<Applied, Errno> {
        self.try_apply(batch, decided).inspect_err(|_| *self.rows.lock() = None)
    }

    fn lease(&self, number: u64) -> Result<Option<Lease>, Errno> {
        Ok(Leases::take(&self.leases, number)?.map(|lease| Box::new(lease) as Lease))
    }

    fn alone(&self) -> Result<Option<Lease>, Errno> {
        // A process that tries has no lock of its users for a moment, so only one may try.
        let Some(lease) = Leases::take(&self.leases, ALONE)? else { return Ok(None) };
        let alone = Alone { users: Arc::clone(&self.users), _lease: lease };
        match flock(&self.users, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                self.segments.keep_from_now()?;
                Ok(Some(Box::new(alone)))
            }
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(Errno::from_raw(error.raw_os_error())),
        }
    }

    fn retain(&self, live: &[(BlobId, u64)]) -> Result<u64, Errno> {
        // Relaxed: the end of the store comes after it.
        self.is_collected.store(true, Relaxed);
        self.segments.retain(live)
    }
}

fn open_rows(files: &dyn Files) -> Result<Arc<Database>, Errno> {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE).set_concurrency_mode(ConcurrencyMode::MultiWriter);
    Ok(Arc::new(files.rows(&builder).map_err(of_rows)?))
}

fn holds(table: &impl ReadableTable<&'static [u8], &'static [u8]>, batch: &Batch) -> Result<bool, Errno> {
    for (key, value) in batch.checks() {
        let found = table.get(key).map_err(of_rows)?;
        if found.as_ref().map(|found| found.value()) != value {
            return Ok(false);
        }
    }
    Ok(true)
}

impl BlobStore for DiskStore {
    fn put(&self, data: &[u8]) -> Result<BlobId, Errno> {
        self.segments.put(data, || self.new_segment())
    }

    fn append(&self, blob: BlobId, at: u64, data: &[u8]) -> Result<bool, Errno> {
        self.segments.append(blob, at, data)
    }

    fn read(&self, blob: BlobId, offset: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        self.segments.read(blob, offset, buffer)
    }

    fn remove(&self, blob: BlobId, length: u64) {
        self.segments.remove(blob, length);
    }

    fn bytes(&self) -> u64 {
        self.segments.bytes()
    }

    fn sync(&self) -> Result<(), Errno> {
        self.segments.sync()
    }
}

/// The table, for reading.
type Table = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// The rows at one instant.
struct Rows(ReadTransaction);

impl Snapshot for Rows {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Errno> {
        let Some(table) = self.table()? else { return Ok(None) };
        Ok(table.get(key).map_err(of_rows)?.map(|value| value.value().to_vec()))
    }

    fn scan(&self, prefix: &[u8], each: EachRow<'_>) -> Result<(), Errno> {
        let Some(table) = self.table()? else { return Ok(()) };
        for row in table.range(prefix..).map_err(of_rows)? {
            let (key, value) = row.map_err(of_rows)?;
            if !key.value().starts_with(prefix) {
                break;
            }
            each(key.value(), value.value())?;
        }
        Ok(())
    }
}

impl Rows {
    /// Returns the table; `None` before the first batch.
    fn table(&self) -> Result<Option<Table>, Errno> {
        match self.0.open_table(ROWS) {
            Ok(table) => Ok(Some(table)),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(of_rows(error)),
        }
    }
}

/// The lock that keeps other processes out. It becomes that of a user when it is dropped.
struct Alone {
    users: Arc<File>,
    _lease: Held,
}

impl Drop for Alone {
    fn drop(&mut self) {
        // It can only be interrupted.
        while flock(&*self.users, FlockOperation::LockShared) == Err(rustix::io::Errno::INTR) {}
    }
}

/// The leases of one store in this process. A lock of the kernel belongs to the open file, so what
/// this process holds is noted as well.
struct Leases {
    file: File,
    held: Mutex<HashSet<u64>>,
}

/// A lease that is given back when it is dropped.
struct Held(Arc<Leases>, u64);

impl Leases {
    fn take(leases: &Arc<Leases>, number: u64) -> Result<Option<Held>, Errno> {
        let mut held = leases.held.lock();
        if held.contains(&number) {
            return Ok(None);
        }
        match leases.lock(number, libc::F_WRLCK) {
            Ok(()) => {}
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EACCES) => return Ok(None),
            Err(error) => return Err(Errno::from_raw(error as i32)),
        }
        held.insert(number);
        Ok(Some(Held(Arc::clone(leases), number)))
    }

    fn lock(&self, number: u64, kind: libc::c_int) -> nix::Result<()> {
        let start = libc::off_t::try_from(number).map_err(|_| nix::errno::Errno::EINVAL)?;
        let range = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: start,
            l_len: 1,
            l_pid: 0,
        };
        fcntl(&self.file, FcntlArg::F_OFD_SETLK(&range)).map(drop)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.0.held.lock();
        // The kernel gives it back in any case when the store is closed.
        _ = self.0.lock(self.1, libc::F_UNLCK);
        held.remove(&self.1);
    }
}

/// Returns the error of an operation on files.
fn errno(error: io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

/// Returns the error of an operation on rows: that of the host, or `EIO` for a damaged database.
fn of_rows(error: impl Into<redb::Error>) -> Errno {
    match error.into() {
        redb::Error::Io(error) => errno(error),
        _ => Errno::EIO,
    }
}

#[cfg(test)]
mod tests;
