//! The flags of an open file that users set. Source: `FS_IOC_GETFLAGS`, `FS_IOC_SETFLAGS`.

use super::{File, FileBy};
use crate::Errno;
use crate::attr::InodeFlags;
use crate::ops::inode_flags::FlagsOf;
use crate::permission::Subject;

/// # Flags of nodes
///
/// As [`Context::set_inode_flags`](crate::Context::set_inode_flags), by the rights of the opener; by
/// those of another user with [`by`](File::by). `EBADF` for a place only, and `ENOTTY` where the
/// node has no flags. It does not matter whether the file was opened for writing.
///
/// ```
/// use pathwalk::{Credentials, Errno, InodeFlags, OpenFlags, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.write("/file", "")?;
/// let file = context.open("/file", OpenFlags::READ)?;
/// file.set_inode_flags(InodeFlags::APPEND)?;
/// assert_eq!(file.inode_flags()?, InodeFlags::APPEND);
///
/// let user = Credentials::user(1000, 1000, &[]);
/// assert_eq!(file.by(&user).set_inode_flags(InodeFlags::empty()), Err(Errno::EPERM));
/// assert_eq!(file.by(&user).inode_flags()?, InodeFlags::APPEND);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl File {
    /// Returns the flags of the file that users set. Source: `FS_IOC_GETFLAGS`.
    pub fn inode_flags(&self) -> Result<InodeFlags, Errno> {
        self.flags_of(&self.credentials.effective())?.get()
    }

    /// Sets these flags of the file and clears all others. Source: `FS_IOC_SETFLAGS`.
    pub fn set_inode_flags(&self, to: InodeFlags) -> Result<(), Errno> {
        self.flags_of(&self.credentials.effective())?.set_open(to)
    }

    fn flags_of<'a>(&'a self, who: &Subject<'a>) -> Result<FlagsOf<'a>, Errno> {
        self.opened()?;
        Ok(FlagsOf { world: self.handle.world(), place: self.handle.place(), who: self.coming(who) })
    }
}

/// # Flags of nodes
///
/// As the methods of [`File`] with these names, by this user's rights.
///
/// ```
/// use pathwalk::{Credentials, Errno, InodeFlags, OpenFlags, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let file = context.open("/file", OpenFlags::WRITE | OpenFlags::CREATE)?;
/// let user = Credentials::user(1000, 1000, &[]);
/// assert_eq!(file.by(&user).set_inode_flags(InodeFlags::NODUMP), Err(Errno::EPERM));
/// assert!(file.by(&user).inode_flags()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl FileBy<'_> {
    /// Returns the flags as [`File::inode_flags`] does.
    pub fn inode_flags(&self) -> Result<InodeFlags, Errno> {
        self.file.flags_of(&self.who.effective())?.get()
    }

    /// Sets the flags as [`File::set_inode_flags`] does.
    pub fn set_inode_flags(&self, to: InodeFlags) -> Result<(), Errno> {
        self.file.flags_of(&self.who.effective())?.set_open(to)
    }
}
