//! What the standard library calls operations that a [`Context`] has already, with errors that name
//! the path.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::{NEW_DIRECTORY, failed};
use crate::abi::{AtFlags, LinkFlags, Resolve};
use crate::attr::Attributes;
use crate::context::{AsPath, At, Context};
use crate::errno::Errno;
use crate::error::Error;
use crate::permission::Access;

/// # As in `std::fs`
///
/// Operations with the names and the meaning that they have there, on paths of this context. Their
/// [`Error`] names the operation and the path. Each consists of operations above, and has no power
/// that those have not.
///
/// [`rename`](Self::rename) and [`read_link`](Self::read_link) have other signatures here, and so
/// have [`symlink`](Self::symlink), [`chown`](Self::chown) and [`chroot`](Self::chroot) of
/// `std::os::unix::fs`.
impl Context {
    /// Returns the attributes of what a path leads to. Errors as [`stat`](Self::stat). Source:
    /// [`std::fs::metadata`].
    ///
    /// ```
    /// use pathwalk::{Credentials, FileType, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.mkdir("/usr", 0o755)?;
    /// # fs.symlink("/link", "usr")?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// assert_eq!(context.metadata("/link")?.kind, FileType::Directory);
    /// assert_eq!(context.symlink_metadata("/link")?.kind, FileType::Symlink);
    /// assert_eq!(context.canonicalize("/link/../link")?, std::path::Path::new("/usr"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metadata<P: AsPath + ?Sized>(&self, path: &P) -> Result<Attributes, Error> {
        self.stat(path).map_err(failed("metadata", path.path_bytes()))
    }

    /// Returns the attributes of what a path leads to, or of a link that it ends in. Errors as
    /// [`lstat`](Self::lstat). Source: [`std::fs::symlink_metadata`].
    pub fn symlink_metadata<P: AsPath + ?Sized>(&self, path: &P) -> Result<Attributes, Error> {
        self.lstat(path).map_err(failed("symlink_metadata", path.path_bytes()))
    }

    /// Returns whether a path leads to something: not, if that is `ENOENT`. Any other error is one,
    /// since then it is not known. Errors as [`stat`](Self::stat). Source: [`std::fs::exists`].
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.symlink("/dangling", "nowhere")?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// assert!(context.exists("/")? && !context.exists("/dangling")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exists<P: AsPath + ?Sized>(&self, path: &P) -> Result<bool, Error> {
        match self.faccessat(At::Cwd, path, Access::empty(), AtFlags::EACCESS) {
            Ok(()) => Ok(true),
            Err(Errno::ENOENT) => Ok(false),
            Err(errno) => Err(Error::new("exists", path.path_bytes(), errno)),
        }
    }

    /// Returns the path of what a path leads to: from the root of the context, without links, `.`
    /// and `..`. Under [`IN_ROOT`](Resolve::IN_ROOT), from the working directory, which is the root
    /// there.
    ///
    /// `ENOENT` if it was removed, or is not below that root; else errors as
    /// [`lookup`](Self::lookup). Another moment, another answer: for messages, not for decisions.
    /// Source: [`std::fs::canonicalize`], `realpath(3)`.
    pub fn canonicalize<P: AsPath + ?Sized>(&self, path: &P) -> Result<PathBuf, Error> {
        let path = path.path_bytes();
        self.path_below_root(path).map(|path| OsString::from_vec(path).into()).map_err(failed("canonicalize", path))
    }

    fn path_below_root(&self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        let handle = self.lookup(path)?;
        let root = if self.resolve().contains(Resolve::IN_ROOT) { self.cwd() } else { self.root() };
        let mut before = root.path()?;
        loop {
            let path = handle.path()?;
            let after = root.path()?;
            if before == after {
                return below(&before, path).ok_or(Errno::ENOENT);
            }
            // The root was moved in between, so the two paths may not fit.
            before = after;
        }
    }

    /// Makes a directory with mode 0777 before the umask. Errors as [`mkdir`](Self::mkdir). Source:
    /// [`std::fs::create_dir`].
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.create_dir("/new")?;
    /// context.write("/new/file", "")?;
    /// assert_eq!(context.remove_dir("/new").unwrap_err().errno(), Errno::ENOTEMPTY);
    /// context.remove_file("/new/file")?;
    /// context.remove_dir("/new")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_dir<P: AsPath + ?Sized>(&self, path: &P) -> Result<(), Error> {
        self.mkdir(At::Cwd, path, NEW_DIRECTORY).map_err(failed("create_dir", path.path_bytes()))
    }

    /// Removes a file, or what else is no directory; of a link, the link. Errors as
    /// [`unlink`](Self::unlink). Source: [`std::fs::remove_file`].
    pub fn remove_file<P: AsPath + ?Sized>(&self, path: &P) -> Result<(), Error> {
        self.unlink(At::Cwd, path).map_err(failed("remove_file", path.path_bytes()))
    }

    /// Removes an empty directory. Errors as [`rmdir`](Self::rmdir). Source:
    /// [`std::fs::remove_dir`].
    pub fn remove_dir<P: AsPath + ?Sized>(&self, path: &P) -> Result<(), Error> {
        self.rmdir(At::Cwd, path).map_err(failed("remove_dir", path.path_bytes()))
    }

    /// Gives a file another name; of a link, the link. Errors as [`link`](Self::link). Source:
    /// [`std::fs::hard_link`].
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/a", "hello")?;
    /// context.hard_link("/a", "/b")?;
    /// assert_eq!(context.metadata("/b")?.nlink, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hard_link<P: AsPath + ?Sized, Q: AsPath + ?Sized>(&self, original: &P, link: &Q) -> Result<(), Error> {
        let linked = self.link(At::Cwd, original, At::Cwd, link, LinkFlags::empty());
        linked.map_err(|errno| Error::of_two("hard_link", original.path_bytes(), link.path_bytes(), errno))
    }

    /// Sets permission bits with suid, sgid and sticky, of what a path leads to: 0..=0o7777, others
    /// are ignored. Errors as [`chmod`](Self::chmod). Source: [`std::fs::set_permissions`].
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/a", "hello")?;
    /// context.set_permissions("/a", 0o600)?;
    /// assert_eq!(context.metadata("/a")?.mode, 0o600);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_permissions<P: AsPath + ?Sized>(&self, path: &P, mode: u16) -> Result<(), Error> {
        self.chmod(At::Cwd, path, mode, AtFlags::empty()).map_err(failed("set_permissions", path.path_bytes()))
    }
}

/// Returns a path from a root on, or none if it is not below that.
fn below(root: &[u8], path: Vec<u8>) -> Option<Vec<u8>> {
    match path.strip_prefix(root)? {
        _ if root == b"/" => Some(path),
        b"" => Some(b"/".into()),
        rest => rest.starts_with(b"/").then(|| rest.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::below;

    #[test]
    fn a_path_begins_at_the_root() {
        let cases = [
            ("/", "/", Some("/")),
            ("/", "/a/b", Some("/a/b")),
            ("/a", "/a", Some("/")),
            ("/a", "/a/b", Some("/b")),
            ("/a", "/ab", None),
            ("/a", "/b", None),
        ];
        for (root, path, want) in cases {
            assert_eq!(below(root.as_bytes(), path.into()), want.map(Into::into), "{path} in {root}");
        }
    }
}
