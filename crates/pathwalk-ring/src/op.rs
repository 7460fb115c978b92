//! What can be asked for: the opcodes.

use std::sync::Arc;
use std::time::Duration;

use pathwalk::{Access, AtFlags, File, LinkFlags, OpenFlags, OpenHow, RenameFlags, Resolve, StatxMask, SyncWhat};

use crate::Place;

/// What an [`Unlinkat`](Op::Unlinkat) takes away. Source: `AT_REMOVEDIR` in `unlinkat(2)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Removal {
    /// A name of what is no directory.
    Name,
    /// An empty directory.
    Directory,
}

/// Where data are read and written. Source: `off` of `IORING_OP_READ`, where −1 is the current position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offset {
    /// At the file's position, which moves. Two such entries of one file that are not linked run in either order.
    Current,
    /// At this offset, in bytes, 0..=2⁶³−1.
    At(u64),
}

/// An operation, with what it needs. Errors are those of its namesake in [`Context`](pathwalk::Context) or [`File`].
///
/// Tried inline, in `submit`: `Openat2`, `Statx`, `Access`, `Readlink`, `Lookup`, `Read` at an offset, `Nop`, `Timeout` and `Cancel`. All others go to a
/// worker.
/// With [`Resolve::CACHED`] the first five complete with `EAGAIN` where the caches do not know. Source of names and meanings: the `IORING_OP_*`
/// of `io_uring_enter(2)`; `Access`, `Readlink`, `Lookup` and `Getdents` are not among those.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Op<'p> {
    /// Nothing: completes at once.
    Nop,
    /// Opens a file: [`Value::File`](crate::Value).
    Openat2 {
        /// What.
        place: Place<'p>,
        /// What for, and how.
        how: OpenHow,
    },
    /// Attributes: [`Value::Statx`](crate::Value).
    Statx {
        /// Of what.
        place: Place<'p>,
        /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
        flags: AtFlags,
        /// Which.
        mask: StatxMask,
        /// How the path is resolved.
        resolve: Resolve,
    },
    /// Whether it may be accessed so.
    Access {
        /// What.
        place: Place<'p>,
        /// How.
        want: Access,
        /// Any.
        flags: AtFlags,
        /// How the path is resolved.
        resolve: Resolve,
    },
    /// The body of a link: [`Value::Link`](crate::Value).
    Readlink {
        /// Which.
        place: Place<'p>,
        /// How the path is resolved.
        resolve: Resolve,
    },
    /// A handle: [`Value::Handle`](crate::Value).
    Lookup {
        /// On what.
        place: Place<'p>,
        /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
        flags: AtFlags,
        /// How the path is resolved.
        resolve: Resolve,
    },
    /// Makes a directory.
    Mkdirat {
        /// Where.
        place: Place<'p>,
        /// Its permission bits.
        mode: u16,
    },
    /// Takes a name away.
    Unlinkat {
        /// Which.
        place: Place<'p>,
        /// Of what.
        what: Removal,
    },
    /// Gives a node another name.
    Renameat {
        /// The name that it has.
        from: Place<'p>,
        /// The name that it gets.
        to: Place<'p>,
        /// How.
        flags: RenameFlags,
    },
    /// Gives a node one more name.
    Linkat {
        /// What.
        from: Place<'p>,
        /// The new name.
        to: Place<'p>,
        /// How.
        flags: LinkFlags,
    },
    /// Makes a symbolic link.
    Symlinkat {
        /// Where it leads. It starts nowhere: only the path counts.
        body: Place<'p>,
        /// Where it is made.
        place: Place<'p>,
    },
    /// The next entries of a directory: [`Value::Listed`](crate::Value); none of them at its end.
    Getdents {
        /// The directory.
        file: Arc<File>,
        /// So many at most.
        at_most: usize,
    },
    /// Fills the buffer, or as much of it as there is: [`Value::Read`](crate::Value). If it fails, the buffer is gone.
    ///
    /// At an offset, what the file system has at hand ([`File::try_read_at`]) is copied by whoever submits it; if that is not all, a worker reads. A
    /// long copy is for [`ASYNC`](crate::EntryFlags::ASYNC).
    Read {
        /// From what.
        file: Arc<File>,
        /// As long as what is to be read.
        buffer: Vec<u8>,
        /// From where.
        offset: Offset,
    },
    /// Writes: [`Value::Written`](crate::Value).
    Write {
        /// To what.
        file: Arc<File>,
        /// What.
        data: Vec<u8>,
        /// Where.
        offset: Offset,
    },
    /// Puts a file on stable storage.
    Fsync {
        /// Which.
        file: Arc<File>,
        /// How much of it.
        what: SyncWhat,
    },
    /// Gives a file up where closing it may block. It is closed when nobody else has it.
    Close {
        /// Which.
        file: Arc<File>,
    },
    /// Completes with `ETIME` after a time. It cannot be linked (`EINVAL`).
    Timeout {
        /// How long.
        after: Duration,
    },
    /// A time limit for the entry before it, which has [`LINK`](crate::EntryFlags::LINK); counted from when that entry may start. If it is over
    /// before that entry has begun, that completes with `ECANCELED` and this one with `ETIME`; if that entry runs, it goes on, and this one
    /// completes with `EALREADY`. Else this one completes with `ECANCELED`. `EINVAL` if there is no entry before it, or that is one like this.
    LinkTimeout {
        /// How long.
        after: Duration,
    },
    /// Cancels the first entry of this ring that is found with this `user_data`, as [`Ring::cancel`](crate::Ring::cancel) does. It cannot be
    /// linked (`EINVAL`).
    Cancel {
        /// Whose.
        user_data: u64,
    },
}

impl<'p> Op<'p> {
    /// `Openat2` without mode and resolve flags.
    pub fn open(place: impl Into<Place<'p>>, flags: OpenFlags) -> Op<'p> {
        Op::Openat2 { place: place.into(), how: flags.into() }
    }

    /// `Statx` of all that `stat(2)` gives.
    pub fn stat(place: impl Into<Place<'p>>) -> Op<'p> {
        let (flags, resolve) = (AtFlags::empty(), Resolve::empty());
        Op::Statx { place: place.into(), flags, mask: StatxMask::BASIC_STATS, resolve }
    }

    /// `Access` by the real ids.
    pub fn access(place: impl Into<Place<'p>>, want: Access) -> Op<'p> {
        Op::Access { place: place.into(), want, flags: AtFlags::empty(), resolve: Resolve::empty() }
    }

    /// `Readlink`.
    pub fn readlink(place: impl Into<Place<'p>>) -> Op<'p> {
        Op::Readlink { place: place.into(), resolve: Resolve::empty() }
    }

    /// `Lookup`, following links.
    pub fn lookup(place: impl Into<Place<'p>>) -> Op<'p> {
        Op::Lookup { place: place.into(), flags: AtFlags::empty(), resolve: Resolve::empty() }
    }

    /// The same, borrowing nothing.
    pub fn into_owned(self) -> Op<'static> {
        match self {
            Op::Nop => Op::Nop,
            Op::Openat2 { place, how } => Op::Openat2 { place: place.into_owned(), how },
            Op::Statx { place, flags, mask, resolve } => Op::Statx { place: place.into_owned(), flags, mask, resolve },
            Op::Access { place, want, flags, resolve } => Op::Access { place: place.into_owned(), want, flags, resolve },
            Op::Readlink { place, resolve } => Op::Readlink { place: place.into_owned(), resolve },
            Op::Lookup { place, flags, resolve } => Op::Lookup { place: place.into_owned(), flags, resolve },
            Op::Mkdirat { place, mode } => Op::Mkdirat { place: place.into_owned(), mode },
            Op::Unlinkat { place, what } => Op::Unlinkat { place: place.into_owned(), what },
            Op::Renameat { from, to, flags } => Op::Renameat { from: from.into_owned(), to: to.into_owned(), flags },
            Op::Linkat { from, to, flags } => Op::Linkat { from: from.into_owned(), to: to.into_owned(), flags },
            Op::Symlinkat { body, place } => Op::Symlinkat { body: body.into_owned(), place: place.into_owned() },
            Op::Getdents { file, at_most } => Op::Getdents { file, at_most },
            Op::Read { file, buffer, offset } => Op::Read { file, buffer, offset },
            Op::Write { file, data, offset } => Op::Write { file, data, offset },
            Op::Fsync { file, what } => Op::Fsync { file, what },
            Op::Close { file } => Op::Close { file },
            Op::Timeout { after } => Op::Timeout { after },
            Op::LinkTimeout { after } => Op::LinkTimeout { after },
            Op::Cancel { user_data } => Op::Cancel { user_data },
        }
    }
}
