//! The values of a request for a lock: its kind, range and owner, and whether it waits.

use crate::Errno;
use crate::memory::slot::InodeId;
use crate::sync::unique;

/// The kind of a lock, or its removal. Source: `F_RDLCK`, `F_WRLCK` and `F_UNLCK` of `fcntl(2)`,
/// `LOCK_SH`, `LOCK_EX` and `LOCK_UN` of `flock(2)`.
///
/// [`File::setlk`](crate::File::setlk) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LockKind {
    /// A lock that others may share.
    Shared,
    /// A lock that conflicts with all others.
    Exclusive,
    /// No lock: what the owner has in the range is released.
    Unlock,
}

/// A range of bytes of a file. It may lie behind the end of the file.
///
/// [`File::setlk`](crate::File::setlk) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LockRange {
    /// The first byte, 0..=2⁶³−1.
    pub start: u64,
    /// The number of bytes, 0..=2⁶³−1; 0 for all to the end of the file, wherever that will be.
    pub len: u64,
}

impl LockRange {
    /// All of a file.
    ///
    /// [`File::setlk`](crate::File::setlk) has an example.
    pub const WHOLE: LockRange = LockRange { start: 0, len: 0 };

    /// Creates a range of `len` bytes from `start` on; 0 bytes for all to the end.
    ///
    /// [`File::setlk`](crate::File::setlk) has an example.
    pub const fn new(start: u64, len: u64) -> LockRange {
        LockRange { start, len }
    }

    /// Returns the first and the last byte. `EINVAL` for a number above 2⁶³−1, which Linux takes
    /// as negative; `EOVERFLOW` for a last byte above that.
    pub(crate) fn span(self) -> Result<Span, Errno> {
        let (Ok(start), Ok(len)) = (i64::try_from(self.start), i64::try_from(self.len)) else {
            return Err(Errno::EINVAL);
        };
        let end = match len {
            0 => i64::MAX,
            _ => start.checked_add(len - 1).ok_or(Errno::EOVERFLOW)?,
        };
        Ok(Span { start, end })
    }
}

/// The first and the last byte of a range: 0 ≤ `start` ≤ `end`. Linux: `fl_start`, `fl_end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(super) start: i64,
    pub(super) end: i64,
}

impl Span {
    pub(crate) const WHOLE: Span = Span { start: 0, end: i64::MAX };

    pub(super) fn overlaps(self, other: Span) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// Returns whether both are one range together. A start is at least 0, so one less does not
    /// overflow.
    pub(super) fn touches(self, other: Span) -> bool {
        self.start - 1 <= other.end && other.start - 1 <= self.end
    }

    /// Returns the range of both, which touch each other.
    pub(super) fn with(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Returns the parts of this range before and behind another one.
    pub(super) fn without(self, other: Span) -> (Option<Span>, Option<Span>) {
        let before = (self.start < other.start).then(|| Span { end: other.start - 1, ..self });
        let behind = (self.end > other.end).then(|| Span { start: other.end + 1, ..self });
        (before, behind)
    }

    fn range(self) -> LockRange {
        let len = if self.end == i64::MAX { 0 } else { self.end - self.start + 1 };
        LockRange { start: self.start as u64, len: len as u64 }
    }
}

/// The owner of locks: a context, an open file, or a number that the caller chose. Locks of one
/// owner never conflict. Source: `flc_owner` of Linux.
///
/// A [`Context`](crate::Context) has an owner of its own, as a process has, and so has a clone of
/// it, as after `fork(2)`. A server takes the owner that its client sends.
///
/// ```
/// use pathwalk::{Credentials, Errno, LockKind, LockOwner, LockRange, LockWait, OpenFlags, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let file = context.open("/file", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE)?;
/// assert_eq!(file.lock_owner(), context.lock_owner());
/// assert_ne!(file.lock_owner(), context.clone().lock_owner());
///
/// // Two clients of a server, which has the file open once.
/// let (one, other) = (file.locks_of(LockOwner::new(1)), file.locks_of(LockOwner::new(2)));
/// one.setlk(LockKind::Exclusive, LockRange::new(0, 10), LockWait::No)?;
/// assert_eq!(other.setlk(LockKind::Shared, LockRange::new(9, 1), LockWait::No), Err(Errno::EAGAIN));
/// assert_eq!(other.getlk(LockKind::Shared, LockRange::WHOLE)?.map(|lock| lock.owner), Some(LockOwner::new(1)));
/// one.release();
/// other.setlk(LockKind::Shared, LockRange::new(9, 1), LockWait::No)?;
/// assert_eq!((LockOwner::new(1).number(), context.lock_owner().number()), (Some(1), None));
/// assert!(!context.lock_owner().is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LockOwner(Who);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Who {
    /// A context, by a number that no other context and no file of this program has.
    Context(u64),
    /// An open file, by such a number.
    File(u64),
    /// An owner that the caller chose.
    Given(u64),
}

impl LockOwner {
    /// Creates an owner from a number, such as `lock_owner` of a FUSE request. It equals no owner
    /// of a context or a file.
    pub const fn new(number: u64) -> LockOwner {
        LockOwner(Who::Given(number))
    }

    /// Returns the number that [`new`](Self::new) was given; `None` for the owner of a context or
    /// a file.
    pub const fn number(self) -> Option<u64> {
        match self.0 {
            Who::Given(number) => Some(number),
            Who::Context(_) | Who::File(_) => None,
        }
    }

    /// Creates the owner of a new context.
    pub(crate) fn of_new_context() -> LockOwner {
        LockOwner(Who::Context(unique()))
    }

    pub(crate) fn of_file(file: FileNumber) -> LockOwner {
        LockOwner(Who::File(file.0))
    }

    /// Returns whether it is an open file: the owner of an open file description lock, or of one
    /// by `flock(2)`. Linux: `FL_OFDLCK`, `FL_FLOCK`.
    pub fn is_file(self) -> bool {
        matches!(self.0, Who::File(_))
    }
}

/// The number of an open file, which no other file and no context of this program has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FileNumber(pub(crate) u64);

impl FileNumber {
    pub(crate) fn unique() -> FileNumber {
        FileNumber(unique())
    }
}

/// A lock on a range, as it is held or asked for. Source: `struct flock` of `fcntl(2)`.
///
/// [`File::getlk`](crate::File::getlk) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RecordLock {
    /// The kind.
    pub kind: LockKind,
    /// The range.
    pub range: LockRange,
    /// The owner.
    pub owner: LockOwner,
}

impl RecordLock {
    /// Creates a lock.
    ///
    /// [`Locks`](crate::Locks) has an example.
    pub const fn new(kind: LockKind, range: LockRange, owner: LockOwner) -> RecordLock {
        RecordLock { kind, range, owner }
    }
}

/// The treatment of a request that conflicts with a lock of another owner.
///
/// [`File::flock`](crate::File::flock) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWait {
    /// It fails with `EAGAIN`. Source: `F_SETLK`, `LOCK_NB`.
    No,
    /// It waits until there is no conflict. It fails with `ECANCELED` once its
    /// [`Cancellation`](crate::Cancellation) is cancelled. Source: `F_SETLKW`.
    Yes,
}

/// The two kinds of locks, which do not conflict with each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    /// Locks on nodes as a whole: `flock(2)`.
    Flock,
    /// Locks on ranges: `fcntl(2)`.
    Record,
}

/// A request for a lock on a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    pub(crate) node: InodeId,
    pub(crate) family: Family,
    pub(crate) owner: LockOwner,
    pub(crate) kind: LockKind,
    pub(crate) span: Span,
    /// The file through which it is requested.
    pub(crate) file: FileNumber,
}

/// The number of a lock that is held, or of a request that waits. None is used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Id(u64);

impl Id {
    /// Returns the next number.
    pub(super) fn next(&mut self) -> Id {
        self.0 += 1;
        *self
    }
}

/// A lock that is held. Its kind is never [`LockKind::Unlock`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Held {
    pub(super) id: Id,
    pub(super) owner: LockOwner,
    pub(super) kind: LockKind,
    pub(super) span: Span,
    /// The file through which it was set, which is open. Linux: `flc_file`.
    pub(super) file: FileNumber,
}

impl Held {
    pub(super) fn new(id: Id, want: &Want) -> Held {
        Held { id, owner: want.owner, kind: want.kind, span: want.span, file: want.file }
    }

    pub(super) fn conflicts_with(&self, want: &Want) -> bool {
        conflict((self.owner, self.kind, self.span), want)
    }

    pub(super) fn lock(&self) -> RecordLock {
        RecordLock::new(self.kind, self.span.range(), self.owner)
    }
}

impl Want {
    /// Returns whether two requests of one family and node exclude each other.
    pub(super) fn conflicts_with(&self, other: &Want) -> bool {
        conflict((self.owner, self.kind, self.span), other)
    }
}

/// Returns whether a lock excludes a request. Linux: `posix_locks_conflict`,
/// `flock_locks_conflict`.
fn conflict((owner, kind, span): (LockOwner, LockKind, Span), want: &Want) -> bool {
    let is_exclusive = kind == LockKind::Exclusive || want.kind == LockKind::Exclusive;
    owner != want.owner && is_exclusive && span.overlaps(want.span)
}
