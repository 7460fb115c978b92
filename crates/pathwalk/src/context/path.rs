//! What an operation takes as a path, and where that starts.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::file::File;
use crate::handle::Handle;
use crate::text::os_str::bytes_of;

/// The place where a relative path starts. An absolute path ignores it.
///
/// ```
/// use pathwalk::{At, AtFlags, Credentials, OpenFlags, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.create_dir_all("/a/b")?;
/// let handle = context.lookup("/a")?;
/// let file = context.open("/a", OpenFlags::READ)?;
/// context.lookup_at(At::Cwd, "a/b", AtFlags::empty())?;
/// context.lookup_at(&handle, "b", AtFlags::empty())?;
/// context.lookup_at(&file, "b", AtFlags::empty())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum At<'a> {
    /// `AT_FDCWD`: the context's working directory.
    Cwd,
    /// A handle: `ENOTDIR` if it is no directory and the path not empty, `EBADF` if it is of
    /// another `Vfs`.
    Handle(&'a Handle),
}

impl<'a> From<&'a Handle> for At<'a> {
    fn from(handle: &'a Handle) -> Self {
        At::Handle(handle)
    }
}

impl<'a> From<&'a File> for At<'a> {
    fn from(file: &'a File) -> Self {
        At::Handle(file.handle())
    }
}

/// A type that can be taken as a path: bytes, text, [`Path`] or [`CStr`]. Borrowed as it is;
/// nothing is copied.
///
/// A path is Linux's on every system: components are separated by `/` alone, and `\`, `:` and a
/// drive's letter are bytes of a name. So on Windows, [`Path::join`], which puts a `\` between,
/// makes no path of two components. The bytes of a [`Path`] or an [`OsStr`] are those that Unix and
/// WASI have for it. On Windows they are its text as UTF-8; what is not Unicode there (half of a
/// surrogate pair) has bytes that are no UTF-8, by which different names differ
/// ([`OsStr::as_encoded_bytes`]).
///
/// A [`Handle`] is not a path, but a place that was found before. [`Handle::attributes`] returns
/// what `stat` would:
///
/// ```compile_fail,E0277
/// # let vfs = pathwalk::Vfs::builder().build(pathwalk_memfs::MemFs::new()).unwrap();
/// # let context = vfs.context(pathwalk::Credentials::root());
/// let handle = context.lookup("/").unwrap();
/// let attributes = context.stat(&handle);
/// ```
///
/// ```
/// # use pathwalk::{AtFlags, Errno};
/// # let vfs = pathwalk::Vfs::builder().build(pathwalk_memfs::MemFs::new()).unwrap();
/// # let context = vfs.context(pathwalk::Credentials::root());
/// let handle = context.lookup("/")?;
/// let attributes = handle.attributes()?;
/// assert_eq!(context.fstatat(&handle, "", AtFlags::EMPTY_PATH), Ok(attributes));
/// assert_eq!(context.fstatat(&handle, "below", AtFlags::empty()), Err(Errno::ENOENT));
/// # Ok::<(), Errno>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a path",
    label = "not a path: bytes, text, a `Path` or a `CStr` is one",
    note = "for a `Handle`, `handle.attributes()` returns what `stat` would",
    note = "a path that starts at a handle stands beside it: `context.fstatat(&handle, \"name\", AtFlags::empty())`; \
            with `\"\"` and `AtFlags::EMPTY_PATH`, an operation is on the handle itself"
)]
pub trait AsPath {
    /// Returns the bytes, without a terminating NUL.
    fn path_bytes(&self) -> &[u8];
}

macro_rules! as_path {
    ($($type:ty => |$this:ident| $bytes:expr;)*) => {
        $(impl AsPath for $type {
            #[inline(always)]
            fn path_bytes(&self) -> &[u8] {
                let $this = self;
                $bytes
            }
        })*
    };
}

as_path! {
    [u8] => |this| this;
    Vec<u8> => |this| this;
    str => |this| this.as_bytes();
    String => |this| this.as_bytes();
    OsStr => |this| bytes_of(this);
    OsString => |this| bytes_of(this);
    Path => |this| bytes_of(this.as_os_str());
    PathBuf => |this| bytes_of(this.as_os_str());
    CStr => |this| this.to_bytes();
    CString => |this| this.to_bytes();
}

impl<const N: usize> AsPath for [u8; N] {
    #[inline(always)]
    fn path_bytes(&self) -> &[u8] {
        self
    }
}

impl<T: AsPath + ?Sized> AsPath for &T {
    #[inline(always)]
    fn path_bytes(&self) -> &[u8] {
        (**self).path_bytes()
    }
}

impl<T: AsPath + ToOwned + ?Sized> AsPath for Cow<'_, T> {
    #[inline(always)]
    fn path_bytes(&self) -> &[u8] {
        (**self).path_bytes()
    }
}

impl<T: AsPath + ?Sized> AsPath for Box<T> {
    #[inline(always)]
    fn path_bytes(&self) -> &[u8] {
        (**self).path_bytes()
    }
}
