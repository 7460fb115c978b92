//! The async face: ready at the first poll when the answer is cached.

use std::sync::Arc;

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{
    Access, AtFlags, Attributes, Context, EntryHandles, Errno, Event, FallocateFlags, File, Handle, LinkFlags, MissingName,
    OpenHow, RenameFlags, Resolve, Statx, StatxMask, Subscription, SyncFileRange, SyncWhat, UnlinkFlags,
};

use crate::closing::Closing;
use crate::future::Pending;
use crate::inline::Tried;
use crate::op::Offset;
use crate::{Listed, ListedNode, Op, Place, Pool, Value};

/// A [`Context`] with `async` operations, which need no particular runtime. Clones share it.
///
/// What the caches can answer is ready at the first poll: without an allocation, a waker or a
/// thread. The rest goes to a worker of the [`Pool`]. Then the future allocates, and is woken when
/// it is answered.
///
/// # Dropping a future
///
/// A future that is dropped before its first poll has done nothing, and files that it was given are
/// dropped with it. One that is dropped later is cancelled if it was not begun. A call of the file
/// system that runs is left to end, and its result is dropped. So a dropped `mkdir` may have made
/// its directory, and a buffer that was given to [`read`](Self::read) is gone. A worker closes the
/// files that it was the last to hold.
///
/// # Errors
///
/// Those of the operations of the same name in [`Context`] and [`File`]; `EIO` if the file system
/// panics; the error of starting a thread, if there is none.
///
/// ```
/// use pathwalk::{Access, AtFlags, Credentials, EntryHandles, FallocateFlags, LinkFlags, OpenFlags, RenameFlags, StatxMask};
/// use pathwalk::{SyncFileRange, SyncWhat, Vfs};
/// use pathwalk_ring::{AsyncContext, Offset, Op, Pool, Value};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let vfs = AsyncContext::new(context, Pool::default());
/// vfs.mkdir("/dir", 0o755).await?;
/// let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
/// let file = vfs.open("/dir/file", flags).await?;
/// vfs.write(&file, b"data".to_vec(), Offset::Current).await?;
/// vfs.fallocate(&file, FallocateFlags::KEEP_SIZE, 0, 4096).await?;
/// vfs.sync_file_range(&file, 0, 4, SyncFileRange::WRITE).await?;
/// vfs.sync(&file, SyncWhat::All).await?;
/// assert_eq!(vfs.read(&file, vec![0; 9], Offset::At(1)).await?, b"ata");
/// vfs.close(file).await?;
///
/// vfs.symlink("dir/file", "/link").await?;
/// assert_eq!(vfs.read_link("/link").await?, b"dir/file");
/// vfs.link("/dir/file", "/other", LinkFlags::empty()).await?;
/// vfs.rename("/other", "/third", RenameFlags::NOREPLACE).await?;
/// vfs.unlink("/third").await?;
/// vfs.mkdir("/gone", 0o755).await?;
/// vfs.rmdir("/gone").await?;
/// vfs.access("/link", Access::READ, AtFlags::empty()).await?;
/// assert_eq!(vfs.stat("/link").await?.size, 4);
/// assert!(vfs.statx("/link", AtFlags::empty(), StatxMask::SIZE).await?.mask.contains(StatxMask::SIZE));
/// assert_eq!(vfs.lookup("/link", AtFlags::empty()).await?.path()?, b"/dir/file");
/// let dir = vfs.open("/dir", OpenFlags::READ).await?;
/// assert_eq!(vfs.read_dir(&dir, 10).await?.len(), 3, "`.`, `..` and the file");
/// dir.seek(std::io::SeekFrom::Start(0))?;
/// let with_attributes = vfs.readdirplus(&dir, 10, EntryHandles::Without).await?;
/// assert_eq!(with_attributes[2].attributes?.size, 4);
/// assert!(matches!(vfs.perform(Op::stat("/link")).await?, Value::Statx(_)));
///
/// // Without waiting, and the workers.
/// assert!(vfs.context().cached().stat("/link").is_ok());
/// assert!(vfs.pool().stats().workers > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AsyncContext {
    context: Arc<Context>,
    pool: Pool,
}

/// Unpacks the only value that an operation has.
macro_rules! value {
    ($answer:expr, $kind:ident) => {
        match $answer {
            Ok(Value::$kind(value)) => Ok(value),
            Ok(other) => unreachable!("{other:?} for an operation that gives {}", stringify!($kind)),
            Err(errno) => Err(errno),
        }
    };
}

impl AsyncContext {
    /// Creates an async context with these workers, which rings may share.
    pub fn new(context: Context, pool: Pool) -> AsyncContext {
        AsyncContext { context: Arc::new(context), pool }
    }

    /// Returns the context with whose rights it operates.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the workers.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Performs any operation that is not the ring's own (`EINVAL`).
    pub async fn perform(&self, mut op: Op<'_>) -> Result<Value, Errno> {
        match op.try_cached(&self.context) {
            Tried::Answered(answer) => {
                let mut closing = Closing::default();
                closing.op(op, self.context.vfs());
                self.pool.close(closing, self.context.vfs());
                answer
            }
            Tried::Punted(missing) => Pending::new(&self.pool, &self.context, op.into_owned(), missing).await,
        }
    }

    /// Opens a file as [`Context::open`] does.
    pub async fn open(&self, place: impl Into<Place<'_>>, how: impl Into<OpenHow>) -> Result<Arc<File>, Errno> {
        value!(self.perform(Op::Openat2 { place: place.into(), how: how.into() }).await, File)
    }

    /// Returns attributes as [`Context::statx`] does.
    pub async fn statx(&self, place: impl Into<Place<'_>>, flags: AtFlags, mask: StatxMask) -> Result<Statx, Errno> {
        let place = place.into();
        let missing = match self.try_statx(&place, flags, mask) {
            Ok(answer) => return answer,
            Err(missing) => missing,
        };
        let op = Op::Statx { place: place.into_owned(), flags, mask, resolve: Resolve::empty() };
        value!(Pending::new(&self.pool, &self.context, op, missing).await, Statx)
    }

    /// Tries the caches. The most frequent operation has a path of its own, because attributes are
    /// large, and each call that passes them on copies them.
    #[inline]
    fn try_statx(&self, place: &Place<'_>, flags: AtFlags, mask: StatxMask) -> Result<Result<Statx, Errno>, Option<MissingName>> {
        let cached = self.context.cached();
        match cached.statx_at(place.at(), place.path(), flags, mask) {
            Err(Errno::EAGAIN) => Err(cached.missing()),
            answer => Ok(answer),
        }
    }

    /// Returns attributes as [`Context::stat`] does.
    pub async fn stat(&self, place: impl Into<Place<'_>>) -> Result<Attributes, Errno> {
        self.statx(place, AtFlags::empty(), StatxMask::BASIC_STATS).await.map(Attributes::from)
    }

    /// Checks rights as [`Context::faccessat`] does.
    pub async fn access(&self, place: impl Into<Place<'_>>, want: Access, flags: AtFlags) -> Result<(), Errno> {
        let resolve = Resolve::empty();
        self.perform(Op::Access { place: place.into(), want, flags, resolve }).await.map(drop)
    }

    /// Returns the body of a link as [`Context::read_link`] does.
    pub async fn read_link(&self, place: impl Into<Place<'_>>) -> Result<Vec<u8>, Errno> {
        value!(self.perform(Op::readlink(place)).await, Link)
    }

    /// Returns a handle as [`Context::lookup_at`] does.
    pub async fn lookup(&self, place: impl Into<Place<'_>>, flags: AtFlags) -> Result<Handle, Errno> {
        let resolve = Resolve::empty();
        value!(self.perform(Op::Lookup { place: place.into(), flags, resolve }).await, Handle)
    }

    /// Returns an access control list as [`Context::acl_at`] does.
    ///
    /// ```
    /// use pathwalk::permission::{Acl, AclKind};
    /// use pathwalk::{AtFlags, Credentials, Vfs};
    /// use pathwalk_ring::{AsyncContext, Pool};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let vfs = AsyncContext::new(context, Pool::default());
    /// vfs.mkdir("/dir", 0o755).await?;
    /// let list = Acl::from_mode(0o770);
    /// vfs.set_acl("/dir", AclKind::Default, Some(list.clone()), AtFlags::empty()).await?;
    /// assert_eq!(vfs.acl("/dir", AclKind::Default, AtFlags::empty()).await?, Some(list));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn acl(&self, place: impl Into<Place<'_>>, kind: AclKind, flags: AtFlags) -> Result<Option<Acl>, Errno> {
        value!(self.perform(Op::GetAcl { place: place.into(), kind, flags }).await, Acl)
    }

    /// Sets or removes an access control list as [`Context::set_acl_at`] does.
    ///
    /// [`acl`](Self::acl) has an example.
    pub async fn set_acl(
        &self,
        place: impl Into<Place<'_>>,
        kind: AclKind,
        acl: Option<Acl>,
        flags: AtFlags,
    ) -> Result<(), Errno> {
        self.perform(Op::SetAcl { place: place.into(), kind, acl, flags }).await.map(drop)
    }

    /// Makes a directory as [`Context::mkdir`] does.
    pub async fn mkdir(&self, place: impl Into<Place<'_>>, mode: u16) -> Result<(), Errno> {
        self.perform(Op::Mkdirat { place: place.into(), mode }).await.map(drop)
    }

    /// Removes a name as [`Context::unlink`] does.
    pub async fn unlink(&self, place: impl Into<Place<'_>>) -> Result<(), Errno> {
        self.perform(Op::Unlinkat { place: place.into(), flags: UnlinkFlags::empty() }).await.map(drop)
    }

    /// Removes an empty directory as [`Context::rmdir`] does.
    pub async fn rmdir(&self, place: impl Into<Place<'_>>) -> Result<(), Errno> {
        self.perform(Op::Unlinkat { place: place.into(), flags: UnlinkFlags::REMOVEDIR }).await.map(drop)
    }

    /// Renames as [`Context::rename`] does.
    pub async fn rename<'p>(
        &self,
        from: impl Into<Place<'p>>,
        to: impl Into<Place<'p>>,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        self.perform(Op::Renameat { from: from.into(), to: to.into(), flags }).await.map(drop)
    }

    /// Gives a node another name as [`Context::link`] does.
    pub async fn link<'p>(&self, from: impl Into<Place<'p>>, to: impl Into<Place<'p>>, flags: LinkFlags) -> Result<(), Errno> {
        self.perform(Op::Linkat { from: from.into(), to: to.into(), flags }).await.map(drop)
    }

    /// Makes a link as [`Context::symlink`] does. Of `body`, only the path counts.
    pub async fn symlink<'p>(&self, body: impl Into<Place<'p>>, place: impl Into<Place<'p>>) -> Result<(), Errno> {
        self.perform(Op::Symlinkat { body: body.into(), place: place.into() }).await.map(drop)
    }

    /// Returns the next entries of a directory, at most `at_most`; none at its end. As
    /// [`File::getdents`].
    pub async fn read_dir(&self, file: &Arc<File>, at_most: usize) -> Result<Vec<Listed>, Errno> {
        value!(self.perform(Op::Getdents { file: file.clone(), at_most }).await, Listed)
    }

    /// Returns the next entries of a directory with their attributes, at most `at_most`; none at
    /// its end. As [`Context::readdirplus`].
    pub async fn readdirplus(&self, file: &Arc<File>, at_most: usize, handles: EntryHandles) -> Result<Vec<ListedNode>, Errno> {
        value!(self.perform(Op::Readdirplus { file: file.clone(), at_most, handles }).await, ListedNodes)
    }

    /// Fills a buffer, and returns it truncated to the bytes read. As [`File::read`] and
    /// [`File::read_at`].
    pub async fn read(&self, file: &Arc<File>, buffer: Vec<u8>, offset: Offset) -> Result<Vec<u8>, Errno> {
        value!(self.perform(Op::Read { file: file.clone(), buffer, offset }).await, Read)
    }

    /// Writes, and returns the number of bytes. As [`File::write`] and [`File::write_at`].
    pub async fn write(&self, file: &Arc<File>, data: Vec<u8>, offset: Offset) -> Result<usize, Errno> {
        value!(self.perform(Op::Write { file: file.clone(), data, offset }).await, Written)
    }

    /// Takes the oldest event of a subscription, or waits for one: a stream of events without end.
    /// An event is taken when this is polled, so a future that is dropped loses none.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pathwalk::{Credentials, Event, FileType, Vfs};
    /// use pathwalk_ring::{AsyncContext, Pool};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let events = Arc::new(context.vfs().subscribe(context.root(), 1000)?);
    /// let vfs = AsyncContext::new(context, Pool::default());
    /// vfs.mkdir("/new", 0o755).await?;
    /// let created = vfs.next_event(&events).await?;
    /// assert_eq!(created, Event::Created { path: b"new"[..].into(), kind: FileType::Directory });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn next_event(&self, subscription: &Arc<Subscription>) -> Result<Event, Errno> {
        loop {
            if let Some(event) = subscription.try_next() {
                return Ok(event);
            }
            self.perform(Op::PollEvents { subscription: subscription.clone() }).await?;
        }
    }

    /// Puts a file on stable storage as [`File::sync`] does.
    pub async fn sync(&self, file: &Arc<File>, what: SyncWhat) -> Result<(), Errno> {
        self.perform(Op::Fsync { file: file.clone(), what }).await.map(drop)
    }

    /// Allocates, zeroes, takes out or puts in a range as [`File::fallocate`] does.
    pub async fn fallocate(&self, file: &Arc<File>, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        self.perform(Op::Fallocate { file: file.clone(), mode, offset, length }).await.map(drop)
    }

    /// Puts a range of a file on stable storage as [`File::sync_file_range`] does.
    pub async fn sync_file_range(&self, file: &Arc<File>, offset: u64, length: u64, flags: SyncFileRange) -> Result<(), Errno> {
        self.perform(Op::SyncFileRange { file: file.clone(), offset, length, flags }).await.map(drop)
    }

    /// Gives a file up on a worker, where closing it may block.
    pub async fn close(&self, file: Arc<File>) -> Result<(), Errno> {
        self.perform(Op::Close { file }).await.map(drop)
    }
}
