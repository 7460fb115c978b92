//! Access control lists: the entries, and the check by them.
//!
//! For file systems that keep ACLs: parse `system.posix_acl_access` and call [`Acl::permits`].
//! Source: `acl(5)`.

use super::{Access, Subject};
use crate::Errno;
use crate::attr::Attributes;

/// The user or users that an entry is about.
///
/// [`Acl`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AclTag {
    /// The owner.
    Owner,
    /// A named user.
    User(u32),
    /// The owning group.
    Group,
    /// A named group.
    NamedGroup(u32),
    /// The maximum that named users and any group get.
    Mask,
    /// All other users.
    Other,
}

/// An entry of an access control list.
///
/// [`Acl`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AclEntry {
    /// The user or users that the entry is about.
    pub tag: AclTag,
    /// The rights that the entry grants.
    pub grants: Access,
}

/// An access control list.
///
/// ```
/// use pathwalk::permission::{Acl, AclEntry, AclTag};
/// use pathwalk::{Access, Attributes, Credentials, Errno, FileType};
/// let entry = |tag, grants| AclEntry { tag, grants };
/// let acl = Acl::new(vec![
///     entry(AclTag::Owner, Access::READ | Access::WRITE),
///     entry(AclTag::User(1000), Access::READ | Access::WRITE),
///     entry(AclTag::Group, Access::READ),
///     entry(AclTag::Mask, Access::READ),
///     entry(AclTag::Other, Access::empty()),
/// ]);
/// assert_eq!((acl.entries().len(), acl.mask()), (5, Access::READ));
/// let user = Credentials::user(1000, 1000, &[]);
/// let who = user.effective();
/// assert!(acl.permits(&who, 0, 0, Access::READ));
/// assert!(!acl.permits(&who, 0, 0, Access::WRITE), "the mask takes it away");
/// assert_eq!(acl.deciding(&who, 0, 0, Access::WRITE).unwrap().tag, AclTag::User(1000));
/// let node = Attributes::new(FileType::Regular, 0o640);
/// assert_eq!(acl.check(&who, &node, Access::WRITE), Err(Errno::EACCES));
/// assert_eq!(Acl::from_xattr(&[2, 0, 0, 0, 1]).unwrap_err(), Errno::EINVAL);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acl(Vec<AclEntry>);

const VERSION: u32 = 2;
const ENTRY_BYTES: usize = 8;

impl Acl {
    /// Creates a list from entries.
    pub fn new(entries: Vec<AclEntry>) -> Acl {
        Acl(entries)
    }

    /// Returns the entries.
    pub fn entries(&self) -> &[AclEntry] {
        &self.0
    }

    /// Parses the value of the extended attribute `system.posix_acl_access`.
    ///
    /// `EINVAL` for another length or tag, `EOPNOTSUPP` for another version.
    pub fn from_xattr(value: &[u8]) -> Result<Acl, Errno> {
        let (version, entries) = value.split_first_chunk::<4>().ok_or(Errno::EINVAL)?;
        if u32::from_le_bytes(*version) != VERSION {
            return Err(Errno::EOPNOTSUPP);
        }
        let (entries, rest) = entries.as_chunks::<ENTRY_BYTES>();
        if !rest.is_empty() {
            return Err(Errno::EINVAL);
        }
        entries.iter().map(parse).collect::<Result<_, _>>().map(Acl)
    }

    /// Does the whole check of a node that has this list. The owner's bits are final. Then the list
    /// applies if any group bit is set, else other's bits. Then come capabilities. `EACCES` if
    /// refused. [`FileSystem::permission`](crate::FileSystem::permission) has to return this result
    /// for such a node. Source: `acl(5)`.
    pub fn check(&self, who: &Subject<'_>, node: &Attributes, want: Access) -> Result<(), Errno> {
        if who.owns(node.uid) || node.mode & 0o070 == 0 {
            return super::generic(who, node.kind, node.mode, node.uid, node.gid, want);
        }
        if self.permits(who, node.uid, node.gid, want) || who.overrides(node, want) { Ok(()) } else { Err(Errno::EACCES) }
    }

    /// Returns whether the list grants `want` to `who` on a node of this owner and group.
    /// Capabilities are not checked.
    ///
    /// The order: the owner's entry; then a named user's (through the mask); then any matching
    /// group entry that grants all of it (through the mask). If a group matched and none granted,
    /// the list refuses. Else other's entry applies.
    pub fn permits(&self, who: &Subject<'_>, uid: u32, gid: u32, want: Access) -> bool {
        let grants = |entry: AclEntry| match entry.tag {
            AclTag::Owner | AclTag::Other => entry.grants,
            _ => entry.grants & self.mask(),
        };
        self.deciding(who, uid, gid, want).is_some_and(|entry| grants(entry).contains(want))
    }

    /// Returns the entry by which [`permits`](Self::permits) decides, before the mask. Of the
    /// groups that match, it is the first that grants all of `want`, or else the first. `None` if
    /// the list has no entry for `who`, which refuses.
    pub fn deciding(&self, who: &Subject<'_>, uid: u32, gid: u32, want: Access) -> Option<AclEntry> {
        if who.owns(uid) {
            return self.find(|tag| tag == AclTag::Owner);
        }
        if let Some(entry) = self.find(|tag| matches!(tag, AclTag::User(user) if who.owns(user))) {
            return Some(entry);
        }
        let applies = |entry: &&AclEntry| match entry.tag {
            AclTag::Group => who.in_group(gid),
            AclTag::NamedGroup(group) => who.in_group(group),
            _ => false,
        };
        let mut matching = self.0.iter().filter(applies);
        let first = matching.clone().next();
        let granting = matching.find(|entry| entry.grants.contains(want));
        granting.or(first).copied().or_else(|| self.find(|tag| tag == AclTag::Other))
    }

    /// Returns the maximum that named users and any group get: all rights where there is no such
    /// entry.
    pub fn mask(&self) -> Access {
        self.find(|tag| tag == AclTag::Mask).map_or(Access::all(), |entry| entry.grants)
    }

    fn find(&self, is: impl Fn(AclTag) -> bool) -> Option<AclEntry> {
        self.0.iter().find(|entry| is(entry.tag)).copied()
    }
}

fn parse(bytes: &[u8; ENTRY_BYTES]) -> Result<AclEntry, Errno> {
    let [t0, t1, p0, p1, id @ ..] = *bytes;
    let id = u32::from_le_bytes(id);
    let tag = match u16::from_le_bytes([t0, t1]) {
        0x01 => AclTag::Owner,
        0x02 => AclTag::User(id),
        0x04 => AclTag::Group,
        0x08 => AclTag::NamedGroup(id),
        0x10 => AclTag::Mask,
        0x20 => AclTag::Other,
        _ => return Err(Errno::EINVAL),
    };
    let grants = u8::try_from(u16::from_le_bytes([p0, p1])).ok().and_then(Access::from_bits).ok_or(Errno::EINVAL)?;
    Ok(AclEntry { tag, grants })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::Credentials;

    fn list() -> Acl {
        let entry = |tag, grants| AclEntry { tag, grants };
        Acl::new(vec![
            entry(AclTag::Owner, Access::READ),
            entry(AclTag::User(11), Access::all()),
            entry(AclTag::Group, Access::WRITE),
            entry(AclTag::NamedGroup(30), Access::READ | Access::EXECUTE),
            entry(AclTag::Mask, Access::READ | Access::EXECUTE),
            entry(AclTag::Other, Access::READ),
        ])
    }

    fn may(uid: u32, groups: &[u32], want: Access) -> bool {
        list().permits(&Credentials::user(uid, 1, groups).effective(), 10, 20, want)
    }

    #[test]
    fn entries_are_asked_in_order() {
        assert!(may(10, &[], Access::READ) && !may(10, &[30], Access::EXECUTE), "the owner's entry is final");
        assert!(may(11, &[], Access::EXECUTE) && !may(11, &[], Access::WRITE), "a named user goes through the mask");
        assert!(!may(12, &[20], Access::WRITE), "the owning group goes through the mask");
        assert!(!may(12, &[20], Access::READ), "a group that matched and did not grant refuses, whatever others get");
        assert!(may(12, &[20, 30], Access::READ), "any matching group may grant");
        assert!(may(12, &[], Access::READ) && !may(12, &[], Access::EXECUTE));
    }

    #[test]
    fn the_deciding_entry_is_told() {
        let deciding = |uid, groups: &[u32], want| {
            let who = Credentials::user(uid, 1, groups);
            list().deciding(&who.effective(), 10, 20, want).map(|entry| entry.tag)
        };
        assert_eq!(deciding(10, &[], Access::WRITE), Some(AclTag::Owner));
        assert_eq!(deciding(11, &[20], Access::WRITE), Some(AclTag::User(11)));
        assert_eq!(deciding(12, &[20, 30], Access::READ), Some(AclTag::NamedGroup(30)), "the one that grants");
        assert_eq!(deciding(12, &[20, 30], Access::all()), Some(AclTag::Group), "where none grants, the first");
        assert_eq!(deciding(12, &[], Access::READ), Some(AclTag::Other));
        assert_eq!(Acl::new(Vec::new()).deciding(&Credentials::root().effective(), 1, 1, Access::READ), None);
        assert_eq!((list().mask(), Acl::new(Vec::new()).mask()), (Access::READ | Access::EXECUTE, Access::all()));
    }

    #[test]
    fn the_mode_comes_before_the_list_and_capabilities_after() {
        use crate::permission::Capabilities;
        let check = |who: &Credentials, mode, want| {
            let node = Attributes { uid: 10, gid: 20, ..Attributes::new(crate::FileType::Regular, mode) };
            list().check(&who.effective(), &node, want).is_ok()
        };
        let (owner, named) = (Credentials::user(10, 1, &[]), Credentials::user(11, 1, &[]));
        assert!(check(&owner, 0o770, Access::WRITE), "the owner's bits, not his entry");
        assert!(!check(&owner, 0o070, Access::READ));
        assert!(check(&named, 0o070, Access::EXECUTE));
        assert!(!check(&named, 0o700, Access::EXECUTE), "no group bit: the list is not asked");
        assert!(check(&named.with_capabilities(Capabilities::DAC_OVERRIDE), 0o700, Access::EXECUTE));
    }

    #[test]
    fn the_extended_attribute_is_parsed() {
        let mut value = vec![2, 0, 0, 0];
        value.extend([2, 0, 5, 0, 11, 0, 0, 0]);
        value.extend([0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        let acl = Acl::from_xattr(&value).unwrap();
        assert_eq!(acl.0[0], AclEntry { tag: AclTag::User(11), grants: Access::READ | Access::EXECUTE });
        assert_eq!(acl.0[1], AclEntry { tag: AclTag::Other, grants: Access::empty() });
        assert_eq!(Acl::from_xattr(&value[..9]), Err(Errno::EINVAL));
        assert_eq!(Acl::from_xattr(&[1, 0, 0, 0]), Err(Errno::EOPNOTSUPP));
        assert_eq!(Acl::from_xattr(&[]), Err(Errno::EINVAL));
    }
}
