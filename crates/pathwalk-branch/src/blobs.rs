//! The store of data: pieces of bytes that are written once.
//!
//! What always holds: bytes of a blob that were written do not change, so branches share blobs. A
//! blob may grow at its end: an extent that does not reach there does not show it. A blob is
//! removed when the last [`Blob`] of it is dropped, which is when no branch leads to it any more:
//! but for one that rows of a store refer to, which other processes may read.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use hashbrown::HashMap;
use parking_lot::RwLock;
use pathwalk::Errno;

/// The length in bytes beyond which a blob does not grow. What a blob keeps although no file shows
/// it is less than that for each extent that is left of it.
pub(crate) const LONGEST: u64 = 256 << 10;

/// The number of a blob in its store.
///
/// [`BlobStore`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlobId(pub u64);

/// A store of blobs.
///
/// Each call takes effect at one instant, and is seen by all calls that begin after its end: that
/// is all the isolation that branches need of it. Calls come from several threads at once.
///
/// ```
/// use pathwalk::Errno;
/// use pathwalk_branch::{BlobStore, MemoryBlobs};
/// let store = MemoryBlobs::default();
/// let blob = store.put(b"hello")?;
/// assert!(store.append(blob, 5, b", world")?);
/// assert!(!store.append(blob, 5, b" again")?, "its end is elsewhere by now");
/// let mut buffer = [0; 5];
/// store.read(blob, 7, &mut buffer)?;
/// assert_eq!((&buffer, store.bytes()), (b"world", 12));
/// store.remove(blob, 12);
/// assert_eq!(store.bytes(), 0);
/// # Ok::<(), Errno>(())
/// ```
pub trait BlobStore: Send + Sync {
    /// Stores a new blob. `ENOSPC`, `ENOMEM`.
    fn put(&self, data: &[u8]) -> Result<BlobId, Errno>;

    /// Adds bytes at the end of a blob, and returns true. Returns false, and adds nothing, if the
    /// end is not at `at`: of two calls with one end, one adds.
    fn append(&self, blob: BlobId, at: u64, data: &[u8]) -> Result<bool, Errno>;

    /// Fills the buffer with the bytes from an offset on: `EIO` if there are not as many.
    fn read(&self, blob: BlobId, offset: u64, buffer: &mut [u8]) -> Result<(), Errno>;

    /// Removes a blob of this length, which no caller uses any more, and which no row of a
    /// [`Store`](crate::Store) ever referred to.
    fn remove(&self, blob: BlobId, length: u64);

    /// Returns the number of bytes in all blobs; of a store on a disk, those that they take there.
    fn bytes(&self) -> u64;

    /// Makes all bytes durable that were added before. A store in memory has nothing to do.
    fn sync(&self) -> Result<(), Errno> {
        Ok(())
    }
}

/// The store in memory.
///
/// [`BlobStore`] has an example.
#[derive(Default)]
pub struct MemoryBlobs {
    blobs: RwLock<HashMap<u64, Vec<u8>>>,
    next: AtomicU64,
    bytes: AtomicU64,
}

impl BlobStore for MemoryBlobs {
    fn put(&self, data: &[u8]) -> Result<BlobId, Errno> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(data.len()).map_err(|_| Errno::ENOMEM)?;
        bytes.extend_from_slice(data);
        // Relaxed: the numbers only have to differ.
        let id = self.next.fetch_add(1, Relaxed);
        self.bytes.fetch_add(data.len() as u64, Relaxed);
        self.blobs.write().insert(id, bytes);
        Ok(BlobId(id))
    }

    fn append(&self, blob: BlobId, at: u64, data: &[u8]) -> Result<bool, Errno> {
        let mut blobs = self.blobs.write();
        let bytes = blobs.get_mut(&blob.0).ok_or(Errno::EIO)?;
        if bytes.len() as u64 != at {
            return Ok(false);
        }
        bytes.try_reserve(data.len()).map_err(|_| Errno::ENOMEM)?;
        bytes.extend_from_slice(data);
        self.bytes.fetch_add(data.len() as u64, Relaxed);
        Ok(true)
    }

    fn read(&self, blob: BlobId, offset: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        let blobs = self.blobs.read();
        let bytes = blobs.get(&blob.0).and_then(|bytes| bytes.get(offset as usize..)?.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(Errno::EIO)?);
        Ok(())
    }

    fn remove(&self, blob: BlobId, _: u64) {
        let removed = self.blobs.write().remove(&blob.0);
        self.bytes.fetch_sub(removed.map_or(0, |bytes| bytes.len() as u64), Relaxed);
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

/// A use of a blob. The last one that is dropped removes the blob, unless rows refer to it.
#[derive(Clone)]
pub(crate) struct Blob(Arc<Stored>);

struct Stored {
    store: Arc<dyn BlobStore>,
    id: BlobId,
    /// The length. Of a blob that rows refer to, it need not be known.
    length: AtomicU64,
    /// Set before the first row refers to it.
    is_kept: AtomicBool,
}

impl Blob {
    pub(crate) fn new(store: &Arc<dyn BlobStore>, data: &[u8]) -> Result<Blob, Errno> {
        let length = AtomicU64::new(data.len() as u64);
        Ok(Blob(Arc::new(Stored { store: Arc::clone(store), id: store.put(data)?, length, is_kept: AtomicBool::new(false) })))
    }

    /// Returns a blob to which rows refer.
    pub(crate) fn kept(store: &Arc<dyn BlobStore>, id: BlobId) -> Blob {
        Blob(Arc::new(Stored { store: Arc::clone(store), id, length: AtomicU64::new(0), is_kept: AtomicBool::new(true) }))
    }

    pub(crate) fn is_in(&self, store: &Arc<dyn BlobStore>) -> bool {
        Arc::ptr_eq(&self.0.store, store)
    }

    pub(crate) fn id(&self) -> BlobId {
        self.0.id
    }

    /// Notes that a row is about to refer to it. Returns its number.
    pub(crate) fn keep(&self) -> BlobId {
        // Relaxed: the thread that drops the last use sees it by the count of uses.
        self.0.is_kept.store(true, Relaxed);
        self.0.id
    }

    /// Returns whether rows refer to it, or a batch was to be applied that does.
    pub(crate) fn is_kept(&self) -> bool {
        // Relaxed: the reader has put the batch together itself, or comes later.
        self.0.is_kept.load(Relaxed)
    }

    pub(crate) fn downgrade(&self) -> WeakBlob {
        WeakBlob(Arc::downgrade(&self.0))
    }

    pub(crate) fn append(&self, at: u64, data: &[u8]) -> Result<bool, Errno> {
        let end = at + data.len() as u64;
        if end > LONGEST || !self.0.store.append(self.0.id, at, data)? {
            return Ok(false);
        }
        self.0.length.fetch_max(end, Relaxed);
        Ok(true)
    }

    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        self.0.store.read(self.0.id, offset, buffer)
    }
}

/// A blob that may be removed.
pub(crate) struct WeakBlob(Weak<Stored>);

impl WeakBlob {
    pub(crate) fn upgrade(&self) -> Option<Blob> {
        self.0.upgrade().map(Blob)
    }
}

impl PartialEq for Blob {
    fn eq(&self, other: &Blob) -> bool {
        self.0.id == other.0.id && Arc::ptr_eq(&self.0.store, &other.0.store)
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        if !*self.is_kept.get_mut() {
            self.store.remove(self.id, *self.length.get_mut());
        }
    }
}
