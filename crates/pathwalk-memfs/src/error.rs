//! The errors of building a tree.

use pathwalk::Errno;

/// A failed operation on a path: the operation, the path, and the errno.
///
/// ```
/// use pathwalk::Errno;
/// use pathwalk_memfs::MemFs;
/// let error = MemFs::new().file("/no/file", 0o644).unwrap_err();
/// assert_eq!((error.errno(), error.path()), (Errno::ENOENT, &b"/no/file"[..]));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cannot {action} \"{}\": {errno}{}", path.escape_ascii(), hint(*errno))]
pub struct Error {
    action: &'static str,
    path: Vec<u8>,
    errno: Errno,
}

impl Error {
    pub(crate) fn new(action: &'static str, path: &[u8], errno: Errno) -> Error {
        Error { action, path: path.to_vec(), errno }
    }

    /// Returns the cause of the error, as a number.
    pub fn errno(&self) -> Errno {
        self.errno
    }

    /// Returns the path, as it was given.
    pub fn path(&self) -> &[u8] {
        &self.path
    }
}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        std::io::Error::new(std::io::Error::from(error.errno).kind(), error)
    }
}

/// Returns a hint on how to avoid the error.
fn hint(errno: Errno) -> &'static str {
    match errno {
        Errno::ENOENT => "; the directories above it must be there, mkdir_all makes them",
        Errno::ENOTDIR => "; something on the way is no directory, and links are not followed here",
        Errno::EEXIST => "; remove what is there first",
        Errno::ENOTEMPTY => "; remove takes away a directory with all that is in it",
        Errno::EINVAL => "; see the method's documentation for what it takes, and mind that .. is no name here",
        Errno::ENAMETOOLONG => "; a name has at most 255 bytes, a link body 4095",
        Errno::ENOSPC => "; remove something, or construct with greater Options::max_bytes and max_nodes",
        Errno::EDQUOT => "; remove something of the same owner, or give it more by MemFs::set_quota",
        Errno::EFBIG => "; a file ends at i64::MAX at the latest",
        _ => "",
    }
}
