//! The permission check of a node by its owner, its list and its mount.
//!
//! The order is the kernel's: noexec, read-only file system, owner (final), list, group and other,
//! capabilities, read-only mount. What it does not do: check for immutable nodes. The engine
//! refuses those before it calls the file system.

use pathwalk::permission::{Acl, Subject, generic};
use pathwalk::{Access, Attributes, Errno, FileType, MountFlags, SuperblockFlags};

use crate::mounts::OfMount;

/// The properties of a node that a check reads.
#[derive(Debug)]
pub(crate) struct Guard {
    kind: FileType,
    mode: u16,
    uid: u32,
    gid: u32,
    acl: Option<Acl>,
    /// The bytes that the list takes on the heap.
    heap: u64,
}

impl Guard {
    /// Creates a guard for a node with these attributes and this list.
    pub(crate) fn new(of: &Attributes, acl: Option<(Acl, u64)>) -> Guard {
        let (acl, heap) = acl.unzip();
        Guard { kind: of.kind, mode: of.mode, uid: of.uid, gid: of.gid, acl, heap: heap.unwrap_or(0) }
    }

    /// Returns whether the node has a list.
    pub(crate) fn has_acl(&self) -> bool {
        self.acl.is_some()
    }

    /// Returns the number of bytes that a shared guard holds on the heap.
    pub(crate) fn memory(&self) -> u64 {
        size_of::<Guard>() as u64 + 32 + self.heap
    }

    /// Checks whether `who` has the access `want` on a mount with these flags. Fails with `EACCES`
    /// or `EROFS`.
    pub(crate) fn check(&self, who: &Subject<'_>, want: Access, mount: OfMount) -> Result<(), Errno> {
        if self.kind == FileType::Regular && want.contains(Access::EXECUTE) && mount.flags.contains(MountFlags::NOEXEC) {
            return Err(Errno::EACCES);
        }
        let on_disk = matches!(self.kind, FileType::Regular | FileType::Directory | FileType::Symlink);
        let writes = on_disk && want.contains(Access::WRITE);
        if writes && mount.superblock.contains(SuperblockFlags::READ_ONLY) {
            return Err(Errno::EROFS);
        }
        self.by_entries(who, want)?;
        if writes && mount.flags.contains(MountFlags::READ_ONLY) { Err(Errno::EROFS) } else { Ok(()) }
    }

    fn by_entries(&self, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        match &self.acl {
            Some(acl) => {
                let node = Attributes::new(self.kind, self.mode).with_owner(self.uid, self.gid);
                acl.check(who, &node, want)
            }
            None => generic(who, self.kind, self.mode, self.uid, self.gid, want),
        }
    }
}

#[cfg(test)]
mod tests {
    use pathwalk::Credentials;
    use pathwalk::permission::{AclEntry, AclTag};

    use super::*;

    fn guard(mode: u16) -> Guard {
        let entry = |tag, grants| AclEntry { tag, grants };
        let acl = Acl::new(vec![
            entry(AclTag::Owner, Access::READ),
            entry(AclTag::User(11), Access::all()),
            entry(AclTag::Group, Access::empty()),
            entry(AclTag::Mask, Access::READ | Access::WRITE),
            entry(AclTag::Other, Access::empty()),
        ]);
        let attributes = Attributes::new(FileType::Regular, mode).with_owner(10, 20);
        Guard::new(&attributes, Some((acl, 0)))
    }

    fn may(guard: &Guard, uid: u32, want: Access) -> bool {
        guard.check(&Credentials::user(uid, 1, &[]).effective(), want, OfMount::default()).is_ok()
    }

    #[test]
    fn the_owner_goes_by_the_mode_and_others_by_the_list() {
        let guard = guard(0o460);
        assert!(may(&guard, 10, Access::READ) && !may(&guard, 10, Access::WRITE));
        assert!(may(&guard, 11, Access::READ | Access::WRITE) && !may(&guard, 11, Access::EXECUTE));
        assert!(!may(&guard, 12, Access::READ));
        assert!(may(&guard, 0, Access::READ | Access::WRITE) && !may(&guard, 0, Access::EXECUTE));
    }

    #[test]
    fn without_group_bits_the_list_is_not_looked_at() {
        let guard = guard(0o404);
        assert!(may(&guard, 11, Access::READ) && !may(&guard, 11, Access::WRITE));
        assert!(may(&guard, 12, Access::READ));
    }

    #[test]
    fn the_mount_has_the_first_word_on_executing_and_the_last_on_writing() {
        let guard = guard(0o570);
        let root = Credentials::root();
        let of = |flags| OfMount { flags, ..OfMount::default() };
        let check = |want, flags| guard.check(&root.effective(), want, of(flags));
        assert_eq!(check(Access::EXECUTE, MountFlags::NOEXEC), Err(Errno::EACCES));
        assert_eq!(check(Access::WRITE, MountFlags::READ_ONLY), Err(Errno::EROFS));
        assert_eq!(check(Access::READ, MountFlags::all()), Ok(()));
        let stranger = Credentials::user(12, 1, &[]);
        let refused = guard.check(&stranger.effective(), Access::WRITE, of(MountFlags::READ_ONLY));
        assert_eq!(refused, Err(Errno::EACCES));
        let of_file_system = OfMount { superblock: SuperblockFlags::READ_ONLY, ..of(MountFlags::READ_ONLY) };
        let refused = guard.check(&stranger.effective(), Access::WRITE, of_file_system);
        assert_eq!(refused, Err(Errno::EROFS), "before the mode");
    }
}
