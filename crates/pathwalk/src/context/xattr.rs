//! Operations of [`Context`] on extended attributes.

use super::{AsPath, At, Context};
use crate::abi::{AtFlags, XattrFlags};
use crate::fs_api::XattrList;
use crate::ops::Way;
use crate::{Errno, ops};

/// # Extended attributes
///
/// A name begins with a namespace, which decides about the rights
/// ([`XattrNamespace`](crate::XattrNamespace)). Values are any bytes, 65,536 at most. The file
/// system is asked each time, so these operations block; `EOPNOTSUPP` where it has none, or none of
/// this namespace. A name that is empty or longer than 255 bytes is `ERANGE`.
///
/// Access control lists have the names `system.posix_acl_access` and `system.posix_acl_default`,
/// and their form is that of [`Acl::to_xattr`](crate::permission::Acl::to_xattr). To set and to
/// remove them is to do what [`set_acl`](Context::set_acl) does: an empty value removes a list, and
/// [`XattrFlags`] do not count.
///
/// ```
/// use pathwalk::{At, AtFlags, Credentials, Errno, Vfs, XattrFlags};
/// # let vfs = Vfs::builder().build(pathwalk_memfs::MemFs::new())?;
/// # let context = vfs.context(Credentials::root());
/// context.write("/file", "data")?;
/// context.setxattr("/file", "user.colour", "red", XattrFlags::empty())?;
/// context.setxattr("/file", "trusted.seal", [1, 2, 3], XattrFlags::CREATE)?;
/// assert_eq!(context.getxattr("/file", "user.colour")?, b"red");
/// assert_eq!(context.listxattr("/file")?.iter().count(), 2);
///
/// let user = vfs.context(Credentials::user(1000, 1000, &[]));
/// assert_eq!(user.getxattr("/file", "trusted.seal"), Err(Errno::ENODATA), "not even that it exists");
/// assert_eq!(user.removexattr("/file", "user.colour"), Err(Errno::EACCES));
/// context.removexattr("/file", "user.colour")?;
///
/// // The same from a starting point, and of a link itself.
/// let (root, nofollow) = (context.root(), AtFlags::SYMLINK_NOFOLLOW);
/// context.symlink("file", "/link")?;
/// context.setxattrat(root, "link", "trusted.seal", "of the link", XattrFlags::empty(), nofollow)?;
/// assert_eq!(context.getxattrat(root, "link", "trusted.seal", nofollow)?, b"of the link");
/// assert_eq!(context.listxattrat(root, "link", nofollow)?.as_bytes(), b"trusted.seal\0");
/// context.removexattrat(root, "link", "trusted.seal", nofollow)?;
/// let file = context.lookup("/file")?;
/// assert_eq!(context.getxattrat(&file, "", "trusted.seal", AtFlags::EMPTY_PATH)?, [1, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Context {
    /// Returns the value of an extended attribute. `ENODATA` if the node does not have it, or the
    /// caller must not know of it; `EACCES` without the right to read the node (`user.`).
    /// [`copy_xattr`](crate::copy_xattr) passes it on as Linux does. Source: `getxattr(2)`.
    pub fn getxattr(&self, path: impl AsPath, name: impl AsRef<[u8]>) -> Result<Vec<u8>, Errno> {
        self.getxattrat(At::Cwd, path, name, AtFlags::empty())
    }

    /// Does the same as [`getxattr`](Self::getxattr) from a starting point and with flags. An empty
    /// path may start at any handle; Linux refuses a descriptor of `O_PATH` (`EBADF`). Source:
    /// `getxattrat(2)`.
    pub fn getxattrat<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        name: impl AsRef<[u8]>,
        flags: AtFlags,
    ) -> Result<Vec<u8>, Errno> {
        self.may_ask_file_system()?;
        let (at, path, name) = (self.begin(at), path.path_bytes(), name.as_ref());
        ops::healed(&self.asker, [Way::new(at, path, flags)], || ops::xattr::getxattrat(&self.asker, at, path, name, flags))
    }

    /// Sets an extended attribute, also to an empty value. Source: `setxattr(2)`.
    ///
    /// | errno | when |
    /// |---|---|
    /// | `E2BIG` | the value is longer than 65,536 bytes |
    /// | `EEXIST`, `ENODATA` | [`XattrFlags`] demand the other |
    /// | `EROFS` | the mount or the file system is read-only |
    /// | `EPERM` | the node is immutable or append-only, or its owner is unmapped |
    /// | `EPERM` | `trusted.` or `security.` without `CAP_SYS_ADMIN`, `security.capability` without `CAP_SETFCAP` |
    /// | `EPERM` | `user.` of a node that is neither regular file nor directory, or of a sticky directory of another owner |
    /// | `EACCES` | `user.` without the right to write to the node |
    /// | `EINVAL` | nothing follows the namespace; `security.capability` has no valid form |
    /// | `ENOSPC` | the file system is full |
    pub fn setxattr(
        &self,
        path: impl AsPath,
        name: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        how: XattrFlags,
    ) -> Result<(), Errno> {
        self.setxattrat(At::Cwd, path, name, value, how, AtFlags::empty())
    }

    /// Does the same as [`setxattr`](Self::setxattr) from a starting point and with flags. Source:
    /// `setxattrat(2)`.
    pub fn setxattrat<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        name: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        how: XattrFlags,
        flags: AtFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        let new = (name.as_ref(), value.as_ref(), how);
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::new(at, path, flags)], || ops::xattr::setxattrat(&self.asker, at, path, new, flags))
    }

    /// Returns the names of the extended attributes, without those that the caller must not know of
    /// (`trusted.`). No right to the node is required. `E2BIG` if the list is longer than 65,536
    /// bytes. Source: `listxattr(2)`.
    pub fn listxattr(&self, path: impl AsPath) -> Result<XattrList, Errno> {
        self.listxattrat(At::Cwd, path, AtFlags::empty())
    }

    /// Does the same as [`listxattr`](Self::listxattr) from a starting point and with flags. `EBADF`
    /// for an empty path at [`At::Cwd`]. Source: `listxattrat(2)`.
    pub fn listxattrat<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, flags: AtFlags) -> Result<XattrList, Errno> {
        self.may_ask_file_system()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::new(at, path, flags)], || ops::xattr::listxattrat(&self.asker, at, path, flags))
    }

    /// Removes an extended attribute: `ENODATA` if the node does not have it. Other errors as
    /// [`setxattr`](Self::setxattr). Source: `removexattr(2)`.
    pub fn removexattr(&self, path: impl AsPath, name: impl AsRef<[u8]>) -> Result<(), Errno> {
        self.removexattrat(At::Cwd, path, name, AtFlags::empty())
    }

    /// Does the same as [`removexattr`](Self::removexattr) from a starting point and with flags.
    /// `EBADF` for an empty path at [`At::Cwd`]. Source: `removexattrat(2)`.
    pub fn removexattrat<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        name: impl AsRef<[u8]>,
        flags: AtFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        let (at, path, name) = (self.begin(at), path.path_bytes(), name.as_ref());
        ops::healed(&self.asker, [Way::new(at, path, flags)], || ops::xattr::removexattrat(&self.asker, at, path, name, flags))
    }
}
