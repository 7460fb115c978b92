//! The error numbers that a lookup answers with.
//!
//! An [`Errno`] is two bytes, so that `Result<(), Errno>` travels in a register: the hot path returns a bare number and
//! no text. It does not say what was being done to what; the slow paths that can fail in other ways have errors of
//! their own.

use std::num::NonZeroU16;

/// An error number with Linux's value and name.
///
/// Converts into [`std::io::Error`] with the same raw value. Source: `errno(3)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Errno(NonZeroU16);

macro_rules! errnos {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        impl Errno {
            $(#[doc = $text] pub const $name: Errno = Errno(NonZeroU16::new($value).unwrap());)*

            /// The symbolic name, such as `"ENOENT"`, or `None` for a number this library never makes itself.
            pub const fn name(self) -> Option<&'static str> {
                match self.0.get() { $($value => Some(stringify!($name)),)* _ => None }
            }

            const fn text(self) -> &'static str {
                match self.0.get() { $($value => $text,)* _ => "unknown error" }
            }
        }
    };
}

errnos! {
    EPERM = 1, "Operation not permitted";
    ENOENT = 2, "No such file or directory";
    EINTR = 4, "Interrupted system call";
    EIO = 5, "Input/output error";
    ENXIO = 6, "No such device or address";
    EBADF = 9, "Bad file descriptor";
    EAGAIN = 11, "Resource temporarily unavailable";
    ENOMEM = 12, "Cannot allocate memory";
    EACCES = 13, "Permission denied";
    EBUSY = 16, "Device or resource busy";
    EEXIST = 17, "File exists";
    EXDEV = 18, "Invalid cross-device link";
    ENODEV = 19, "No such device";
    ENOTDIR = 20, "Not a directory";
    EISDIR = 21, "Is a directory";
    EINVAL = 22, "Invalid argument";
    ENFILE = 23, "Too many open files in system";
    EMFILE = 24, "Too many open files";
    EFBIG = 27, "File too large";
    ENOSPC = 28, "No space left on device";
    EROFS = 30, "Read-only file system";
    EMLINK = 31, "Too many links";
    ERANGE = 34, "Numerical result out of range";
    ENAMETOOLONG = 36, "File name too long";
    ENOSYS = 38, "Function not implemented";
    ENOTEMPTY = 39, "Directory not empty";
    ELOOP = 40, "Too many levels of symbolic links";
    ENODATA = 61, "No data available";
    ETIME = 62, "Timer expired";
    EOVERFLOW = 75, "Value too large for defined data type";
    EOPNOTSUPP = 95, "Operation not supported";
    EALREADY = 114, "Operation already in progress";
    ESTALE = 116, "Stale file handle";
    ECANCELED = 125, "Operation canceled";
}

impl Errno {
    /// The error with this raw value; `EIO` for values outside 1..=4095, which no system call returns.
    pub const fn from_raw(raw: i32) -> Errno {
        if raw > 0
            && raw < 4096
            && let Some(value) = NonZeroU16::new(raw as u16)
        {
            Errno(value)
        } else {
            Errno::EIO
        }
    }

    /// The raw value, 1..=4095.
    pub const fn raw(self) -> i32 {
        self.0.get() as i32
    }
}

impl std::fmt::Debug for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "Errno({})", self.0),
        }
    }
}

impl std::fmt::Display for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.text()),
            None => write!(f, "errno {}", self.0),
        }
    }
}

impl std::error::Error for Errno {}

impl From<Errno> for std::io::Error {
    fn from(errno: Errno) -> Self {
        std::io::Error::from_raw_os_error(errno.raw())
    }
}

/// The number in an error of the system; `EIO` for one that has none.
impl From<&std::io::Error> for Errno {
    fn from(error: &std::io::Error) -> Self {
        error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
    }
}

/// The number in an error of the system; `EIO` for one that has none.
impl From<std::io::Error> for Errno {
    fn from(error: std::io::Error) -> Self {
        Errno::from(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_a_register() {
        assert_eq!(size_of::<Result<(), Errno>>(), 2);
    }

    #[test]
    fn raw_values_survive_and_nonsense_is_eio() {
        assert_eq!(Errno::from_raw(40), Errno::ELOOP);
        assert_eq!(Errno::from_raw(0), Errno::EIO);
        assert_eq!(Errno::from_raw(-2), Errno::EIO);
        assert_eq!(Errno::from_raw(i32::MAX), Errno::EIO);
        assert_eq!(std::io::Error::from(Errno::ENOENT).kind(), std::io::ErrorKind::NotFound);
        assert_eq!(format!("{} {:?}", Errno::ENOENT, Errno::from_raw(200)), "ENOENT (No such file or directory) Errno(200)");
    }
}
