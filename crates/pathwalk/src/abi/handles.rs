//! The flags with which a file handle is asked for.

use bitflags::bitflags;

bitflags! {
    /// The treatment of the path of [`Context::name_to_handle`](crate::Context::name_to_handle).
    /// Source: `name_to_handle_at(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, HandleFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/file", "")?;
    /// context.symlink("file", "/link")?;
    /// let of_file = context.name_to_handle("/file", HandleFlags::empty())?;
    /// assert_ne!(context.name_to_handle("/link", HandleFlags::empty())?, of_file);
    /// assert_eq!(context.name_to_handle("/link", HandleFlags::SYMLINK_FOLLOW)?, of_file);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct HandleFlags: u32 {
        /// `AT_SYMLINK_FOLLOW`: a link in the last component is followed; else the result is the
        /// link's own handle.
        const SYMLINK_FOLLOW = 0x400;
        /// `AT_EMPTY_PATH`: an empty path means the starting point itself.
        const EMPTY_PATH = 0x1000;
    }
}
