//! Unmounting by path, also what another process mounted.

use std::io;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use crate::helper::{self, Refusal};

/// The treatment of a mount that is in use when it is unmounted.
///
/// [`unmount`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhileInUse {
    /// It stays, which is an error.
    Stays,
    /// It goes from its place at once, and ends when it is no longer in use: `MNT_DETACH`.
    Goes,
}

/// Unmounts the topmost mount on a directory: as the caller, or where that is not allowed by
/// `fusermount3`. A link in the last component is not followed.
///
/// The errors are those of `umount2(2)`: `EBUSY` for a mount in use that [`Stays`], `EINVAL` where
/// nothing is mounted. Anything else that `fusermount3` says has no number. Does not wait for the
/// program that serves the mount.
///
/// [`Stays`]: WhileInUse::Stays
///
/// ```
/// use pathwalk_fuse::{WhileInUse, unmount};
/// assert!(unmount("/no/such/directory", WhileInUse::Stays).is_err());
/// assert!(unmount("/no/such/directory", WhileInUse::Goes).is_err());
/// ```
pub fn unmount(at: impl AsRef<Path>, how: WhileInUse) -> io::Result<()> {
    let at = at.as_ref();
    let lazily = if how == WhileInUse::Goes { UnmountFlags::DETACH } else { UnmountFlags::empty() };
    match rustix::mount::unmount(at, UnmountFlags::NOFOLLOW | lazily) {
        Err(Errno::PERM) => helper::unmount(at, how).map_err(|refusal| match refusal {
            Refusal::NotThere => Errno::PERM.into(),
            Refusal::Said(said) if helper::is_busy(&said) => Errno::BUSY.into(),
            Refusal::Said(said) => io::Error::other(said),
        }),
        done => Ok(done?),
    }
}
