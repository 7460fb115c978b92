//! A directory is made with all that are missing above it.

use std::iter::successors;

use super::{NEW_DIRECTORY, failed, way, without_slashes};
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
    /// `EEXIST` for what is there and no directory, `ENOENT` for a `.` behind a missing name; else
    /// errors as [`mkdir`](Self::mkdir). What was made before an error stays; [`Error::path`] says
    /// where it was.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.create_dir_all("/usr/share/doc")?;
    /// context.create_dir_all("/usr/share/doc")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_dir_all(&self, path: impl AsPath) -> Result<(), Error> {
        let path = path.path_bytes();
        // An empty path, and the root by any spelling.
        if parent(path).is_none() {
            return Ok(());
        }
        if self.directory_at(path).map_err(failed("create_dir_all", path))?.is_some() {
            return Ok(());
        }
        let mut missing = vec![path];
        let mut ancestors = successors(parent(path), |path| parent(path));
        let mut dir = loop {
            let Some(ancestor) = ancestors.next() else { return Ok(()) };
            match way(self, ancestor) {
                Ok(handle) => break handle,
                Err(Errno::ENOENT) => missing.push(ancestor),
                Err(errno) => return Err(failed("create_dir_all", ancestor)(errno)),
            }
        };
        for path in missing.into_iter().rev() {
            dir = self.create_below(&dir, from_last(path)).map_err(failed("create_dir_all", path))?;
        }
        Ok(())
    }

    /// Returns the directory that a path leads to, or none where nothing is. Of something else,
    /// what `mkdir` would say.
    fn directory_at(&self, path: &[u8]) -> Result<Option<Handle>, Errno> {
        match self.lookup(path) {
            Ok(handle) if handle.kind() == FileType::Directory => Ok(Some(handle)),
            Ok(_) => Err(Errno::EEXIST),
            Err(Errno::ENOENT) => Ok(None),
            // Without its slashes it may be short enough.
            Err(errno) if path.len() > PATH_MAX => Err(errno),
            // A link that leads nowhere has the name all the same.
            Err(errno) => {
                let taken = self.lookup_at(At::Cwd, without_slashes(path), AtFlags::SYMLINK_NOFOLLOW).is_ok();
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

/// Returns a path without its last component; none for one without components. Slashes and `.` are
/// no components, but for a `.` at the beginning. Source: [`Path::parent`](std::path::Path::parent)
/// on Unix.
fn parent(path: &[u8]) -> Option<&[u8]> {
    let (way, _) = split(path)?;
    match components(way) {
        b"" if way.starts_with(b"/") => Some(b"/"),
        way => Some(way),
    }
}

/// Returns a path from its last component on, with the slashes and dots behind that.
fn from_last(path: &[u8]) -> &[u8] {
    split(path).map_or(path, |(way, _)| &path[way.len()..])
}

/// Splits a path in front of its last component; none for one without components.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let path = components(path);
    let begin = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    (!path.is_empty()).then(|| path.split_at(begin))
}

/// Returns a path up to its last component.
fn components(path: &[u8]) -> &[u8] {
    let mut path = without_slashes(path);
    while let Some(before) = path.strip_suffix(b"/.") {
        path = without_slashes(before);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All paths of up to eight of these bytes, beside the standard library's answer.
    #[cfg(unix)]
    #[test]
    fn parents_and_names_are_those_of_std() {
        use std::path::Path;

        use crate::text::os_str::{bytes_of, from_bytes_lossy};

        let most = if cfg!(miri) { 4 } else { 8 };
        let mut paths = vec![Vec::new()];
        for begin in 0.. {
            let Some(path) = paths.get(begin).cloned() else { break };
            let text = from_bytes_lossy(path.clone());
            let std = Path::new(&text);
            assert_eq!(parent(&path), std.parent().map(|path| bytes_of(path.as_os_str())), "{std:?}");
            if let Some(name) = std.file_name() {
                assert_eq!(components(from_last(&path)), bytes_of(name), "{std:?}");
                assert!(path.ends_with(from_last(&path)), "{std:?}");
            }
            if path.len() < most {
                paths.extend(b"a./".map(|byte| [&path[..], &[byte]].concat()));
            }
        }
        assert_eq!(paths.len(), (3usize.pow(most as u32 + 1) - 1) / 2);
    }

    #[test]
    fn a_backslash_is_a_byte_of_a_name() {
        assert_eq!((parent(br"C:\a/b\c"), from_last(br"C:\a/b\c")), (Some(&br"C:\a"[..]), &br"b\c"[..]));
    }
}
