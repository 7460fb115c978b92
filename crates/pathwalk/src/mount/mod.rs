//! How a file system is attached: the mount's own switches.
//!
//! There is one mount, at the root. What it does not do yet: mount points below it, namespaces, id maps.

mod world;

use bitflags::bitflags;

pub(crate) use world::{HardlinkProtection, SymlinkProtection, World};

bitflags! {
    /// Switches of a mount, whatever its file system says. Source: `mount(8)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct MountFlags: u32 {
        /// Writing is `EROFS`.
        const READ_ONLY = 1;
        /// Executing a regular file is `EACCES`.
        const NOEXEC = 2;
        /// Following a link is `ELOOP`; reading its body is not.
        const NOSYMFOLLOW = 4;
    }
}
