//! The error of operations that are made of several: what was being done, to which path, and the
//! errno.
//!
//! An [`Errno`] is what one operation of the kernel's answers with. An operation that opens, reads
//! and closes says more: it is on a slow path, so it can afford to. An error is one word, so
//! `Result<(), Error>` is, too.
//!
//! What it does not do: it keeps no chain of causes. The errno is the cause.

use std::fmt;
use std::io;

use crate::Errno;

/// An error number, with the operation that failed and the path that it failed at.
///
/// It is shown as `read "/etc/motd": ENOENT (No such file or directory)`; a path has its bytes
/// escaped. It converts into [`Errno`], which loses the path, and into [`std::io::Error`], which
/// keeps the kind that the errno has there, and the message.
///
/// ```
/// use pathwalk::{Credentials, Errno, Vfs};
/// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let error = context.read("/etc/motd").unwrap_err();
/// assert_eq!(error.to_string(), r#"read "/etc/motd": ENOENT (No such file or directory)"#);
/// assert_eq!((error.errno(), error.path()), (Errno::ENOENT, &b"/etc/motd"[..]));
/// let message = error.to_string();
/// let error = std::io::Error::from(error);
/// assert_eq!((error.kind(), error.to_string()), (std::io::ErrorKind::NotFound, message));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```
/// use pathwalk::{Credentials, Errno, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.write("/a", "")?;
/// let error = context.rename("/a", "/no/b").unwrap_err();
/// assert_eq!((error.errno(), error.operation()), (Errno::ENOENT, "rename"));
/// assert_eq!((error.path(), error.to()), (&b"/a"[..], Some(&b"/no/b"[..])));
/// assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::NotFound);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    operation: &'static str,
    errno: Errno,
    path: Box<[u8]>,
    /// Of an operation on two paths: the second.
    to: Option<Box<[u8]>>,
}

impl Error {
    /// Returns the error of an operation on one path.
    #[cold]
    pub(crate) fn new(operation: &'static str, path: &[u8], errno: Errno) -> Error {
        Error(Box::new(Inner { operation, errno, path: path.into(), to: None }))
    }

    /// Returns the error of an operation on two paths.
    #[cold]
    pub(crate) fn of_two(operation: &'static str, path: &[u8], to: &[u8], errno: Errno) -> Error {
        Error(Box::new(Inner { operation, errno, path: path.into(), to: Some(to.into()) }))
    }

    /// Returns the number.
    pub fn errno(&self) -> Errno {
        self.0.errno
    }

    /// Returns the name of the operation, which is that of the method that was called.
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// Returns the path that it failed at. Of an operation on a whole tree, it is the path of the
    /// entry in it, which may be longer than a path may be; of one on two paths, the first.
    pub fn path(&self) -> &[u8] {
        &self.0.path
    }

    /// Returns the second path of an operation on two.
    pub fn to(&self) -> Option<&[u8]> {
        self.0.to.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { operation, errno, path, to } = &*self.0;
        write!(f, "{operation} \"{}\"", path.escape_ascii())?;
        if let Some(to) = to {
            write!(f, " to \"{}\"", to.escape_ascii())?;
        }
        write!(f, ": {errno}")
    }
}

/// As it is shown: what `unwrap` prints is read by people.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

impl From<Error> for Errno {
    fn from(error: Error) -> Errno {
        error.errno()
    }
}

/// With the kind that the errno has, and the whole message; the [`Error`] is what
/// [`io::Error::downcast`](std::io::Error::downcast) returns.
/// [`raw_os_error`](std::io::Error::raw_os_error) returns none.
impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match error.errno() {
            // The standard library has no kind for the number, but one for what it stands for.
            Errno::EILSEQ => io::ErrorKind::InvalidData,
            errno => io::Error::from(errno).kind(),
        };
        io::Error::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_a_word() {
        assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
    }

    #[test]
    fn paths_are_escaped_and_both_are_shown() {
        let error = Error::of_two("hard_link", b"a\n", b"\xff", Errno::EEXIST);
        assert_eq!(error.to_string(), r#"hard_link "a\n" to "\xff": EEXIST (File exists)"#);
        assert_eq!(format!("{error:?}"), error.to_string());
        assert_eq!((error.path(), error.to(), error.operation()), (&b"a\n"[..], Some(&b"\xff"[..]), "hard_link"));
    }

    #[test]
    fn an_error_of_the_standard_library_has_the_same_kind_and_message_and_gives_it_back() {
        for errno in [Errno::ENOENT, Errno::EIO, Errno::ENOTEMPTY, Errno::EINVAL, Errno::EPERM, Errno::from_raw(3000)] {
            let error = Error::new("read", b"/x", errno);
            let converted = io::Error::from(error.clone());
            assert_eq!(converted.kind(), io::Error::from(errno).kind());
            assert_eq!(converted.to_string(), error.to_string());
            assert_eq!(Errno::from(&converted), errno);
            assert_eq!(converted.downcast::<Error>().unwrap(), error);
            assert_eq!(Errno::from(error), errno);
        }
        let not_text = io::Error::from(Error::new("read_to_string", b"/x", Errno::EILSEQ));
        assert_eq!(not_text.kind(), io::ErrorKind::InvalidData);
    }
}
