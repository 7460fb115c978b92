//! Operations of [`Context`] on the flags of nodes that users set, and on generations.

use super::{AsPath, At, Context};
use crate::abi::AtFlags;
use crate::attr::InodeFlags;
use crate::ops::Way;
use crate::{Errno, ops};

/// # Flags of nodes
///
/// The file system is asked each time, so these operations block.
///
/// ```
/// use pathwalk::{AtFlags, Credentials, Errno, InodeFlags, Vfs};
/// # let vfs = Vfs::builder().build(pathwalk_memfs::MemFs::new())?;
/// # let context = vfs.context(Credentials::root());
/// context.write("/file", "data")?;
/// context.chown("/file", Some(1000), None)?;
/// let owner = vfs.context(Credentials::user(1000, 1000, &[]));
/// owner.set_inode_flags("/file", InodeFlags::NODUMP)?;
/// assert_eq!(owner.set_inode_flags("/file", InodeFlags::IMMUTABLE), Err(Errno::EPERM));
///
/// context.set_inode_flags_at(context.root(), "file", InodeFlags::IMMUTABLE, AtFlags::empty())?;
/// assert_eq!(owner.inode_flags("/file")?, InodeFlags::IMMUTABLE);
/// assert_eq!(owner.chmod("/file", 0o600), Err(Errno::EPERM));
/// let file = context.lookup("/file")?;
/// assert_eq!(context.inode_flags_at(&file, "", AtFlags::EMPTY_PATH)?, InodeFlags::IMMUTABLE);
/// assert_eq!(context.generation_at(&file, "", AtFlags::EMPTY_PATH)?, context.generation("/file")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Context {
    /// Returns the flags of a node that users set. No right to the node is required. `EOPNOTSUPP`
    /// where it has none, as links and special files of most file systems. Source:
    /// `file_getattr(2)`, `FS_IOC_GETFLAGS`.
    pub fn inode_flags(&self, path: impl AsPath) -> Result<InodeFlags, Errno> {
        self.inode_flags_at(At::Cwd, path, AtFlags::empty())
    }

    /// Does the same as [`inode_flags`](Self::inode_flags) from a starting point and with
    /// `SYMLINK_NOFOLLOW` or `EMPTY_PATH`. An empty path may start at any handle; Linux refuses a
    /// descriptor of `O_PATH` (`EBADF`). Source: `file_getattr(2)`.
    pub fn inode_flags_at<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, flags: AtFlags) -> Result<InodeFlags, Errno> {
        self.may_ask_file_system()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::new(at, path, flags)], || ops::inode_flags::get_at(&self.asker, at, path, flags))
    }

    /// Sets these flags of a node and clears all others. The time of change moves even if no flag
    /// changes. Source: `file_setattr(2)`, `FS_IOC_SETFLAGS`.
    ///
    /// | errno | when |
    /// |---|---|
    /// | `EROFS` | the mount or the file system is read-only |
    /// | `EOPNOTSUPP` | the node has no flags, or the file system does not keep one of these |
    /// | `EPERM` | the caller neither owns the node nor has `CAP_FOWNER` |
    /// | `EPERM` | `IMMUTABLE` or `APPEND` changes, without `CAP_LINUX_IMMUTABLE` |
    pub fn set_inode_flags(&self, path: impl AsPath, to: InodeFlags) -> Result<(), Errno> {
        self.set_inode_flags_at(At::Cwd, path, to, AtFlags::empty())
    }

    /// Does the same as [`set_inode_flags`](Self::set_inode_flags) from a starting point and with
    /// `SYMLINK_NOFOLLOW` or `EMPTY_PATH`. Source: `file_setattr(2)`.
    pub fn set_inode_flags_at<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        to: InodeFlags,
        flags: AtFlags,
    ) -> Result<(), Errno> {
        self.may_change()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::new(at, path, flags)], || ops::inode_flags::set_at(&self.asker, at, path, to, flags))
    }

    /// Returns the generation of a node, as [`File::generation`](crate::File::generation) does,
    /// which has an example. No right to the node is required.
    pub fn generation(&self, path: impl AsPath) -> Result<u32, Errno> {
        self.generation_at(At::Cwd, path, AtFlags::empty())
    }

    /// Does the same as [`generation`](Self::generation) from a starting point and with
    /// `SYMLINK_NOFOLLOW` or `EMPTY_PATH`.
    pub fn generation_at<'a>(&self, at: impl Into<At<'a>>, path: impl AsPath, flags: AtFlags) -> Result<u32, Errno> {
        self.may_ask_file_system()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        ops::healed(&self.asker, [Way::new(at, path, flags)], || ops::generation::get_at(&self.asker, at, path, flags))
    }
}
