//! Error numbers and the standard library's errors and their kinds.
//!
//! What is always true: a number becomes an [`io::Error`] and back; a kind that some number has
//! becomes such a number, whose kind it is again. Where the system's numbers are Linux's, the
//! standard library's own table is asked. Elsewhere that table is for other numbers, and
//! [`Errno::stable_kind`] is asked; a test on Linux holds it against the standard library's.

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
    ///
    /// It is the same on every system, but for numbers whose kinds the standard library has not
    /// made stable, such as `ELOOP` and `EINPROGRESS`: where the system's numbers are not Linux's,
    /// they have the kind of all numbers that have none.
    pub fn kind(self) -> ErrorKind {
        if NUMBERS_OF_LINUX { self.of_system().kind() } else { self.stable_kind().unwrap_or_else(no_kind) }
    }

    fn of_system(self) -> io::Error {
        io::Error::from_raw_os_error(self.raw())
    }

    /// Returns the kind that the standard library has for this number on Linux, if it is stable.
    fn stable_kind(self) -> Option<ErrorKind> {
        Some(match self {
            Errno::EPERM | Errno::EACCES => ErrorKind::PermissionDenied,
            Errno::ENOENT => ErrorKind::NotFound,
            Errno::EINTR => ErrorKind::Interrupted,
            Errno::E2BIG => ErrorKind::ArgumentListTooLong,
            Errno::EAGAIN => ErrorKind::WouldBlock,
            Errno::ENOMEM => ErrorKind::OutOfMemory,
            Errno::EBUSY => ErrorKind::ResourceBusy,
            Errno::EEXIST => ErrorKind::AlreadyExists,
            Errno::EXDEV => ErrorKind::CrossesDevices,
            Errno::ENOTDIR => ErrorKind::NotADirectory,
            Errno::EISDIR => ErrorKind::IsADirectory,
            Errno::EINVAL => ErrorKind::InvalidInput,
            Errno::ETXTBSY => ErrorKind::ExecutableFileBusy,
            Errno::EFBIG => ErrorKind::FileTooLarge,
            Errno::ENOSPC => ErrorKind::StorageFull,
            Errno::ESPIPE => ErrorKind::NotSeekable,
            Errno::EROFS => ErrorKind::ReadOnlyFilesystem,
            Errno::EMLINK => ErrorKind::TooManyLinks,
            Errno::EPIPE => ErrorKind::BrokenPipe,
            Errno::EDEADLK => ErrorKind::Deadlock,
            Errno::ENAMETOOLONG => ErrorKind::InvalidFilename,
            Errno::ENOTEMPTY => ErrorKind::DirectoryNotEmpty,
            Errno::ENOSYS | Errno::EOPNOTSUPP => ErrorKind::Unsupported,
            Errno::EADDRINUSE => ErrorKind::AddrInUse,
            Errno::EADDRNOTAVAIL => ErrorKind::AddrNotAvailable,
            Errno::ENETDOWN => ErrorKind::NetworkDown,
            Errno::ENETUNREACH => ErrorKind::NetworkUnreachable,
            Errno::ECONNABORTED => ErrorKind::ConnectionAborted,
            Errno::ECONNRESET => ErrorKind::ConnectionReset,
            Errno::ENOTCONN => ErrorKind::NotConnected,
            Errno::ETIMEDOUT => ErrorKind::TimedOut,
            Errno::ECONNREFUSED => ErrorKind::ConnectionRefused,
            Errno::EHOSTUNREACH => ErrorKind::HostUnreachable,
            Errno::ESTALE => ErrorKind::StaleNetworkFileHandle,
            Errno::EDQUOT => ErrorKind::QuotaExceeded,
            _ => return None,
        })
    }
}

/// Whether the numbers of the system's errors are those of an [`Errno`]. Linux has others on MIPS
/// and SPARC.
const NUMBERS_OF_LINUX: bool = cfg!(all(
    any(target_os = "linux", target_os = "android"),
    not(any(
        target_arch = "mips",
        target_arch = "mips32r6",
        target_arch = "mips64",
        target_arch = "mips64r6",
        target_arch = "sparc",
        target_arch = "sparc64"
    ))
));

/// Returns the kind of numbers for which the standard library has none. It cannot be named; the
/// last number of Linux's range has it, because no system has an error with that number.
fn no_kind() -> ErrorKind {
    Errno::from_raw(4095).of_system().kind()
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
            unknown if unknown == no_kind() => Errno::EIO,
            kind => Errno::NAMED.iter().copied().find(|errno| errno.kind() == kind).unwrap_or(Errno::EIO),
        }
    }
}

/// With the [kind](Errno::kind) of the number. On Linux it is an error of the system, with the number
/// as its [`raw_os_error`](io::Error::raw_os_error). Elsewhere the system's numbers are others: the
/// error has no such number, but the [`Errno`] inside, which is what
/// [`io::Error::downcast`](io::Error::downcast) returns. Back it is the same number on every system.
impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        if NUMBERS_OF_LINUX { errno.of_system() } else { io::Error::new(errno.kind(), errno) }
    }
}

/// Returns the number in an error of the system on Linux, or in an error that was made of an
/// [`Errno`] or an [`Error`](crate::Error), as by [`io::Error::other`]; of another error, the number
/// of its kind. An error of another system has other numbers, so it has the number of its kind.
///
/// ```
/// use std::io::{Error, ErrorKind};
///
/// use pathwalk::Errno;
///
/// # #[cfg(target_os = "linux")]
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
        let of_system = error.raw_os_error().filter(|_| NUMBERS_OF_LINUX).map(Errno::from_raw);
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

    /// Checks the table that other systems have. A later standard library may have kinds that
    /// [`KINDS`] has not; the table has none for their numbers.
    #[test]
    fn the_table_is_that_of_std_on_linux() {
        let stable = |kind: &ErrorKind| KINDS.iter().any(|(known, _)| known == kind);
        for errno in (1..4096).map(Errno::from_raw).filter(|_| NUMBERS_OF_LINUX) {
            assert_eq!(errno.stable_kind(), Some(errno.of_system().kind()).filter(stable), "{errno:?}");
        }
    }

    /// An error of a system whose numbers are others is known by its kind.
    #[test]
    #[cfg_attr(miri, ignore = "there is no file system there")]
    fn an_error_of_this_system_has_the_number_of_its_kind() {
        let error = std::fs::metadata("/no/such/file").unwrap_err();
        assert_eq!((error.kind(), Errno::from(error)), (ErrorKind::NotFound, Errno::ENOENT));
    }

    /// Of kinds without a stable name, too. A later standard library may have a kind for `EIO`,
    /// which is then not that of all numbers that have none.
    #[test]
    fn the_kind_of_every_number_comes_back() {
        let of_none = Errno::ENOTTY.kind();
        for errno in (1..4096).map(Errno::from_raw) {
            let back = Errno::from(errno.kind());
            assert!(if errno.kind() == of_none { back == Errno::EIO } else { back.kind() == errno.kind() }, "{errno:?}");
        }
        assert_eq!(Errno::from(Errno::ELOOP.kind()), if NUMBERS_OF_LINUX { Errno::ELOOP } else { Errno::EIO });
    }

    #[test]
    fn every_number_survives_an_error_of_std() {
        for raw in 1..4096 {
            let errno = Errno::from_raw(raw);
            let error = io::Error::from(errno);
            assert_eq!((errno.raw(), error.kind()), (raw, errno.kind()));
            assert_eq!(error.raw_os_error(), NUMBERS_OF_LINUX.then_some(raw));
            assert_eq!(Errno::from(error), errno);
            assert_eq!(Errno::from(io::Error::other(errno)), errno);
        }
    }
}
