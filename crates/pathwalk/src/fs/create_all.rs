//! A directory is made with all that are missing above it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{NEW_DIRECTORY, failed, without_slashes};
use crate::abi::AtFlags;
use crate::attr::FileType;
use crate::context::{AsPath, At, Context};
use crate::errno::Errno;
use crate::error::Error;
use crate::handle::Handle;
use crate::limits::PATH_MAX;

impl Context {
    /// Makes a directory and those above it that are missing, each with mode 0777 before the umask;
    /// one that is there already is no error. Source: [`std::fs::create_dir_all`].
    ///
    /// Links that are there are followed, as by any path. A name that is missing when the call
    /// looks for it is made in the directory that is held, and is not followed if it is a link a
    /// moment later: then it is `EEXIST`. So nothing is made outside by a link that comes in the
    /// place of what this call made. The standard library follows such a link, even one that is met
    /// behind a `..`. Several threads may make the same directories at once.
    ///
    /// `EEXIST` for what is there and no directory, `ENOENT` for a `.` behind a missing name; else errors as [`mkdir`](Self::mkdir). What was
    /// made before an error stays; [`Error::path`] says where it was.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.create_dir_all("/usr/share/doc")?;
    /// context.create_dir_all("/usr/share/doc")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_dir_all(&self, path: impl AsPath) -> Result<(), Error> {
        let path = Path::new(OsStr::from_bytes(path.path_bytes()));
        // An empty path, and the root by any spelling.
        if path.parent().is_none() {
            return Ok(());
        }
        let mut missing = Vec::new();
        let mut ancestors = path.ancestors();
        let mut dir = loop {
            let Some(ancestor) = ancestors.next() else { return Ok(()) };
            let there = if ancestor.as_os_str().is_empty() { Path::new(".") } else { ancestor };
            match self.directory_at(there).map_err(failed("create_dir_all", ancestor.path_bytes()))? {
                Some(handle) => break handle,
                None => missing.push(ancestor),
            }
        };
        for path in missing.into_iter().rev() {
            dir = self.create_below(&dir, behind_parent(path)).map_err(failed("create_dir_all", path.path_bytes()))?;
        }
        Ok(())
    }

    /// Returns the directory that a path leads to, or none where nothing is. Of something else,
    /// what `mkdir` would say.
    fn directory_at(&self, path: &Path) -> Result<Option<Handle>, Errno> {
        match self.lookup(path) {
            Ok(handle) if handle.kind() == FileType::Directory => Ok(Some(handle)),
            Ok(_) => Err(Errno::EEXIST),
            Err(Errno::ENOENT) => Ok(None),
            // Without its slashes it may be short enough.
            Err(errno) if path.as_os_str().len() > PATH_MAX => Err(errno),
            // A link that leads nowhere has the name all the same.
            Err(errno) => {
                let name = without_slashes(path.as_os_str().as_bytes());
                let taken = self.lookup_at(At::Cwd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
                Err(if taken { Errno::EEXIST } else { errno })
            }
        }
    }

    /// Makes a directory in one that is held, unless it is there, and returns it. A link is not
    /// followed.
    fn create_below(&self, dir: &Handle, name: &[u8]) -> Result<Handle, Errno> {
        let made = self.mkdirat(dir, name, NEW_DIRECTORY);
        if let Err(errno) = made
            && errno != Errno::EEXIST
        {
            return Err(errno);
        }
        let there = self.lookup_at(dir, without_slashes(name), AtFlags::SYMLINK_NOFOLLOW)?;
        if there.kind() == FileType::Directory { Ok(there) } else { Err(Errno::EEXIST) }
    }
}

/// Returns the last component of a path, with the slashes and dots about it.
fn behind_parent(path: &Path) -> &[u8] {
    let parent = path.parent().map_or(0, |parent| parent.as_os_str().len());
    let rest = &path.as_os_str().as_bytes()[parent..];
    &rest[rest.iter().take_while(|byte| **byte == b'/').count()..]
}
