//! Files that note what is written, and what is left of them after a loss of power.
//!
//! The model of a disk: what was written to a file before its last sync is there. Of what was
//! written later, each write is there, is not, or is there in some of its sectors, in any order. A
//! length that was set later is set or not. Names are durable, since they are synced when they are
//! made.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fastrand::Rng;
use parking_lot::Mutex;
use redb::backends::FileBackend;
use redb::{BackendError, Builder, Database, DatabaseError, StorageBackend};
use std::ops::Bound;

use crate::store::disk::files::{Files, HostFiles, Segment};

/// The bytes that a disk writes as a whole.
const SECTOR: usize = 512;

/// What was done to a file.
#[derive(Clone, Debug)]
pub(super) enum Done {
    Write(u64, Vec<u8>),
    Length(u64),
    Punch(u64, u64),
    Sync,
    Remove,
}

/// The history of all files: the name of each, and what was done to it.
pub(super) type History = Arc<Mutex<Vec<(String, Done)>>>;

/// The files of a store in a directory, with their history.
pub(super) struct Recorded {
    files: HostFiles,
    history: History,
    /// Whether the disk of the database is full.
    pub(super) is_full: Arc<AtomicBool>,
}

impl Recorded {
    pub(super) fn open(directory: &Path, history: &History) -> Recorded {
        Recorded {
            files: HostFiles::open(directory).expect("there is room"),
            history: Arc::clone(history),
            is_full: Arc::default(),
        }
    }
}

impl Files for Recorded {
    fn rows(&self, builder: &Builder) -> Result<Database, DatabaseError> {
        let (history, is_full) = (Arc::clone(&self.history), Arc::clone(&self.is_full));
        builder.create_with_backend(self.files.rows_file(|file| Rows { file, history, is_full })?)
    }

    fn leave_rows(&self) {
        self.files.leave_rows();
    }

    fn create(&self, number: u32) -> io::Result<Arc<dyn Segment>> {
        let name = format!("segments/{number:08x}");
        Ok(Arc::new(Noted { file: self.files.create(number)?, name, history: Arc::clone(&self.history) }))
    }

    fn open(&self, number: u32) -> io::Result<Arc<dyn Segment>> {
        self.files.open(number)
    }

    fn open_to_punch(&self, number: u32) -> io::Result<Arc<dyn Segment>> {
        let name = format!("segments/{number:08x}");
        Ok(Arc::new(Noted { file: self.files.open_to_punch(number)?, name, history: Arc::clone(&self.history) }))
    }

    fn remove(&self, number: u32) -> io::Result<()> {
        self.history.lock().push((format!("segments/{number:08x}"), Done::Remove));
        self.files.remove(number)
    }

    fn segments(&self) -> io::Result<Vec<u32>> {
        self.files.segments()
    }

    fn bytes(&self) -> io::Result<u64> {
        self.files.bytes()
    }
}

/// A segment.
struct Noted {
    file: Arc<dyn Segment>,
    name: String,
    history: History,
}

impl Noted {
    fn note(&self, done: Done) {
        self.history.lock().push((self.name.clone(), done));
    }
}

impl Segment for Noted {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, buffer)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.note(Done::Write(offset, data.to_vec()));
        self.file.write(offset, data)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()?;
        self.note(Done::Sync);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn punch(&self, offset: u64, length: u64) -> io::Result<()> {
        self.note(Done::Punch(offset, length));
        self.file.punch(offset, length)
    }
}

/// The file of the database.
#[derive(Debug)]
struct Rows {
    file: FileBackend,
    history: History,
    is_full: Arc<AtomicBool>,
}

impl Rows {
    fn note(&self, done: Done) {
        self.history.lock().push(("rows".to_owned(), done));
    }
}

impl StorageBackend for Rows {
    fn len(&self) -> Result<u64, io::Error> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.file.read(offset, out)
    }

    fn set_len(&self, length: u64) -> Result<(), io::Error> {
        self.note(Done::Length(length));
        self.file.set_len(length)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        self.file.sync_data()?;
        self.note(Done::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        if self.is_full.load(Relaxed) {
            return Err(io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error()));
        }
        self.note(Done::Write(offset, data.to_vec()));
        self.file.write(offset, data)
    }

    fn close(&self) -> Result<(), io::Error> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
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

/// What becomes of writes that were not synced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Loss {
    /// All of them are lost.
    All,
    /// Each is there, lost or torn.
    Some,
}

/// The content of a file after a loss of power.
#[derive(Default)]
struct Content {
    synced: Vec<u8>,
    later: Vec<Done>,
}

/// Writes the files into a directory as a loss of power leaves them after the first part of a
/// history.
pub(super) fn cut(history: &[(String, Done)], loss: Loss, random: &mut Rng, into: &Path) {
    let mut files = std::collections::BTreeMap::<&str, Content>::new();
    for (name, done) in history {
        let content = files.entry(name).or_default();
        match done {
            Done::Sync => std::mem::take(&mut content.later).iter().for_each(|done| apply(&mut content.synced, done)),
            done => content.later.push(done.clone()),
        }
    }
    std::fs::create_dir_all(into.join("segments")).expect("there is room");
    for (name, Content { mut synced, mut later }) in files {
        if loss == Loss::Some {
            random.shuffle(&mut later);
            later.iter().for_each(|done| apply_in_part(&mut synced, done, random));
        }
        std::fs::write(into.join(name), synced).expect("there is room");
    }
}

fn apply(content: &mut Vec<u8>, done: &Done) {
    match done {
        Done::Write(offset, data) => {
            let (start, end) = (*offset as usize, *offset as usize + data.len());
            content.resize(content.len().max(end), 0);
            content[start..end].copy_from_slice(data);
        }
        Done::Length(length) => content.resize(*length as usize, 0),
        Done::Punch(offset, length) => {
            let end = ((offset + length) as usize).min(content.len());
            content[(*offset as usize).min(end)..end].fill(0);
        }
        Done::Remove => content.clear(),
        Done::Sync => {}
    }
}

fn apply_in_part(content: &mut Vec<u8>, done: &Done, random: &mut Rng) {
    match (random.u8(..3), done) {
        (0, _) => {}
        (1, Done::Write(offset, data)) => {
            for (at, sector) in data.chunks(SECTOR).enumerate().filter(|_| random.bool()) {
                apply(content, &Done::Write(offset + (at * SECTOR) as u64, sector.to_vec()));
            }
        }
        // A file that is cut off where it has data has lost what is in use.
        (_, Done::Length(length)) if (*length as usize) < content.len() => {}
        _ => apply(content, done),
    }
}
