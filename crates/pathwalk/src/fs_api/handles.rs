//! File handles: names of nodes that do not depend on paths.

use crate::Errno;
use crate::node::Node;

/// The number of bytes before those of the file system in [`FileHandle::to_bytes`].
const HEAD: usize = 4;

/// The identity of a node within its file system, which outlives renames, the caches, and, where
/// the file system can keep it, a restart. Source: `struct file_handle` in `open_by_handle_at(2)`.
///
/// It is an owned value of a kind and 0 to 128 bytes, which only the file system interprets. It
/// holds nothing: the node may be gone when the handle is used (`ESTALE`). A handle grants no right
/// and is no secret.
///
/// ```
/// use pathwalk::{Credentials, Errno, FileHandle, HandleFlags, OpenFlags, Vfs};
/// # let vfs = Vfs::builder().build(pathwalk_memfs::MemFs::new())?;
/// let context = vfs.context(Credentials::root());
/// context.create_dir_all("/a/b")?;
/// context.write("/a/b/file", "data")?;
/// let (handle, mount_id) = context.name_to_handle("/a/b/file", HandleFlags::empty())?;
/// assert_eq!(mount_id, context.statx("/a", pathwalk::StatxMask::empty())?.mount_id);
///
/// // A client keeps the bytes, and comes back with them.
/// let bytes = handle.to_bytes();
/// context.rename("/a/b", "/c")?;
/// let handle = FileHandle::from_bytes(&bytes)?;
/// assert_eq!((handle.kind(), handle.bytes().len()), (1, 16));
/// let file = context.open_by_handle(context.root(), &handle, OpenFlags::READ)?;
/// assert_eq!(std::io::read_to_string(&file).unwrap(), "data");
/// assert_eq!(context.lookup_by_handle(context.root(), &handle)?.path()?, b"/c/file");
///
/// drop(file);
/// context.unlink("/c/file")?;
/// assert_eq!(context.lookup_by_handle(context.root(), &handle).unwrap_err(), Errno::ESTALE);
/// let user = vfs.context(Credentials::user(1000, 1000, &[]));
/// assert_eq!(user.open_by_handle(user.root(), &handle, OpenFlags::READ).unwrap_err(), Errno::EPERM);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FileHandle {
    kind: i32,
    bytes: Box<[u8]>,
}

impl FileHandle {
    /// The maximum number of bytes of a handle. Source: `MAX_HANDLE_SZ`. [`FileHandle`] has an
    /// example of a handle.
    pub const MAX: usize = 128;

    /// The flag of a kind for a handle that was asked for with
    /// [`CONNECTABLE`](crate::HandleFlags::CONNECTABLE). Source: `FILEID_IS_CONNECTABLE`.
    pub(crate) const IS_CONNECTABLE: i32 = 0x1_0000;

    /// The flag of a kind for a connectable handle of a directory. Source: `FILEID_IS_DIR`.
    pub(crate) const IS_DIRECTORY: i32 = 0x2_0000;

    /// The kinds of file systems.
    const KINDS: i32 = 0xffff;

    /// Creates a handle: `EINVAL` for more than [`MAX`](Self::MAX) bytes. A handle that
    /// [`decode_handle`](crate::FileSystem::decode_handle) gets has a kind from 0 to 65,535 and at
    /// least one byte.
    pub fn new(kind: i32, bytes: &[u8]) -> Result<FileHandle, Errno> {
        if bytes.len() > FileHandle::MAX { Err(Errno::EINVAL) } else { Ok(FileHandle { kind, bytes: bytes.into() }) }
    }

    /// Returns the kind, by which a file system tells its forms of handles apart. That of a
    /// connectable handle has flags above the lowest 16 bits. Source: `handle_type`.
    pub fn kind(&self) -> i32 {
        self.kind
    }

    /// Returns the bytes of the file system. Source: `f_handle`.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the handle as 4 to 132 bytes: the kind, with the lowest byte first, and the bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.kind.to_le_bytes()[..], &self.bytes].concat()
    }

    /// Returns the handle that [`to_bytes`](Self::to_bytes) gave: `EINVAL` for fewer than 4 or more
    /// than 132 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<FileHandle, Errno> {
        let (kind, bytes) = bytes.split_first_chunk::<HEAD>().ok_or(Errno::EINVAL)?;
        FileHandle::new(i32::from_le_bytes(*kind), bytes)
    }

    /// Checks that a handle is one that a file system may give: `EINVAL` for a kind that is
    /// negative or above 65,535, and for no bytes.
    pub(crate) fn check(&self) -> Result<(), Errno> {
        let is_kind = self.kind & !FileHandle::KINDS == 0;
        if is_kind && !self.bytes.is_empty() { Ok(()) } else { Err(Errno::EINVAL) }
    }

    /// Returns the handle with further flags in its kind.
    pub(crate) fn with_flags(self, flags: i32) -> FileHandle {
        FileHandle { kind: self.kind | flags, ..self }
    }

    /// Returns the handle as its file system gave it, and the flags of its kind.
    pub(crate) fn split(&self) -> (FileHandle, i32) {
        let flags = self.kind & (FileHandle::IS_CONNECTABLE | FileHandle::IS_DIRECTORY);
        (FileHandle { kind: self.kind & !flags, bytes: self.bytes.clone() }, flags)
    }
}

/// A name of a node, as [`FileSystem::find_name`](crate::FileSystem::find_name) returns it, which
/// has an example.
#[derive(Clone, Debug)]
pub struct FoundName {
    /// The directory, handed out: it is forgotten once more.
    pub dir: Node,
    /// The name in it: one component of 1 to 255 bytes.
    pub name: Box<[u8]>,
}

/// The purpose of a handle that [`encode_handle`](crate::FileSystem::encode_handle)
/// makes. [`FileSystem::find_name`](crate::FileSystem::find_name) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HandleFor {
    /// The node, to be found again.
    Opening,
    /// The node and its place, so that also a file gets its path back
    /// ([`HandleFlags::CONNECTABLE`](crate::HandleFlags::CONNECTABLE)).
    Connecting,
    /// The identity of the node alone ([`HandleFlags::FID`](crate::HandleFlags::FID)).
    Identity,
}
