//! The relation between a list and permission bits: the owner's and the other entry are the highest
//! and the lowest bits, and the mask, or else the owning group's entry, is the middle ones.
//!
//! Source: `posix_acl_equiv_mode`, `posix_acl_from_mode`, `__posix_acl_chmod_masq` and
//! `posix_acl_create_masq` of Linux.

use super::{Acl, AclEntry, AclTag};
use crate::permission::Access;

/// # Lists and permission bits
///
/// ```
/// use pathwalk::Access;
/// use pathwalk::permission::{Acl, AclEntry, AclTag};
/// let plain = Acl::from_mode(0o640);
/// assert!(plain.is_only_mode());
/// assert_eq!(plain.mode(), 0o640);
///
/// let mut entries = plain.entries().to_vec();
/// entries.insert(1, AclEntry { tag: AclTag::User(1000), grants: Access::all() });
/// entries.insert(3, AclEntry { tag: AclTag::Mask, grants: Access::READ | Access::WRITE });
/// let list = Acl::new(entries);
/// assert!(!list.is_only_mode());
/// assert_eq!(list.mode(), 0o660, "the group's bits are the mask");
/// assert_eq!(list.with_mode(0o604).mask(), Access::empty(), "as `chmod` sets it");
/// assert_eq!(list.for_new(0o644).mode(), 0o640, "as a new node gets it from its directory");
/// ```
impl Acl {
    /// Creates the list of three entries that grants what permission bits grant.
    pub fn from_mode(mode: u16) -> Acl {
        let entry = |tag, shift| AclEntry { tag, grants: triad(mode, shift) };
        Acl(vec![entry(AclTag::Owner, 6), entry(AclTag::Group, 3), entry(AclTag::Other, 0)])
    }

    /// Returns the permission bits of a node with this list: 0..=0o777.
    pub fn mode(&self) -> u16 {
        let bits = |entry: &AclEntry| self.shift(entry.tag).map_or(0, |shift| u16::from(entry.grants.bits() & 7) << shift);
        self.0.iter().fold(0, |mode, entry| mode | bits(entry))
    }

    /// Returns whether the list grants what its [`mode`](Self::mode) grants: it has neither a mask
    /// nor named users or groups. A node does not keep such an access list.
    pub fn is_only_mode(&self) -> bool {
        self.0.iter().all(|entry| matches!(entry.tag, AclTag::Owner | AclTag::Group | AclTag::Other))
    }

    /// Returns the access list of a node after its permission bits were set.
    #[must_use]
    pub fn with_mode(&self, mode: u16) -> Acl {
        self.map(|entry, shift| AclEntry { grants: triad(mode, shift), ..entry })
    }

    /// Returns what a new node with these permission bits gets from this default list of its
    /// directory: no entry that the bits stand for grants more than they do. The node's permission
    /// bits are the [`mode`](Self::mode) of the result.
    #[must_use]
    pub fn for_new(&self, mode: u16) -> Acl {
        self.map(|entry, shift| AclEntry { grants: entry.grants & triad(mode, shift), ..entry })
    }

    /// Returns the list with other entries in place of those that permission bits stand for.
    fn map(&self, new: impl Fn(AclEntry, u32) -> AclEntry) -> Acl {
        let entry = |entry: &AclEntry| self.shift(entry.tag).map_or(*entry, |shift| new(*entry, shift));
        Acl(self.0.iter().map(entry).collect())
    }

    /// Returns the position of the permission bits that stand for an entry.
    fn shift(&self, tag: AclTag) -> Option<u32> {
        match tag {
            AclTag::Owner => Some(6),
            AclTag::Other => Some(0),
            AclTag::Mask => Some(3),
            AclTag::Group if self.find(|tag| tag == AclTag::Mask).is_none() => Some(3),
            _ => None,
        }
    }
}

fn triad(mode: u16, shift: u32) -> Access {
    Access::from_bits_truncate((mode >> shift) as u8 & 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(mask: Option<Access>) -> Acl {
        let entry = |tag, grants| AclEntry { tag, grants };
        let mut entries = vec![
            entry(AclTag::Owner, Access::all()),
            entry(AclTag::User(11), Access::READ),
            entry(AclTag::Group, Access::READ),
            entry(AclTag::Other, Access::EXECUTE),
        ];
        entries.extend(mask.map(|grants| entry(AclTag::Mask, grants)));
        Acl::new(entries)
    }

    fn grants(list: &Acl, tag: AclTag) -> Option<Access> {
        list.find(|of| of == tag).map(|entry| entry.grants)
    }

    #[test]
    fn group_bits_stand_for_the_mask_if_there_is_one() {
        assert_eq!((list(None).mode(), list(Some(Access::EXECUTE)).mode()), (0o741, 0o711));
        let without = list(None).with_mode(0o4652);
        assert_eq!(grants(&without, AclTag::Group), Some(Access::READ | Access::EXECUTE));
        assert_eq!((grants(&without, AclTag::Other), without.mode()), (Some(Access::WRITE), 0o652));
        let with = list(Some(Access::all())).with_mode(0o651);
        assert_eq!(grants(&with, AclTag::Group), Some(Access::READ), "hidden behind the mask");
        assert_eq!(grants(&with, AclTag::Mask), Some(Access::READ | Access::EXECUTE));
        assert_eq!(grants(&with, AclTag::User(11)), Some(Access::READ));
    }

    #[test]
    fn a_new_node_gets_no_more_than_its_mode() {
        let with = list(Some(Access::all())).for_new(0o604);
        assert_eq!((with.mode(), grants(&with, AclTag::Mask)), (0o600, Some(Access::empty())));
        assert_eq!(grants(&with, AclTag::User(11)), Some(Access::READ), "behind the mask");
        assert_eq!(list(None).for_new(0o777).mode(), 0o741);
        assert_eq!(Acl::from_mode(0o750).for_new(0o666), Acl::from_mode(0o640));
    }

    #[test]
    fn three_entries_are_a_mode() {
        assert!(Acl::from_mode(0o7751).is_only_mode() && Acl::from_mode(0o751).is_valid());
        assert_eq!(Acl::from_mode(0o7751).mode(), 0o751);
        assert!(!list(None).is_only_mode() && !list(None).is_valid(), "it names a user, and has no mask");
    }
}
