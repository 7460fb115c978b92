//! Changes with the rights of another user than the opener.

use std::io::{self, Write};

use super::File;
use crate::Errno;
use crate::permission::Credentials;

/// An open file with the user that writes to it. Made by [`File::by`].
///
/// These rights decide whether suid and sgid bits stay. The right to write was checked when the
/// file was opened.
///
/// ```
/// use std::io::IoSlice;
/// use pathwalk::{Credentials, FallocateFlags, OpenFlags, RwFlags, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let file = context.open("/file", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE)?;
/// context.chmod("/file", 0o4755)?;
/// file.write(b"by root: ")?;
/// assert_eq!(context.stat("/file")?.mode, 0o4755);
///
/// let user = Credentials::user(1000, 1000, &[]);
/// file.by(&user).write(b"by a user")?;
/// assert_eq!(context.stat("/file")?.mode, 0o755, "the suid bit went");
/// file.by(&user).write_at(b"B", 0)?;
/// file.by(&user).set_len(1)?;
/// file.by(&user).fallocate(FallocateFlags::KEEP_SIZE, 0, 4096)?;
/// file.by(&user).pwritev2(&[IoSlice::new(b"y")], None, RwFlags::APPEND)?;
///
/// let copy = context.open("/copy", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE)?;
/// assert_eq!(file.by(&user).copy_file_range(Some(0), &copy, Some(0), 9)?, 2);
/// copy.by(&user).clone_range(&file, 0, 0, 0)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

    /// Writes all of the data as [`File::write_all`] does.
    pub fn write_all(&self, data: &[u8]) -> Result<(), Errno> {
        Ok(Write::write_all(&mut { *self }, data)?)
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

/// As the methods of [`FileBy`] with these names. `flush` does nothing, since nothing is buffered.
impl Write for FileBy<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        Ok(FileBy::write(self, data)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
