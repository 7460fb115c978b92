//! The flags with which an extended attribute is set.

use bitflags::bitflags;

bitflags! {
    /// The conditions under which an extended attribute is set. With both, it is `EEXIST` or
    /// `ENODATA`, as the attribute exists or not. Source: `setxattr(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, Vfs, XattrFlags};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let set = |flags| context.setxattr("/", "user.colour", "red", flags);
    /// assert_eq!(set(XattrFlags::REPLACE), Err(Errno::ENODATA));
    /// set(XattrFlags::CREATE)?;
    /// assert_eq!(set(XattrFlags::CREATE), Err(Errno::EEXIST));
    /// set(XattrFlags::REPLACE)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct XattrFlags: u32 {
        /// `XATTR_CREATE`: `EEXIST` if the attribute exists.
        const CREATE = 1;
        /// `XATTR_REPLACE`: `ENODATA` if the attribute does not exist.
        const REPLACE = 2;
    }
}
