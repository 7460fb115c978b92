//! A directory's entries, one after the other, with nothing locked between two of them.
//!
//! # What always holds
//!
//! - No lock is held when an entry is given out: the caller may do anything before the next, to the
//!   directory itself, too.
//! - Entries that are there all the time come exactly once; those that come or go meanwhile come
//!   once or not.
//! - At most 32 KiB are read ahead.
//!
//! # What it does not do
//!
//! It does not tell of the entries as of one instant: no listing does.

use std::ffi::OsString;
use std::fmt;
use std::io::SeekFrom;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use super::ahead::Ahead;
use super::failed;
use super::place::Place;
use crate::abi::{AtFlags, OpenFlags};
use crate::attr::{Attributes, FileType};
use crate::context::{AsPath, At, Context};
use crate::errno::Errno;
use crate::error::Error;
use crate::file::File;
use crate::handle::Handle;
use crate::text::os_str;

/// The entries of a directory, without `.` and `..`. Made by [`Context::read_dir`], or from a
/// [`File`].
///
/// It owns what it needs, so anything may be called between two entries: to remove each as it comes
/// is fine. Entries that are there all the time come exactly once; those that come or go meanwhile
/// come once or not. A directory that is removed has no more entries. After an error there are
/// none, either.
///
/// It reads ahead, up to 32 KiB: the file system is asked once for many entries, and what is given
/// out may be gone by then. [`next`](Iterator::next) blocks while the file system answers; an entry
/// costs an allocation.
///
/// From a [`File`], it begins at the file's position; its entries' [`path`](DirEntry::path) is the
/// name alone.
///
/// ```
/// use pathwalk::{Credentials, Vfs};
/// # let fs = pathwalk_memfs::MemFs::new();
/// # fs.mkdir("/tmp", 0o777)?;
/// # fs.file("/tmp/a", 0o644)?;
/// # fs.file("/tmp/b", 0o644)?;
/// let context = Vfs::builder().build(fs)?.context(Credentials::root());
/// for entry in context.read_dir("/tmp")? {
///     let entry = entry?;
///     context.unlinkat(entry.dir(), entry.name(), pathwalk::UnlinkFlags::empty())?;
/// }
/// assert_eq!(context.read_dir("/tmp")?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ReadDir {
    pub(super) place: Arc<Place>,
    /// None: it was closed, to be opened again. Dropped behind the place: closing a file lets go of
    /// what was removed.
    file: Option<File>,
    ahead: Ahead,
    /// Where it goes on behind the last entry that was given out.
    behind: u64,
    left: Left,
}

/// The entries that are left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Those read ahead, and others that may be in the directory.
    Unread,
    /// Those read ahead.
    Ahead,
    Nothing,
}

/// How a directory is opened to be listed.
const TO_LIST: OpenFlags = OpenFlags::READ.union(OpenFlags::DIRECTORY);

impl ReadDir {
    /// Opens a directory, by the path that its entries' paths begin with.
    pub(super) fn open(context: &Context, at: At<'_>, path: &[u8], flags: OpenFlags, as_found: &[u8]) -> Result<ReadDir, Errno> {
        let file = context.openat(at, path, TO_LIST | flags)?;
        Ok(ReadDir::of(file, None, as_found))
    }

    fn of(file: File, above: Option<Arc<Place>>, name: &[u8]) -> ReadDir {
        let place = Arc::new(Place { handle: file.handle().clone(), above, name: name.into() });
        ReadDir { place, file: Some(file), ahead: Ahead::default(), behind: 0, left: Left::Unread }
    }

    /// Closes the directory, and forgets what was read ahead; [`reopen`](Self::reopen) goes on
    /// there.
    pub(super) fn close(&mut self) {
        if !self.ahead.is_empty() {
            self.left = Left::Unread;
        }
        self.ahead = Ahead::default();
        self.file = None;
    }

    /// Opens the directory again if it was closed and is not at its end.
    pub(super) fn reopen(&mut self, context: &Context) -> Result<(), Error> {
        if self.left == Left::Nothing || self.file.is_some() {
            return Ok(());
        }
        let open = || {
            let file = context.openat(&self.place.handle, ".", TO_LIST)?;
            file.seek(SeekFrom::Start(self.behind))?;
            Ok(file)
        };
        match open() {
            Ok(file) => self.file = Some(file),
            Err(Errno::ENOENT) => self.left = Left::Nothing,
            Err(errno) => return Err(self.fail(errno)),
        }
        Ok(())
    }

    /// Reads ahead, unless it is at its end. Names that are made after the end was read are not
    /// listed, so a caller that makes some for each entry of a directory that is read at once comes
    /// to an end. Where a directory takes several reads, the file system decides: memfs lists, as a
    /// tmpfs does, nothing that is made after the first.
    fn read_ahead(&mut self) -> Result<(), Error> {
        let Some(file) = &self.file else { return Ok(()) };
        match self.left {
            Left::Nothing => return Ok(()),
            Left::Ahead => {
                file.list_end();
                self.left = Left::Nothing;
                return Ok(());
            }
            Left::Unread => {}
        }
        self.ahead.clear();
        let mut flow = ControlFlow::Continue(());
        let listed = file.list(|entry| {
            if !matches!(entry.name, b"." | b"..") {
                self.ahead.push(entry);
            }
            flow = if self.ahead.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            flow
        });
        match listed {
            Ok(()) if flow.is_break() => {}
            Ok(()) => self.left = if self.ahead.is_empty() { Left::Nothing } else { Left::Ahead },
            // What was read before comes first: then it is asked again.
            Err(_) if !self.ahead.is_empty() => {}
            Err(Errno::ENOENT) => self.left = Left::Nothing,
            Err(errno) => return Err(self.fail(errno)),
        }
        Ok(())
    }

    /// Ends it with an error.
    fn fail(&mut self, errno: Errno) -> Error {
        self.left = Left::Nothing;
        Error::new("read_dir", &self.place.path(), errno)
    }
}

impl Iterator for ReadDir {
    type Item = Result<DirEntry, Error>;

    fn next(&mut self) -> Option<Result<DirEntry, Error>> {
        if self.ahead.is_empty()
            && let Err(error) = self.read_ahead()
        {
            return Some(Err(error));
        }
        let entry = self.ahead.next()?;
        self.behind = entry.cookie;
        Some(Ok(DirEntry { dir: self.place.clone(), name: entry.name.into(), ino: entry.ino, kind: entry.kind }))
    }
}

impl std::iter::FusedIterator for ReadDir {}

/// From the file's position on. What is no directory is an error of the first item.
impl From<File> for ReadDir {
    fn from(file: File) -> ReadDir {
        ReadDir::of(file, None, b"")
    }
}

impl fmt::Debug for ReadDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadDir(\"{}\")", self.place.path().escape_ascii())
    }
}

/// One entry of a directory, as it was when it was read.
///
/// It holds the directory, as a handle does: what is asked of the entry is asked of its name in
/// that directory, whatever became of the directory's own name meanwhile. Its type may be another
/// by now, and the entry may be gone.
///
/// ```
/// use pathwalk::{AtFlags, Credentials, FileType, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.create_dir("/etc")?;
/// context.write("/etc/motd", "hello")?;
/// for entry in context.read_dir("/etc")? {
///     let entry = entry?;
///     assert_eq!(entry.path(), std::path::Path::new("/etc/motd"));
///     assert_eq!((entry.name(), entry.file_name()), (&b"motd"[..], "motd".into()));
///     assert_eq!(entry.kind(), FileType::Regular);
///     // Where its directory is now, whatever its path is.
///     let attributes = context.fstatat(entry.dir(), entry.name(), AtFlags::SYMLINK_NOFOLLOW)?;
///     assert_eq!((attributes.ino, attributes.size), (entry.ino(), 5));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DirEntry {
    dir: Arc<Place>,
    name: Box<[u8]>,
    ino: u64,
    kind: FileType,
}

impl DirEntry {
    /// Returns its name, in bytes. [`file_type`](Self::file_type) has an example.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Returns its name as the standard library has it. On Windows, bytes that are not UTF-8 are
    /// replaced by U+FFFD. Cost: one allocation. Source: [`std::fs::DirEntry::file_name`].
    pub fn file_name(&self) -> OsString {
        os_str::from_bytes_lossy(self.name.to_vec())
    }

    /// Returns its inode number as the directory lists it. On a mount point it is that of the
    /// directory beneath.
    pub fn ino(&self) -> u64 {
        self.ino
    }

    /// Returns its type as the directory lists it; of a link, not what that leads to.
    /// [`file_type`](Self::file_type) has an example.
    pub fn kind(&self) -> FileType {
        self.kind
    }

    /// Returns [`kind`](Self::kind) as the standard library has it. It is never an error. Source:
    /// [`std::fs::DirEntry::file_type`].
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.mkdir("/etc", 0o755)?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let entry = context.read_dir("/")?.next().unwrap()?;
    /// assert!(entry.file_type()?.is_dir() && entry.kind().is_dir());
    /// assert!(entry.file_name() == "etc" && entry.name() == b"etc");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file_type(&self) -> Result<FileType, Error> {
        Ok(self.kind)
    }

    /// Returns the path of the directory as it was given, and behind it the names by which the
    /// entry was found. For messages, and for what takes a path: it may lead elsewhere by now, and
    /// in a deep tree it is longer than a path may be. On Windows, where a [`PathBuf`] is text,
    /// bytes that are not UTF-8 are replaced by U+FFFD: such a path leads elsewhere or nowhere, and
    /// [`dir`](Self::dir) with [`name`](Self::name) to the entry.
    pub fn path(&self) -> PathBuf {
        os_str::from_bytes_lossy(self.dir.join(&self.name)).into()
    }

    /// Returns the directory that it is in: where an operation on the entry starts, with
    /// [`name`](Self::name) as its path.
    pub fn dir(&self) -> &Handle {
        &self.dir.handle
    }

    /// Returns its attributes as they are now; of a link, those of the link itself. `ENOENT` if it
    /// is gone; `EBADF` for a context of another `Vfs`; else errors as [`Context::lstat`]. Cost: a
    /// lookup of one name.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.mkdir("/etc", 0o755)?;
    /// # fs.file("/etc/motd", 0o640)?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let entry = context.read_dir("/etc")?.next().unwrap()?;
    /// context.rename("/etc", "/usr")?;
    /// assert_eq!(entry.metadata(&context)?.mode & 0o777, 0o640);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metadata(&self, context: &Context) -> Result<Attributes, Error> {
        let attributes = context.fstatat(self.at(), &*self.name, AtFlags::SYMLINK_NOFOLLOW);
        attributes.map_err(|errno| self.failed("metadata", errno))
    }

    pub(super) fn at(&self) -> At<'_> {
        At::Handle(&self.dir.handle)
    }

    /// Opens it to be listed, if it is a directory; a link is not followed.
    pub(super) fn open_directory(&self, context: &Context) -> Result<ReadDir, Errno> {
        let file = context.openat(self.at(), &*self.name, TO_LIST | OpenFlags::NOFOLLOW)?;
        Ok(ReadDir::of(file, Some(self.dir.clone()), &self.name))
    }

    /// Returns the error of an operation on it.
    pub(super) fn failed(&self, operation: &'static str, errno: Errno) -> Error {
        Error::new(operation, &self.dir.join(&self.name), errno)
    }
}

impl fmt::Debug for DirEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DirEntry(\"{}\")", self.dir.join(&self.name).escape_ascii())
    }
}

impl Context {
    /// Returns the entries of a directory, without `.` and `..`. Errors as [`open`](Self::open);
    /// `ENOTDIR` for what is no directory, `EACCES` for one that may not be read. Source:
    /// `opendir(3)`, [`std::fs::read_dir`].
    ///
    /// ```
    /// use pathwalk::{Credentials, FileType, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.mkdir_all("/usr/bin", 0o755)?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let entries = context.read_dir("/usr")?.collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(entries[0].path(), std::path::Path::new("/usr/bin"));
    /// assert_eq!(entries[0].kind(), FileType::Directory);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_dir(&self, path: impl AsPath) -> Result<ReadDir, Error> {
        let path = path.path_bytes();
        ReadDir::open(self, At::Cwd, path, OpenFlags::empty(), path).map_err(failed("read_dir", path))
    }
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<ReadDir>();
    shared::<DirEntry>();
};
