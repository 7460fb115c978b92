//! A directory is removed with all that is in it.
//!
//! # What always holds
//!
//! - No link is followed below the directory: each directory is opened by its name in the one
//!   above, which is held, as a directory and no link; and what is removed, is removed by its name
//!   there.
//! - At most 16 directories are open; there is no recursion.
//!
//! # What it does not do
//!
//! It does not stop at mounts: what is in a file system that is mounted below goes, and then its
//! mount point is `EBUSY`.

use super::levels::Levels;
use super::read_dir::{DirEntry, ReadDir};
use super::{failed, without_slashes};
use crate::abi::{OpenFlags, UnlinkFlags};
use crate::attr::FileType;
use crate::context::{AsPath, At, Context};
use crate::errno::Errno;
use crate::error::Error;

const OPERATION: &str = "remove_dir_all";

impl Context {
    /// Removes a directory with all that is in it; of a link, the link. Source:
    /// [`std::fs::remove_dir_all`].
    ///
    /// Links in it are removed and not followed, and so is one that another thread puts in a
    /// directory's place meanwhile: nothing outside is touched. Links on the way to it are
    /// followed, as ever; a context under [`NO_SYMLINKS`](crate::Resolve::NO_SYMLINKS) follows
    /// none. The directory itself is removed by its name in the one above, which is held. The
    /// standard library looks the path up again, and then takes a path that led through what it
    /// removed for success. What vanishes meanwhile is no error; what is added meanwhile may be
    /// one: `ENOTEMPTY`.
    ///
    /// `ENOENT` if there is nothing, `ENOTDIR` if it is no directory, `EINVAL` for `.` and `EBUSY`
    /// for a mount point, once they are empty; else errors as [`open`](Self::open),
    /// [`unlink`](Self::unlink) and [`rmdir`](Self::rmdir). The first ends it, with what is left;
    /// [`Error::path`] says where.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.mkdir_all("/tmp/build/obj", 0o755)?;
    /// # fs.symlink("/src", "/tmp/build/src")?;
    /// # fs.mkdir("/src", 0o755)?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// context.remove_dir_all("/tmp/build")?;
    /// assert_eq!(context.stat("/tmp/build"), Err(Errno::ENOENT));
    /// assert!(context.exists("/src")?, "a link led there");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_dir_all(&self, path: impl AsPath) -> Result<(), Error> {
        let path = path.path_bytes();
        // The whole path, since its length and all its links count.
        let kind = self.lstat(path).map_err(failed(OPERATION, path))?.kind;
        let (way, last) = split(path);
        let holder = if way.is_empty() { None } else { Some(super::way(self, way).map_err(failed(OPERATION, path))?) };
        let at = holder.as_ref().map_or(At::Cwd, At::Handle);
        let open = || match kind {
            FileType::Symlink => self.unlinkat(at, last, UnlinkFlags::empty()).map(|()| None),
            _ => ReadDir::open(self, at, last, OpenFlags::NOFOLLOW, path).map(Some),
        };
        if let Some(first) = open().map_err(failed(OPERATION, path))? {
            let _held_until_it_has_no_name = self.remove_below(first)?;
            gone(self.unlinkat(at, last, UnlinkFlags::REMOVEDIR)).map_err(failed(OPERATION, path))?;
        }
        Ok(())
    }

    /// Removes all that is in a directory; returns that.
    fn remove_below(&self, first: ReadDir) -> Result<ReadDir, Error> {
        let mut levels = Levels::new(first);
        loop {
            let dir = levels.last(self).expect("the first one is not popped")?;
            match dir.next().transpose()? {
                Some(entry) => {
                    let below = self.remove_entry(&entry).map_err(|errno| entry.failed(OPERATION, errno))?;
                    below.into_iter().for_each(|dir| levels.push(dir));
                }
                None => {
                    let empty = levels.pop().expect("it was the last");
                    let place = &empty.place;
                    let Some(above) = &place.above else { return Ok(empty) };
                    let removed = gone(self.unlinkat(&above.handle, &*place.name, UnlinkFlags::REMOVEDIR));
                    removed.map_err(|errno| Error::new(OPERATION, &place.path(), errno))?;
                }
            }
        }
    }

    /// Removes an entry; returns it if it is a directory, which has to be emptied first.
    ///
    /// It may be of another type than it was when it was listed.
    fn remove_entry(&self, entry: &DirEntry) -> Result<Option<ReadDir>, Errno> {
        let unlink = || gone(self.unlinkat(entry.at(), entry.name(), UnlinkFlags::empty())).map(|()| None);
        if entry.kind() != FileType::Directory {
            match unlink() {
                Err(Errno::EISDIR) => {}
                removed => return removed,
            }
        }
        match entry.open_directory(self) {
            Ok(dir) => Ok(Some(dir)),
            Err(Errno::ENOENT) => Ok(None),
            Err(Errno::ENOTDIR | Errno::ELOOP) => unlink(),
            Err(errno) => Err(errno),
        }
    }
}

/// Takes what has vanished as removed.
fn gone(removed: Result<(), Errno>) -> Result<(), Errno> {
    if removed == Err(Errno::ENOENT) { Ok(()) } else { removed }
}

/// Splits a path in front of its last component, which keeps the slashes behind it. Slashes alone
/// are a last component.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let begin = without_slashes(path).iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    path.split_at(begin)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_path_is_split_in_front_of_its_last_component() {
        let cases = [("", "", ""), ("/", "", "/"), ("a", "", "a"), ("a//", "", "a//"), ("/a", "/", "a"), ("b//a/", "b//", "a/")];
        for (path, way, last) in cases {
            assert_eq!(split(path.as_bytes()), (way.as_bytes(), last.as_bytes()), "{path}");
        }
    }
}
