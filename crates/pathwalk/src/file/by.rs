//! Writing by the rights of another than the opener.

use super::File;
use crate::Errno;
use crate::permission::Credentials;

/// An open file with a user that writes to it. Made by [`File::by`].
///
/// What the rights decide is whether suid and sgid bits stay: whether there may be writing at all
/// was decided when the file was opened.
#[derive(Clone, Copy, Debug)]
pub struct FileBy<'a> {
    pub(super) file: &'a File,
    pub(super) who: &'a Credentials,
}

impl FileBy<'_> {
    /// Writes as [`File::write`] does.
    pub fn write(&self, data: &[u8]) -> Result<usize, Errno> {
        self.file.write_as(data, &self.who.effective())
    }

    /// Writes as [`File::write_at`] does.
    pub fn write_at(&self, data: &[u8], offset: u64) -> Result<usize, Errno> {
        self.file.write_at_as(data, offset, &self.who.effective())
    }

    /// Sets the size as [`File::set_len`] does.
    pub fn set_len(&self, size: u64) -> Result<(), Errno> {
        self.file.set_len_as(size, &self.who.effective())
    }
}
