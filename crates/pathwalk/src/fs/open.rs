//! Files opened as in the standard library.

use super::failed;
use crate::abi::{OpenFlags, OpenHow, Resolve};
use crate::context::{AsPath, At, Context};
use crate::errno::Errno;
use crate::error::Error;
use crate::file::File;

/// The options of an open, as [`std::fs::OpenOptions`], for
/// [`open`](Self::open) in a [`Context`]. None is set in new ones; a file that is made gets mode
/// 0666 before the umask.
///
/// ```
/// use std::io::Write;
///
/// use pathwalk::{Credentials, Errno, OpenOptions, Vfs};
/// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let mut log = OpenOptions::new().append(true).create(true).mode(0o600).open(&context, "/log")?;
/// writeln!(log, "begun")?;
/// assert_eq!((context.read_to_string("/log")?.as_str(), context.stat("/log")?.mode), ("begun\n", 0o600));
/// let new = OpenOptions::new().write(true).create_new(true).open(&context, "/log");
/// assert_eq!(new.unwrap_err().errno(), Errno::EEXIST);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    read: bool,
    write: bool,
    append: bool,
    truncate: bool,
    create: bool,
    create_new: bool,
    mode: u16,
    flags: OpenFlags,
    resolve: Resolve,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions::new()
    }
}

impl OpenOptions {
    /// Returns options of which none is set.
    pub fn new() -> OpenOptions {
        OpenOptions {
            read: false,
            write: false,
            append: false,
            truncate: false,
            create: false,
            create_new: false,
            mode: OpenHow::NEW_FILE,
            flags: OpenFlags::empty(),
            resolve: Resolve::empty(),
        }
    }

    /// Sets whether the file is read. Source: [`std::fs::OpenOptions::read`].
    ///
    /// [`open_at`](Self::open_at) has an example.
    pub fn read(&mut self, read: bool) -> &mut Self {
        self.read = read;
        self
    }

    /// Sets whether the file is written. Source: [`std::fs::OpenOptions::write`].
    pub fn write(&mut self, write: bool) -> &mut Self {
        self.write = write;
        self
    }

    /// Sets whether each write goes to the end of the file. Source:
    /// [`std::fs::OpenOptions::append`].
    pub fn append(&mut self, append: bool) -> &mut Self {
        self.append = append;
        self
    }

    /// Sets whether a regular file loses its contents. Requires `write`. Source:
    /// [`std::fs::OpenOptions::truncate`].
    ///
    /// [`open_at`](Self::open_at) has an example.
    pub fn truncate(&mut self, truncate: bool) -> &mut Self {
        self.truncate = truncate;
        self
    }

    /// Sets whether a file is made where there is none. Requires `write` or `append`. Source:
    /// [`std::fs::OpenOptions::create`].
    pub fn create(&mut self, create: bool) -> &mut Self {
        self.create = create;
        self
    }

    /// Sets whether a file is made, and must not exist before. `create` and `truncate` then have no
    /// effect. Requires `write` or `append`. Source: [`std::fs::OpenOptions::create_new`].
    pub fn create_new(&mut self, create_new: bool) -> &mut Self {
        self.create_new = create_new;
        self
    }

    /// Sets the permission bits of a file that is made, before the umask: 0..=0o7777. Source:
    /// `mode` in [`OpenOptionsExt`](std::os::unix::fs::OpenOptionsExt).
    pub fn mode(&mut self, mode: u16) -> &mut Self {
        self.mode = mode;
        self
    }

    /// Sets further flags, as `DIRECTORY` and `NOFOLLOW`, in place of those set before. Source:
    /// `custom_flags` in [`OpenOptionsExt`](std::os::unix::fs::OpenOptionsExt).
    ///
    /// [`open_at`](Self::open_at) has an example.
    pub fn custom_flags(&mut self, flags: OpenFlags) -> &mut Self {
        self.flags = flags;
        self
    }

    /// Sets the rules for the path. Source: `openat2(2)`.
    ///
    /// [`open_at`](Self::open_at) has an example.
    pub fn resolve(&mut self, resolve: Resolve) -> &mut Self {
        self.resolve = resolve;
        self
    }

    /// Opens a file. `EINVAL` for options that contradict each other: none of `read`, `write` and
    /// `append`; `truncate` with `append`; one that changes or makes the file without `write` or
    /// `append`. Else errors as [`Context::open`]. Source: [`std::fs::OpenOptions::open`].
    pub fn open(&self, context: &Context, path: impl AsPath) -> Result<File, Error> {
        self.open_at(context, At::Cwd, path)
    }

    /// Does the same as [`open`](Self::open) from a starting point.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, OpenFlags, OpenOptions, Resolve, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.create_dir("/data")?;
    /// context.symlink("log", "/data/link")?;
    /// let data = context.lookup("/data")?;
    /// let mut options = OpenOptions::new();
    /// options.read(true).write(true).create(true).truncate(true).mode(0o600);
    /// options.open_at(&context, &data, "log")?;
    /// options.custom_flags(OpenFlags::NOFOLLOW);
    /// assert_eq!(options.open_at(&context, &data, "link").unwrap_err().errno(), Errno::ELOOP);
    /// options.resolve(Resolve::BENEATH);
    /// assert_eq!(options.open_at(&context, &data, "../log").unwrap_err().errno(), Errno::EXDEV);
    /// assert_eq!(options.how()?.mode, 0o600);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_at<'a>(&self, context: &Context, at: impl Into<At<'a>>, path: impl AsPath) -> Result<File, Error> {
        let path = path.path_bytes();
        self.how().and_then(|how| context.openat(at, path, how)).map_err(failed("open", path))
    }

    /// Returns the parameters of the open with these options. `EINVAL` as [`open`](Self::open).
    ///
    /// [`open_at`](Self::open_at) has an example.
    pub fn how(&self) -> Result<OpenHow, Errno> {
        let writes = self.write || self.append;
        let makes = self.create || self.create_new;
        let truncates = self.truncate && !self.create_new;
        let aimless = !writes && (!self.read || makes || self.truncate);
        if aimless || (self.append && truncates) {
            return Err(Errno::EINVAL);
        }
        let chosen = [
            (self.read, OpenFlags::READ),
            (writes, OpenFlags::WRITE),
            (self.append, OpenFlags::APPEND),
            (makes, OpenFlags::CREATE),
            (self.create_new, OpenFlags::EXCLUSIVE),
            (truncates, OpenFlags::TRUNCATE),
        ];
        let chosen = chosen.into_iter().filter_map(|(set, flag)| set.then_some(flag));
        let flags = chosen.fold(self.flags, OpenFlags::union);
        let mode = if flags.intersects(OpenFlags::MAKE) { self.mode } else { 0 };
        Ok(OpenHow { flags, mode, resolve: self.resolve })
    }
}

/// # As in `std::fs`
///
/// [`std::fs::File`]'s constructors, with the [`Context`] as one more argument.
impl File {
    /// Opens a file for reading. Errors as [`Context::open`]. Source: [`std::fs::File::open`].
    ///
    /// ```
    /// use std::io::{Read, Write};
    ///
    /// use pathwalk::{Credentials, File, Vfs};
    /// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// write!(File::create(&context, "/motd")?, "hello")?;
    /// let mut text = String::new();
    /// File::open(&context, "/motd")?.read_to_string(&mut text)?;
    /// assert_eq!(text, "hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(context: &Context, path: impl AsPath) -> Result<File, Error> {
        OpenOptions::new().read(true).open(context, path)
    }

    /// Opens a file for writing, which is made or loses its contents. Errors as
    /// [`Context::open`]. Source: [`std::fs::File::create`].
    pub fn create(context: &Context, path: impl AsPath) -> Result<File, Error> {
        OpenOptions::new().write(true).create(true).truncate(true).open(context, path)
    }

    /// Makes a file, and opens it for reading and writing. `EEXIST` if the name exists; else errors
    /// as [`Context::open`]. Source: [`std::fs::File::create_new`].
    pub fn create_new(context: &Context, path: impl AsPath) -> Result<File, Error> {
        OpenOptions::new().read(true).write(true).create_new(true).open(context, path)
    }

    /// Returns new [`OpenOptions`]. Source: [`std::fs::File::options`].
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }
}
