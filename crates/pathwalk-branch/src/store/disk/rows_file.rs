//! The file of the database, which can be left as it is, and whose header is written only where
//! that changes it.
//!
//! Each batch is durable, and records which pages are in use. So all that a close of the database
//! adds is a shorter file and a header without the flag of a live writer. That takes four waits for
//! the disk.
//! An open writes the header twice, and waits for the disk each time. In a file that was left, both
//! writes say what the header says already, so neither is done.
//!
//! What always holds:
//!
//! - A file that is left is one that `redb` leaves by itself, when another process is in a write
//!   transaction at the time of the close.
//! - A sync is left out only if this process has written nothing since the last one but a header
//!   that was there. One that no write came before is for what another process has written, so it
//!   is done.

use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use redb::{BackendError, StorageBackend};

/// What was written since the last sync.
const NOTHING: u8 = 0;
const SAME_HEADER: u8 = 1;
const MORE: u8 = 2;

/// The file of the database.
#[derive(Debug)]
pub(super) struct RowsFile<F> {
    file: F,
    is_left: Arc<AtomicBool>,
    /// Relaxed: a sync is for what its own thread has written, under the lock of writers.
    written: AtomicU8,
}

impl<F: StorageBackend> RowsFile<F> {
    /// Creates it; once `is_left` is set, its close writes nothing.
    pub(super) fn new(file: F, is_left: &Arc<AtomicBool>) -> RowsFile<F> {
        RowsFile { file, is_left: Arc::clone(is_left), written: AtomicU8::new(NOTHING) }
    }

    /// Returns whether these bytes are the header, and are there already.
    fn is_there(&self, offset: u64, data: &[u8]) -> Result<bool, io::Error> {
        if offset != 0 || self.file.len()? < data.len() as u64 {
            return Ok(false);
        }
        let mut there = vec![0; data.len()];
        self.file.read(0, &mut there)?;
        Ok(there == data)
    }
}

impl<F: StorageBackend> StorageBackend for RowsFile<F> {
    fn len(&self) -> Result<u64, io::Error> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.file.read(offset, out)
    }

    fn set_len(&self, length: u64) -> Result<(), io::Error> {
        self.written.store(MORE, Relaxed);
        self.file.set_len(length)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        if self.written.load(Relaxed) != SAME_HEADER {
            self.file.sync_data()?;
        }
        self.written.store(NOTHING, Relaxed);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        if self.is_there(offset, data)? {
            self.written.fetch_max(SAME_HEADER, Relaxed);
            return Ok(());
        }
        self.written.store(MORE, Relaxed);
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
