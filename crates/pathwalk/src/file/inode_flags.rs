//! The flags of an open file that users set, and its generation. Source: `FS_IOC_GETFLAGS`,
//! `FS_IOC_SETFLAGS`, `FS_IOC_GETVERSION`, `FS_IOC_SETVERSION`.

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

    /// Returns the generation of the node: a number that another node under the same inode number
    /// does not have. `EBADF` for a place only, and `ENOTTY` where there is none, as for special
    /// files. Source: `FS_IOC_GETVERSION`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, OpenFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let file = context.open("/file", OpenFlags::WRITE | OpenFlags::CREATE)?;
    /// assert_eq!(file.generation()?, context.generation("/file")?);
    /// // A `MemFs` has it in its handles, and so sets none.
    /// assert_eq!(file.set_generation(7), Err(Errno::ENOTTY));
    /// let user = Credentials::user(1000, 1000, &[]);
    /// assert_eq!(file.by(&user).set_generation(7), Err(Errno::EPERM));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn generation(&self) -> Result<u32, Errno> {
        self.flags_of(&self.credentials.effective())?.generation()
    }

    /// Sets the generation. Source: `FS_IOC_SETVERSION`.
    ///
    /// | errno | when |
    /// |---|---|
    /// | `EBADF` | it is a place only |
    /// | `ENOTTY` | there is no generation, or the file system sets none |
    /// | `EPERM` | the opener neither owns the node nor has `CAP_FOWNER` |
    /// | `EROFS` | the mount or the file system is read-only |
    ///
    /// [`generation`](Self::generation) has an example.
    pub fn set_generation(&self, to: u32) -> Result<(), Errno> {
        self.flags_of(&self.credentials.effective())?.set_generation(to)
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

    /// Sets the generation as [`File::set_generation`] does.
    ///
    /// [`File::generation`] has an example.
    pub fn set_generation(&self, to: u32) -> Result<(), Errno> {
        self.file.flags_of(&self.who.effective())?.set_generation(to)
    }
}
