//! Equal chunks of data, which are stored once.
//!
//! A chunk is what one write has of a piece of 64 KiB of a file, from the beginning of the piece.
//! The store has a row for each: under the hash of its bytes, where it is in a blob. A write looks
//! for its chunks there, and among those that have no rows yet, and lets extents share what it
//! finds. What it finds is compared byte by byte, so a damaged store spreads to no other file.
//!
//! What always holds: a row of a chunk is stored behind the sync of its bytes, by the batch that
//! refers to its blob or a later one. A collection removes the rows of what no branch shows. While
//! it runs, no write shares data: the trees that it has looked at would not show that.
//!
//! What it does not do: only writes to files of branches are looked at, and not what a commit keeps
//! for its undo, which is in no branch yet.

use std::ops::Range;

use blake3::Hash;
use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use pathwalk::Errno;
use serde::{Deserialize, Serialize};

use super::Stored;
use super::encoding;
use super::table::OF_CHUNKS;
use crate::blobs::{Blob, BlobId, LONGEST, WeakBlob};
use crate::extents::ExtentsMut;
use crate::rows::What;
use crate::store::{Batch, Snapshot};

/// The size of the pieces of a file.
const PIECE: u64 = 64 << 10;

/// The length in bytes below which the row of a chunk takes more than it may save.
const LEAST: usize = 1 << 10;

/// The place of a chunk.
#[derive(Serialize, Deserialize)]
struct OfChunk {
    blob: u64,
    start: u64,
    length: u64,
}

/// The chunks of a store, as far as this process has written them.
#[derive(Default)]
pub(super) struct Chunks {
    /// Shared from the search for a chunk until extents show it, and while data is put that no
    /// branch shows yet; exclusive in a collection.
    collecting: RwLock<()>,
    /// The chunks without a row.
    new: Mutex<HashMap<Hash, New>>,
}

/// A chunk without a row.
struct New {
    blob: WeakBlob,
    start: u64,
    length: u64,
}

/// Returns the key of a chunk.
fn key(hash: &Hash) -> Vec<u8> {
    [OF_CHUNKS, hash.as_bytes()].concat()
}

/// Returns whether the place in the row of a chunk is in a blob, of which `length` says how long it
/// is.
pub(super) fn has_place(row: &[u8], length: impl FnOnce(BlobId) -> Option<u64>) -> bool {
    let place = encoding::decode::<OfChunk>(row).ok();
    place.is_some_and(|of| length(BlobId(of.blob)).is_some_and(|length| of.start + of.length <= length))
}

impl Chunks {
    /// Keeps writes from sharing data, until the collection is over. What they have written before
    /// is not looked at again.
    pub(super) fn start_collection(&self) -> RwLockWriteGuard<'_, ()> {
        let collecting = self.collecting.write();
        self.new.lock().clear();
        collecting
    }

    /// Lets collections wait.
    pub(super) fn hold_collections(&self) -> RwLockReadGuard<'_, ()> {
        self.collecting.read()
    }

    /// Adds the rows of chunks to a batch that refers to their blobs. Returns their hashes. Chunks
    /// whose blobs are gone are dropped.
    pub(super) fn put_rows(&self, batch: &mut Batch) -> Result<Vec<Hash>, Errno> {
        let (mut new, mut put) = (self.new.lock(), Vec::new());
        new.retain(|_, chunk| chunk.blob.upgrade().is_some());
        for (hash, New { blob, start, length }) in &*new {
            if let Some(blob) = blob.upgrade().filter(Blob::is_kept) {
                let row = OfChunk { blob: blob.id().0, start: *start, length: *length };
                batch.put(&key(hash), &encoding::encode(&row)?);
                put.push(*hash);
            }
        }
        Ok(put)
    }

    /// Notes that chunks have rows.
    pub(super) fn have_rows(&self, chunks: &[Hash]) {
        let mut new = self.new.lock();
        chunks.iter().for_each(|hash| _ = new.remove(hash));
    }
}

impl Stored {
    /// Shows data in a range that begins at an offset, of which chunks that the store has are
    /// shared. An error changes nothing.
    pub(crate) fn write_chunks(&self, extents: &mut ExtentsMut<'_>, data: &[u8], offset: u64) -> Result<(), Errno> {
        // Shared until extents show what was found. A collection is not waited for: it waits for
        // the tree that is locked here.
        let Some(_shared) = self.chunks.collecting.try_read() else { return extents.write(data, offset, &self.blobs) };
        let snapshot = self.store.snapshot()?;
        let (mut parts, mut new, mut begin) = (Vec::new(), Vec::new(), 0);
        for part in pieces(offset, data.len()) {
            let bytes = &data[part.clone()];
            let is_chunk = (offset + part.start as u64).is_multiple_of(PIECE) && bytes.len() >= LEAST;
            let hash = is_chunk.then(|| blake3::hash(bytes));
            let found = hash.and_then(|hash| self.find(&*snapshot, &hash, bytes));
            if found.is_some() || (part.start - begin) as u64 >= LONGEST {
                parts.extend(self.write_new(extents, (data, offset), begin..part.start, &mut new)?);
                begin = part.start;
            }
            match (found, hash) {
                (Some(what), _) => {
                    begin = part.end;
                    parts.push((part, what));
                }
                (None, Some(hash)) => new.push((hash, part)),
                (None, None) => {}
            }
        }
        parts.extend(self.write_new(extents, (data, offset), begin..data.len(), &mut new)?);
        for (part, what) in parts {
            extents.replace(offset + part.start as u64..offset + part.end as u64, Some(what));
        }
        Ok(())
    }

    /// Stores data that was not found, with chunks in it.
    fn write_new(
        &self,
        extents: &ExtentsMut<'_>,
        (data, offset): (&[u8], u64),
        part: Range<usize>,
        chunks: &mut Vec<(Hash, Range<usize>)>,
    ) -> Result<Option<(Range<usize>, What)>, Errno> {
        if part.is_empty() {
            return Ok(None);
        }
        let what = extents.shared().store(&data[part.clone()], offset + part.start as u64, &self.blobs)?;
        if let What::Blob(blob, start) = &what {
            let mut new = self.chunks.new.lock();
            for (hash, chunk) in chunks.drain(..) {
                let (start, length) = (start + (chunk.start - part.start) as u64, chunk.len() as u64);
                new.insert(hash, New { blob: blob.downgrade(), start, length });
            }
        }
        Ok(Some((part, what)))
    }

    /// Finds a chunk. One that cannot be read is not found.
    fn find(&self, snapshot: &dyn Snapshot, hash: &Hash, bytes: &[u8]) -> Option<What> {
        let new = self.chunks.new.lock().get(hash).and_then(|chunk| Some((chunk.blob.upgrade()?, chunk.start)));
        let stored = || {
            let row = snapshot.get(&key(hash)).ok()??;
            let of: OfChunk = encoding::decode(&row).ok()?;
            Some((Blob::kept(&self.blobs, BlobId(of.blob)), of.start))
        };
        let (blob, start) = new.or_else(stored)?;
        let mut there = vec![0; bytes.len()];
        let is_equal = blob.read(start, &mut there).is_ok() && there == bytes;
        is_equal.then_some(What::Blob(blob, start))
    }
}

/// Returns the parts of a write that are in different pieces of the file.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let to_next = PIECE - (offset + from as u64) % PIECE;
        let part = from..length.min(from + to_next as usize);
        from = part.end;
        (!part.is_empty()).then_some(part)
    })
}
