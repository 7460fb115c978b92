//! All that is below a directory.
//!
//! # What always holds
//!
//! - A directory comes before what is in it; no link is followed.
//! - At most 16 directories are open; deeper ones are reached without recursion.
//! - Each is opened by its name in the one above, which is held: a rename beside it leads nowhere
//!   else.
//!
//! # What it does not do
//!
//! It neither sorts nor tells of one instant; it crosses mounts, unless the context's rules forbid
//! it.

use std::fmt;

use super::failed;
use super::levels::Levels;
use super::read_dir::{DirEntry, ReadDir};
use crate::abi::OpenFlags;
use crate::attr::FileType;
use crate::context::{AsPath, At, Context};
use crate::errno::Errno;
use crate::error::Error;

/// The entries below a directory, depth first. Made by [`Context::walk`].
pub struct Walk {
    context: Context,
    levels: Levels,
    /// The directory that was given out last and was not yet gone into.
    ahead: Option<DirEntry>,
}

impl Context {
    /// Returns all that is below a directory, depth first: a directory before what is in it, the
    /// one at `path` left out. Links are given out and not followed, but for one that `path` itself
    /// ends in.
    ///
    /// Errors as [`read_dir`](Self::read_dir). What goes wrong below is an item, and then the walk
    /// goes on: a directory that may not be read (`EACCES`), or that is on another mount where the
    /// context's rules say `NO_XDEV` (`EXDEV`), comes as an entry and then as an error. A directory
    /// that goes meanwhile, or is replaced by something else, has no entries. Anything may be done
    /// between two items; see [`ReadDir`] for what that does to a listing.
    ///
    /// Cost: that of opening and listing each directory; one that has more than 16 levels open
    /// below it is opened twice. It holds the directories that it is in, one for each level, and 32
    /// KiB for each that is open.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.mkdir_all("/usr/share/man", 0o755)?;
    /// # fs.mkdir("/usr/share/doc", 0o755)?;
    /// # fs.file("/usr/share/doc/README", 0o644)?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let mut walk = context.walk("/usr")?;
    /// let mut found = Vec::new();
    /// while let Some(entry) = walk.next() {
    ///     let entry = entry?;
    ///     if entry.name() == b"doc" {
    ///         walk.skip_directory();
    ///     }
    ///     found.push(entry.path().into_os_string().into_string().unwrap());
    /// }
    /// assert_eq!(found, ["/usr/share", "/usr/share/doc", "/usr/share/man"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn walk(&self, path: impl AsPath) -> Result<Walk, Error> {
        let path = path.path_bytes();
        let first = ReadDir::open(self, At::Cwd, path, OpenFlags::empty(), path).map_err(failed("walk", path))?;
        Ok(Walk { context: self.clone(), levels: Levels::new(first), ahead: None })
    }
}

impl Walk {
    /// Leaves out what is in the directory that was given out last; does nothing where that was
    /// none.
    ///
    /// [`Context::walk`] has an example.
    pub fn skip_directory(&mut self) {
        self.ahead = None;
    }

    /// Returns how far below the beginning the entry is that was given out last: 1 in the directory
    /// where the walk began.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.create_dir_all("/a/b/c")?;
    /// let mut walk = context.walk("/a")?;
    /// let mut depths = Vec::new();
    /// while walk.next().transpose()?.is_some() {
    ///     depths.push(walk.depth());
    /// }
    /// assert_eq!(depths, [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Goes into the directory that was given out last.
    fn descend(&mut self) -> Result<(), Error> {
        let Some(entry) = self.ahead.take() else { return Ok(()) };
        match entry.open_directory(&self.context) {
            Ok(dir) => self.levels.push(dir),
            // It is gone, or something else has its name.
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => {}
            Err(errno) => return Err(entry.failed("walk", errno)),
        }
        Ok(())
    }
}

impl Iterator for Walk {
    type Item = Result<DirEntry, Error>;

    fn next(&mut self) -> Option<Result<DirEntry, Error>> {
        if let Err(error) = self.descend() {
            return Some(Err(error));
        }
        loop {
            let next = match self.levels.last(&self.context)? {
                Ok(dir) => dir.next(),
                Err(error) => Some(Err(error)),
            };
            match next {
                None => drop(self.levels.pop()),
                Some(Ok(entry)) => {
                    self.ahead = (entry.kind() == FileType::Directory).then(|| entry.clone());
                    return Some(Ok(entry));
                }
                // The directory has no more entries, so it goes next time.
                error => return error,
            }
        }
    }
}

impl std::iter::FusedIterator for Walk {}

impl fmt::Debug for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk").field("depth", &self.depth()).finish_non_exhaustive()
    }
}
