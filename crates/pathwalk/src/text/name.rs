//! One component of a path, validated.

use super::swar::has_nul_or_slash;
use crate::Errno;
use crate::limits::NAME_MAX;

/// A component as a file system sees it: 1 to 255 bytes, no slash, no NUL, neither `.` nor `..`.
///
/// Any other bytes are allowed; a name need not be text.
///
/// ```
/// use pathwalk::{Errno, Name};
/// assert_eq!(Name::new(b"any\xffbytes")?.bytes(), b"any\xffbytes");
/// assert_eq!(Name::new(b""), Err(Errno::ENOENT));
/// assert_eq!(Name::new(b".."), Err(Errno::EINVAL));
/// assert_eq!(Name::new(b"a/b"), Err(Errno::EINVAL));
/// assert_eq!(Name::new(&[b'n'; 256]), Err(Errno::ENAMETOOLONG));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// Checks `bytes` and wraps them as a name.
    ///
    /// Fails with `ENOENT` if they are empty, with `ENAMETOOLONG` if there are more than 255, and
    /// with `EINVAL` for a slash, a NUL, `.` or `..`.
    pub fn new(bytes: &'a [u8]) -> Result<Name<'a>, Errno> {
        match bytes {
            [] => Err(Errno::ENOENT),
            b"." | b".." => Err(Errno::EINVAL),
            _ if bytes.len() > NAME_MAX => Err(Errno::ENAMETOOLONG),
            _ if has_nul_or_slash(bytes) => Err(Errno::EINVAL),
            _ => Ok(Name(bytes)),
        }
    }

    /// Returns the bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }
}

impl std::fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}
