//! The operations: the opcodes of entries.

use std::sync::Arc;
use std::time::Duration;

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{
    Access, AtFlags, EntryHandles, FallocateFlags, File, FileHandle, Handle, HandleFlags, InodeFlags, Lease, LinkFlags, LockKind,
    LockWait, OpenHow, RenameFlags, Resolve, RwFlags, StatxMask, Subscription, SyncFileRange, SyncWhat, UnlinkFlags, XattrFlags,
};

use crate::{Lock, Place};

/// The position at which data is read or written. Source: `off` of `IORING_OP_READ`, where −1 is
/// the current position.
///
/// [`Op`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offset {
    /// The file's position, which moves. Two such entries of one file that are not linked run in
    /// either order.
    Current,
    /// This offset, in bytes, 0..=2⁶³−1.
    At(u64),
}

impl Offset {
    /// Returns the offset, or none for the position.
    pub(crate) fn number(self) -> Option<u64> {
        match self {
            Offset::Current => None,
            Offset::At(offset) => Some(offset),
        }
    }
}

/// An operation, with its parameters. Errors are those of the operation of the same name in
/// [`Context`](pathwalk::Context) or [`File`].
///
/// Tried inline, in `submit`: `Openat2`, `Statx`, `Access`, `Readlink`, `Lookup`, `Read` at an
/// offset, `ReadWith` at an offset and with `NOWAIT`, `Lock`, `SetLease`, `LeaseBreak`,
/// `PollEvents`, `Nop`, `Timeout` and `Cancel`. All others go to a worker. With
/// [`Resolve::CACHED`] the first five complete with `EAGAIN` where the caches do not have the
/// answer. Source of names and meanings: the `IORING_OP_*` of `io_uring_enter(2)`; `Access`,
/// `Readlink`, `Lookup`, `GetAcl`, `SetAcl`, `Getdents`, `Readdirplus`, `Listxattrat`,
/// `Removexattrat`, `InodeFlagsAt`, `SetInodeFlagsAt`, `Details`, `GenerationAt`, leases and
/// handles are not among those.
///
/// An open, a read and a write of a named pipe, `Lock`, `LeaseBreak` and `PollEvents` may wait for
/// long. A thread that waits there is not counted among the pool's workers. Cancelling the entry,
/// or dropping its ring or future, ends the wait: see [`Ring::cancel`](crate::Ring::cancel).
///
/// ```
/// use pathwalk::{Access, Credentials, Errno, OpenFlags, Vfs};
/// use pathwalk_ring::{AsyncContext, Offset, Op, Pool, Value};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.write("/file", "data")?;
/// context.symlink("file", "/link")?;
/// let context = AsyncContext::new(context, Pool::default());
/// let Value::File(file) = context.perform(Op::open("/link", OpenFlags::READ)).await? else { unreachable!() };
/// let read = Op::Read { file, buffer: vec![0; 8], offset: Offset::At(2) };
/// assert!(matches!(context.perform(read).await?, Value::Read(bytes) if bytes == b"ta"));
/// assert!(matches!(context.perform(Op::stat("/link")).await?, Value::Statx(_)));
/// assert!(matches!(context.perform(Op::access("/link", Access::READ)).await?, Value::Done));
/// assert!(matches!(context.perform(Op::readlink("/link")).await?, Value::Link(body) if body == b"file"));
/// assert!(matches!(context.perform(Op::lookup("/link").into_owned()).await?, Value::Handle(_)));
/// let remove = Op::Unlinkat { place: "/file".into(), flags: pathwalk::UnlinkFlags::REMOVEDIR };
/// assert_eq!(context.perform(remove).await.unwrap_err(), Errno::ENOTDIR);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Op<'p> {
    /// No operation: completes at once.
    Nop,
    /// An open of a file: [`Value::File`](crate::Value).
    Openat2 {
        /// The path.
        place: Place<'p>,
        /// The flags, mode and rules.
        how: OpenHow,
    },
    /// A request for attributes: [`Value::Statx`](crate::Value).
    Statx {
        /// The path.
        place: Place<'p>,
        /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`, `NO_AUTOMOUNT`, `FORCE_SYNC`, `DONT_SYNC`.
        flags: AtFlags,
        /// The requested attributes.
        mask: StatxMask,
        /// The rules for the path.
        resolve: Resolve,
    },
    /// A check of rights.
    Access {
        /// The path.
        place: Place<'p>,
        /// The rights.
        want: Access,
        /// Any flags.
        flags: AtFlags,
        /// The rules for the path.
        resolve: Resolve,
    },
    /// A read of the body of a link: [`Value::Link`](crate::Value).
    Readlink {
        /// The path.
        place: Place<'p>,
        /// The rules for the path.
        resolve: Resolve,
    },
    /// A lookup of a handle: [`Value::Handle`](crate::Value).
    Lookup {
        /// The path.
        place: Place<'p>,
        /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
        flags: AtFlags,
        /// The rules for the path.
        resolve: Resolve,
    },
    /// The creation of a directory.
    Mkdirat {
        /// The path of the new directory.
        place: Place<'p>,
        /// Its permission bits.
        mode: u16,
    },
    /// The removal of a name.
    Unlinkat {
        /// The path of the name.
        place: Place<'p>,
        /// The kind of removal.
        flags: UnlinkFlags,
    },
    /// A rename of a node.
    Renameat {
        /// The old name.
        from: Place<'p>,
        /// The new name.
        to: Place<'p>,
        /// The flags.
        flags: RenameFlags,
    },
    /// The creation of one more name for a node.
    Linkat {
        /// The path of the node.
        from: Place<'p>,
        /// The new name.
        to: Place<'p>,
        /// The flags.
        flags: LinkFlags,
    },
    /// The creation of a symbolic link.
    Symlinkat {
        /// The body of the link. It has no starting point: only the path counts.
        body: Place<'p>,
        /// The path of the new link.
        place: Place<'p>,
    },
    /// A read of an extended attribute: [`Value::Xattr`](crate::Value).
    Getxattrat {
        /// The path.
        place: Place<'p>,
        /// The name of the attribute.
        name: Vec<u8>,
        /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
        flags: AtFlags,
    },
    /// A change of an extended attribute.
    Setxattrat {
        /// The path.
        place: Place<'p>,
        /// The name of the attribute.
        name: Vec<u8>,
        /// The value.
        value: Vec<u8>,
        /// The conditions.
        how: XattrFlags,
        /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
        flags: AtFlags,
    },
    /// A read of the flags that users set: [`Value::InodeFlags`](crate::Value).
    InodeFlagsAt {
        /// The path.
        place: Place<'p>,
        /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
        flags: AtFlags,
    },
    /// A change of the flags that users set.
    SetInodeFlagsAt {
        /// The path.
        place: Place<'p>,
        /// All flags that the node then has.
        to: InodeFlags,
        /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
        flags: AtFlags,
    },
    /// A request for attributes with what the caches never have, as
    /// [`details_at`](pathwalk::Context::details_at): [`Value::Details`](crate::Value).
    Details {
        /// The path.
        place: Place<'p>,
        /// The flags of `Statx`.
        flags: AtFlags,
        /// The requested attributes.
        mask: StatxMask,
    },
    /// A read of the generation of a node: [`Value::Generation`](crate::Value).
    GenerationAt {
        /// The path.
        place: Place<'p>,
        /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
        flags: AtFlags,
    },
    /// A list of the names of all extended attributes: [`Value::XattrList`](crate::Value).
    Listxattrat {
        /// The path.
        place: Place<'p>,
        /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
        flags: AtFlags,
    },
    /// The removal of an extended attribute.
    Removexattrat {
        /// The path.
        place: Place<'p>,
        /// The name of the attribute.
        name: Vec<u8>,
        /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
        flags: AtFlags,
    },
    /// A read of an access control list: [`Value::Acl`](crate::Value).
    GetAcl {
        /// The path.
        place: Place<'p>,
        /// The list.
        kind: AclKind,
        /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
        flags: AtFlags,
    },
    /// A change of an access control list.
    SetAcl {
        /// The path.
        place: Place<'p>,
        /// The list.
        kind: AclKind,
        /// The new list; `None` removes it.
        acl: Option<Acl>,
        /// `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
        flags: AtFlags,
    },
    /// A read of the next entries of a directory: [`Value::Listed`](crate::Value), empty at its
    /// end.
    Getdents {
        /// The directory.
        file: Arc<File>,
        /// The maximum number of entries.
        at_most: usize,
    },
    /// A read of the next entries of a directory with their attributes, by the rights and rules of
    /// the ring's context: [`Value::ListedNodes`](crate::Value), empty at its end. The error is
    /// `EAGAIN` under [`Resolve::CACHED`].
    Readdirplus {
        /// The directory.
        file: Arc<File>,
        /// The maximum number of entries.
        at_most: usize,
        /// Whether each entry comes with a handle.
        handles: EntryHandles,
    },
    /// A read that fills the buffer, or as much of it as there is data:
    /// [`Value::Read`](crate::Value). If it fails, the buffer is gone.
    ///
    /// At an offset, the submitting thread copies what the file system has at hand
    /// ([`File::try_read_at`]). If that is not all, a worker reads. A long copy is for
    /// [`ASYNC`](crate::EntryFlags::ASYNC).
    Read {
        /// The file.
        file: Arc<File>,
        /// The buffer, as long as the data to be read.
        buffer: Vec<u8>,
        /// The position.
        offset: Offset,
    },
    /// A write: [`Value::Written`](crate::Value).
    Write {
        /// The file.
        file: Arc<File>,
        /// The data.
        data: Vec<u8>,
        /// The position.
        offset: Offset,
    },
    /// A read with flags: [`Value::Read`](crate::Value), as [`File::preadv2`] into one buffer. With
    /// [`NOWAIT`](RwFlags::NOWAIT) and an offset it is answered in `submit`, perhaps by `EAGAIN`.
    /// Source: `rw_flags` of `IORING_OP_READ`.
    ReadWith {
        /// The file.
        file: Arc<File>,
        /// The buffer, as long as the data to be read.
        buffer: Vec<u8>,
        /// The position.
        offset: Offset,
        /// The flags.
        flags: RwFlags,
    },
    /// A write with flags: [`Value::Written`](crate::Value), as [`File::pwritev2`] of one buffer.
    /// Source: `rw_flags` of `IORING_OP_WRITE`.
    WriteWith {
        /// The file.
        file: Arc<File>,
        /// The data.
        data: Vec<u8>,
        /// The position.
        offset: Offset,
        /// The flags.
        flags: RwFlags,
    },
    /// A request to put a file on stable storage.
    Fsync {
        /// The file.
        file: Arc<File>,
        /// The parts of it.
        what: SyncWhat,
    },
    /// A request for a lock on a file, or the release of one. It is tried in `submit`. One that has
    /// to wait takes a thread, which is not counted among the pool's workers, until it has the lock
    /// or is cancelled.
    Lock {
        /// The file.
        file: Arc<File>,
        /// The lock.
        lock: Lock,
        /// The kind of lock, or its release.
        kind: LockKind,
        /// Whether it waits.
        wait: LockWait,
    },
    /// A request for a lease on a file, as [`File::lease`]: [`Value::Lease`](crate::Value).
    Lease {
        /// The file.
        file: Arc<File>,
        /// The kind of lease.
        kind: LockKind,
    },
    /// A change or the release of a lease, as [`Lease::set`]. Answered in `submit`.
    SetLease {
        /// The lease.
        lease: Lease,
        /// The kind that it gets.
        kind: LockKind,
    },
    /// A wait until a lease is broken or has ended: [`Value::Break`](crate::Value), as
    /// [`Lease::wait`]. It takes a thread, as a wait for a lock does.
    LeaseBreak {
        /// The lease.
        lease: Lease,
    },
    /// A request for the handle of a node: [`Value::FileHandle`](crate::Value).
    NameToHandleAt {
        /// The path.
        place: Place<'p>,
        /// The flags.
        flags: HandleFlags,
    },
    /// A lookup of the node of a handle, as [`lookup_by_handle`](pathwalk::Context::lookup_by_handle):
    /// [`Value::Handle`](crate::Value).
    LookupByHandle {
        /// Any node of the mount.
        mount: Handle,
        /// The handle.
        handle: FileHandle,
    },
    /// An open of the node of a handle, as [`open_by_handle`](pathwalk::Context::open_by_handle):
    /// [`Value::File`](crate::Value).
    OpenByHandleAt {
        /// Any node of the mount.
        mount: Handle,
        /// The handle.
        handle: FileHandle,
        /// The flags and the mode.
        how: OpenHow,
    },
    /// A change of the space of a file, as [`File::fallocate`].
    Fallocate {
        /// The file.
        file: Arc<File>,
        /// The kind of change.
        mode: FallocateFlags,
        /// The begin of the range, in bytes.
        offset: u64,
        /// The length of the range, in bytes.
        length: u64,
    },
    /// A request to put a range of a file on stable storage, as [`File::sync_file_range`].
    SyncFileRange {
        /// The file.
        file: Arc<File>,
        /// The begin of the range, in bytes.
        offset: u64,
        /// The length of the range in bytes, 0 for all behind its begin.
        length: u64,
        /// The steps.
        flags: SyncFileRange,
    },
    /// The release of a file where closing it may block. The file is closed when this is the last
    /// reference.
    Close {
        /// The file.
        file: Arc<File>,
    },
    /// A wait for an event of a subscription, which the caller takes then, by
    /// [`Subscription::try_next`]. So a cancelled entry takes none along. Source: the idea of
    /// `IORING_OP_POLL_ADD`.
    PollEvents {
        /// The subscription.
        subscription: Arc<Subscription>,
    },
    /// A timeout that completes with `ETIME` after a time. It cannot be linked (`EINVAL`).
    Timeout {
        /// The time.
        after: Duration,
    },
    /// A time limit for the entry before it, which has [`LINK`](crate::EntryFlags::LINK). The time
    /// counts from when that entry may start. If it expires before that entry has begun, that entry
    /// completes with `ECANCELED` and this one with `ETIME`. If that entry runs, it goes on, and
    /// this one completes with `EALREADY`. Otherwise this one completes with `ECANCELED`. `EINVAL`
    /// if there is no entry before it, or that is a time limit, too.
    LinkTimeout {
        /// The time.
        after: Duration,
    },
    /// A cancellation of the first entry of this ring that is found with this `user_data`, as by
    /// [`Ring::cancel`](crate::Ring::cancel). It cannot be linked (`EINVAL`).
    Cancel {
        /// The `user_data` of the entry.
        user_data: u64,
    },
}

impl<'p> Op<'p> {
    /// Creates an `Openat2` with flags, or with an [`OpenHow`].
    pub fn open(place: impl Into<Place<'p>>, how: impl Into<OpenHow>) -> Op<'p> {
        Op::Openat2 { place: place.into(), how: how.into() }
    }

    /// Creates a `Statx` of all that `stat(2)` returns.
    pub fn stat(place: impl Into<Place<'p>>) -> Op<'p> {
        let (flags, resolve) = (AtFlags::empty(), Resolve::empty());
        Op::Statx { place: place.into(), flags, mask: StatxMask::BASIC_STATS, resolve }
    }

    /// Creates an `Access` by the real ids.
    pub fn access(place: impl Into<Place<'p>>, want: Access) -> Op<'p> {
        Op::Access { place: place.into(), want, flags: AtFlags::empty(), resolve: Resolve::empty() }
    }

    /// Creates a `Readlink`.
    pub fn readlink(place: impl Into<Place<'p>>) -> Op<'p> {
        Op::Readlink { place: place.into(), resolve: Resolve::empty() }
    }

    /// Creates a `Lookup` that follows links.
    pub fn lookup(place: impl Into<Place<'p>>) -> Op<'p> {
        Op::Lookup { place: place.into(), flags: AtFlags::empty(), resolve: Resolve::empty() }
    }

    /// Returns this operation, borrowing nothing.
    pub fn into_owned(self) -> Op<'static> {
        match self {
            Op::Nop => Op::Nop,
            Op::Openat2 { place, how } => Op::Openat2 { place: place.into_owned(), how },
            Op::Statx { place, flags, mask, resolve } => Op::Statx { place: place.into_owned(), flags, mask, resolve },
            Op::Access { place, want, flags, resolve } => Op::Access { place: place.into_owned(), want, flags, resolve },
            Op::Readlink { place, resolve } => Op::Readlink { place: place.into_owned(), resolve },
            Op::Lookup { place, flags, resolve } => Op::Lookup { place: place.into_owned(), flags, resolve },
            Op::Mkdirat { place, mode } => Op::Mkdirat { place: place.into_owned(), mode },
            Op::Unlinkat { place, flags } => Op::Unlinkat { place: place.into_owned(), flags },
            Op::Renameat { from, to, flags } => Op::Renameat { from: from.into_owned(), to: to.into_owned(), flags },
            Op::Linkat { from, to, flags } => Op::Linkat { from: from.into_owned(), to: to.into_owned(), flags },
            Op::Symlinkat { body, place } => Op::Symlinkat { body: body.into_owned(), place: place.into_owned() },
            Op::Getxattrat { place, name, flags } => Op::Getxattrat { place: place.into_owned(), name, flags },
            Op::Setxattrat { place, name, value, how, flags } => {
                Op::Setxattrat { place: place.into_owned(), name, value, how, flags }
            }
            Op::InodeFlagsAt { place, flags } => Op::InodeFlagsAt { place: place.into_owned(), flags },
            Op::SetInodeFlagsAt { place, to, flags } => Op::SetInodeFlagsAt { place: place.into_owned(), to, flags },
            Op::Details { place, flags, mask } => Op::Details { place: place.into_owned(), flags, mask },
            Op::GenerationAt { place, flags } => Op::GenerationAt { place: place.into_owned(), flags },
            Op::NameToHandleAt { place, flags } => Op::NameToHandleAt { place: place.into_owned(), flags },
            Op::LookupByHandle { mount, handle } => Op::LookupByHandle { mount, handle },
            Op::OpenByHandleAt { mount, handle, how } => Op::OpenByHandleAt { mount, handle, how },
            Op::Lease { file, kind } => Op::Lease { file, kind },
            Op::SetLease { lease, kind } => Op::SetLease { lease, kind },
            Op::LeaseBreak { lease } => Op::LeaseBreak { lease },
            Op::ReadWith { file, buffer, offset, flags } => Op::ReadWith { file, buffer, offset, flags },
            Op::WriteWith { file, data, offset, flags } => Op::WriteWith { file, data, offset, flags },
            Op::Listxattrat { place, flags } => Op::Listxattrat { place: place.into_owned(), flags },
            Op::Removexattrat { place, name, flags } => Op::Removexattrat { place: place.into_owned(), name, flags },
            Op::GetAcl { place, kind, flags } => Op::GetAcl { place: place.into_owned(), kind, flags },
            Op::SetAcl { place, kind, acl, flags } => Op::SetAcl { place: place.into_owned(), kind, acl, flags },
            Op::Getdents { file, at_most } => Op::Getdents { file, at_most },
            Op::Readdirplus { file, at_most, handles } => Op::Readdirplus { file, at_most, handles },
            Op::Read { file, buffer, offset } => Op::Read { file, buffer, offset },
            Op::Write { file, data, offset } => Op::Write { file, data, offset },
            Op::Fsync { file, what } => Op::Fsync { file, what },
            Op::Lock { file, lock, kind, wait } => Op::Lock { file, lock, kind, wait },
            Op::Fallocate { file, mode, offset, length } => Op::Fallocate { file, mode, offset, length },
            Op::SyncFileRange { file, offset, length, flags } => Op::SyncFileRange { file, offset, length, flags },
            Op::Close { file } => Op::Close { file },
            Op::PollEvents { subscription } => Op::PollEvents { subscription },
            Op::Timeout { after } => Op::Timeout { after },
            Op::LinkTimeout { after } => Op::LinkTimeout { after },
            Op::Cancel { user_data } => Op::Cancel { user_data },
        }
    }
}
