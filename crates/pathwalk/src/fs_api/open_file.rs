//! What a file system hands out for a node that was opened.
//!
//! Permission was checked, suid and sgid bits were cleared where writing clears them, and `O_TRUNC` was carried out by the engine. An
//! open file's node is held for as long as it is open: it is not forgotten, whatever becomes of its names.

use std::ops::ControlFlow;

use bitflags::bitflags;

use crate::Errno;
use crate::abi::MountFlags;
use crate::attr::FileType;
use crate::node::NodeKey;

bitflags! {
    /// What a file is opened for. Source: `open(2)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct OpenFor: u8 {
        /// To be read; a directory: to be listed.
        const READ = 1;
        /// To be written.
        const WRITE = 2;
    }
}

/// Where data are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteAt {
    /// At this offset in bytes; what lies between the end and the offset reads as zeroes.
    Offset(u64),
    /// At the end, as of the instant of the write: two writers never overwrite each other.
    End,
}

/// What a write came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// So many bytes were taken: fewer than given only where space ran out, and then at least one.
    pub bytes: usize,
    /// The offset behind the last of them.
    pub end: u64,
}

/// How much of a file has to be on stable storage. Source: `fsync(2)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncWhat {
    /// Data and attributes.
    All,
    /// Data, and what is needed to read them again.
    Data,
}

/// One entry of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// Its name; never `.` or `..`.
    pub name: &'a [u8],
    /// What has it.
    pub key: NodeKey,
    /// Its inode number as users see it.
    pub ino: u64,
    /// Its type.
    pub kind: FileType,
    /// Where a listing goes on behind it: greater than the cookie of every entry before, at least [`FIRST_COOKIE`], at most
    /// `i64::MAX`, and never given to another name of this directory.
    pub cookie: u64,
}

/// The least cookie of an entry: 0 is the beginning, 1 and 2 are behind `.` and `..`, which the engine lists.
pub const FIRST_COOKIE: u64 = 3;

/// An open file or directory of a file system. Any method may be called from several threads at once.
pub trait OpenFile: Send + Sync {
    /// Fills `buffer` from `offset` on, in bytes; returns how many there were: 0 at or behind the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let _ = (buffer, offset);
        Err(Errno::EINVAL)
    }

    /// The same at once, without blocking: what is at hand, perhaps less than there is. `EAGAIN` where that is nothing: then
    /// [`read_at`](Self::read_at) is called by somebody who may wait. Source: `RWF_NOWAIT` in `preadv2(2)`.
    fn try_read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let _ = (buffer, offset);
        Err(Errno::EAGAIN)
    }

    /// Writes. `ENOSPC` where not a byte found room, `EFBIG` behind the greatest size of a file.
    fn write_at(&self, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        let _ = (data, at);
        Err(Errno::EINVAL)
    }

    /// Returns the error with which [`write_at`](Self::write_at) of so many bytes would fail now
    /// and change nothing: `EFBIG`. Asked before a write that takes suid and sgid bits away, so
    /// that they stay. Of other errors the bits are gone already, `ENOSPC` among them, as on Linux;
    /// a file system that knows those beforehand may return them here. Source:
    /// `generic_write_checks` of Linux.
    fn check_write(&self, length: usize, at: WriteAt) -> Result<(), Errno> {
        let _ = (length, at);
        Ok(())
    }

    /// Gives the entries behind the cookie `from` in the order of their cookies, until there are no more or `each` says so.
    ///
    /// Entries that are there all the time come exactly once; those that come or go meanwhile come once or not. `each` must not call
    /// back into the file system or the `Vfs`.
    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        let _ = (from, each);
        Err(Errno::ENOTDIR)
    }

    /// Whether a listing tells every name that a lookup would find: then a directory that was listed to its end is known, and the file system is
    /// not asked for other names. Asked when a listing begins.
    fn lists_all_names(&self) -> bool {
        true
    }

    /// Puts it on stable storage. Where nothing is stable, there is nothing to do.
    fn sync(&self, what: SyncWhat) -> Result<(), Errno> {
        let _ = what;
        Ok(())
    }
}

/// A file system's size and limits. Source: `statfs(2)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StatFs {
    /// `f_type`: what kind of file system it is.
    pub kind: u64,
    /// Bytes of a block; the unit of the counts below.
    pub block_size: u64,
    /// All blocks; 0 where there is no limit.
    pub blocks: u64,
    /// Free ones.
    pub blocks_free: u64,
    /// Those that users without privilege can have.
    pub blocks_available: u64,
    /// All inodes; 0 where there is no limit.
    pub files: u64,
    /// Free ones.
    pub files_free: u64,
    /// Longest name, in bytes.
    pub name_max: u64,
    /// `f_flags`: what a file system says of itself, and as
    /// [`Context::statfs`](crate::Context::statfs) answers it, with the switches of the mount.
    pub flags: MountFlags,
}
