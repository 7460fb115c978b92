//! An open file: data, listings, and a position.

mod by;
mod copy;
mod flagged;
mod getdents;
mod inode_flags;
mod io;
mod leases;
mod listed_nodes;
mod locks;
mod space;
mod special;
mod xattr;

use std::io::SeekFrom;
use std::ops::ControlFlow;

use crate::Errno;
use crate::abi::OpenFlags;
use crate::attr::FileType;
use crate::cache::Pinned;
use crate::cache::dcache::complete::{Listed as ListedNames, Listing};
use crate::fs_api::{Entry, FIRST_COOKIE, OpenFile, Seeking, SyncWhat, WriteAt};
use crate::handle::Handle;
use crate::limits::{OFFSET_MAX, RW_MAX};
use crate::locks::breaks::Counted;
use crate::locks::request::LockOwner;
use crate::mount::MountWriter;
use crate::ops::open::Opened;
use crate::permission::{Credentials, Subject};
use crate::security::Rights;
use crate::superblock::write::Times;
use crate::sync::{AtomicU64, Mutex};
use crate::vfs::Vfs;

pub use by::FileBy;
pub use getdents::Listed;
pub use listed_nodes::{EntryHandles, ListedNode};
pub use locks::FileLocks;

/// An open file or directory, like a file descriptor. Made by
/// [`Context::open`](crate::Context::open).
///
/// It stays open when its name is removed. Threads may share it. Reads and writes at its position
/// exclude each other, those at an offset do not. Every operation blocks while the file system
/// answers. Whether a write clears suid and sgid bits depends on the rights of its opener, or of
/// the user that is passed to [`by`](Self::by). One call reads or writes at most
/// [`RW_MAX`](crate::limits::RW_MAX) bytes. A write that fails has changed nothing, except after
/// `ENOSPC`: as on Linux, it may then have changed the times and cleared the bits.
///
/// A read or a listing changes the time of the last access where the mount says so
/// ([`MountFlags`](crate::MountFlags)) and the file system left that to the engine
/// ([`AccessTimes`](crate::AccessTimes)), unless opened with [`OpenFlags::NOATIME`].
///
/// # Named pipes
///
/// A file on a named pipe is a stream, as `pipe(7)` has it. [`read`](Self::read) waits while the
/// pipe is empty and has a writer, and returns 0 when it has none. [`write`](Self::write) waits
/// until all is written; it is `EPIPE` where there is no reader, and there is no signal. Nothing
/// waits under [`NONBLOCK`](OpenFlags::NONBLOCK); a [`Cancellation`](crate::Cancellation) ends what
/// waits. What has an offset is `ESPIPE`, and [`set_len`](Self::set_len) and [`sync`](Self::sync)
/// are `EINVAL`. Data that was not read is dropped when the pipe is open nowhere any more.
///
/// ```
/// use std::io::{IoSliceMut, SeekFrom};
/// use pathwalk::{Credentials, OpenFlags, SyncWhat, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let file = context.open("/file", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE)?;
/// assert_eq!(file.write(b"hello world")?, 11);
/// assert_eq!(file.stream_position()?, 11);
/// file.write_at(b"J", 0)?;
/// file.set_len(5)?;
/// file.sync(SyncWhat::Data)?;
///
/// file.rewind()?;
/// let (mut one, mut rest) = ([0; 1], [0; 8]);
/// assert_eq!(file.read_vectored(&mut [IoSliceMut::new(&mut one), IoSliceMut::new(&mut rest)])?, 5);
/// assert_eq!((&one, &rest[..4]), (b"J", &b"ello"[..]));
/// file.seek(SeekFrom::Start(1))?;
/// assert_eq!((file.read(&mut rest)?, file.read(&mut rest)?), (4, 0));
/// assert_eq!((file.read_at(&mut one, 1)?, one), (1, *b"e"));
/// assert_eq!(file.try_read_at(&mut one, 0), Ok(1));
/// assert_eq!(file.read_vectored_at(&mut [IoSliceMut::new(&mut rest)], 3)?, 2);
///
/// // It stays open without its name.
/// context.unlink("/file")?;
/// assert_eq!(file.handle().attributes()?.nlink, 0);
/// assert!(file.flags().contains(OpenFlags::WRITE));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct File {
    /// The open file of the file system; `None` for a place only, as by `O_PATH`. Dropped before
    /// the handle, whose drop may forget the node and shut the file system down.
    file: Option<Box<dyn OpenFile>>,
    handle: Handle,
    /// Whether its mount counts it as a writer.
    writes: bool,
    /// Whether its node counts it as open, since leases are granted.
    is_counted: bool,
    flags: OpenFlags,
    /// The rights that the security hook granted at the open.
    rights: Rights,
    credentials: Credentials,
    /// The owner of locks of the context that opened it. Linux: `current->files`.
    lock_owner: LockOwner,
    /// Its number as an owner of locks, which it gets with the first; 0 before that. `Relaxed`: all
    /// threads that use it see one number.
    lock_number: AtomicU64,
    /// The position: for a file, the offset in bytes; for a directory, the cookie behind which the
    /// listing goes on.
    position: Mutex<Position>,
}

/// The position of the next read or write.
#[derive(Default)]
struct Position {
    at: u64,
    /// The listing that may make a directory complete, if it is read from its beginning.
    listing: Option<Listing>,
}

/// One entry of a directory as [`File::list`] gives it: what [`Listed`] has, with a borrowed name.
#[derive(Clone, Copy)]
pub(crate) struct Dirent<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) ino: u64,
    pub(crate) kind: FileType,
    pub(crate) cookie: u64,
}

const BEHIND_DOT: u64 = 1;
const BEHIND_DOTDOT: u64 = 2;
const _: () = assert!(BEHIND_DOTDOT < FIRST_COOKIE);

impl File {
    /// Creates a file from what was opened in this `Vfs`.
    pub(crate) fn new(vfs: &Vfs, opened: Opened<'_>, flags: OpenFlags, credentials: Credentials, lock_owner: LockOwner) -> File {
        let Opened { file, node, writer, rights, counted } = opened;
        let writes = writer.map(MountWriter::into_id).is_some();
        let is_counted = counted.map(Counted::keep).is_some();
        let handle = Handle::of_file(vfs, node);
        let (lock_number, position) = (AtomicU64::new(0), Mutex::default());
        File { handle, file, writes, is_counted, flags, rights, credentials, lock_owner, lock_number, position }
    }

    /// Returns the place that the file is on: a starting point for operations with an empty path,
    /// with which `fstat` and `fchmod` can be expressed.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Returns the flags with which it was opened.
    pub fn flags(&self) -> OpenFlags {
        self.flags
    }

    /// Returns a view of the file for writes by another user than its opener, as a process writes
    /// through a descriptor that it received. That user's rights decide whether suid and sgid bits
    /// are cleared, as in Linux.
    ///
    /// [`FileBy`] has an example.
    pub fn by<'a>(&'a self, who: &'a Credentials) -> FileBy<'a> {
        FileBy { file: self, who }
    }

    /// Reads from its position, and advances that. `EBADF` unless opened for reading, `EISDIR` for
    /// a directory. Source: `read(2)`.
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let file = self.readable()?;
        if self.seeking(file) != Seeking::Offsets {
            return self.read_stream(file, buffer);
        }
        let mut position = self.position.lock();
        let length =
            counted(self.data(file, position.at, buffer.len())?.read_at(at_once_mut(buffer), position.at), buffer.len())?;
        position.at += length as u64;
        self.accessed();
        Ok(length)
    }

    /// Reads from an offset in bytes. Errors as [`read`](Self::read); `EINVAL` past 2⁶³−1, `ESPIPE`
    /// for a stream. Source: `pread(2)`.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        if offset > OFFSET_MAX {
            return Err(Errno::EINVAL);
        }
        self.has_offsets()?;
        let file = self.data(self.readable()?, offset, buffer.len())?;
        let length = counted(file.read_at(at_once_mut(buffer), offset), buffer.len())?;
        self.accessed();
        Ok(length)
    }

    /// Does the same as [`read_at`](Self::read_at) without blocking: reads what the file system has
    /// at hand, which may be less than there is; `EAGAIN` where that is nothing, and where the
    /// times that decide whether the access is stored are out of date. Returns 0 at or behind the
    /// end. For event loops, which leave what is `EAGAIN` to a thread that may wait. Source:
    /// `RWF_NOWAIT` in `preadv2(2)`.
    pub fn try_read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        if offset > OFFSET_MAX {
            return Err(Errno::EINVAL);
        }
        self.has_offsets()?;
        let file = self.data(self.readable()?, offset, buffer.len())?;
        self.without_questions()?;
        let length = counted(file.try_read_at(at_once_mut(buffer), offset), buffer.len())?;
        self.accessed();
        Ok(length)
    }

    /// Writes at its position, or at the end if opened with `APPEND`, and moves the position behind
    /// the data. `EBADF` unless opened for writing, `ENOSPC`, `EFBIG`. Clears suid and sgid bits
    /// where `CAP_FSETID` is missing. Source: `write(2)`.
    pub fn write(&self, data: &[u8]) -> Result<usize, Errno> {
        self.write_as(data, &self.credentials.effective())
    }

    fn write_as(&self, data: &[u8], who: &Subject<'_>) -> Result<usize, Errno> {
        let file = self.writable()?;
        if self.seeking(file) != Seeking::Offsets {
            return self.write_stream(file, data);
        }
        let mut position = self.position.lock();
        let (bytes, end) = self.put(data, position.at, who)?;
        if bytes > 0 {
            position.at = end;
        }
        Ok(bytes)
    }

    /// Writes at an offset in bytes, but at the end if opened with `APPEND`, as Linux does. Errors
    /// as [`write`](Self::write); `EINVAL` past 2⁶³−1, `ESPIPE` for a stream. Source: `pwrite(2)`.
    pub fn write_at(&self, data: &[u8], offset: u64) -> Result<usize, Errno> {
        self.write_at_as(data, offset, &self.credentials.effective())
    }

    fn write_at_as(&self, data: &[u8], offset: u64, who: &Subject<'_>) -> Result<usize, Errno> {
        if offset > OFFSET_MAX {
            return Err(Errno::EINVAL);
        }
        self.has_offsets()?;
        self.put(data, offset, who).map(|(bytes, _)| bytes)
    }

    fn put(&self, data: &[u8], offset: u64, who: &Subject<'_>) -> Result<(usize, u64), Errno> {
        let at = if self.appends() { WriteAt::End } else { WriteAt::Offset(offset) };
        self.put_at(data, offset, at, who)
    }

    /// Writes where `at` says; `offset` is where the caller asked to write.
    fn put_at(&self, data: &[u8], offset: u64, at: WriteAt, who: &Subject<'_>) -> Result<(usize, u64), Errno> {
        let file = self.writable()?;
        within_range(offset, data.len())?;
        let trees = &self.handle.world().trees;
        if data.is_empty() {
            return trees.caches.with_room(|| file.check_write(0, at)).map(|()| (0, offset));
        }
        let data = &data[..data.len().min(RW_MAX)];
        let check = || trees.caches.with_room(|| file.check_write(data.len(), at));
        trees.drop_privileges(self.handle.dentry(), &self.coming(who), check)?;
        let _under_way = trees.caches.under_way(self.handle.inode());
        let written = trees.caches.with_room(|| file.write_at(data, at))?;
        let bytes = counted(Ok(written.bytes), data.len())?;
        if bytes > 0 {
            trees.tell_content(self.handle.dentry());
        }
        Ok((bytes, written.end))
    }

    /// Sets the size, in bytes. `EINVAL` unless it is a regular file opened for writing, `EBADF` if
    /// it is a place only, `EPERM` if it has become append-only. Source: `ftruncate(2)`.
    pub fn set_len(&self, size: u64) -> Result<(), Errno> {
        self.set_len_as(size, &self.credentials.effective())
    }

    fn set_len_as(&self, size: u64, who: &Subject<'_>) -> Result<(), Errno> {
        if size > OFFSET_MAX {
            return Err(Errno::EINVAL);
        }
        self.opened()?;
        if self.handle.kind() != FileType::Regular || !self.flags.contains(OpenFlags::WRITE) {
            return Err(Errno::EINVAL);
        }
        let trees = &self.handle.world().trees;
        trees.not_append_only(self.handle.dentry())?;
        if !self.rights.contains(Rights::TRUNCATE) {
            return Err(Errno::EACCES);
        }
        trees.resize(self.handle.dentry(), &self.coming(who), size, Times::Always)
    }

    /// Returns a user as a subject through the file's mount.
    fn coming<'a>(&'a self, who: &Subject<'a>) -> Subject<'a> {
        who.through(self.handle.world().mounts.id_map(self.handle.place().mount()))
    }

    /// Moves the position, and returns the new one. The position of a directory is a cookie of
    /// [`getdents`](Self::getdents), and only [`SeekFrom::Start`] makes sense. `EINVAL` before the
    /// beginning or past 2⁶³−1; `ESPIPE` for a stream. Source: `lseek(2)`.
    pub fn seek(&self, to: SeekFrom) -> Result<u64, Errno> {
        self.has_offsets()?;
        if self.seeking(self.opened()?) == Seeking::Nowhere {
            return Ok(0);
        }
        let mut position = self.position.lock();
        let is_directory = self.handle.kind() == FileType::Directory;
        let target = match to {
            SeekFrom::Start(target) => Some(target),
            SeekFrom::Current(by) => position.at.checked_add_signed(by),
            SeekFrom::End(_) if is_directory => None,
            SeekFrom::End(by) => self.handle.attributes()?.size.checked_add_signed(by),
        };
        let at = target.filter(|target| *target <= OFFSET_MAX).ok_or(Errno::EINVAL)?;
        *position = Position { at, listing: None };
        Ok(at)
    }

    /// Passes the entries behind its position to `each`, until there are no more or `each` breaks.
    /// The position is then behind the last one passed. Errors are those of
    /// [`getdents`](Self::getdents).
    ///
    /// `each` runs under the position's lock and under those of the file system, so it must not use
    /// the `Vfs`. That is why the method is not public.
    pub(crate) fn list(&self, mut each: impl FnMut(Dirent<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        self.listing(|file, position| {
            while let Some(dots) = self.next_of_dots(position)? {
                if each(dots).is_break() {
                    return Ok(());
                }
            }
            self.list_names(file, position, each)
        })
    }

    /// Notes the access of a listing that is asked for more at its end, as a C library asks once.
    pub(crate) fn list_end(&self) {
        _ = self.listing(|_, _| Ok(()));
    }

    /// Lists by `list`, which gets the open file and the position, and notes the access. At the
    /// beginning of a directory, begins a listing that may make the directory complete. `ENOTDIR`
    /// for no directory, `ENOENT` for one that was removed. Linux: `iterate_dir`.
    fn listing(&self, list: impl FnOnce(&dyn OpenFile, &mut Position) -> Result<(), Errno>) -> Result<(), Errno> {
        let file = self.opened()?;
        if self.handle.kind() != FileType::Directory {
            return Err(Errno::ENOTDIR);
        }
        let mut position = self.position.lock();
        let trees = &self.handle.world().trees;
        trees.settled_and_not_removed(self.handle.dentry())?;
        if position.at == 0 {
            let dir = self.handle.dentry();
            let begin = || trees.caches.begin_listing(dir);
            // Asked behind the beginning: a report that comes later ends the listing.
            position.listing = file.lists_all_names().then(begin).flatten().filter(|_| trees.absence_lasts(dir));
        }
        // Before the attributes of `.` are looked at, which show it.
        self.accessed();
        list(file, &mut position)
    }

    /// Returns `.` or `..`, and moves the position behind it; `None` behind both.
    fn next_of_dots(&self, position: &mut Position) -> Result<Option<Dirent<'static>>, Errno> {
        let (cookie, name, ino) = match position.at {
            0 => (BEHIND_DOT, &b"."[..], self.handle.attributes()?.ino),
            BEHIND_DOT => (BEHIND_DOTDOT, &b".."[..], self.parent_ino()?),
            _ => return Ok(None),
        };
        position.at = cookie;
        Ok(Some(Dirent { name, ino, kind: FileType::Directory, cookie }))
    }

    /// Lists the names after `.` and `..`. For those that are not cached, it records that they
    /// exist.
    fn list_names(
        &self,
        file: &dyn OpenFile,
        position: &mut Position,
        mut each: impl FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<(), Errno> {
        // Taken out, so that a listing during which `each` panics does not make the directory
        // complete.
        let mut listing = position.listing.take();
        let (mut listed, mut flow) = (ListedNames::default(), ControlFlow::Continue(()));
        file.read_dir(position.at, &mut |Entry { name, ino, kind, cookie, .. }| {
            position.at = cookie;
            if listing.is_some() {
                listed.push(name);
            }
            flow = each(Dirent { name, ino, kind, cookie });
            flow
        })?;
        let (caches, dir) = (self.handle.world().caches(), self.handle.dentry());
        match listing.take_if(|listing| caches.note_listed(dir, listing, &listed)) {
            Some(listing) if flow.is_continue() => caches.end_listing(dir, &listing),
            going_on => position.listing = going_on,
        }
        Ok(())
    }

    /// Returns the inode number of the directory above.
    fn parent_ino(&self) -> Result<u64, Errno> {
        let trees = &self.handle.world().trees;
        let parent = Pinned::new(&trees.caches, trees.caches.pin_parent(self.handle.dentry()));
        Ok(trees.stat(trees.caches.dentries.inode(parent.id()))?.ino)
    }

    /// Puts the file on stable storage. `EBADF` for a place only. Source: `fsync(2)`,
    /// `fdatasync(2)`.
    pub fn sync(&self, what: SyncWhat) -> Result<(), Errno> {
        self.opened()?.sync(what)
    }

    /// Stores the time of an access to its data, or to its names, if one is due. Linux:
    /// `file_accessed`.
    fn accessed(&self) {
        if self.may_be_accessed() {
            self.handle.world().accessed(self.handle.place());
        }
    }

    /// Returns whether a read may be an access of which the time is stored. Of a character device
    /// it is none.
    fn may_be_accessed(&self) -> bool {
        !self.flags.contains(OpenFlags::NOATIME) && self.handle.kind() != FileType::CharDevice
    }

    /// Returns `EAGAIN` where the file system would have to be asked whether the time of an access
    /// is due.
    fn without_questions(&self) -> Result<(), Errno> {
        let is_known = !self.may_be_accessed() || self.handle.world().knows_of_access(self.handle.place());
        if is_known { Ok(()) } else { Err(Errno::EAGAIN) }
    }

    fn opened(&self) -> Result<&dyn OpenFile, Errno> {
        self.file.as_deref().ok_or(Errno::EBADF)
    }

    /// Returns the open file, if that many bytes can be read at this offset.
    fn data<'a>(&self, file: &'a dyn OpenFile, offset: u64, length: usize) -> Result<&'a dyn OpenFile, Errno> {
        within_range(offset, length)?;
        if self.handle.kind() == FileType::Directory { Err(Errno::EISDIR) } else { Ok(file) }
    }

    /// Returns the credentials of its opener. `EBADF` for a place only.
    pub(crate) fn opener_credentials(&self) -> Result<&Credentials, Errno> {
        self.opened().map(|_| &self.credentials)
    }

    fn readable(&self) -> Result<&dyn OpenFile, Errno> {
        if self.flags.contains(OpenFlags::READ) { self.opened() } else { Err(Errno::EBADF) }
    }

    fn writable(&self) -> Result<&dyn OpenFile, Errno> {
        if self.flags.contains(OpenFlags::WRITE) { self.opened() } else { Err(Errno::EBADF) }
    }
}

/// Returns as much of the buffer as one call fills.
fn at_once_mut(buffer: &mut [u8]) -> &mut [u8] {
    let most = buffer.len().min(RW_MAX);
    &mut buffer[..most]
}

/// Returns the number of bytes that a file system reports as read or written; `EIO` if it is more
/// than the bytes given.
fn counted(reported: Result<usize, Errno>, given: usize) -> Result<usize, Errno> {
    reported.and_then(|bytes| if bytes <= given { Ok(bytes) } else { Err(Errno::EIO) })
}

/// Checks that so many bytes at an offset end within the greatest offset.
fn within_range(offset: u64, length: usize) -> Result<(), Errno> {
    let end = offset.checked_add(length as u64);
    if end.is_some_and(|end| end <= OFFSET_MAX) { Ok(()) } else { Err(Errno::EINVAL) }
}

impl Drop for File {
    fn drop(&mut self) {
        self.release_locks();
        if self.is_counted {
            self.end_lease();
        }
        if self.writes {
            self.handle.world().mounts.end_writing(self.handle.place().mount());
        }
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File").field("at", &self.handle).field("flags", &self.flags).finish_non_exhaustive()
    }
}
