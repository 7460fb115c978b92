//! What the standard library's metadata and file types have, by the same names.
//!
//! What it does not do: it adds nothing to what the fields tell. A result is one where the standard
//! library has one, so that a call reads the same.

#[cfg(unix)]
use std::{io, time::SystemTime};

use super::{Attributes, FileType};

impl FileType {
    /// Returns whether it is a directory.
    pub const fn is_dir(self) -> bool {
        matches!(self, FileType::Directory)
    }

    /// Returns whether it is a regular file.
    pub const fn is_file(self) -> bool {
        matches!(self, FileType::Regular)
    }

    /// Returns whether it is a symbolic link.
    pub const fn is_symlink(self) -> bool {
        matches!(self, FileType::Symlink)
    }

    /// Returns whether it is a named pipe.
    pub const fn is_fifo(self) -> bool {
        matches!(self, FileType::Fifo)
    }

    /// Returns whether it is a socket.
    pub const fn is_socket(self) -> bool {
        matches!(self, FileType::Socket)
    }

    /// Returns whether it is a block device.
    pub const fn is_block_device(self) -> bool {
        matches!(self, FileType::BlockDevice)
    }

    /// Returns whether it is a character device.
    pub const fn is_char_device(self) -> bool {
        matches!(self, FileType::CharDevice)
    }
}

/// As [`std::fs::Metadata`] has them.
///
/// ```
/// use pathwalk::{Attributes, FileType};
///
/// let file = Attributes::new(FileType::Regular, 0o640).with_size(7);
/// assert!(file.is_file() && !file.is_dir() && !file.is_symlink());
/// assert_eq!((file.len(), file.modified()?), (7, std::time::UNIX_EPOCH));
/// # Ok::<(), std::io::Error>(())
/// ```
impl Attributes {
    /// Returns the type, as [`kind`](Self::kind).
    pub const fn file_type(&self) -> FileType {
        self.kind
    }

    /// Returns whether it is a directory.
    pub const fn is_dir(&self) -> bool {
        self.kind.is_dir()
    }

    /// Returns whether it is a regular file.
    pub const fn is_file(&self) -> bool {
        self.kind.is_file()
    }

    /// Returns whether it is a symbolic link, which only [`lstat`](crate::Context::lstat) and its
    /// like tell of.
    pub const fn is_symlink(&self) -> bool {
        self.kind.is_symlink()
    }

    /// Returns the size in bytes, as [`size`](Self::size).
    #[expect(clippy::len_without_is_empty, reason = "as std::fs::Metadata has it")]
    pub const fn len(&self) -> u64 {
        self.size
    }

    /// Returns when the contents last changed, as [`mtime`](Self::mtime). It is never an error.
    #[cfg(unix)]
    pub fn modified(&self) -> io::Result<SystemTime> {
        Ok(self.mtime.into())
    }

    /// Returns when it was last read, as [`atime`](Self::atime). It is never an error.
    #[cfg(unix)]
    pub fn accessed(&self) -> io::Result<SystemTime> {
        Ok(self.atime.into())
    }

    /// Returns when it was made, as [`btime`](Self::btime).
    /// [`Unsupported`](io::ErrorKind::Unsupported) where the file system does not keep that.
    #[cfg(unix)]
    pub fn created(&self) -> io::Result<SystemTime> {
        self.btime.map(SystemTime::from).ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// Returns the permissions, with the type as [`st_mode`](Self::st_mode) has it, as those of
    /// metadata have.
    ///
    /// ```
    /// use std::os::unix::fs::PermissionsExt;
    ///
    /// use pathwalk::{Attributes, FileType};
    ///
    /// let permissions = Attributes::new(FileType::Regular, 0o440).permissions();
    /// assert!(permissions.readonly() && permissions.mode() == 0o100440);
    /// ```
    #[cfg(unix)]
    pub fn permissions(&self) -> std::fs::Permissions {
        std::os::unix::fs::PermissionsExt::from_mode(self.st_mode())
    }
}
