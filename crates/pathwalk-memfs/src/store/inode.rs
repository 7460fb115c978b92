//! One node.
//!
//! What never changes stands bare; the rest is behind two locks: a directory's names, and the attributes of any node. Attributes
//! are locked last and one node's at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, RwLock};
use pathwalk::permission::AclEntry;
use pathwalk::{Device, Errno, FileType, NewKind, NewNode, SetAttributes, Timestamp};

use super::acl;
use super::ledger::allocation;
use super::names::Names;
use super::table::{Ino, Key};

/// What tmpfs says of the size of a directory: so much for each name, `.` and `..` included.
const ENTRY_SIZE: u64 = 20;

pub(crate) struct Inode {
    pub(crate) key: Key,
    pub(crate) kind: FileType,
    pub(crate) content: Content,
    pub(crate) meta: Mutex<Meta>,
}

pub(crate) enum Content {
    Directory(Directory),
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
#[derive(Clone)]
pub(crate) struct Meta {
    pub(crate) mode: u16,
    pub(crate) nlink: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) size: u64,
    pub(crate) atime: Timestamp,
    pub(crate) mtime: Timestamp,
    pub(crate) ctime: Timestamp,
    pub(crate) btime: Timestamp,
    pub(crate) acl: Option<Arc<[AclEntry]>>,
    /// How often it was handed out and not yet forgotten.
    pub(crate) held: u64,
}

impl Inode {
    /// A node with its first name, in the directory `parent`, held once.
    pub(crate) fn new(key: Key, new: &NewNode<'_>, parent: Ino) -> Inode {
        let now = now();
        let (content, size, nlink) = match new.kind {
            NewKind::Directory => {
                let directory = Directory { names: RwLock::default(), parent: AtomicU64::new(parent.0) };
                (Content::Directory(directory), directory_size(0), 2)
            }
            NewKind::Symlink(body) => (Content::Link(body.into()), body.len() as u64, 1),
            NewKind::CharDevice(device) | NewKind::BlockDevice(device) => (Content::Device(device), 0, 1),
            NewKind::Regular | NewKind::Fifo | NewKind::Socket => (Content::None, 0, 1),
        };
        let meta = Meta {
            mode: new.mode & 0o7777,
            nlink,
            uid: new.uid,
            gid: new.gid,
            size,
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

    /// Bytes that it takes by itself, without its names and its ACL.
    pub(crate) fn bytes(&self) -> u64 {
        const COUNTS_OF_ARC: usize = 2 * size_of::<usize>();
        let body = if let Content::Link(body) = &self.content { body.len() } else { 0 };
        allocation(size_of::<Inode>() + COUNTS_OF_ARC) + allocation(body)
    }
}

impl Meta {
    /// Whether nobody can ask about the node any more. It stays so: a node without names gets no new one, and without either is
    /// never handed out again.
    pub(crate) fn is_gone(&self) -> bool {
        self.nlink == 0 && self.held == 0
    }

    /// Sets what is asked for, or nothing: `EISDIR` or `EINVAL` for the size of what is no regular file, `EFBIG` for one that no
    /// offset reaches, `EOPNOTSUPP` for the mode of a link, `EINVAL` for a time that is none.
    pub(crate) fn set(&mut self, kind: FileType, set: &SetAttributes) -> Result<(), Errno> {
        match (kind, set.size) {
            (_, None) | (FileType::Regular, Some(0..=0x7fff_ffff_ffff_ffff)) => {}
            (FileType::Regular, _) => return Err(Errno::EFBIG),
            (FileType::Directory, _) => return Err(Errno::EISDIR),
            _ => return Err(Errno::EINVAL),
        }
        if kind == FileType::Symlink && set.mode.is_some() {
            return Err(Errno::EOPNOTSUPP);
        }
        if [set.atime, set.mtime].iter().flatten().any(|time| time.nanoseconds >= 1_000_000_000) {
            return Err(Errno::EINVAL);
        }
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
        Ok(())
    }
}

fn directory_size(names: usize) -> u64 {
    (names as u64 + 2) * ENTRY_SIZE
}

/// The system's clock.
pub(crate) fn now() -> Timestamp {
    let (seconds, nanoseconds) = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => (since.as_secs() as i64, since.subsec_nanos()),
        // A clock before the Epoch counts backwards from it; nanoseconds count forwards all the same.
        Err(before) => {
            let before = before.duration();
            let borrow = i64::from(before.subsec_nanos() > 0);
            (-(before.as_secs() as i64) - borrow, (1_000_000_000 - before.subsec_nanos()) % 1_000_000_000)
        }
    };
    Timestamp { seconds, nanoseconds }
}
