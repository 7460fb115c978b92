//! One node.
//!
//! What never changes stands bare; the rest is behind three locks: a directory's names, a file's pages, and the attributes of any
//! node. Attributes are locked last and one node's at a time. Size and page count of a file are among the attributes, and change only
//! while its pages are locked exclusively.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::{Mutex, RwLock};
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

pub(crate) struct Inode {
    pub(crate) key: Key,
    pub(crate) kind: FileType,
    pub(crate) content: Content,
    pub(crate) meta: Mutex<Meta>,
}

pub(crate) enum Content {
    Directory(Box<Directory>),
    File(RwLock<Pages>),
    Link(Box<[u8]>),
    Device(Device),
    None,
}

pub(crate) struct Directory {
    pub(crate) names: RwLock<Names>,
    /// Moved only under the store's `tree` lock; the root is its own.
    parent: AtomicU64,
}

impl Directory {
    pub(crate) fn parent(&self) -> Ino {
        Ino(self.parent.load(Relaxed))
    }

    pub(crate) fn set_parent(&self, parent: Ino) {
        self.parent.store(parent.0, Relaxed);
    }
}

/// What can change of any node.
pub(crate) struct Meta {
    pub(crate) mode: u16,
    pub(crate) nlink: u32,
    pub(crate) first_name: FirstName,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) size: u64,
    /// Pages of room that it takes.
    pub(crate) pages: u64,
    pub(crate) atime: Timestamp,
    pub(crate) mtime: Timestamp,
    pub(crate) ctime: Timestamp,
    pub(crate) btime: Timestamp,
    pub(crate) acl: Option<Arc<[AclEntry]>>,
    /// How often it was handed out and not yet forgotten, and how often it is open.
    pub(crate) held: u64,
}

/// Whether a node that has no name may get one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FirstName {
    /// It has or had one; once the last is lost, none follows.
    Given,
    /// It was made without.
    ToCome,
}

impl Inode {
    /// A node in the directory `parent`, held once. Its first name is given, or to come.
    pub(crate) fn new(key: Key, new: &NewNode<'_>, parent: Ino, first_name: FirstName, now: Timestamp) -> Inode {
        let (content, size) = match new.kind {
            NewKind::Directory => {
                let directory = Directory { names: RwLock::default(), parent: AtomicU64::new(parent.0) };
                (Content::Directory(Box::new(directory)), directory_size(0))
            }
            NewKind::Symlink(body) => (Content::Link(body.into()), body.len() as u64),
            NewKind::CharDevice(device) | NewKind::BlockDevice(device) => (Content::Device(device), 0),
            NewKind::Regular => (Content::File(RwLock::default()), 0),
            NewKind::Fifo | NewKind::Socket => (Content::None, 0),
        };
        let nlink = match (first_name, &new.kind) {
            (FirstName::ToCome, _) => 0,
            (FirstName::Given, NewKind::Directory) => 2,
            (FirstName::Given, _) => 1,
        };
        let meta = Meta {
            mode: new.mode & 0o7777,
            nlink,
            first_name,
            uid: new.uid,
            gid: new.gid,
            size,
            pages: first_pages(&new.kind),
            atime: now,
            mtime: now,
            ctime: now,
            btime: now,
            acl: None,
            held: 1,
        };
        Inode { key, kind: new.kind.file_type(), content, meta: Mutex::new(meta) }
    }

    /// As a directory; `ENOTDIR` if it is none.
    pub(crate) fn directory(&self) -> Result<&Directory, Errno> {
        match &self.content {
            Content::Directory(directory) => Ok(directory),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// The data of a regular file: `EISDIR` for a directory, `EINVAL` for what has none.
    pub(crate) fn pages(&self) -> Result<&RwLock<Pages>, Errno> {
        match &self.content {
            Content::File(pages) => Ok(pages),
            Content::Directory(_) => Err(Errno::EISDIR),
            _ => Err(Errno::EINVAL),
        }
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.kind == FileType::Directory
    }

    /// Of a directory whose names changed: `names` are left, and so many more of them are directories.
    pub(crate) fn names_changed(&self, names: usize, directories: i32, now: Timestamp) {
        let mut meta = self.meta.lock();
        meta.size = directory_size(names);
        meta.nlink = meta.nlink.saturating_add_signed(directories);
        (meta.mtime, meta.ctime) = (now, now);
    }

    /// Bytes that it takes by itself, without its names, its pages and its ACL.
    pub(crate) fn bytes(&self) -> u64 {
        const COUNTS_OF_ARC: usize = 2 * size_of::<usize>();
        let beside = match &self.content {
            Content::Link(body) => body.len(),
            Content::Directory(_) => size_of::<Directory>(),
            _ => 0,
        };
        allocation(size_of::<Inode>() + COUNTS_OF_ARC) + allocation(beside)
    }
}

impl Meta {
    /// Whether nobody can ask about the node any more. It stays so: without a name it is handed out to nobody who does not hold it.
    pub(crate) fn is_gone(&self) -> bool {
        self.nlink == 0 && self.held == 0
    }

    /// What of `set` cannot be: `EISDIR` or `EINVAL` for the size of what is no regular file, `EFBIG` for one that no offset reaches,
    /// `EOPNOTSUPP` for the mode of a link, `EINVAL` for a time that is none.
    pub(crate) fn check(inode: &Inode, set: &SetAttributes) -> Result<(), Errno> {
        if let Some(size) = set.size {
            inode.pages()?;
            if size > SIZE_MAX {
                return Err(Errno::EFBIG);
            }
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
