//! An entry of the completion queue: what became of an entry.

use std::sync::Arc;

use pathwalk::{Errno, File, FileType, Handle, Statx};

/// One name of a directory. Source: `struct linux_dirent64` in `getdents(2)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The name, `.` and `..` included.
    pub name: Box<[u8]>,
    /// The inode number.
    pub ino: u64,
    /// The type.
    pub kind: FileType,
    /// Where a listing goes on behind it: for [`File::seek`].
    pub cookie: u64,
}

/// What an operation that succeeded gives.
#[derive(Debug)]
#[non_exhaustive]
pub enum Value {
    /// Nothing but its success.
    Done,
    /// Of [`Openat2`](crate::Op::Openat2).
    File(Arc<File>),
    /// Of [`Statx`](crate::Op::Statx).
    Statx(Statx),
    /// Of [`Lookup`](crate::Op::Lookup).
    Handle(Handle),
    /// Of [`Readlink`](crate::Op::Readlink): the whole body.
    Link(Vec<u8>),
    /// Of [`Getdents`](crate::Op::Getdents).
    Listed(Vec<Listed>),
    /// Of [`Read`](crate::Op::Read): the buffer that was given, cut off behind what was read.
    Read(Vec<u8>),
    /// Of [`Write`](crate::Op::Write): so many bytes.
    Written(usize),
}

impl Value {
    /// The number that io_uring would give: bytes read, written or of a link, entries listed, else 0.
    pub fn number(&self) -> usize {
        match self {
            Value::Link(bytes) | Value::Read(bytes) => bytes.len(),
            Value::Listed(entries) => entries.len(),
            Value::Written(bytes) => *bytes,
            Value::Done | Value::File(_) | Value::Statx(_) | Value::Handle(_) => 0,
        }
    }
}

/// What became of an entry. Each entry that was taken by `submit` gives exactly one.
#[derive(Debug)]
pub struct Completion {
    /// As the entry had it.
    pub user_data: u64,
    /// The answer.
    pub result: Result<Value, Errno>,
}

impl Completion {
    pub(crate) fn new(user_data: u64, result: Result<Value, Errno>) -> Completion {
        Completion { user_data, result }
    }

    /// `res` of `struct io_uring_cqe`: a [number](Value::number), or a negative errno. Numbers past 2³¹−1 are that.
    pub fn res(&self) -> i32 {
        match &self.result {
            Ok(value) => i32::try_from(value.number()).unwrap_or(i32::MAX),
            Err(errno) => -errno.raw(),
        }
    }
}
