//! The files of a layer, as the store of the data that a branch shows of it.
//!
//! What always holds: no file of the layer is changed. No link is followed, and nothing outside the
//! layer is reached. One file is open at a time.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Mutex;

use pathwalk::Errno;
use pathwalk_branch::{BlobId, BlobStore, MemoryBlobs};
use rustix::fs::{Mode, OFlags, open};
use rustix::io;

use crate::error::Error;
use crate::left::{Place, lock};
use crate::upper::{errno, read_to};

/// The number of the first file. Those below are blobs in memory.
const FIRST: u64 = 1 << 63;

/// The files of a layer, whose data a branch shows where it is.
///
/// ```
/// use std::sync::Arc;
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_branch::Branches;
/// use pathwalk_overlay::{Layer, LayerFiles, Taking};
///
/// /// Takes a layer into a new branch, and copies nothing of it.
/// fn take(layer: &Layer, branches: &Branches) -> Result<(), Box<dyn std::error::Error>> {
///     let branch = branches.fork(None, "taken")?;
///     let files = Arc::new(LayerFiles::open(layer)?);
///     branches.hold("taken", files.clone())?;
///     let context = Vfs::builder().build(branch.clone())?.context(Credentials::root());
///     Taking::of(layer, branches.base(), &context)?.with(branch).by_reference(files).take()?;
///     // It is committed or dropped; or its data is copied, before the layer goes.
///     branches.settle("taken")?;
///     Ok(())
/// }
/// ```
pub struct LayerFiles {
    layer: Place,
    table: Mutex<Table>,
    /// The file that was read last, with its number.
    last: Mutex<Option<(usize, OwnedFd)>>,
    memory: MemoryBlobs,
}

/// The files that are known, by their numbers.
#[derive(Default)]
struct Table {
    /// Directories, by their paths from that of the layer.
    dirs: Vec<Box<[u8]>>,
    files: Vec<(usize, Box<[u8]>)>,
}

impl LayerFiles {
    /// Opens the directory of a layer.
    pub fn open(layer: &crate::Layer) -> Result<LayerFiles, Error> {
        let open = |path: &Path| open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let layer = Place::new(open(&layer.dir).map_err(Error::host("open", &layer.dir))?);
        Ok(LayerFiles { layer, table: Mutex::default(), last: Mutex::default(), memory: MemoryBlobs::default() })
    }

    /// Adds a file, by the path of its directory from that of the layer.
    pub(crate) fn add(&self, dir: &[u8], name: &[u8]) -> BlobId {
        let table = &mut *lock(&self.table);
        if table.dirs.last().is_none_or(|last| **last != *dir) {
            table.dirs.push(dir.into());
        }
        table.files.push((table.dirs.len() - 1, name.into()));
        BlobId(FIRST + table.files.len() as u64 - 1)
    }

    fn read_file(&self, number: usize, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut last = lock(&self.last);
        let opened = match last.take().filter(|(of, _)| *of == number) {
            Some((_, opened)) => opened,
            None => {
                let table = lock(&self.table);
                let (dir, name) = table.files.get(number).ok_or(io::Errno::INVAL)?;
                self.layer.within(&table.dirs[*dir], |dir| crate::upper::open_to_read(dir, name))?
            }
        };
        let read = read_to(&opened, buffer, offset);
        *last = Some((number, opened));
        read
    }
}

impl BlobStore for LayerFiles {
    fn put(&self, data: &[u8]) -> Result<BlobId, Errno> {
        self.memory.put(data)
    }

    fn append(&self, blob: BlobId, at: u64, data: &[u8]) -> Result<bool, Errno> {
        if blob.0 < FIRST { self.memory.append(blob, at, data) } else { Ok(false) }
    }

    fn read(&self, blob: BlobId, offset: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        let Some(number) = blob.0.checked_sub(FIRST) else { return self.memory.read(blob, offset, buffer) };
        let read = self.read_file(number as usize, offset, buffer).map_err(errno)?;
        if read == buffer.len() { Ok(()) } else { Err(Errno::EIO) }
    }

    fn remove(&self, blob: BlobId, length: u64) {
        if blob.0 < FIRST {
            self.memory.remove(blob, length);
        }
    }

    fn bytes(&self) -> u64 {
        self.memory.bytes()
    }
}

impl std::fmt::Debug for LayerFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LayerFiles").field("files", &lock(&self.table).files.len()).finish_non_exhaustive()
    }
}
