//! Disks in memory that note each write and each flush, and what a loss of power leaves of them.
//!
//! They are the files of a file system that is mounted through FUSE, and below loop devices. So the
//! kernel's own file systems write to them.
//!
//! The model of a disk: a sector of 4,096 bytes is written as a whole. What was written before the
//! last flush is there. Of what was written later, all is lost, or all is there, or any sectors
//! are. So writes are torn, and later ones are there without earlier ones. What a sector has is the
//! newest of its writes that are there.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fastrand::Rng;
use parking_lot::{Mutex, RwLock};
use pathwalk::{
    Attributes, Credentials, Directory, Errno, FileSystem, FileType, Name, Node, NodeKey, OpenFile, OpenFor, SetAttributes,
    SyncWhat, Vfs, WriteAt, Written,
};
use pathwalk_fuse::{MountError, Mounted, mount};

/// The bytes that a disk writes as a whole.
pub(crate) const SECTOR: usize = 4096;

/// A sector's data.
type Sector = Arc<[u8; SECTOR]>;

/// The sectors of a disk that are not zero.
#[derive(Clone)]
pub(crate) struct Content {
    pub(crate) size: u64,
    sectors: BTreeMap<u64, Sector>,
}

impl Content {
    /// Reads the content of a disk from an image.
    pub(crate) fn of_image(image: &[u8]) -> Content {
        let (sectors, _) = image.as_chunks::<SECTOR>();
        let used = sectors.iter().enumerate().filter(|(_, sector)| **sector != [0; SECTOR]);
        let sectors = used.map(|(number, sector)| (number as u64, Arc::new(*sector))).collect();
        Content { size: image.len() as u64, sectors }
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        let length = self.size.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let mut done = 0;
        while done < length {
            let at = offset + done as u64;
            let (number, within) = (at / SECTOR as u64, (at % SECTOR as u64) as usize);
            let part = &mut buffer[done..length.min(done + SECTOR - within)];
            match self.sectors.get(&number) {
                Some(sector) => part.copy_from_slice(&sector[within..within + part.len()]),
                None => part.fill(0),
            }
            done += part.len();
        }
        length
    }
}

/// What was done to a disk.
#[derive(Clone)]
pub(crate) enum Done {
    Write(Vec<(u64, Sector)>),
    Flush,
}

/// What was done to all disks of a machine: the number of the disk, and what was done.
pub(crate) type History = Arc<Mutex<Vec<(usize, Done)>>>;

/// A disk of a machine.
struct Disk {
    number: usize,
    content: Mutex<Content>,
    history: History,
}

/// A disk that is open.
struct Open(Arc<Disk>);

impl OpenFile for Open {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        Ok(self.0.content.lock().read(buffer, offset))
    }

    fn write_at(&self, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        let WriteAt::Offset(offset) = at else { return Err(Errno::EINVAL) };
        let ((sectors, rest), mut content) = (data.as_chunks::<SECTOR>(), self.0.content.lock());
        if !rest.is_empty() || !offset.is_multiple_of(SECTOR as u64) || offset + data.len() as u64 > content.size {
            return Err(Errno::EINVAL);
        }
        let first = offset / SECTOR as u64;
        let sectors: Vec<_> = (first..).zip(sectors.iter().map(|sector| Arc::new(*sector))).collect();
        content.sectors.extend(sectors.iter().cloned());
        self.0.history.lock().push((self.0.number, Done::Write(sectors)));
        Ok(Written { bytes: data.len(), end: offset + data.len() as u64 })
    }

    fn sync(&self, _what: SyncWhat) -> Result<(), Errno> {
        self.0.history.lock().push((self.0.number, Done::Flush));
        Ok(())
    }
}

/// The file system of all disks: each is a file whose name is its number.
#[derive(Default)]
struct Files(RwLock<BTreeMap<u128, Arc<Disk>>>);

impl Files {
    fn disk(&self, node: NodeKey) -> Result<Arc<Disk>, Errno> {
        self.0.read().get(&node.0).cloned().ok_or(Errno::ESTALE)
    }
}

impl FileSystem for Files {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(0), self.attributes(NodeKey(0))?))
    }

    fn lookup(&self, _: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let number = str::from_utf8(name.bytes()).ok().and_then(|name| name.parse().ok());
        let Some(key) = number.map(NodeKey).filter(|key| self.disk(*key).is_ok()) else { return Ok(None) };
        Ok(Some(Node::new(key, self.attributes(key)?)))
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        Ok(match node.0 {
            0 => Attributes::new(FileType::Directory, 0o755).with_ino(1),
            key => {
                let size = self.disk(node)?.content.lock().size;
                Attributes::new(FileType::Regular, 0o644).with_ino(key as u64 + 1).with_size(size)
            }
        })
    }

    fn set_attributes(&self, node: NodeKey, _: &SetAttributes) -> Result<Attributes, Errno> {
        self.attributes(node)
    }

    fn open(&self, node: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        Ok(Box::new(Open(self.disk(node)?)))
    }
}

/// The mount of all disks.
pub(crate) struct Disks {
    files: Arc<Files>,
    _mounted: Mounted,
    directory: tempfile::TempDir,
    next: AtomicU64,
}

impl Disks {
    pub(crate) fn mounted() -> Result<Disks, MountError> {
        let (files, directory) = (Arc::new(Files::default()), tempfile::tempdir().expect("there is room"));
        let context = Vfs::builder().build(Arc::clone(&files)).expect("there is a root").context(Credentials::root());
        let mounted = mount(&context, directory.path(), &pathwalk_fuse::Options::default())?;
        Ok(Disks { files, _mounted: mounted, directory, next: AtomicU64::new(1) })
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Adds a disk of a machine. Returns the name of its file.
    pub(crate) fn add(&self, number: usize, content: Content, history: &History) -> String {
        let name = self.next.fetch_add(1, Relaxed);
        let disk = Disk { number, content: Mutex::new(content), history: Arc::clone(history) };
        self.files.0.write().insert(name.into(), Arc::new(disk));
        name.to_string()
    }

    /// Removes a disk that no machine has any more.
    pub(crate) fn remove(&self, name: &str) {
        self.files.0.write().remove(&name.parse().expect("it is a number"));
    }
}

/// What becomes of what was written since the last flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Loss {
    /// All of it is lost.
    All,
    /// Each sector is there or is not.
    Some,
    /// All of it is there.
    Nothing,
}

/// Returns disks after a history, which is taken out: all of it was synced.
pub(crate) fn synced(begin: Vec<Content>, history: &History) -> Vec<Content> {
    let mut during = During::new(begin);
    std::mem::take(&mut *history.lock()).iter().for_each(|event| during.go_on(event));
    during.cut(Loss::Nothing, &mut Rng::new())
}

/// Disks during a history: what is on them for good, and what was written since the last flush.
pub(crate) struct During {
    contents: Vec<Content>,
    later: Vec<Vec<(u64, Sector)>>,
}

impl During {
    pub(crate) fn new(contents: Vec<Content>) -> During {
        let later = contents.iter().map(|_| Vec::new()).collect();
        During { contents, later }
    }

    pub(crate) fn go_on(&mut self, (disk, done): &(usize, Done)) {
        match done {
            Done::Write(sectors) => self.later[*disk].extend(sectors.iter().cloned()),
            Done::Flush => self.contents[*disk].sectors.extend(self.later[*disk].drain(..)),
        }
    }

    /// Returns what a loss of power leaves now.
    pub(crate) fn cut(&self, loss: Loss, random: &mut Rng) -> Vec<Content> {
        let mut contents = self.contents.clone();
        // Of 8 sectors, so many are there.
        let many = random.u8(1..8);
        for (content, later) in contents.iter_mut().zip(&self.later) {
            let mut is_there = || match loss {
                Loss::All => false,
                Loss::Some => random.u8(..8) < many,
                Loss::Nothing => true,
            };
            content.sectors.extend(later.iter().filter(|_| is_there()).cloned());
        }
        contents
    }
}
