//! Locks on open files, as `flock(2)` and `fcntl(2)` have them.
//!
//! What always holds: a lock that is set is released before the open file is dropped.

use super::File;
use crate::Errno;
use crate::abi::OpenFlags;
use crate::locks::request::{Family, FileNumber, LockKind, LockOwner, LockRange, LockWait, RecordLock, Span, Want};
use crate::sync::Ordering;

/// # Locks
///
/// They are advisory: they exclude other locks, and no reads or writes. There are two families that
/// do not conflict with each other.
///
/// | family | owner | released |
/// |---|---|---|
/// | [`flock`](Self::flock), and [`lock`](Self::lock) of the standard library | the open file | when the file is closed |
/// | [`setlk`](Self::setlk) on ranges | the context that opened the file ([`lock_owner`](Self::lock_owner)) | when any file of that owner on that node is closed |
/// | [`ofd_setlk`](Self::ofd_setlk) on ranges, in the same family as `setlk` | the open file | when the file is closed |
///
/// A file is closed when it is dropped. The `Vfs` keeps the locks, or the file system
/// ([`FileSystem::locks`](crate::FileSystem::locks)). Cost: a lock of the `Vfs`, and a search among
/// the node's locks. To close a file on which there are no locks costs a load.
impl File {
    /// Sets or releases the lock of this file on its node as a whole. If the file has a lock of the
    /// other kind, that is released first: a conversion that fails has lost the lock.
    ///
    /// `EAGAIN` on a conflict with another file, unless it waits; `ECANCELED` if it waited and was
    /// cancelled; `EBADF` for a place only; `ENOLCK`. Blocks if it waits. Source: `flock(2)`.
    ///
    /// ```
    /// use pathwalk::{Cancellation, Credentials, Errno, LockKind, LockWait, OpenFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let flags = OpenFlags::READ | OpenFlags::CREATE;
    /// let (one, other) = (context.open("/file", flags)?, context.open("/file", flags)?);
    /// one.flock(LockKind::Exclusive, LockWait::Yes)?;
    /// assert_eq!(other.flock(LockKind::Shared, LockWait::No), Err(Errno::EAGAIN));
    ///
    /// let cancellation = Cancellation::new();
    /// std::thread::scope(|scope| {
    ///     let waiting = scope.spawn(|| cancellation.during(|| other.flock(LockKind::Shared, LockWait::Yes)));
    ///     cancellation.cancel();
    ///     assert_eq!(waiting.join().unwrap(), Err(Errno::ECANCELED));
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flock(&self, kind: LockKind, wait: LockWait) -> Result<(), Errno> {
        self.opened()?;
        let owner = LockOwner::of_file(self.lock_number());
        self.set(&self.want(Family::Flock, owner, kind, Span::WHOLE), LockRange::WHOLE, wait)
    }

    /// Sets or releases the locks of the context that opened this file on a range. Ranges that
    /// touch become one; a part of a range that is set to another kind is split off.
    ///
    /// `EAGAIN` on a conflict with another owner, unless it waits; `EDEADLK` if it would wait for
    /// an owner that waits for this one; `ECANCELED` if it waited and was cancelled; `EBADF` for a
    /// shared lock on a file that is not open for reading, or an exclusive one on a file that is
    /// not open for writing; `EINVAL` and `EOVERFLOW` for a range that is none; `ENOLCK`. Blocks if
    /// it waits. Source: `F_SETLK` and `F_SETLKW` of `fcntl(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, LockKind, LockRange, LockWait, OpenFlags, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let other_process = context.clone();
    /// let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
    /// let (one, other) = (context.open("/file", flags)?, other_process.open("/file", flags)?);
    /// one.setlk(LockKind::Exclusive, LockRange::new(0, 100), LockWait::Yes)?;
    /// one.setlk(LockKind::Unlock, LockRange::new(10, 10), LockWait::No)?;
    /// assert_eq!(other.setlk(LockKind::Shared, LockRange::new(10, 10), LockWait::No), Ok(()));
    /// assert_eq!(other.setlk(LockKind::Shared, LockRange::new(10, 11), LockWait::No), Err(Errno::EAGAIN));
    ///
    /// // To close any of the owner's files on the node releases its locks.
    /// drop(context.open("/file", OpenFlags::READ)?);
    /// assert_eq!(other.setlk(LockKind::Exclusive, LockRange::WHOLE, LockWait::No), Ok(()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn setlk(&self, kind: LockKind, range: LockRange, wait: LockWait) -> Result<(), Errno> {
        self.set_range(self.lock_owner, kind, range, wait)
    }

    /// Returns the first lock with which [`setlk`](Self::setlk) would conflict. `EINVAL` for
    /// [`LockKind::Unlock`]; `EBADF` for a place only; `EINVAL` and `EOVERFLOW` for a range that is
    /// none. Source: `F_GETLK` of `fcntl(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, LockKind, LockRange, LockWait, OpenFlags, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let file = context.open("/file", OpenFlags::READ | OpenFlags::CREATE)?;
    /// file.setlk(LockKind::Shared, LockRange::new(5, 0), LockWait::No)?;
    /// let other = context.clone().open("/file", OpenFlags::READ)?;
    /// assert_eq!(other.getlk(LockKind::Shared, LockRange::WHOLE)?, None);
    /// let lock = other.getlk(LockKind::Exclusive, LockRange::WHOLE)?.expect("it conflicts");
    /// assert_eq!((lock.kind, lock.range, lock.owner), (LockKind::Shared, LockRange::new(5, 0), context.lock_owner()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn getlk(&self, kind: LockKind, range: LockRange) -> Result<Option<RecordLock>, Errno> {
        self.get_range(self.lock_owner, kind, range)
    }

    /// Does the same as [`setlk`](Self::setlk) for locks that this file owns. There is no
    /// `EDEADLK`. Source: `F_OFD_SETLK` and `F_OFD_SETLKW` of `fcntl(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, LockKind, LockRange, LockWait, OpenFlags, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let flags = OpenFlags::WRITE | OpenFlags::CREATE;
    /// let (one, other) = (context.open("/file", flags)?, context.open("/file", flags)?);
    /// one.ofd_setlk(LockKind::Exclusive, LockRange::new(0, 1), LockWait::No)?;
    /// assert_eq!(other.ofd_setlk(LockKind::Exclusive, LockRange::WHOLE, LockWait::No), Err(Errno::EAGAIN));
    /// let lock = other.ofd_getlk(LockKind::Shared, LockRange::WHOLE)?.expect("it conflicts");
    /// assert!(lock.owner.is_file() && lock.range == LockRange::new(0, 1));
    /// drop(one);
    /// other.ofd_setlk(LockKind::Exclusive, LockRange::WHOLE, LockWait::No)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ofd_setlk(&self, kind: LockKind, range: LockRange, wait: LockWait) -> Result<(), Errno> {
        self.set_range(LockOwner::of_file(self.lock_number()), kind, range, wait)
    }

    /// Does the same as [`getlk`](Self::getlk) for [`ofd_setlk`](Self::ofd_setlk). With
    /// [`LockKind::Unlock`], it returns the first lock in the range that this file has. Source:
    /// `F_OFD_GETLK` of `fcntl(2)`.
    ///
    /// [`ofd_setlk`](Self::ofd_setlk) has an example.
    pub fn ofd_getlk(&self, kind: LockKind, range: LockRange) -> Result<Option<RecordLock>, Errno> {
        self.get_range(LockOwner::of_file(self.lock_number()), kind, range)
    }

    /// Returns the owner of the record locks that are set with [`setlk`](Self::setlk).
    ///
    /// [`LockOwner`] has an example.
    pub fn lock_owner(&self) -> LockOwner {
        self.lock_owner
    }

    /// Returns a view of the file for record locks of another owner than its opener: for servers,
    /// whose clients have owners of their own.
    ///
    /// [`LockOwner`] has an example.
    pub fn locks_of(&self, owner: LockOwner) -> FileLocks<'_> {
        FileLocks { file: self, owner }
    }

    fn set_range(&self, owner: LockOwner, kind: LockKind, range: LockRange, wait: LockWait) -> Result<(), Errno> {
        self.opened()?;
        let span = range.span()?;
        let needed = match kind {
            LockKind::Shared => OpenFlags::READ,
            LockKind::Exclusive => OpenFlags::WRITE,
            LockKind::Unlock => OpenFlags::empty(),
        };
        if !self.flags.contains(needed) {
            return Err(Errno::EBADF);
        }
        self.set(&self.want(Family::Record, owner, kind, span), range, wait)
    }

    fn get_range(&self, owner: LockOwner, kind: LockKind, range: LockRange) -> Result<Option<RecordLock>, Errno> {
        self.opened()?;
        if kind == LockKind::Unlock && !owner.is_file() {
            return Err(Errno::EINVAL);
        }
        let want = self.want(Family::Record, owner, kind, range.span()?);
        let world = self.handle.world();
        match world.trees.superblock(want.node).fs.locks() {
            None => Ok(world.locks.get(&want)),
            Some(own) => own.get(self.handle.key(), &RecordLock { kind, range, owner }),
        }
    }

    /// Has a request carried out by the file system, if that keeps locks itself, or by the `Vfs`.
    fn set(&self, want: &Want, range: LockRange, wait: LockWait) -> Result<(), Errno> {
        let (world, key) = (self.handle.world(), self.handle.key());
        let superblock = world.trees.superblock(want.node);
        let Some(own) = superblock.fs.locks() else {
            drop(superblock);
            return world.locks.set(want, wait);
        };
        // Recorded before, so that a lock is released even if the call panics.
        if want.kind != LockKind::Unlock {
            world.locks.given_elsewhere(want);
        }
        match want.family {
            Family::Flock => own.flock(key, want.owner, want.kind, wait),
            Family::Record => own.set(key, &RecordLock { kind: want.kind, range, owner: want.owner }, wait),
        }
    }

    fn want(&self, family: Family, owner: LockOwner, kind: LockKind, span: Span) -> Want {
        Want { node: self.handle.inode(), family, owner, kind, span, file: self.lock_number() }
    }

    /// Returns its number, which it gets at the first call.
    pub(super) fn lock_number(&self) -> FileNumber {
        let new = || FileNumber::unique().0;
        let set = |number| (number == 0).then(new);
        let before = self.lock_number.fetch_update(Ordering::Relaxed, Ordering::Relaxed, set);
        FileNumber(before.map_or_else(|number| number, |_| self.lock_number.load(Ordering::Relaxed)))
    }

    /// Releases what goes with the file, which is being closed.
    #[inline]
    pub(super) fn release_locks(&self) {
        let world = self.handle.world();
        if self.file.is_some() && world.locks.may_have(self.handle.inode()) {
            self.close_locks();
        }
    }

    #[cold]
    fn close_locks(&self) {
        let (world, node) = (self.handle.world(), self.handle.inode());
        let number = FileNumber(self.lock_number.load(Ordering::Relaxed));
        let owners = world.locks.close(node, self.lock_owner, number);
        if let Some(own) = world.trees.superblock(node).fs.locks() {
            owners.into_iter().for_each(|owner| own.release(self.handle.key(), owner));
        }
    }
}

/// An open file with the owner of the record locks that are set through it. Made by
/// [`File::locks_of`].
///
/// The owner's locks that were set through this file are released when the file is closed, or by
/// [`release`](Self::release).
///
/// [`LockOwner`] has an example.
#[derive(Clone, Copy, Debug)]
pub struct FileLocks<'a> {
    file: &'a File,
    owner: LockOwner,
}

impl FileLocks<'_> {
    /// Sets or releases locks on a range as [`File::setlk`] does.
    ///
    /// [`LockOwner`] has an example.
    pub fn setlk(&self, kind: LockKind, range: LockRange, wait: LockWait) -> Result<(), Errno> {
        self.file.set_range(self.owner, kind, range, wait)
    }

    /// Returns a lock in the way as [`File::getlk`] does.
    pub fn getlk(&self, kind: LockKind, range: LockRange) -> Result<Option<RecordLock>, Errno> {
        self.file.get_range(self.owner, kind, range)
    }

    /// Releases all locks of the owner on the node, as the `close(2)` of a descriptor does: what a
    /// server does for `FUSE_FLUSH`.
    ///
    /// [`LockOwner`] has an example.
    pub fn release(&self) {
        let (world, node) = (self.file.handle.world(), self.file.handle.inode());
        if self.file.file.is_none() || !world.locks.may_have(node) {
            return;
        }
        if world.locks.release(node, self.owner)
            && let Some(own) = world.trees.superblock(node).fs.locks()
        {
            own.release(self.file.handle.key(), self.owner);
        }
    }
}
