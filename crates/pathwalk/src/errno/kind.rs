//! Error numbers and the standard library's errors and their kinds.
//!
//! What is always true: a number becomes an [`io::Error`] with the same number and back; a kind
//! that the standard library has for some number becomes such a number, whose kind it is again. The
//! standard library's own table is asked, so there is no second one here.

use std::io::{self, ErrorKind};

use super::Errno;

impl Errno {
    /// Returns the kind that the standard library has for this number, as [`io::Error::kind`] of an
    /// error with it.
    ///
    /// ```
    /// use std::io::ErrorKind;
    ///
    /// use pathwalk::Errno;
    ///
    /// assert_eq!(Errno::ENOENT.kind(), ErrorKind::NotFound);
    /// assert_eq!((Errno::EPERM.kind(), Errno::EACCES.kind()), (ErrorKind::PermissionDenied, ErrorKind::PermissionDenied));
    /// ```
    pub fn kind(self) -> ErrorKind {
        io::Error::from(self).kind()
    }
}

/// As [`Errno::kind`].
impl From<Errno> for ErrorKind {
    fn from(errno: Errno) -> ErrorKind {
        errno.kind()
    }
}

/// The number of errors of this kind. Of several it is `EACCES` for
/// [`PermissionDenied`](ErrorKind::PermissionDenied) and `EOPNOTSUPP` for
/// [`Unsupported`](ErrorKind::Unsupported). `EIO` for a kind that no number has, such as
/// [`InvalidData`](ErrorKind::InvalidData), [`UnexpectedEof`](ErrorKind::UnexpectedEof) and
/// [`Other`](ErrorKind::Other).
///
/// ```
/// use std::io::ErrorKind;
///
/// use pathwalk::Errno;
///
/// assert_eq!(Errno::from(ErrorKind::AlreadyExists), Errno::EEXIST);
/// assert_eq!(Errno::from(ErrorKind::Other), Errno::EIO);
/// ```
impl From<ErrorKind> for Errno {
    fn from(kind: ErrorKind) -> Errno {
        match kind {
            ErrorKind::PermissionDenied => Errno::EACCES,
            ErrorKind::Unsupported => Errno::EOPNOTSUPP,
            // The kind of numbers for which the standard library has none. It cannot be named; the
            // last number of Linux's range has it, because no error has that number.
            unknown if unknown == Errno::from_raw(4095).kind() => Errno::EIO,
            kind => Errno::NAMED.iter().copied().find(|errno| errno.kind() == kind).unwrap_or(Errno::EIO),
        }
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        io::Error::from_raw_os_error(errno.raw())
    }
}

/// Returns the number in an error of the system, or in one that was made of an [`Errno`] or an
/// [`Error`](crate::Error), as by [`io::Error::other`]; of another error, the number of its kind.
///
/// ```
/// use std::io::{Error, ErrorKind};
///
/// use pathwalk::Errno;
///
/// assert_eq!(Errno::from(&Error::from_raw_os_error(122)), Errno::EDQUOT);
/// assert_eq!(Errno::from(&Error::other(Errno::EDQUOT)), Errno::EDQUOT);
/// assert_eq!(Errno::from(&Error::new(ErrorKind::NotFound, "no such user")), Errno::ENOENT);
/// ```
impl From<&io::Error> for Errno {
    fn from(error: &io::Error) -> Self {
        let of = |inner: &(dyn std::error::Error + Send + Sync + 'static)| {
            let named = inner.downcast_ref::<crate::error::Error>().map(crate::error::Error::errno);
            named.or_else(|| inner.downcast_ref::<Errno>().copied())
        };
        let inside = || error.get_ref().and_then(of);
        let of_system = error.raw_os_error().map(Errno::from_raw);
        of_system.or_else(inside).unwrap_or_else(|| Errno::from(error.kind()))
    }
}

/// As from a reference to the error.
impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        Errno::from(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every stable kind, and the number that errors of it have; none where Linux has no such
    /// error.
    const KINDS: [(ErrorKind, Option<Errno>); 39] = [
        (ErrorKind::NotFound, Some(Errno::ENOENT)),
        (ErrorKind::PermissionDenied, Some(Errno::EACCES)),
        (ErrorKind::ConnectionRefused, Some(Errno::ECONNREFUSED)),
        (ErrorKind::ConnectionReset, Some(Errno::ECONNRESET)),
        (ErrorKind::HostUnreachable, Some(Errno::EHOSTUNREACH)),
        (ErrorKind::NetworkUnreachable, Some(Errno::ENETUNREACH)),
        (ErrorKind::ConnectionAborted, Some(Errno::ECONNABORTED)),
        (ErrorKind::NotConnected, Some(Errno::ENOTCONN)),
        (ErrorKind::AddrInUse, Some(Errno::EADDRINUSE)),
        (ErrorKind::AddrNotAvailable, Some(Errno::EADDRNOTAVAIL)),
        (ErrorKind::NetworkDown, Some(Errno::ENETDOWN)),
        (ErrorKind::BrokenPipe, Some(Errno::EPIPE)),
        (ErrorKind::AlreadyExists, Some(Errno::EEXIST)),
        (ErrorKind::WouldBlock, Some(Errno::EAGAIN)),
        (ErrorKind::NotADirectory, Some(Errno::ENOTDIR)),
        (ErrorKind::IsADirectory, Some(Errno::EISDIR)),
        (ErrorKind::DirectoryNotEmpty, Some(Errno::ENOTEMPTY)),
        (ErrorKind::ReadOnlyFilesystem, Some(Errno::EROFS)),
        (ErrorKind::StaleNetworkFileHandle, Some(Errno::ESTALE)),
        (ErrorKind::InvalidInput, Some(Errno::EINVAL)),
        (ErrorKind::InvalidData, None),
        (ErrorKind::TimedOut, Some(Errno::ETIMEDOUT)),
        (ErrorKind::WriteZero, None),
        (ErrorKind::StorageFull, Some(Errno::ENOSPC)),
        (ErrorKind::NotSeekable, Some(Errno::ESPIPE)),
        (ErrorKind::QuotaExceeded, Some(Errno::EDQUOT)),
        (ErrorKind::FileTooLarge, Some(Errno::EFBIG)),
        (ErrorKind::ResourceBusy, Some(Errno::EBUSY)),
        (ErrorKind::ExecutableFileBusy, Some(Errno::ETXTBSY)),
        (ErrorKind::Deadlock, Some(Errno::EDEADLK)),
        (ErrorKind::CrossesDevices, Some(Errno::EXDEV)),
        (ErrorKind::TooManyLinks, Some(Errno::EMLINK)),
        (ErrorKind::InvalidFilename, Some(Errno::ENAMETOOLONG)),
        (ErrorKind::ArgumentListTooLong, Some(Errno::E2BIG)),
        (ErrorKind::Interrupted, Some(Errno::EINTR)),
        (ErrorKind::Unsupported, Some(Errno::EOPNOTSUPP)),
        (ErrorKind::UnexpectedEof, None),
        (ErrorKind::OutOfMemory, Some(Errno::ENOMEM)),
        (ErrorKind::Other, None),
    ];

    #[test]
    fn kinds_become_numbers_and_come_back() {
        for (kind, errno) in KINDS {
            assert_eq!(Errno::from(kind), errno.unwrap_or(Errno::EIO), "{kind:?}");
            assert_eq!(Errno::from(io::Error::from(kind)), Errno::from(kind), "{kind:?}, as an error without text");
            assert_eq!(Errno::from(io::Error::new(kind, "text")), Errno::from(kind), "{kind:?}, as an error with text");
            if let Some(errno) = errno {
                assert_eq!((errno.kind(), ErrorKind::from(errno)), (kind, kind));
            }
        }
    }

    /// Of kinds without a stable name, too.
    #[test]
    fn the_kind_of_every_number_comes_back() {
        for errno in (1..4096).map(Errno::from_raw) {
            assert_eq!(Errno::from(errno.kind()).kind(), errno.kind(), "{errno:?}");
        }
        assert_eq!(Errno::from(Errno::ELOOP.kind()), Errno::ELOOP);
        assert_eq!(Errno::from(Errno::ENOTTY.kind()), Errno::EIO, "a kind of all that have none");
    }

    #[test]
    fn every_number_survives_an_error_of_std() {
        for raw in 1..4096 {
            let errno = Errno::from_raw(raw);
            assert_eq!((errno.raw(), io::Error::from(errno).raw_os_error()), (raw, Some(raw)));
            assert_eq!(Errno::from(io::Error::from(errno)), errno);
            assert_eq!(Errno::from(io::Error::other(errno)), errno);
        }
    }
}
