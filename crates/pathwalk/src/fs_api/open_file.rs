//! The open files of a file system, and the values that belong to them.
//!
//! The engine has checked permission, cleared suid and sgid bits where writing clears them, and
//! carried out `O_TRUNC`. The node of an open file is held for as long as the file is open: it is
//! not forgotten, even if it loses its names.

use std::ops::ControlFlow;

use bitflags::bitflags;

use crate::Errno;
use crate::abi::MountFlags;
use crate::attr::FileType;
use crate::node::NodeKey;

bitflags! {
    /// The purposes for which a file is opened. Source: `open(2)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct OpenFor: u8 {
        /// Reading; for a directory, listing.
        const READ = 1;
        /// Writing.
        const WRITE = 2;
    }
}

/// The position at which data is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteAt {
    /// An offset in bytes. The range between the end and the offset reads as zeroes.
    Offset(u64),
    /// The end, as of the instant of the write: two writers never overwrite each other.
    End,
}

/// The result of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// The number of bytes that were taken: fewer than given only where space ran out, and then at
    /// least one.
    pub bytes: usize,
    /// The offset behind the last of them.
    pub end: u64,
}

/// The parts of a file that have to be on stable storage. Source: `fsync(2)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncWhat {
    /// Data and attributes.
    All,
    /// Data, and what is needed to read it again.
    Data,
}

/// One entry of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// The name; never `.` or `..`.
    pub name: &'a [u8],
    /// The key of the node with that name.
    pub key: NodeKey,
    /// The inode number as users see it.
    pub ino: u64,
    /// The type.
    pub kind: FileType,
    /// The position at which a listing goes on after this entry. It is greater than the cookie of
    /// every entry before, at least [`FIRST_COOKIE`], at most `i64::MAX`, and never given to
    /// another name of this directory.
    pub cookie: u64,
}

/// The least cookie of an entry: 0 is the beginning, 1 and 2 are behind `.` and `..`, which the
/// engine lists.
pub const FIRST_COOKIE: u64 = 3;

/// An open file or directory of a file system. Any method may be called from several threads at
/// once.
pub trait OpenFile: Send + Sync {
    /// Fills `buffer` with the bytes from `offset` on. Returns the number of bytes read: 0 at or
    /// behind the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let _ = (buffer, offset);
        Err(Errno::EINVAL)
    }

    /// Does the same as [`read_at`](Self::read_at) without blocking: returns the bytes that are
    /// available at once, perhaps fewer than there are. `EAGAIN` if there are none: then `read_at`
    /// is called by a thread that may wait. Source: `RWF_NOWAIT` in `preadv2(2)`.
    fn try_read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let _ = (buffer, offset);
        Err(Errno::EAGAIN)
    }

    /// Writes `data`. `ENOSPC` if there is no room for a single byte, `EFBIG` behind the greatest
    /// size of a file.
    fn write_at(&self, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        let _ = (data, at);
        Err(Errno::EINVAL)
    }

    /// Returns the error with which [`write_at`](Self::write_at) of so many bytes would fail now
    /// without any effect: `EFBIG`. It is called before a write that clears suid and sgid bits, so
    /// that they stay in that case. On other errors, `ENOSPC` among them, the bits are cleared
    /// already, as on Linux. A file system that can predict those errors may return them here.
    /// Source: `generic_write_checks` of Linux.
    fn check_write(&self, length: usize, at: WriteAt) -> Result<(), Errno> {
        let _ = (length, at);
        Ok(())
    }

    /// Passes the entries behind the cookie `from` to `each`, in the order of their cookies, until
    /// there are no more or `each` breaks.
    ///
    /// Entries that exist during the whole call come exactly once. Those that are made or removed
    /// meanwhile come once or not at all. `each` must not call back into the file system or the
    /// `Vfs`.
    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        let _ = (from, each);
        Err(Errno::ENOTDIR)
    }

    /// Returns whether a listing contains every name that a lookup would find. If so, all names of
    /// a directory are known once it was listed to its end, and the file system is not asked for
    /// other names. Called when a listing begins.
    fn lists_all_names(&self) -> bool {
        true
    }

    /// Puts the file on stable storage. A file system without stable storage has nothing to do.
    fn sync(&self, what: SyncWhat) -> Result<(), Errno> {
        let _ = what;
        Ok(())
    }
}

/// The size and limits of a file system. Source: `statfs(2)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct StatFs {
    /// `f_type`: the kind of file system.
    pub kind: u64,
    /// The bytes of a block, the unit of the counts below.
    pub block_size: u64,
    /// The number of blocks; 0 where there is no limit.
    pub blocks: u64,
    /// The number of free blocks.
    pub blocks_free: u64,
    /// The number of free blocks for users without privilege.
    pub blocks_available: u64,
    /// The number of inodes; 0 where there is no limit.
    pub files: u64,
    /// The number of free inodes.
    pub files_free: u64,
    /// The maximum length of a name, in bytes.
    pub name_max: u64,
    /// `f_flags`: the flags of the file system. From [`Context::statfs`](crate::Context::statfs),
    /// also those of the mount.
    pub flags: MountFlags,
}
