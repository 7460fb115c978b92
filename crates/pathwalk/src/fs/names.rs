//! What the standard library calls operations that a [`Context`] has already, with errors that name
//! the path.

use std::path::PathBuf;

use super::mode::AsMode;
use super::{NEW_DIRECTORY, failed};
use crate::abi::{AtFlags, Resolve};
use crate::attr::Attributes;
use crate::context::{AsPath, At, Context};
use crate::errno::Errno;
use crate::error::Error;
use crate::limits::LINK_MAX;
use crate::node::RenameFlags;
use crate::permission::Access;
use crate::text::os_str;

/// # As in `std::fs`
///
/// Operations with the names and the meaning that they have there, on paths of this context. Their
/// [`Error`] names the operation and the path. Each consists of operations above, and has no power
/// that those have not.
///
/// [`File`](crate::File) and [`OpenOptions`](crate::OpenOptions) open as there. Of
/// `std::os::unix::fs`, [`symlink`](Self::symlink), [`chown`](Self::chown) and
/// [`lchown`](Self::lchown) are here with their names and arguments, and return an [`Errno`], as
/// operations with a name of Linux do.
impl Context {
    /// Returns the attributes of what a path leads to. Errors as [`stat`](Self::stat). Source:
    /// [`std::fs::metadata`].
    ///
    /// ```
    /// use pathwalk::{Credentials, FileType, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.mkdir("/usr", 0o755)?;
    /// # fs.symlink("usr", "/link")?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// assert_eq!(context.metadata("/link")?.kind, FileType::Directory);
    /// assert_eq!(context.symlink_metadata("/link")?.kind, FileType::Symlink);
    /// assert_eq!(context.canonicalize("/link/../link")?, std::path::Path::new("/usr"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn metadata(&self, path: impl AsPath) -> Result<Attributes, Error> {
        self.stat(&path).map_err(failed("metadata", path.path_bytes()))
    }

    /// Returns the attributes of what a path leads to, or of a link that it ends in. Errors as
    /// [`lstat`](Self::lstat). Source: [`std::fs::symlink_metadata`].
    ///
    /// [`metadata`](Self::metadata) has an example.
    pub fn symlink_metadata(&self, path: impl AsPath) -> Result<Attributes, Error> {
        self.lstat(&path).map_err(failed("symlink_metadata", path.path_bytes()))
    }

    /// Returns whether a path leads to something: not, if that is `ENOENT`. Any other error is one,
    /// since then it is not known. Errors as [`stat`](Self::stat). Source: [`std::fs::exists`].
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.symlink("nowhere", "/dangling")?;
    /// let context = Vfs::builder().build(fs)?.context(Credentials::root());
    /// assert!(context.exists("/")? && !context.exists("/dangling")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exists(&self, path: impl AsPath) -> Result<bool, Error> {
        match self.faccessat(At::Cwd, &path, Access::empty(), AtFlags::EACCESS) {
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
    /// `EILSEQ` on Windows, where a [`PathBuf`] is text, for a path that is not UTF-8;
    /// [`Handle::path`](crate::Handle::path) returns bytes. Source: [`std::fs::canonicalize`],
    /// `realpath(3)`.
    ///
    /// [`metadata`](Self::metadata) has an example.
    pub fn canonicalize(&self, path: impl AsPath) -> Result<PathBuf, Error> {
        let path = path.path_bytes();
        let found = self.path_below_root(path).and_then(os_str::from_bytes);
        found.map(PathBuf::from).map_err(failed("canonicalize", path))
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
    pub fn create_dir(&self, path: impl AsPath) -> Result<(), Error> {
        self.mkdir(&path, NEW_DIRECTORY).map_err(failed("create_dir", path.path_bytes()))
    }

    /// Removes a file, or what else is no directory; of a link, the link. Errors as
    /// [`unlink`](Self::unlink). Source: [`std::fs::remove_file`].
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.create_dir("/dir")?;
    /// context.write("/dir/file", "")?;
    /// assert!(context.remove_dir("/dir").is_err());
    /// context.remove_file("/dir/file")?;
    /// context.remove_dir("/dir")?;
    /// assert!(!context.exists("/dir")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_file(&self, path: impl AsPath) -> Result<(), Error> {
        self.unlink(&path).map_err(failed("remove_file", path.path_bytes()))
    }

    /// Removes an empty directory. Errors as [`rmdir`](Self::rmdir). Source:
    /// [`std::fs::remove_dir`].
    ///
    /// [`remove_file`](Self::remove_file) has an example.
    pub fn remove_dir(&self, path: impl AsPath) -> Result<(), Error> {
        self.rmdir(&path).map_err(failed("remove_dir", path.path_bytes()))
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
    pub fn hard_link(&self, original: impl AsPath, link: impl AsPath) -> Result<(), Error> {
        let linked = self.link(&original, &link);
        linked.map_err(|errno| Error::of_two("hard_link", original.path_bytes(), link.path_bytes(), errno))
    }

    /// Renames what has a name, and replaces what has the other, in one step; of a link, the link.
    /// Errors as [`renameat`](Self::renameat), without its flags. Source: [`std::fs::rename`].
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/a", "hello")?;
    /// context.rename("/a", "/b")?;
    /// assert!(context.exists("/b")? && !context.exists("/a")?);
    /// let error = context.rename("/a", "/c").unwrap_err();
    /// assert_eq!(error.to_string(), r#"rename "/a" to "/c": ENOENT (No such file or directory)"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rename(&self, from: impl AsPath, to: impl AsPath) -> Result<(), Error> {
        let renamed = self.renameat(At::Cwd, &from, At::Cwd, &to, RenameFlags::empty());
        renamed.map_err(|errno| Error::of_two("rename", from.path_bytes(), to.path_bytes(), errno))
    }

    /// Returns the body of a link. Errors as [`readlink`](Self::readlink), which returns bytes;
    /// `EILSEQ` on Windows, where a [`PathBuf`] is text, for a body that is not UTF-8. Cost: one
    /// allocation of 4095 bytes. Source: [`std::fs::read_link`].
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.symlink("/usr/bin", "/bin")?;
    /// assert_eq!(context.read_link("/bin")?, std::path::Path::new("/usr/bin"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_link(&self, path: impl AsPath) -> Result<PathBuf, Error> {
        let mut body = vec![0; LINK_MAX];
        let length = self.readlink(&path, &mut body).map_err(failed("read_link", path.path_bytes()))?;
        body.truncate(length);
        os_str::from_bytes(body).map(PathBuf::from).map_err(failed("read_link", path.path_bytes()))
    }

    /// Sets permission bits with suid, sgid and sticky, of what a path leads to: 0..=0o7777, others
    /// are ignored. They are given as a number or as the standard library's
    /// [`Permissions`](std::fs::Permissions). Errors as [`chmod`](Self::chmod). Source:
    /// [`std::fs::set_permissions`].
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/a", "hello")?;
    /// context.set_permissions("/a", 0o600)?;
    /// context.write("/b", "")?;
    /// context.set_permissions("/b", context.metadata("/a")?.permissions())?;
    /// assert_eq!(context.metadata("/b")?.mode, 0o600);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_permissions(&self, path: impl AsPath, permissions: impl AsMode) -> Result<(), Error> {
        self.chmod(&path, permissions.mode_bits()).map_err(failed("set_permissions", path.path_bytes()))
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
