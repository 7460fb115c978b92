//! The open files and directories, by the numbers that the kernel got for them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use pathwalk::{Device, Errno, File};
use rapidhash::fast::RandomState;

/// The number of parts, each behind a lock of its own, which is held for one search.
const SHARDS: u64 = 64;

/// An open file or directory.
pub(crate) struct Opened {
    pub(crate) file: File,
    /// The device that holds it.
    pub(crate) device: Device,
    /// For a directory: held while its position is set and a listing goes on from there.
    pub(crate) listing: Mutex<()>,
}

impl Opened {
    /// Takes a file that was opened.
    pub(crate) fn new(file: File) -> Result<Opened, Errno> {
        let device = file.handle().attributes()?.device;
        Ok(Opened { file, device, listing: Mutex::new(()) })
    }
}

type Shard = Mutex<HashMap<u64, Arc<Opened>, RandomState>>;

/// The open files and directories.
pub(crate) struct OpenFiles {
    shards: Box<[Shard]>,
    /// The number of the last one. Each caller takes a number of its own, and orders nothing by it.
    last: AtomicU64,
}

impl OpenFiles {
    pub(crate) fn new() -> OpenFiles {
        OpenFiles { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), last: AtomicU64::new(0) }
    }

    /// Keeps a file, and returns its number, which is never 0.
    pub(crate) fn add(&self, opened: Opened) -> u64 {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.shard(number).lock().insert(number, Arc::new(opened));
        number
    }

    /// Returns a file that is open; `EBADF` if none has the number.
    pub(crate) fn get(&self, number: u64) -> Result<Arc<Opened>, Errno> {
        self.shard(number).lock().get(&number).cloned().ok_or(Errno::EBADF)
    }

    /// Closes a file. It stays open for those that use it.
    pub(crate) fn remove(&self, number: u64) {
        let removed = self.shard(number).lock().remove(&number);
        drop(removed);
    }

    /// Closes all: nothing is mounted any more.
    pub(crate) fn clear(&self) {
        for shard in &self.shards {
            let all = std::mem::take(&mut *shard.lock());
            drop(all);
        }
    }

    /// Returns the number of open files and directories.
    pub(crate) fn count(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().len() as u64).sum()
    }

    fn shard(&self, number: u64) -> &Shard {
        &self.shards[(number % SHARDS) as usize]
    }
}
