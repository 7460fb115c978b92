//! Access control lists: the entries, and the check by them.
//!
//! For file systems that keep ACLs: parse `system.posix_acl_access` and call [`Acl::permits`].
//! `mode` has the relation between a list and permission bits, and `xattr` the value of the
//! extended attribute.
//!
//! What it does not do: a list may be any sequence of entries. [`Acl::is_valid`] returns whether a
//! node may have it. Source: `acl(5)`.

mod mode;
mod xattr;

use super::{Access, NO_ID, Subject};
use crate::Errno;
use crate::attr::Attributes;

/// The two lists that a node may have.
///
/// ```
/// use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
/// use pathwalk::{Access, Credentials, Vfs};
/// # let mut context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.umask(0o077);
/// context.mkdir("/shared", 0o755)?;
/// context.set_acl("/shared", AclKind::Default, Some(&Acl::from_mode(0o770)))?;
/// context.write("/shared/file", "")?;
/// assert_eq!(context.stat("/shared/file")?.mode, 0o660, "the umask does not count there");
/// assert_eq!(context.acl("/shared/file", AclKind::Access)?, None, "the mode says it all");
/// assert_eq!(AclKind::Default.xattr_name(), "system.posix_acl_default");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AclKind {
    /// The list by which rights to the node are checked.
    Access,
    /// The list from which new nodes in a directory get theirs. It is not checked.
    Default,
}

impl AclKind {
    /// Returns the name of the extended attribute.
    pub const fn xattr_name(self) -> &'static str {
        match self {
            AclKind::Access => "system.posix_acl_access",
            AclKind::Default => "system.posix_acl_default",
        }
    }

    /// Returns the list that an extended attribute of this name is.
    pub(crate) fn of_xattr(name: &[u8]) -> Option<AclKind> {
        [AclKind::Access, AclKind::Default].into_iter().find(|kind| name == kind.xattr_name().as_bytes())
    }
}

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

impl Acl {
    /// Creates a list from entries.
    pub fn new(entries: Vec<AclEntry>) -> Acl {
        Acl(entries)
    }

    /// Returns the entries.
    pub fn entries(&self) -> &[AclEntry] {
        &self.0
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

    /// Returns whether a node may have this list. The entries come in the order of [`AclTag`]'s
    /// variants, with exactly one for the owner, the owning group and other users, at most one
    /// mask, and a mask if any user or group is named. Named ones come in any order, and twice too:
    /// the first entry of a user decides. Source: `posix_acl_valid` of Linux.
    ///
    /// ```
    /// use pathwalk::permission::{Acl, AclEntry, AclTag};
    /// use pathwalk::Access;
    /// assert!(Acl::from_mode(0o640).is_valid());
    /// let mut entries = Acl::from_mode(0o640).entries().to_vec();
    /// entries.insert(1, AclEntry { tag: AclTag::User(1000), grants: Access::READ });
    /// assert!(!Acl::new(entries.clone()).is_valid(), "it has no mask");
    /// entries.insert(3, AclEntry { tag: AclTag::Mask, grants: Access::READ });
    /// assert!(Acl::new(entries).is_valid());
    /// ```
    pub fn is_valid(&self) -> bool {
        let names = |entry: &AclEntry| matches!(entry.tag, AclTag::User(NO_ID) | AclTag::NamedGroup(NO_ID));
        self.is_well_formed() && !self.0.iter().any(names)
    }

    /// Returns whether the order of the entries, their number and their rights are those of a valid
    /// list. An id may be [`NO_ID`].
    fn is_well_formed(&self) -> bool {
        let mut rest = self.0.iter().map(|entry| entry.tag).peekable();
        let owner = rest.next() == Some(AclTag::Owner);
        let mut names_some = rest.next_if(|tag| matches!(tag, AclTag::User(_))).is_some();
        while rest.next_if(|tag| matches!(tag, AclTag::User(_))).is_some() {}
        let group = rest.next() == Some(AclTag::Group);
        while rest.next_if(|tag| matches!(tag, AclTag::NamedGroup(_))).is_some() {
            names_some = true;
        }
        let has_mask = rest.next_if_eq(&AclTag::Mask).is_some();
        let other = rest.next() == Some(AclTag::Other) && rest.next().is_none();
        let rights = self.0.iter().all(|entry| Access::all().contains(entry.grants));
        owner && group && other && rights && (has_mask || !names_some)
    }

    /// Returns the list with the ids that these return; [`NO_ID`] for none.
    pub(crate) fn with_ids(&self, uid: impl Fn(u32) -> Option<u32>, gid: impl Fn(u32) -> Option<u32>) -> Acl {
        let entry = |entry: &AclEntry| {
            let tag = match entry.tag {
                AclTag::User(id) => AclTag::User(uid(id).unwrap_or(NO_ID)),
                AclTag::NamedGroup(id) => AclTag::NamedGroup(gid(id).unwrap_or(NO_ID)),
                other => other,
            };
            AclEntry { tag, ..*entry }
        };
        Acl(self.0.iter().map(entry).collect())
    }

    fn find(&self, is: impl Fn(AclTag) -> bool) -> Option<AclEntry> {
        self.0.iter().find(|entry| is(entry.tag)).copied()
    }
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
}
