//! Blobs in segments: files that are written at their ends.
//!
//! The number of a blob is that of its segment, and the offset at which it begins. It grows as long
//! as it is the last one of the segment that this process writes. What was removed before it was
//! ever referred to gives its whole pages back; the numbers of blobs are not used again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};
use pathwalk::Errno;

use super::errno;
use super::files::{Files, Segment};
use crate::blobs::BlobId;

/// The length from which on a segment gets no further blob.
const FULL: u64 = 64 << 20;

/// The number of segments that are kept open for reading.
const MOST_OPEN: usize = 256;

/// The bytes of a page, which can be given back alone.
const PAGE: u64 = 4096;

/// The segments of a store.
pub(super) struct Segments {
    files: Arc<dyn Files>,
    own: Mutex<Own>,
    open: RwLock<HashMap<u32, Arc<dyn Segment>>>,
    /// Held while segments are synced, so that no call returns before what it is about is durable.
    syncing: Mutex<()>,
    /// Set when a sync has failed. The kernel may have dropped what was not written then.
    has_failed: AtomicBool,
}

/// What this process writes.
#[derive(Default)]
struct Own {
    last: Option<Last>,
    /// The segments that were written since the last sync.
    written: Vec<Arc<dyn Segment>>,
    /// The number from which on nothing is freed.
    keep_from: u32,
}

/// The segment that this process writes.
struct Last {
    number: u32,
    file: Arc<dyn Segment>,
    /// The offset of the last blob.
    blob: u64,
    end: u64,
}

impl Segments {
    pub(super) fn new(files: Arc<dyn Files>) -> Segments {
        let (own, open) = (Mutex::default(), RwLock::default());
        Segments { files, own, open, syncing: Mutex::default(), has_failed: AtomicBool::new(false) }
    }

    pub(super) fn put(&self, data: &[u8], new_number: impl FnOnce() -> Result<u32, Errno>) -> Result<BlobId, Errno> {
        let own = &mut *self.own.lock();
        if own.last.as_ref().is_none_or(|last| last.end >= FULL) {
            let number = new_number()?;
            let file = self.files.create(number).map_err(errno)?;
            self.keep_open(number, &file);
            own.last = Some(Last { number, file, blob: 0, end: 0 });
        }
        let last = own.last.as_mut().ok_or(Errno::EIO)?;
        // An offset of 32 bits reaches behind a full segment and the longest write.
        let blob = last.end;
        last.write(data, &mut own.written)?;
        last.blob = blob;
        Ok(id(last.number, blob))
    }

    pub(super) fn append(&self, blob: BlobId, at: u64, data: &[u8]) -> Result<bool, Errno> {
        let own = &mut *self.own.lock();
        match &mut own.last {
            Some(last) if id(last.number, last.blob) == blob && last.blob + at == last.end && last.end < FULL => {
                last.write(data, &mut own.written)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    pub(super) fn read(&self, blob: BlobId, offset: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        let (number, begin) = parts(blob);
        // A segment that ends too early, or is missing, has lost the bytes.
        self.segment(number)?.read(begin + offset, buffer).map_err(|error| match error.raw_os_error() {
            Some(raw) => Errno::from_raw(raw),
            None => Errno::EIO,
        })
    }

    fn segment(&self, number: u32) -> Result<Arc<dyn Segment>, Errno> {
        if let Some(file) = self.open.read().get(&number) {
            return Ok(Arc::clone(file));
        }
        let file =
            self.files.open(number).map_err(|error| if errno(error) == Errno::EMFILE { Errno::EMFILE } else { Errno::EIO })?;
        self.keep_open(number, &file);
        Ok(file)
    }

    fn keep_open(&self, number: u32, file: &Arc<dyn Segment>) {
        let mut open = self.open.write();
        if open.len() >= MOST_OPEN {
            open.clear();
        }
        open.insert(number, Arc::clone(file));
    }

    /// Gives back the whole pages of a blob that no row refers to.
    pub(super) fn remove(&self, blob: BlobId, length: u64) {
        let (number, begin) = parts(blob);
        let whole = begin.next_multiple_of(PAGE)..(begin + length) / PAGE * PAGE;
        if whole.is_empty() {
            return;
        }
        let file = {
            let own = self.own.lock();
            own.last.as_ref().filter(|last| last.number == number).map(|last| Arc::clone(&last.file))
        };
        // A collection finds what is left here. Of an older segment it finds all.
        if let Some(file) = file {
            _ = file.punch(whole.start, whole.end - whole.start);
        }
    }

    /// Keeps what is put from now on from the next [`retain`](Self::retain).
    pub(super) fn keep_from_now(&self) -> Result<(), Errno> {
        let own = &mut *self.own.lock();
        let behind_all = || Ok(self.files.segments()?.into_iter().max().map_or(0, |number| number.saturating_add(1)));
        // Each new segment has a higher number than those that are there.
        own.keep_from = own.last.as_ref().map_or_else(behind_all, |last| Ok(last.number)).map_err(errno)?;
        Ok(())
    }

    /// Frees all blobs but these, and those that are kept.
    pub(super) fn retain(&self, live: &[(BlobId, u64)]) -> Result<u64, Errno> {
        let keep_from = self.own.lock().keep_from;
        let before = self.files.bytes().map_err(errno)?;
        for number in self.files.segments().map_err(errno)?.into_iter().filter(|number| *number < keep_from) {
            let of_segment = |at: u32| live.partition_point(|(blob, _)| parts(*blob).0 < at);
            self.retain_in(number, &live[of_segment(number)..of_segment(number + 1)])?;
        }
        Ok(before.saturating_sub(self.files.bytes().map_err(errno)?))
    }

    fn retain_in(&self, number: u32, live: &[(BlobId, u64)]) -> Result<(), Errno> {
        if live.is_empty() {
            self.open.write().remove(&number);
            return self.files.remove(number).map_err(errno);
        }
        let file = self.files.open_to_punch(number).map_err(errno)?;
        let length = file.length().map_err(errno)?;
        let ends = live.iter().map(|(blob, _)| parts(*blob).1).chain([length]);
        let starts = std::iter::once(0).chain(live.iter().map(|(blob, length)| parts(*blob).1 + length));
        for (start, end) in starts.zip(ends) {
            let whole = start.next_multiple_of(PAGE)..end / PAGE * PAGE;
            if !whole.is_empty() {
                file.punch(whole.start, whole.end - whole.start).map_err(errno)?;
            }
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.files.bytes().unwrap_or(0)
    }

    pub(super) fn sync(&self) -> Result<(), Errno> {
        let _syncing = self.syncing.lock();
        if self.has_failed.load(Relaxed) {
            return Err(Errno::EIO);
        }
        let written = std::mem::take(&mut self.own.lock().written);
        for file in written {
            if let Err(error) = file.sync() {
                self.has_failed.store(true, Relaxed);
                return Err(errno(error));
            }
        }
        Ok(())
    }
}

impl Last {
    /// Writes at the end. What a failed write has left there is written over.
    fn write(&mut self, data: &[u8], written: &mut Vec<Arc<dyn Segment>>) -> Result<(), Errno> {
        if u32::try_from(self.end).is_err() {
            return Err(Errno::EFBIG);
        }
        if !written.last().is_some_and(|file| Arc::ptr_eq(file, &self.file)) {
            written.push(Arc::clone(&self.file));
        }
        self.file.write(self.end, data).map_err(errno)?;
        self.end += data.len() as u64;
        Ok(())
    }
}

fn id(segment: u32, offset: u64) -> BlobId {
    BlobId(u64::from(segment) << 32 | offset)
}

/// Returns the number of the segment, and the offset in it.
pub(super) fn parts(blob: BlobId) -> (u32, u64) {
    ((blob.0 >> 32) as u32, blob.0 & 0xffff_ffff)
}
