//! Extended attributes of an open file. Source: `fgetxattr(2)`, `fsetxattr(2)`, `flistxattr(2)`,
//! `fremovexattr(2)`.

use super::{File, FileBy};
use crate::Errno;
use crate::abi::XattrFlags;
use crate::fs_api::{XattrList, XattrName};
use crate::ops::xattr::{XattrsOf, check_new};
use crate::permission::Subject;

/// # Extended attributes
///
/// As the operations of [`Context`](crate::Context) with these names, by the rights of the opener;
/// by those of another user with [`by`](File::by). `EBADF` for a place only. It does not matter
/// whether the file was opened for writing.
///
/// ```
/// use pathwalk::{Credentials, Errno, OpenFlags, Vfs, XattrFlags};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.write("/file", "")?;
/// let file = context.open("/file", OpenFlags::READ)?;
/// file.setxattr("user.colour", "red", XattrFlags::empty())?;
/// assert_eq!(file.getxattr("user.colour")?, b"red");
/// assert_eq!(file.listxattr()?.as_bytes(), b"user.colour\0");
///
/// let user = Credentials::user(1000, 1000, &[]);
/// assert_eq!(file.by(&user).removexattr("user.colour"), Err(Errno::EACCES));
/// assert_eq!(file.by(&user).getxattr("user.colour")?, b"red");
/// assert_eq!(file.by(&user).listxattr()?, file.listxattr()?);
/// assert!(file.by(&user).setxattr("user.size", "small", XattrFlags::empty()).is_err());
/// file.removexattr("user.colour")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl File {
    /// Returns the value of an extended attribute. Source: `fgetxattr(2)`.
    pub fn getxattr(&self, name: impl AsRef<[u8]>) -> Result<Vec<u8>, Errno> {
        self.get_as(name.as_ref(), &self.credentials.effective())
    }

    /// Sets an extended attribute. Source: `fsetxattr(2)`.
    pub fn setxattr(&self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>, how: XattrFlags) -> Result<(), Errno> {
        self.set_as(name.as_ref(), value.as_ref(), how, &self.credentials.effective())
    }

    /// Returns the names of the extended attributes. Source: `flistxattr(2)`.
    pub fn listxattr(&self) -> Result<XattrList, Errno> {
        self.xattrs(&self.credentials.effective())?.list()
    }

    /// Removes an extended attribute. Source: `fremovexattr(2)`.
    pub fn removexattr(&self, name: impl AsRef<[u8]>) -> Result<(), Errno> {
        self.remove_as(name.as_ref(), &self.credentials.effective())
    }

    fn get_as(&self, name: &[u8], who: &Subject<'_>) -> Result<Vec<u8>, Errno> {
        XattrName::check(name)?;
        self.xattrs(who)?.get(name)
    }

    fn set_as(&self, name: &[u8], value: &[u8], how: XattrFlags, who: &Subject<'_>) -> Result<(), Errno> {
        check_new(name, value, how)?;
        self.xattrs(who)?.set(name, value, how)
    }

    fn remove_as(&self, name: &[u8], who: &Subject<'_>) -> Result<(), Errno> {
        XattrName::check(name)?;
        self.xattrs(who)?.remove(name)
    }

    /// Returns the attributes of the file, as a user asks for them.
    fn xattrs<'a>(&'a self, who: &Subject<'a>) -> Result<XattrsOf<'a>, Errno> {
        self.opened()?;
        Ok(XattrsOf { world: self.handle.world(), place: self.handle.place(), who: self.coming(who) })
    }
}

/// # Extended attributes
///
/// As the methods of [`File`] with these names, by this user's rights.
///
/// ```
/// use pathwalk::{Credentials, Errno, OpenFlags, Vfs, XattrFlags};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let file = context.open("/file", OpenFlags::WRITE | OpenFlags::CREATE)?;
/// let user = Credentials::user(1000, 1000, &[]);
/// assert_eq!(file.by(&user).setxattr("user.colour", "red", XattrFlags::empty()), Err(Errno::EACCES));
/// assert_eq!(file.by(&user).getxattr("user.colour"), Err(Errno::ENODATA));
/// assert_eq!(file.by(&user).removexattr("user.colour"), Err(Errno::EACCES));
/// assert!(file.by(&user).listxattr()?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl FileBy<'_> {
    /// Returns the value of an extended attribute as [`File::getxattr`] does.
    pub fn getxattr(&self, name: impl AsRef<[u8]>) -> Result<Vec<u8>, Errno> {
        self.file.get_as(name.as_ref(), &self.who.effective())
    }

    /// Sets an extended attribute as [`File::setxattr`] does.
    pub fn setxattr(&self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>, how: XattrFlags) -> Result<(), Errno> {
        self.file.set_as(name.as_ref(), value.as_ref(), how, &self.who.effective())
    }

    /// Returns the names of the extended attributes as [`File::listxattr`] does.
    pub fn listxattr(&self) -> Result<XattrList, Errno> {
        self.file.xattrs(&self.who.effective())?.list()
    }

    /// Removes an extended attribute as [`File::removexattr`] does.
    pub fn removexattr(&self, name: impl AsRef<[u8]>) -> Result<(), Errno> {
        self.file.remove_as(name.as_ref(), &self.who.effective())
    }
}
