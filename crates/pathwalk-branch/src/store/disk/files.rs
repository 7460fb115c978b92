//! The files of a store. Behind a trait, so that a test can note what is written between two syncs.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, StorageBackend};
use rustix::fs::FallocateFlags;

use super::rows_file::RowsFile;

/// The files of a store.
pub(super) trait Files: Send + Sync {
    /// Opens the database, which is made if it is missing.
    fn rows(&self, builder: &Builder) -> Result<Database, DatabaseError>;

    /// Lets the close of the database, which is the next that is done with it, write nothing.
    fn leave_rows(&self);

    /// Makes a segment. Its name is durable afterwards.
    fn create(&self, number: u32) -> io::Result<Arc<dyn Segment>>;

    /// Opens a segment for reading.
    fn open(&self, number: u32) -> io::Result<Arc<dyn Segment>>;

    /// Opens a segment to free parts of it.
    fn open_to_punch(&self, number: u32) -> io::Result<Arc<dyn Segment>>;

    /// Removes a segment.
    fn remove(&self, number: u32) -> io::Result<()>;

    /// Returns the numbers of all segments.
    fn segments(&self) -> io::Result<Vec<u32>>;

    /// Returns the bytes that all segments take on the disk.
    fn bytes(&self) -> io::Result<u64>;
}

/// A file of blobs.
pub(super) trait Segment: Send + Sync {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()>;
    fn sync(&self) -> io::Result<()>;
    fn length(&self) -> io::Result<u64>;

    /// Gives space back, which reads as zeroes afterwards.
    fn punch(&self, offset: u64, length: u64) -> io::Result<()>;
}

/// The files in a directory of the host.
pub(super) struct HostFiles {
    directory: PathBuf,
    segments: PathBuf,
    are_rows_left: Arc<AtomicBool>,
}

impl HostFiles {
    /// Opens the directory of a store. It is made if it is missing.
    pub(super) fn open(directory: &Path) -> io::Result<HostFiles> {
        let segments = directory.join("segments");
        // The process that made the rows has synced the directory before it wrote into them.
        let has_rows = std::fs::metadata(directory.join("rows")).is_ok_and(|rows| rows.len() > 0);
        let is_synced = has_rows && segments.is_dir();
        std::fs::create_dir_all(&segments)?;
        let files = HostFiles { directory: directory.to_owned(), segments, are_rows_left: Arc::default() };
        if !is_synced {
            sync_directory(&files.directory)?;
        }
        Ok(files)
    }

    /// Checks that the store never had rows: each segment is noted in them before it is made. So
    /// what is lost is not taken for what never was.
    fn check_new(&self) -> io::Result<()> {
        match std::fs::read_dir(&self.segments)?.next() {
            Some(_) => Err(io::Error::from(rustix::io::Errno::UCLEAN)),
            None => Ok(()),
        }
    }

    fn path(&self, number: u32) -> PathBuf {
        self.segments.join(format!("{number:08x}"))
    }

    /// Opens the file of the database, for which `wrap` stands.
    pub(super) fn rows_file<F: StorageBackend>(&self, wrap: impl FnOnce(FileBackend) -> F) -> Result<RowsFile<F>, DatabaseError> {
        let path = self.directory.join("rows");
        let existing = OpenOptions::new().read(true).write(true).open(&path);
        let file = match existing {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
                sync_directory(&self.directory)?;
                file
            }
            opened => opened?,
        };
        if file.metadata()?.len() == 0 {
            self.check_new()?;
        }
        Ok(RowsFile::new(wrap(FileBackend::new(file)?), &self.are_rows_left))
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

impl Files for HostFiles {
    fn rows(&self, builder: &Builder) -> Result<Database, DatabaseError> {
        builder.create_with_backend(self.rows_file(|file| file)?)
    }

    fn leave_rows(&self) {
        // Relaxed: the thread that has set it closes the database.
        self.are_rows_left.store(true, Relaxed);
    }

    fn create(&self, number: u32) -> io::Result<Arc<dyn Segment>> {
        // One that is there was left by a process that took the number and wrote nothing of use.
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(self.path(number))?;
        sync_directory(&self.segments)?;
        Ok(Arc::new(file))
    }

    fn open(&self, number: u32) -> io::Result<Arc<dyn Segment>> {
        Ok(Arc::new(File::open(self.path(number))?))
    }

    fn open_to_punch(&self, number: u32) -> io::Result<Arc<dyn Segment>> {
        Ok(Arc::new(OpenOptions::new().read(true).write(true).open(self.path(number))?))
    }

    fn remove(&self, number: u32) -> io::Result<()> {
        std::fs::remove_file(self.path(number))
    }

    fn segments(&self) -> io::Result<Vec<u32>> {
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(&self.segments)? {
            let name = entry?.file_name();
            numbers.extend(name.to_str().and_then(|name| u32::from_str_radix(name, 16).ok()));
        }
        Ok(numbers)
    }

    fn bytes(&self) -> io::Result<u64> {
        let mut bytes = 0;
        for entry in std::fs::read_dir(&self.segments)? {
            bytes += entry?.metadata()?.blocks() * 512;
        }
        Ok(bytes)
    }
}

impl Segment for File {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.write_all_at(data, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn punch(&self, offset: u64, length: u64) -> io::Result<()> {
        Ok(rustix::fs::fallocate(self, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, length)?)
    }
}
