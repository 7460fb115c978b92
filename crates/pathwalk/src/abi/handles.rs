//! The flags with which a file handle is asked for.

use bitflags::bitflags;

bitflags! {
    /// The kind of handle that is asked for, and the treatment of the path, of
    /// [`Context::name_to_handle`](crate::Context::name_to_handle). Source: `name_to_handle_at(2)`.
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
        /// `AT_HANDLE_CONNECTABLE`: the handle also says where the node is, so that a file gets its
        /// path back when the handle is opened. It then leads only to what is below the node that
        /// it is opened with. `EINVAL` with `FID` or `EMPTY_PATH`.
        const CONNECTABLE = 0x2;
        /// `AT_HANDLE_FID`: the handle only identifies the node. Each file system has such handles;
        /// whether they can be opened is another matter.
        const FID = 0x200;
        /// `AT_SYMLINK_FOLLOW`: a link in the last component is followed; else the result is the
        /// link's own handle.
        const SYMLINK_FOLLOW = 0x400;
        /// `AT_EMPTY_PATH`: an empty path means the starting point itself.
        const EMPTY_PATH = 0x1000;
    }
}
