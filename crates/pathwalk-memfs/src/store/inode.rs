//! One node.
//!
//! Nodes lie in slots that are used again and never move: see [`table`](super::table). An [`Inode`] is a slot together with the key under
//! which it was found there, good for as long as the node lives.
//!
//! What can change is behind two locks: the content (a directory's names, a file's pages) and the attributes. Attributes are locked
//! last and one node's at a time. Size and page count of a file are among the attributes, and change only while its pages are locked
//! exclusively.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};

use parking_lot::{MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use pathwalk::permission::AclEntry;
use pathwalk::{Device, Errno, FileType, NewKind, NewNode, SetAttributes, Timestamp};
use rustix::time::{ClockId, clock_gettime};

use super::acl;
use super::ledger::allocation;
use super::names::Names;
use super::pages::Pages;
use super::table::{Ino, Key};

/// What tmpfs says of the size of a directory: so much for each name, `.` and `..` included.
const ENTRY_SIZE: u64 = 20;

/// The longest link body that tmpfs keeps without a page.
const SHORT_BODY: usize = 127;

/// The greatest size of a file, in bytes: what an offset can say.
pub(crate) const SIZE_MAX: u64 = i64::MAX as u64;

/// A node and where it is.
#[derive(Clone, Copy)]
pub(crate) struct Inode<'a> {
    pub(crate) key: Key,
    pub(crate) kind: FileType,
    pub(crate) slot: &'a Slot,
}

/// Where nodes live, one after the other.
#[derive(Default)]
pub(crate) struct Slot {
    /// How often it was filled and emptied: odd while a node is in it.
    pub(super) generation: AtomicU64,
    /// A directory's parent, moved only under the store's `tree` lock; the root is its own. Without a node: the next free slot.
    pub(super) parent: AtomicU64,
    /// Type bits of `st_mode`; the same for as long as a node is in it.
    pub(super) kind: AtomicU16,
    /// Whether there is content, so that a node that never got any is made and freed without its lock. Set by whoever puts it there, and
    /// cleared by whoever frees the node, which nobody can ask about by then.
    filled: AtomicBool,
    pub(crate) meta: Mutex<Meta>,
    content: RwLock<Content>,
}

#[derive(Default)]
pub(crate) enum Content {
    /// Of any node that has none yet: a directory without names, a file without pages.
    #[default]
    Empty,
    Directory(Names),
    File(Pages),
    Link(Box<[u8]>),
}

/// What can change of any node.
#[derive(Default)]
pub(crate) struct Meta {
    pub(crate) nlink: u32,
    pub(crate) mode: u16,
    pub(crate) first_name: FirstName,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// How often it was handed out and not yet forgotten, and how often it is open.
    pub(crate) held: u64,
    pub(crate) size: u64,
    pub(crate) atime: Timestamp,
    pub(crate) mtime: Timestamp,
    pub(crate) ctime: Timestamp,
    pub(crate) btime: Timestamp,
    /// Pages of room that it takes.
    pub(crate) pages: u64,
    /// Of a device node.
    pub(crate) device: Device,
    pub(crate) acl: Option<Arc<[AclEntry]>>,
}

/// Whether a node that has no name may get one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum FirstName {
    /// It has or had one; once the last is lost, none follows.
    #[default]
    Given,
    /// It was made without.
    ToCome,
}

impl<'a> Inode<'a> {
    /// A directory's names: `ENOTDIR` if it is none.
    pub(crate) fn names(&self) -> Result<MappedRwLockReadGuard<'a, Names>, Errno> {
        RwLockReadGuard::try_map(self.slot.content.read(), |content| content.names(self.kind)).map_err(|_| Errno::ENOTDIR)
    }

    /// The same to be changed.
    pub(crate) fn names_mut(&self) -> Result<MappedRwLockWriteGuard<'a, Names>, Errno> {
        RwLockWriteGuard::try_map(self.filled(FileType::Directory), Content::names_mut).map_err(|_| Errno::ENOTDIR)
    }

    /// The data of a regular file: `EISDIR` for a directory, `EINVAL` for what has none.
    pub(crate) fn pages(&self) -> Result<MappedRwLockReadGuard<'a, Pages>, Errno> {
        RwLockReadGuard::try_map(self.slot.content.read(), |content| content.pages(self.kind)).map_err(|_| self.no_data())
    }

    /// The same to be changed.
    pub(crate) fn pages_mut(&self) -> Result<MappedRwLockWriteGuard<'a, Pages>, Errno> {
        RwLockWriteGuard::try_map(self.filled(FileType::Regular), Content::pages_mut).map_err(|_| self.no_data())
    }

    /// The content, which is there if the node is of this type.
    fn filled(&self, kind: FileType) -> RwLockWriteGuard<'a, Content> {
        let mut content = self.slot.content.write();
        if self.kind == kind && matches!(*content, Content::Empty) {
            *content = Content::of_type(kind);
            self.slot.filled.store(true, Ordering::Relaxed);
        }
        content
    }

    fn no_data(&self) -> Errno {
        if self.is_directory() { Errno::EISDIR } else { Errno::EINVAL }
    }

    /// A link's body; `EINVAL` for anything else.
    pub(crate) fn link_body(&self) -> Result<Box<[u8]>, Errno> {
        match &*self.slot.content.read() {
            Content::Link(body) => Ok(body.clone()),
            _ => Err(Errno::EINVAL),
        }
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.kind == FileType::Directory
    }

    /// The directory that a directory is in.
    pub(crate) fn parent(&self) -> Ino {
        Ino(self.slot.parent.load(Ordering::Relaxed))
    }

    pub(crate) fn set_parent(&self, parent: Ino) {
        self.slot.parent.store(parent.0, Ordering::Relaxed);
    }

    /// Of a directory whose names changed: `names` are left, and so many more of them are directories.
    pub(crate) fn names_changed(&self, names: usize, directories: i32, now: Timestamp) {
        self.slot.meta.lock().names_changed(names, directories, now);
    }

    /// The same of a directory that is about to get a name: `EMLINK` if that is a directory's, and it has all the links it may have.
    pub(crate) fn name_comes(&self, names: usize, directories: i32, now: Timestamp, max_links: u32) -> Result<(), Errno> {
        let mut meta = self.slot.meta.lock();
        if directories > 0 && meta.nlink >= max_links {
            return Err(Errno::EMLINK);
        }
        meta.names_changed(names, directories, now);
        Ok(())
    }
}

impl Meta {
    fn names_changed(&mut self, names: usize, directories: i32, now: Timestamp) {
        self.size = directory_size(names);
        self.nlink = self.nlink.saturating_add_signed(directories);
        (self.mtime, self.ctime) = (now, now);
    }
}

impl Slot {
    /// Gives a node that is being made its content, if it has any; returns the bytes of memory that takes.
    pub(super) fn fill(&self, kind: &NewKind<'_>) -> u64 {
        let NewKind::Symlink(body) = kind else { return 0 };
        let content = Content::Link((*body).into());
        let bytes = content.body_bytes();
        *self.content.write() = content;
        self.filled.store(true, Ordering::Relaxed);
        bytes
    }

    /// Takes the content of a node that is being freed; returns the bytes that a link's body took.
    pub(super) fn empty(&self) -> u64 {
        if !self.filled.load(Ordering::Relaxed) {
            return 0;
        }
        self.filled.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.content.write()).body_bytes()
    }
}

impl Content {
    /// What changes, of a node of this type that has none yet.
    fn of_type(kind: FileType) -> Content {
        match kind {
            FileType::Directory => Content::Directory(Names::new()),
            FileType::Regular => Content::File(Pages::new()),
            _ => Content::Empty,
        }
    }

    /// Bytes of a link's body.
    pub(crate) fn body_bytes(&self) -> u64 {
        if let Content::Link(body) = self { allocation(body.len()) } else { 0 }
    }

    fn names(&self, kind: FileType) -> Option<&Names> {
        static NONE: Names = Names::new();
        match (self, kind) {
            (Content::Directory(names), _) => Some(names),
            (Content::Empty, FileType::Directory) => Some(&NONE),
            _ => None,
        }
    }

    fn names_mut(&mut self) -> Option<&mut Names> {
        if let Content::Directory(names) = self { Some(names) } else { None }
    }

    fn pages(&self, kind: FileType) -> Option<&Pages> {
        static NONE: Pages = Pages::new();
        match (self, kind) {
            (Content::File(pages), _) => Some(pages),
            (Content::Empty, FileType::Regular) => Some(&NONE),
            _ => None,
        }
    }

    fn pages_mut(&mut self) -> Option<&mut Pages> {
        if let Content::File(pages) = self { Some(pages) } else { None }
    }
}

impl Meta {
    /// Becomes that of a new node, held once. The ACL of the one before was taken when it was freed.
    pub(crate) fn begin(&mut self, new: &NewNode<'_>, first_name: FirstName, now: Timestamp) {
        debug_assert!(self.acl.is_none());
        self.nlink = match (first_name, &new.kind) {
            (FirstName::ToCome, _) => 0,
            (FirstName::Given, NewKind::Directory) => 2,
            (FirstName::Given, _) => 1,
        };
        (self.size, self.device) = match new.kind {
            NewKind::Directory => (directory_size(0), Device::default()),
            NewKind::Symlink(body) => (body.len() as u64, Device::default()),
            NewKind::CharDevice(device) | NewKind::BlockDevice(device) => (0, device),
            _ => (0, Device::default()),
        };
        (self.mode, self.uid, self.gid) = (new.mode & 0o7777, new.uid, new.gid);
        (self.first_name, self.pages, self.held) = (first_name, first_pages(&new.kind), 1);
        (self.atime, self.mtime, self.ctime, self.btime) = (now, now, now, now);
    }

    /// Whether nobody can ask about the node any more. It stays so: without a name it is handed out to nobody who does not hold it.
    pub(crate) fn is_gone(&self) -> bool {
        self.nlink == 0 && self.held == 0
    }

    /// What of `set` cannot be: `EISDIR` or `EINVAL` for the size of what is no regular file, `EFBIG` for one that no offset reaches,
    /// `EOPNOTSUPP` for the mode of a link, `EINVAL` for a time that is none.
    pub(crate) fn check(inode: Inode<'_>, set: &SetAttributes) -> Result<(), Errno> {
        match (inode.kind, set.size) {
            (_, None) | (FileType::Regular, Some(0..=SIZE_MAX)) => {}
            (FileType::Regular, _) => return Err(Errno::EFBIG),
            _ => return Err(inode.no_data()),
        }
        if inode.kind == FileType::Symlink && set.mode.is_some() {
            return Err(Errno::EOPNOTSUPP);
        }
        if [set.atime, set.mtime].iter().flatten().any(|time| time.nanoseconds >= 1_000_000_000) {
            return Err(Errno::EINVAL);
        }
        Ok(())
    }

    /// Sets what is asked for, which was checked. A size that is set moves `mtime`, also if it is what it was.
    pub(crate) fn set(&mut self, set: &SetAttributes) {
        let now = now();
        if let Some(mode) = set.mode {
            self.mode = mode & 0o7777;
            self.acl = self.acl.take().map(|acl| acl::with_mode(&acl, self.mode));
        }
        self.uid = set.uid.unwrap_or(self.uid);
        self.gid = set.gid.unwrap_or(self.gid);
        self.size = set.size.unwrap_or(self.size);
        self.atime = set.atime.unwrap_or(self.atime);
        self.mtime = set.mtime.unwrap_or(if set.size.is_some() { now } else { self.mtime });
        self.ctime = now;
    }
}

/// Pages of room that a new node of this kind takes: tmpfs keeps long link bodies in one.
pub(crate) fn first_pages(kind: &NewKind<'_>) -> u64 {
    matches!(kind, NewKind::Symlink(body) if body.len() > SHORT_BODY) as u64
}

fn directory_size(names: usize) -> u64 {
    (names as u64 + 2) * ENTRY_SIZE
}

/// The system's clock as of its last tick, which is what the kernel's file systems go by: a few milliseconds old, and cheap to read.
pub(crate) fn now() -> Timestamp {
    let time = clock_gettime(ClockId::RealtimeCoarse);
    Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec as u32 }
}
