//! The open files of a file system, and the values that belong to them.
//!
//! The engine has checked permission, cleared suid and sgid bits where writing clears them, and
//! carried out `O_TRUNC`. The node of an open file is held for as long as the file is open: it is
//! not forgotten, even if it loses its names.

use std::ops::ControlFlow;

use bitflags::bitflags;

use super::EntrySink;
use crate::Errno;
use crate::abi::{FallocateFlags, MountFlags};
use crate::attr::FileType;
use crate::node::NodeKey;

bitflags! {
    /// The purposes for which a file is opened. Source: `open(2)`.
    ///
    /// [`OpenFile`] has an example.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct OpenFor: u8 {
        /// Reading; for a directory, listing.
        const READ = 1;
        /// Writing.
        const WRITE = 2;
        /// Reads and writes do not wait: `O_NONBLOCK`. For special files only.
        const NONBLOCK = 4;
    }
}

/// The position at which data is written.
///
/// [`OpenFile`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteAt {
    /// An offset in bytes. The range between the end and the offset reads as zeroes.
    Offset(u64),
    /// The end, as of the instant of the write: two writers never overwrite each other.
    End,
}

/// The result of a write.
///
/// [`OpenFile`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// The number of bytes that were taken: fewer than given only where space ran out, and then at
    /// least one.
    pub bytes: usize,
    /// The offset behind the last of them.
    pub end: u64,
}

/// The parts of a file that have to be on stable storage. Source: `fsync(2)`.
///
/// [`OpenFile`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncWhat {
    /// Data and attributes.
    All,
    /// Data, and what is needed to read it again.
    Data,
}

/// One entry of a listing.
///
/// [`OpenFile`] has an example.
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
    /// another name of this directory. It is the name's for as long as the name is there, whatever
    /// else comes and goes. It belongs to the directory and not to the open file: another open file
    /// goes on at it, as a server needs for clients that come back.
    pub cookie: u64,
}

/// The least cookie of an entry: 0 is the beginning, 1 and 2 are behind `.` and `..`, which the
/// engine lists.
///
/// [`OpenFile`] has an example.
pub const FIRST_COOKIE: u64 = 3;

/// An open file or directory of a file system. Any method may be called from several threads at
/// once.
///
/// ```
/// use std::ops::ControlFlow;
/// use pathwalk::{Attributes, Credentials, Directory, Entry, Errno, FIRST_COOKIE, FileSystem, FileType, Name, Node, NodeKey};
/// use pathwalk::{OpenFile, OpenFor, SyncWhat, Vfs, WriteAt, Written};
///
/// /// A file system with one file, which takes all data and reads as one line.
/// struct Log;
///
/// impl OpenFile for Log {
///     fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
///         let text = b"hello\n".get(offset as usize..).unwrap_or_default();
///         let length = text.len().min(buffer.len());
///         buffer[..length].copy_from_slice(&text[..length]);
///         Ok(length)
///     }
///
///     fn write_at(&self, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
///         let start = match at {
///             WriteAt::Offset(offset) => offset,
///             WriteAt::End => 6,
///         };
///         Ok(Written { bytes: data.len(), end: start + data.len() as u64 })
///     }
///
///     fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
///         if from < FIRST_COOKIE {
///             let (key, kind) = (NodeKey(2), FileType::Regular);
///             let _ = each(Entry { name: b"log", key, ino: 2, kind, cookie: FIRST_COOKIE });
///         }
///         Ok(())
///     }
///
///     fn sync(&self, _what: SyncWhat) -> Result<(), Errno> {
///         Ok(())
///     }
/// }
///
/// # fn node(key: NodeKey) -> Node {
/// #     let kind = if key == NodeKey(1) { FileType::Directory } else { FileType::Regular };
/// #     Node::new(key, Attributes::new(kind, 0o755))
/// # }
/// impl FileSystem for Log {
///     fn open(&self, _node: NodeKey, what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
///         assert!(what_for.intersects(OpenFor::READ | OpenFor::WRITE));
///         Ok(Box::new(Log))
///     }
///     // `root`, `lookup` and `attributes` as in the example of `FileSystem`.
/// #     fn root(&self) -> Result<Node, Errno> {
/// #         Ok(node(NodeKey(1)))
/// #     }
/// #     fn lookup(&self, _: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
/// #         Ok((name.bytes() == b"log").then(|| node(NodeKey(2))))
/// #     }
/// #     fn attributes(&self, key: NodeKey) -> Result<Attributes, Errno> {
/// #         Ok(node(key).attributes.with_size(6))
/// #     }
/// #     fn set_attributes(&self, key: NodeKey, _: &pathwalk::SetAttributes) -> Result<Attributes, Errno> {
/// #         self.attributes(key)
/// #     }
/// }
///
/// let context = Vfs::builder().build(Log)?.context(Credentials::root());
/// assert_eq!(context.read_to_string("/log")?, "hello\n");
/// let names: Vec<_> = context.read_dir("/")?.map(|entry| entry.map(|entry| entry.name().to_vec())).collect::<Result<_, _>>()?;
/// assert_eq!(names, [b"log"]);
/// let file = pathwalk::OpenOptions::new().append(true).open(&context, "/log")?;
/// assert_eq!(file.write(b"more")?, 4);
/// file.sync(SyncWhat::All)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait OpenFile: Send + Sync {
    /// Returns what offsets mean. Asked of special files only, at each read, write and seek; others
    /// have offsets.
    fn seeking(&self) -> Seeking {
        Seeking::Offsets
    }

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
    /// already, as on Linux. A file system that can predict those errors may return them here. A
    /// write of no bytes is this call alone. Source: `generic_write_checks` of Linux.
    fn check_write(&self, length: usize, at: WriteAt) -> Result<(), Errno> {
        let _ = (length, at);
        Ok(())
    }

    /// Returns whether the node may be opened with [`OpenFlags::DIRECT`](crate::OpenFlags::DIRECT).
    /// Default: false, and such an open is `EINVAL`. Source: `FMODE_CAN_ODIRECT` of Linux.
    fn allows_direct(&self) -> bool {
        false
    }

    /// Allocates, zeroes, takes out or puts in a range of a regular file, and updates its times.
    /// The engine has checked the flags, and that the range ends within 2⁶³−1. `EOPNOTSUPP` for
    /// flags that the file system does not have; `ENOSPC` if there is no room for all of it;
    /// `EINVAL` for a range that cannot be taken out or put in. On an error nothing has changed.
    /// Default: `EOPNOTSUPP`. Source: `fallocate(2)`.
    fn fallocate(&self, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        let _ = (mode, offset, length);
        Err(Errno::EOPNOTSUPP)
    }

    /// Returns the least offset from `offset` on at which there is data: `ENXIO` if there is none
    /// up to the end. `size` is the file's size as the engine has it. Default: all up to the end is
    /// data. Source: `SEEK_DATA` in `lseek(2)`.
    fn seek_data(&self, offset: u64, size: u64) -> Result<u64, Errno> {
        if offset < size { Ok(offset) } else { Err(Errno::ENXIO) }
    }

    /// Returns the least offset from `offset` on at which there is a hole: `ENXIO` at and behind
    /// the end, where a hole begins. `size` is the file's size as the engine has it. Default: the
    /// end. Source: `SEEK_HOLE` in `lseek(2)`.
    fn seek_hole(&self, offset: u64, size: u64) -> Result<u64, Errno> {
        if offset < size { Ok(size) } else { Err(Errno::ENXIO) }
    }

    /// Copies `length` bytes from `offset` of this file to `at` of the regular file `to`, and
    /// updates the times of `to`. Both are of this file system; ranges in one file do not overlap.
    /// Returns the number of bytes copied: fewer where this file ends or space runs out, and then
    /// at least one; `ENOSPC` if there is no room for a single byte. `EOPNOTSUPP` has the engine
    /// copy through a buffer, as the default does. Source: `copy_file_range(2)`.
    fn copy_range(&self, offset: u64, to: NodeKey, at: u64, length: usize) -> Result<usize, Errno> {
        let _ = (offset, to, at, length);
        Err(Errno::EOPNOTSUPP)
    }

    /// Returns whether [`clone_range`](Self::clone_range) shares data. Default: false.
    fn can_clone(&self) -> bool {
        false
    }

    /// Makes a range of the regular file `to` share the data of a range of this file, until either
    /// is written. The engine has checked what `generic_remap_file_range_prep` of Linux checks:
    /// both ranges begin at a multiple of the block size, and end at one or at the end of this
    /// file. `ENOSPC` leaves everything as it was. Source: `FICLONERANGE` in
    /// `ioctl_ficlonerange(2)`.
    fn clone_range(&self, offset: u64, to: NodeKey, at: u64, length: u64) -> Result<(), Errno> {
        let _ = (offset, to, at, length);
        Err(Errno::EOPNOTSUPP)
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

    /// Passes the entries behind the cookie `from` to `sink`, with their nodes as far as those are
    /// at hand at less cost than by a lookup each. What `read_dir` promises of entries and cookies
    /// holds here, too. Default: gives no nodes, so the engine looks up each name that is not
    /// cached.
    ///
    /// Runs as [`lookup`](crate::FileSystem::lookup) does: no change of the directory's names
    /// through the `Vfs` comes between the call and what the caches make of its nodes. The names
    /// were listed and their nodes found at some instant of the call each; a name that was removed
    /// or replaced behind the `Vfs` meanwhile is given as it was, or without a node.
    ///
    /// [`EntrySink`] has an example.
    fn read_dir_with_nodes(&self, from: u64, sink: &mut EntrySink<'_>) -> Result<(), Errno> {
        self.read_dir(from, &mut |entry| sink.push(entry))
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

/// The meaning of offsets in a special file. Source: `FMODE_LSEEK`, `FMODE_PREAD` and `null_lseek`
/// of Linux.
///
/// [`Driver`](crate::Driver) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seeking {
    /// Each byte has an offset, and the position moves, as in a file.
    Offsets,
    /// Reads and writes take any offset for the same, and the position stays 0, as of `/dev/null`.
    Nowhere,
    /// There are no offsets: seeks, reads and writes at one are `ESPIPE`, as of a pipe.
    Stream,
}

/// Whether files of a file system can be leased.
///
/// [`FileSystem::leases`](crate::FileSystem::leases) is where one says it.
///
/// ```
/// use pathwalk::{FileSystem, Leases};
/// let fs = pathwalk_memfs::MemFs::new();
/// assert_eq!(fs.leases(), Leases::OfEngine, "files are opened by the Vfs alone");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Leases {
    /// They can. All opens go through the `Vfs`, or are reported to it
    /// ([`Vfs::break_leases`](crate::Vfs::break_leases)).
    #[default]
    OfEngine,
    /// They cannot (`EINVAL`): for a tree that others share, whose opens break no lease.
    Refused,
}

/// What opens the special files of a file system: named pipes and devices.
///
/// [`FileSystem::special_files`](crate::FileSystem::special_files) is where one says it.
///
/// [`Driver`](crate::Driver) has an example of those that the engine opens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum SpecialFiles {
    /// Pipes are the engine's, within this `Vfs`. Devices are opened by its [`Driver`].
    ///
    /// [`Driver`]: crate::Driver
    #[default]
    OfEngine,
    /// [`FileSystem::open`](crate::FileSystem::open) is called for them, which may block.
    OfFileSystem,
    /// None can be opened (`ENXIO`): for a tree that others share, where a pipe has its other end
    /// elsewhere.
    Refused,
}

/// The size and limits of a file system. Source: `statfs(2)`.
///
/// ```
/// use pathwalk::{Credentials, MountFlags, Vfs};
/// use pathwalk_memfs::MemFs;
/// let vfs = Vfs::builder().mount_flags(MountFlags::NOEXEC).build(MemFs::new())?;
/// let statfs = vfs.context(Credentials::root()).statfs("/")?;
/// assert_eq!(statfs.blocks, 0, "there is no limit");
/// assert_eq!(statfs.flags, MountFlags::NOEXEC);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
