//! The file of the database, which can be left as it is.
//!
//! Each batch is durable, and records which pages are in use. So all that a close of the database
//! adds is a shorter file and a header without the flag of a live writer. That takes four waits for
//! the disk, and the next open takes one wait more where the flag is set, as after a crash.
//!
//! What always holds: a file that is left is one that `redb` leaves by itself, when another process
//! is in a write transaction at the time of the close.

use std::fs::File;
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};

/// The file of the database.
#[derive(Debug)]
pub(super) struct RowsFile {
    file: FileBackend,
    is_left: Arc<AtomicBool>,
}

impl RowsFile {
    /// Creates it; once `is_left` is set, its close writes nothing.
    pub(super) fn new(file: File, is_left: &Arc<AtomicBool>) -> Result<RowsFile, DatabaseError> {
        Ok(RowsFile { file: FileBackend::new(file)?, is_left: Arc::clone(is_left) })
    }
}

impl StorageBackend for RowsFile {
    fn len(&self) -> Result<u64, io::Error> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.file.read(offset, out)
    }

    fn set_len(&self, length: u64) -> Result<(), io::Error> {
        self.file.set_len(length)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.file.write(offset, data)
    }

    fn close(&self) -> Result<(), io::Error> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        // A close asks for the lock of writers so, and no batch does.
        // Relaxed: the thread that has set it closes the file.
        if self.is_left.load(Relaxed) { Ok(false) } else { self.file.try_lock_range(start, end) }
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}
