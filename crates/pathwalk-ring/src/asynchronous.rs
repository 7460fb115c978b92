//! The async face: ready at the first poll when it is cached.

use std::sync::Arc;

use pathwalk::{
    Access, AtFlags, Attributes, Context, Errno, File, Handle, LinkFlags, MissingName, OpenHow, RenameFlags, Resolve, Statx,
    StatxMask, SyncWhat,
};

use crate::closing::Closing;
use crate::future::Pending;
use crate::inline::Tried;
use crate::op::{Offset, Removal};
use crate::{Listed, Op, Place, Pool, Value};

/// A [`Context`] with `async` operations, which need no particular runtime. Clones share it.
///
/// What the caches can answer is ready at the first poll: without an allocation, a waker or a thread. The rest goes to a worker of the [`Pool`]; then
/// the future allocates, and is woken when it is answered.
///
/// # Dropping a future
///
/// Dropped before its first poll, it has done nothing, and files that it was given are dropped with it. Dropped later, it is cancelled if it was not begun; a call of the file system that
/// runs is left to end, and its result is dropped: so a dropped `mkdir` may have made its directory, and a buffer that was given to
/// [`read`](Self::read) is gone. What it was the last to hold is closed by a worker.
///
/// # Errors
///
/// Those of the namesakes in [`Context`] and [`File`]; `EIO` if the file system panics; what starting a thread failed with, if there is none.
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
    /// With these workers, which rings may share.
    pub fn new(context: Context, pool: Pool) -> AsyncContext {
        AsyncContext { context: Arc::new(context), pool }
    }

    /// Who asks.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The workers.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Any operation that is not the ring's own (`EINVAL`).
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

    /// As [`Context::open`].
    pub async fn open(&self, place: impl Into<Place<'_>>, how: OpenHow) -> Result<Arc<File>, Errno> {
        value!(self.perform(Op::Openat2 { place: place.into(), how }).await, File)
    }

    /// As [`Context::statx`].
    pub async fn statx(&self, place: impl Into<Place<'_>>, flags: AtFlags, mask: StatxMask) -> Result<Statx, Errno> {
        let place = place.into();
        let missing = match self.try_statx(&place, flags, mask) {
            Ok(answer) => return answer,
            Err(missing) => missing,
        };
        let op = Op::Statx { place: place.into_owned(), flags, mask, resolve: Resolve::empty() };
        value!(Pending::new(&self.pool, &self.context, op, missing).await, Statx)
    }

    /// The one that is asked most has a way of its own: attributes are large, and each hand they go through copies them.
    #[inline]
    fn try_statx(&self, place: &Place<'_>, flags: AtFlags, mask: StatxMask) -> Result<Result<Statx, Errno>, Option<MissingName>> {
        let cached = self.context.cached();
        match cached.statx(place.at(), place.path(), flags, mask) {
            Err(Errno::EAGAIN) => Err(cached.missing()),
            answer => Ok(answer),
        }
    }

    /// As [`Context::stat`].
    pub async fn stat(&self, place: impl Into<Place<'_>>) -> Result<Attributes, Errno> {
        self.statx(place, AtFlags::empty(), StatxMask::BASIC_STATS).await.map(|statx| statx.attributes)
    }

    /// As [`Context::faccessat`].
    pub async fn access(&self, place: impl Into<Place<'_>>, want: Access, flags: AtFlags) -> Result<(), Errno> {
        let resolve = Resolve::empty();
        self.perform(Op::Access { place: place.into(), want, flags, resolve }).await.map(drop)
    }

    /// As [`Context::read_link`].
    pub async fn read_link(&self, place: impl Into<Place<'_>>) -> Result<Vec<u8>, Errno> {
        value!(self.perform(Op::readlink(place)).await, Link)
    }

    /// As [`Context::lookupat`].
    pub async fn lookup(&self, place: impl Into<Place<'_>>, flags: AtFlags) -> Result<Handle, Errno> {
        let resolve = Resolve::empty();
        value!(self.perform(Op::Lookup { place: place.into(), flags, resolve }).await, Handle)
    }

    /// As [`Context::mkdir`].
    pub async fn mkdir(&self, place: impl Into<Place<'_>>, mode: u16) -> Result<(), Errno> {
        self.perform(Op::Mkdirat { place: place.into(), mode }).await.map(drop)
    }

    /// As [`Context::unlink`] and [`Context::rmdir`].
    pub async fn unlink(&self, place: impl Into<Place<'_>>, what: Removal) -> Result<(), Errno> {
        self.perform(Op::Unlinkat { place: place.into(), what }).await.map(drop)
    }

    /// As [`Context::rename`].
    pub async fn rename<'p>(
        &self,
        from: impl Into<Place<'p>>,
        to: impl Into<Place<'p>>,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        self.perform(Op::Renameat { from: from.into(), to: to.into(), flags }).await.map(drop)
    }

    /// As [`Context::link`].
    pub async fn link<'p>(&self, from: impl Into<Place<'p>>, to: impl Into<Place<'p>>, flags: LinkFlags) -> Result<(), Errno> {
        self.perform(Op::Linkat { from: from.into(), to: to.into(), flags }).await.map(drop)
    }

    /// As [`Context::symlink`]: of `body`, only the path counts.
    pub async fn symlink<'p>(&self, body: impl Into<Place<'p>>, place: impl Into<Place<'p>>) -> Result<(), Errno> {
        self.perform(Op::Symlinkat { body: body.into(), place: place.into() }).await.map(drop)
    }

    /// The next entries of a directory, so many at most; none at its end. As [`File::read_dir`].
    pub async fn read_dir(&self, file: &Arc<File>, at_most: usize) -> Result<Vec<Listed>, Errno> {
        value!(self.perform(Op::Getdents { file: file.clone(), at_most }).await, Listed)
    }

    /// Fills a buffer, which comes back cut off behind what was read. As [`File::read`] and [`File::read_at`].
    pub async fn read(&self, file: &Arc<File>, buffer: Vec<u8>, offset: Offset) -> Result<Vec<u8>, Errno> {
        value!(self.perform(Op::Read { file: file.clone(), buffer, offset }).await, Read)
    }

    /// Writes; returns how many bytes. As [`File::write`] and [`File::write_at`].
    pub async fn write(&self, file: &Arc<File>, data: Vec<u8>, offset: Offset) -> Result<usize, Errno> {
        value!(self.perform(Op::Write { file: file.clone(), data, offset }).await, Written)
    }

    /// As [`File::sync`].
    pub async fn sync(&self, file: &Arc<File>, what: SyncWhat) -> Result<(), Errno> {
        self.perform(Op::Fsync { file: file.clone(), what }).await.map(drop)
    }

    /// Gives a file up on a worker, where closing it may block.
    pub async fn close(&self, file: Arc<File>) -> Result<(), Errno> {
        self.perform(Op::Close { file }).await.map(drop)
    }
}
