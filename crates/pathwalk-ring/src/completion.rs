//! The completion of an entry: its result.

use std::sync::Arc;

use pathwalk::permission::Acl;
use pathwalk::{Details, Errno, File, FileHandle, Handle, InodeFlags, Lease, Listed, ListedNode, LockKind, Statx, XattrList};

/// The result of an operation that succeeded.
///
/// [`Completion`] has an example.
#[derive(Debug)]
#[non_exhaustive]
pub enum Value {
    /// No value.
    Done,
    /// The file of [`Openat2`](crate::Op::Openat2).
    File(Arc<File>),
    /// The attributes of [`Statx`](crate::Op::Statx).
    Statx(Statx),
    /// The handle of [`Lookup`](crate::Op::Lookup).
    Handle(Handle),
    /// The whole body of [`Readlink`](crate::Op::Readlink).
    Link(Vec<u8>),
    /// The list of [`GetAcl`](crate::Op::GetAcl), if the node has one.
    Acl(Option<Acl>),
    /// The entries of [`Getdents`](crate::Op::Getdents).
    Listed(Vec<Listed>),
    /// The entries of [`Readdirplus`](crate::Op::Readdirplus).
    ListedNodes(Vec<ListedNode>),
    /// The buffer that was given to [`Read`](crate::Op::Read) or
    /// [`ReadWith`](crate::Op::ReadWith), truncated to the bytes read.
    Read(Vec<u8>),
    /// The number of bytes of [`Write`](crate::Op::Write) and [`WriteWith`](crate::Op::WriteWith).
    Written(usize),
    /// The value of [`Getxattrat`](crate::Op::Getxattrat).
    Xattr(Vec<u8>),
    /// The names of [`Listxattrat`](crate::Op::Listxattrat).
    XattrList(XattrList),
    /// The flags of [`InodeFlagsAt`](crate::Op::InodeFlagsAt).
    InodeFlags(InodeFlags),
    /// The attributes of [`Details`](crate::Op::Details), and what the file system has beside them.
    Details(Box<(Statx, Details)>),
    /// The number of [`GenerationAt`](crate::Op::GenerationAt).
    Generation(u32),
    /// The handle of [`NameToHandleAt`](crate::Op::NameToHandleAt), and the number of the mount.
    FileHandle(FileHandle, u64),
    /// The lease of [`Lease`](crate::Op::Lease).
    Lease(Lease),
    /// What the lease of [`LeaseBreak`](crate::Op::LeaseBreak) has to become.
    Break(LockKind),
}

impl Value {
    /// Returns the number that io_uring would return: bytes read, written, of a link or of an
    /// extended attribute or their list, entries listed, else 0.
    ///
    /// [`Completion`] has an example.
    pub fn number(&self) -> usize {
        match self {
            Value::Link(bytes) | Value::Read(bytes) | Value::Xattr(bytes) => bytes.len(),
            Value::XattrList(names) => names.as_bytes().len(),
            Value::Listed(entries) => entries.len(),
            Value::ListedNodes(entries) => entries.len(),
            Value::Written(bytes) => *bytes,
            Value::Done | Value::File(_) | Value::Statx(_) | Value::Handle(_) | Value::Acl(_) | Value::InodeFlags(_) => 0,
            Value::Details(_) | Value::Generation(_) | Value::FileHandle(..) | Value::Lease(_) | Value::Break(_) => 0,
        }
    }
}

/// The completion of an entry. Each entry that was taken by `submit` has exactly one.
///
/// ```
/// use pathwalk::{Credentials, Errno, Vfs};
/// use pathwalk_ring::{Entry, Op, Ring, Value};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.symlink("body", "/link")?;
/// let mut ring = Ring::new(context);
/// ring.submit_one(Entry::new(7, Op::readlink("/link")))?;
/// ring.wait(1);
/// let done = ring.reap().unwrap();
/// assert_eq!((done.user_data, done.res()), (7, 4), "as io_uring has it");
/// assert!(matches!(&done.result, Ok(value @ Value::Link(body)) if body == b"body" && value.number() == 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Completion {
    /// The value that the entry had.
    pub user_data: u64,
    /// The result.
    pub result: Result<Value, Errno>,
}

impl Completion {
    pub(crate) fn new(user_data: u64, result: Result<Value, Errno>) -> Completion {
        Completion { user_data, result }
    }

    /// Returns `res` of `struct io_uring_cqe`: a [number](Value::number), or a negative errno. A
    /// number past 2³¹−1 becomes 2³¹−1.
    pub fn res(&self) -> i32 {
        match &self.result {
            Ok(value) => i32::try_from(value.number()).unwrap_or(i32::MAX),
            Err(errno) => -errno.raw(),
        }
    }
}
