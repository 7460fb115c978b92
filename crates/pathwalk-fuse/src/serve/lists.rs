//! Access control lists, as a mount in a user namespace shows them.
//!
//! The kernel refuses a list as a whole that names an id which the namespace does not have, and
//! with it each access that the list decides about. No process there has such an id, so an entry
//! with it decides nothing, and is left out.
//!
//! What always holds: no entry is lost by that. A list with such entries is not replaced.

use pathwalk::Errno;
use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};

use crate::options::Ids;

impl Ids {
    fn has(self, entry: &AclEntry) -> bool {
        match (self, entry.tag) {
            (Ids::Only { user, .. }, AclTag::User(id)) => id == user,
            (Ids::Only { group, .. }, AclTag::NamedGroup(id)) => id == group,
            _ => true,
        }
    }

    /// Returns the value of an extended attribute as the mount shows it.
    pub(super) fn shown(self, name: &[u8], value: Vec<u8>) -> Result<Vec<u8>, Errno> {
        if self == Ids::All || !is_list(name) {
            return Ok(value);
        }
        let list = Acl::from_xattr(&value)?;
        Ok(Acl::new(list.entries().iter().filter(|entry| self.has(entry)).copied().collect()).to_xattr())
    }

    /// Checks that an extended attribute can be set whose value is this one: `EINVAL` for a list of
    /// which the mount does not show all, as on other file systems.
    pub(super) fn check_replaced(self, name: &[u8], value: impl FnOnce() -> Result<Vec<u8>, Errno>) -> Result<(), Errno> {
        if self == Ids::All || !is_list(name) {
            return Ok(());
        }
        match value() {
            Ok(value) if Acl::from_xattr(&value)?.entries().iter().all(|entry| self.has(entry)) => Ok(()),
            Ok(_) => Err(Errno::EINVAL),
            Err(Errno::ENODATA | Errno::EOPNOTSUPP) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

fn is_list(name: &[u8]) -> bool {
    [AclKind::Access, AclKind::Default].iter().any(|kind| kind.xattr_name().as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use pathwalk::Access;

    use super::*;

    #[test]
    fn entries_of_ids_that_the_namespace_lacks_are_left_out_and_kept() {
        let list =
            |tags: &[AclTag]| Acl::new(tags.iter().map(|tag| AclEntry { tag: *tag, grants: Access::READ }).collect()).to_xattr();
        let (ids, name) = (Ids::Only { user: 5, group: 6 }, b"system.posix_acl_access");
        let own = [AclTag::Owner, AclTag::User(5), AclTag::Group, AclTag::NamedGroup(6), AclTag::Mask, AclTag::Other];
        let all = [
            AclTag::Owner,
            AclTag::User(5),
            AclTag::User(6),
            AclTag::Group,
            AclTag::NamedGroup(5),
            AclTag::NamedGroup(6),
            AclTag::Mask,
            AclTag::Other,
        ];
        assert_eq!(ids.shown(name, list(&all)), Ok(list(&own)));
        assert_eq!(ids.check_replaced(name, || Ok(list(&all))), Err(Errno::EINVAL));
        assert_eq!(ids.check_replaced(name, || Ok(list(&own))), Ok(()));
        assert_eq!(ids.check_replaced(name, || Err(Errno::ENODATA)), Ok(()));
        assert_eq!(Ids::All.shown(name, list(&all)), Ok(list(&all)));
        assert_eq!(ids.shown(b"user.list", b"text".to_vec()), Ok(b"text".to_vec()));
    }
}
