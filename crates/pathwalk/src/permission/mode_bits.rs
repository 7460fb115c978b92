//! The mode bits of owner, group and other: the generic check.

use bitflags::bitflags;

use super::Subject;
use crate::Errno;
use crate::attr::FileType;

bitflags! {
    /// The rights that a caller requests for a node. An empty set requests only that the node
    /// exists (`F_OK`). Bits as in `access(2)`.
    ///
    /// ```
    /// use pathwalk::{Access, Credentials, Errno, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/file", "")?;
    /// context.access("/file", Access::READ | Access::WRITE)?;
    /// assert_eq!(context.access("/file", Access::EXECUTE), Err(Errno::EACCES), "it has no x bit");
    /// assert_eq!(context.access("/absent", Access::empty()), Err(Errno::ENOENT));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Access: u8 {
        /// `X_OK`: execute a file, search a directory.
        const EXECUTE = 1;
        /// `W_OK`
        const WRITE = 2;
        /// `R_OK`
        const READ = 4;
    }
}

/// Returns which of read, write and execute all three triads grant. These do not depend on the
/// caller.
pub(crate) const fn everyone_may(mode: u16) -> Access {
    Access::from_bits_truncate((mode & (mode >> 3) & (mode >> 6) & 7) as u8)
}

/// Checks the rights to one node whose ACL is known to be absent: first the triads, then
/// capabilities.
///
/// `EACCES` if refused. The owner's triad is final for the owner, even where group or other would
/// grant more. Source: `path_resolution(7)`.
///
/// ```
/// use pathwalk::permission::generic;
/// use pathwalk::{Access, Credentials, Errno, FileType};
/// let user = Credentials::user(1000, 1000, &[]);
/// let check = |mode, want| generic(&user.effective(), FileType::Regular, mode, 1000, 0, want);
/// assert_eq!(check(0o600, Access::READ), Ok(()));
/// assert_eq!(check(0o066, Access::READ), Err(Errno::EACCES), "the owner's triad is final");
/// ```
pub fn generic(who: &Subject<'_>, kind: FileType, mode: u16, uid: u32, gid: u32, want: Access) -> Result<(), Errno> {
    let triad = if who.owns(uid) {
        mode >> 6
    } else if (mode ^ (mode >> 3)) & u16::from(want.bits()) != 0 && who.in_group(gid) {
        // The groups are searched only where group and other differ in a wanted right.
        mode >> 3
    } else {
        mode
    };
    let overrides = || who.overrides_mode(kind, mode, want) && who.sees_owners(uid, gid);
    if u16::from(want.bits()) & !triad == 0 || overrides() { Ok(()) } else { Err(Errno::EACCES) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::{Capabilities, Credentials, NO_ID};

    fn check(who: &Credentials, mode: u16, want: Access) -> bool {
        generic(&who.effective(), FileType::Regular, mode, 10, 20, want).is_ok()
    }

    #[test]
    fn the_first_triad_that_applies_is_final() {
        let owner = Credentials::user(10, 1, &[]);
        let member = Credentials::user(11, 1, &[5, 20, 3]);
        let other = Credentials::user(11, 1, &[5]);
        assert!(!check(&owner, 0o077, Access::READ));
        assert!(!check(&member, 0o707, Access::READ));
        assert!(check(&other, 0o707, Access::READ));
        assert!(check(&member, 0o040, Access::READ));
        assert!(!check(&other, 0o770, Access::READ));
        assert!(check(&other, 0, Access::empty()));
    }

    #[test]
    fn capabilities_step_in_last() {
        let all = Credentials::user(11, 1, &[]).with_capabilities(Capabilities::DAC_OVERRIDE);
        let search = Credentials::user(11, 1, &[]).with_capabilities(Capabilities::DAC_READ_SEARCH);
        assert!(check(&all, 0, Access::READ | Access::WRITE));
        assert!(!check(&all, 0, Access::EXECUTE), "executing needs an x bit somewhere");
        assert!(check(&all, 0o100, Access::EXECUTE));
        assert!(check(&search, 0, Access::READ));
        assert!(!check(&search, 0, Access::READ | Access::EXECUTE));
        let dir = |who: &Credentials, want| generic(&who.effective(), FileType::Directory, 0, 10, 20, want).is_ok();
        assert!(dir(&search, Access::READ | Access::EXECUTE));
        assert!(!dir(&search, Access::WRITE));
        assert!(dir(&all, Access::all()));
    }

    /// Checks that capabilities do not count for [`NO_ID`]. Linux: `capable_wrt_inode_uidgid`.
    #[test]
    fn capabilities_count_for_owners_that_there_can_be() {
        let root = Credentials::root();
        let may = |mode, uid, gid| generic(&root.effective(), FileType::Regular, mode, uid, gid, Access::READ).is_ok();
        assert!(may(0, 10, 20));
        assert!(!may(0, NO_ID, 20) && !may(0, 10, NO_ID));
        assert!(may(0o004, NO_ID, NO_ID), "everyone may");
        let lost = Credentials::user(NO_ID, NO_ID, &[]);
        let owns = |mode| generic(&lost.effective(), FileType::Regular, mode, NO_ID, NO_ID, Access::READ).is_ok();
        assert!(!owns(0o770), "no user's own, and no group's");
    }

    #[test]
    fn everyone_is_all_three_triads() {
        assert_eq!(everyone_may(0o755), Access::READ | Access::EXECUTE);
        assert_eq!(everyone_may(0o751), Access::EXECUTE);
        assert_eq!(everyone_may(0o666), Access::READ | Access::WRITE);
        assert_eq!(everyone_may(0o177), Access::EXECUTE);
        assert_eq!(everyone_may(0o076), Access::empty());
    }
}
