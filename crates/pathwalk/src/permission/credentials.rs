//! The credentials of a caller: user, groups and capabilities.

use std::sync::Arc;

use bitflags::bitflags;

use super::{Access, IdMap, NO_ID};
use crate::attr::{Attributes, FileType};

bitflags! {
    /// The capabilities that operations on names check. Source: `capabilities(7)`.
    ///
    /// [`Credentials`] has an example.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Capabilities: u16 {
        /// `CAP_DAC_OVERRIDE`: bypass read, write and execute checks (executing needs one x bit).
        const DAC_OVERRIDE = 1;
        /// `CAP_DAC_READ_SEARCH`: bypass read checks, and search checks on directories.
        const DAC_READ_SEARCH = 2;
        /// `CAP_FOWNER`: bypass checks that require the owner.
        const FOWNER = 4;
        /// `CAP_CHOWN`: give nodes to any owner and group.
        const CHOWN = 8;
        /// `CAP_FSETID`: keep suid and sgid bits where they would be cleared.
        const FSETID = 16;
        /// `CAP_MKNOD`: make device nodes.
        const MKNOD = 32;
        /// `CAP_SYS_ADMIN`: mount and unmount; extended attributes named `trusted.` and
        /// `security.`.
        const SYS_ADMIN = 64;
        /// `CAP_SETFCAP`: set and remove file capabilities (`security.capability`).
        const SETFCAP = 128;
        /// `CAP_LINUX_IMMUTABLE`: make nodes immutable or append-only, and undo it.
        const LINUX_IMMUTABLE = 256;
        /// `CAP_LEASE`: lease files of other owners.
        const LEASE = 512;
    }
}

/// A user and a group: one pair is real, one is effective.
///
/// [`Credentials`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ids {
    /// The user id.
    pub uid: u32,
    /// The group id.
    pub gid: u32,
}

/// The identity with whose rights an operation runs. Source: `credentials(7)`.
///
/// Cheap to clone: the groups are shared.
///
/// ```
/// use pathwalk::permission::Ids;
/// use pathwalk::{Access, AtFlags, Capabilities, Credentials, Errno, Vfs};
/// let vfs = Vfs::builder().build(pathwalk_memfs::MemFs::new())?;
/// let root = vfs.context(Credentials::root());
/// root.write("/file", "")?;
/// root.chmod("/file", 0o600)?;
///
/// let user = Credentials::user(1000, 1000, &[27, 100]);
/// let context = vfs.context(user.clone());
/// assert_eq!(context.access("/file", Access::READ), Err(Errno::EACCES));
/// let reader = user.clone().with_capabilities(Capabilities::DAC_READ_SEARCH);
/// vfs.context(reader).read("/file")?;
/// let idle = user.with_capability_sets(Capabilities::DAC_READ_SEARCH, Capabilities::empty());
/// assert!(vfs.context(idle).read("/file").is_err(), "permitted, and not effective");
///
/// // A program with suid: `access` asks for its user, all else for its owner.
/// let suid = Credentials::root().with_real(Ids { uid: 1000, gid: 1000 });
/// assert_eq!((suid.real().uid(), suid.effective().uid()), (1000, 0));
/// let context = vfs.context(suid);
/// assert_eq!(context.access("/file", Access::READ), Err(Errno::EACCES));
/// context.faccessat(context.root(), "file", Access::READ, AtFlags::EACCESS)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Credentials {
    real: Ids,
    effective: Ids,
    /// The supplementary groups, sorted; `None` if there are none. So a clone of most users'
    /// credentials changes no reference count.
    groups: Option<Arc<[u32]>>,
    permitted: Capabilities,
    active: Capabilities,
}

impl Credentials {
    /// Creates root's credentials, with all capabilities and no supplementary groups.
    pub fn root() -> Credentials {
        let ids = Ids { uid: 0, gid: 0 };
        Credentials { real: ids, effective: ids, groups: None, permitted: Capabilities::all(), active: Capabilities::all() }
    }

    /// Creates the credentials of a user with a group and supplementary groups, without
    /// capabilities unless `uid` is 0.
    pub fn user(uid: u32, gid: u32, groups: &[u32]) -> Credentials {
        let ids = Ids { uid, gid };
        let caps = if uid == 0 { Capabilities::all() } else { Capabilities::empty() };
        Credentials { real: ids, effective: ids, groups: sorted(groups), permitted: caps, active: caps }
    }

    /// Returns these credentials with other capabilities, both permitted and effective.
    #[must_use]
    pub fn with_capabilities(mut self, caps: Capabilities) -> Credentials {
        self.permitted = caps;
        self.active = caps;
        self
    }

    /// Returns these credentials with capabilities of which not all permitted ones are effective.
    #[must_use]
    pub fn with_capability_sets(mut self, permitted: Capabilities, effective: Capabilities) -> Credentials {
        self.permitted = permitted;
        self.active = effective;
        self
    }

    /// Returns these credentials with other real ids, which `access(2)` checks unless `AT_EACCESS`
    /// is set.
    #[must_use]
    pub fn with_real(mut self, real: Ids) -> Credentials {
        self.real = real;
        self
    }

    /// Returns the subject with whose rights all operations but `access` run.
    #[inline(always)]
    pub fn effective(&self) -> Subject<'_> {
        Subject { ids: self.effective, groups: self.groups(), caps: self.active, map: None }
    }

    /// Returns the subject that `access(2)` checks: the real ids, with no capabilities unless the
    /// real user is root, which has all permitted ones. Source: `access(2)`.
    #[inline(always)]
    pub fn real(&self) -> Subject<'_> {
        let caps = if self.real.uid == 0 { self.permitted } else { Capabilities::empty() };
        Subject { ids: self.real, groups: self.groups(), caps, map: None }
    }

    #[inline(always)]
    fn groups(&self) -> &[u32] {
        self.groups.as_deref().unwrap_or_default()
    }
}

fn sorted(groups: &[u32]) -> Option<Arc<[u32]>> {
    let mut groups = groups.to_vec();
    groups.sort_unstable();
    (!groups.is_empty()).then(|| groups.into())
}

/// The class of a user with respect to a node, which selects the bits of the node's mode. Source:
/// `path_resolution(7)`.
///
/// [`Subject`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// The owner.
    Owner,
    /// A member of the group.
    Group,
    /// Any other user.
    Other,
}

impl Class {
    /// Returns what the bits of a mode grant to this class.
    ///
    /// [`Subject`] has an example.
    pub fn grants(self, mode: u16) -> Access {
        let shift = match self {
            Class::Owner => 6,
            Class::Group => 3,
            Class::Other => 0,
        };
        Access::from_bits_truncate((mode >> shift & 7) as u8)
    }
}

/// One side of some [`Credentials`], as checks see it.
///
/// Its ids are those by which the file system knows it: through an id-mapped mount, those that the
/// [map](IdMap) has for it, or [`NO_ID`]. So they can be compared with the ids that the file system
/// stores.
///
/// ```
/// use pathwalk::permission::Class;
/// use pathwalk::{Access, Attributes, Capabilities, Credentials, FileType};
/// let caps = Capabilities::DAC_OVERRIDE;
/// let credentials = Credentials::user(1000, 100, &[27]).with_capabilities(caps);
/// let who = credentials.effective();
/// assert_eq!((who.uid(), who.gid()), (1000, 100));
/// assert!(who.owns(1000) && who.in_group(27) && who.has(caps));
/// assert!(who.sees_owners(0, 27) && who.has_for(caps, 0, 27), "no map hides an owner");
/// let node = Attributes::new(FileType::Regular, 0o640).with_owner(0, 27);
/// assert_eq!(who.class_of(&node), Class::Group);
/// assert_eq!(who.class_of(&node).grants(node.mode), Access::READ);
/// assert!(who.overrides(&node, Access::WRITE));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    ids: Ids,
    /// The supplementary groups, sorted, and not mapped: [`in_group`](Self::in_group) maps its
    /// argument.
    groups: &'a [u32],
    caps: Capabilities,
    /// The map of the mount through which the subject comes, if the mount has one.
    map: Option<&'a IdMap>,
}

impl<'a> Subject<'a> {
    /// Returns this subject as it comes through a mount with this map.
    pub(crate) fn through(self, map: Option<&'a IdMap>) -> Subject<'a> {
        let Some(of_mount) = map else { return self };
        let uid = of_mount.stored_uid(self.ids.uid).unwrap_or(NO_ID);
        let gid = of_mount.stored_gid(self.ids.gid).unwrap_or(NO_ID);
        Subject { ids: Ids { uid, gid }, map, ..self }
    }

    /// Returns the owner that the file system stores for a user; `None` if it is unmapped.
    pub(crate) fn stored_uid(&self, uid: u32) -> Option<u32> {
        self.map.map_or(Some(uid), |map| map.stored_uid(uid))
    }

    /// Returns the group that the file system stores for a group; `None` if it is unmapped.
    pub(crate) fn stored_gid(&self, gid: u32) -> Option<u32> {
        self.map.map_or(Some(gid), |map| map.stored_gid(gid))
    }

    /// Returns the user that is shown for a stored one; `None` if it is unmapped.
    pub(crate) fn seen_uid(&self, uid: u32) -> Option<u32> {
        self.map.map_or(Some(uid), |map| map.seen_uid(uid))
    }

    /// Returns whether the subject comes through a mount with a map.
    pub(crate) fn is_mapped(&self) -> bool {
        self.map.is_some()
    }

    /// Returns whether a stored owner is mapped. Linux: `vfsuid_valid`.
    pub(crate) fn sees_uid(&self, uid: u32) -> bool {
        uid != NO_ID && self.seen_uid(uid).is_some()
    }

    /// Returns whether a stored group is mapped. Linux: `vfsgid_valid`.
    pub(crate) fn sees_gid(&self, gid: u32) -> bool {
        gid != NO_ID && self.map.is_none_or(|map| map.seen_gid(gid).is_some())
    }

    /// Returns whether owner and group of a node are mapped. A node with an unmapped one is never
    /// written to, and no capability counts for it. Without a map, all ids but [`NO_ID`] are
    /// mapped. Linux: `HAS_UNMAPPED_ID`.
    pub fn sees_owners(&self, uid: u32, gid: u32) -> bool {
        self.sees_uid(uid) && self.sees_gid(gid)
    }

    /// Returns whether all of `caps` count for a node of this owner and group. Linux:
    /// `capable_wrt_inode_uidgid`.
    pub fn has_for(&self, caps: Capabilities, uid: u32, gid: u32) -> bool {
        self.has(caps) && self.sees_owners(uid, gid)
    }

    /// Returns whether the subject owns a node of this owner. Linux: `vfsuid_eq_kuid`.
    pub fn owns(&self, uid: u32) -> bool {
        self.ids.uid == uid && uid != NO_ID
    }

    /// Returns whether the subject owns a node of this owner, or may act as if it did. Linux:
    /// `inode_owner_or_capable`.
    pub(crate) fn owns_or_may(&self, uid: u32) -> bool {
        self.owns(uid) || self.has(Capabilities::FOWNER) && self.sees_uid(uid)
    }

    /// Returns the supplementary groups, sorted, as they are without a map.
    pub(crate) fn groups(&self) -> &'a [u32] {
        self.groups
    }

    /// Returns all capabilities.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.caps
    }

    /// Returns the user id.
    pub fn uid(&self) -> u32 {
        self.ids.uid
    }

    /// Returns the group id.
    pub fn gid(&self) -> u32 {
        self.ids.gid
    }

    /// Returns whether the subject has all of `caps`.
    pub fn has(&self, caps: Capabilities) -> bool {
        self.caps.contains(caps)
    }

    /// Returns whether `gid`, as the file system stores it, is the group or one of the
    /// supplementary groups. Cost: a binary search.
    pub fn in_group(&self, gid: u32) -> bool {
        let is_one = |seen: u32| self.groups.binary_search(&seen).is_ok();
        let is_other = || self.map.map_or(Some(gid), |map| map.seen_gid(gid)).is_some_and(is_one);
        gid != NO_ID && (self.ids.gid == gid || is_other())
    }

    /// Returns the subject's class for `node`: the first of owner, group and other that applies,
    /// whatever it grants. Cost: as [`in_group`](Self::in_group).
    pub fn class_of(&self, node: &Attributes) -> Class {
        if self.owns(node.uid) {
            Class::Owner
        } else if self.in_group(node.gid) {
            Class::Group
        } else {
            Class::Other
        }
    }

    /// Returns whether capabilities grant what mode bits or an ACL refuse.
    ///
    /// For directories, `CAP_DAC_READ_SEARCH` suffices unless writing is wanted, else
    /// `CAP_DAC_OVERRIDE`. For other nodes, `CAP_DAC_READ_SEARCH` suffices for pure reading, else
    /// `CAP_DAC_OVERRIDE`, where executing needs at least one x bit.
    pub fn overrides(&self, node: &Attributes, want: Access) -> bool {
        self.sees_owners(node.uid, node.gid) && self.overrides_mode(node.kind, node.mode, want)
    }

    /// Returns the same as [`overrides`](Self::overrides) for a node whose owner and group are
    /// mapped.
    pub(super) fn overrides_mode(&self, kind: FileType, mode: u16, want: Access) -> bool {
        let reading = self.has(Capabilities::DAC_READ_SEARCH);
        let all = self.has(Capabilities::DAC_OVERRIDE);
        if kind == FileType::Directory {
            return all || (reading && !want.contains(Access::WRITE));
        }
        (reading && want == Access::READ) || (all && (!want.contains(Access::EXECUTE) || mode & 0o111 != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_class_that_applies_is_his() {
        let node = Attributes { uid: 10, gid: 20, ..Attributes::new(FileType::Regular, 0o754) };
        let class = |uid, groups: &[u32]| Credentials::user(uid, 1, groups).effective().class_of(&node);
        assert_eq!(class(10, &[20]), Class::Owner);
        assert_eq!(class(11, &[5, 20]), Class::Group);
        assert_eq!(class(11, &[5]), Class::Other);
        assert_eq!(class(0, &[]), Class::Other, "capabilities are asked later");
        assert_eq!(Class::Owner.grants(node.mode), Access::all());
        assert_eq!(Class::Group.grants(node.mode), Access::READ | Access::EXECUTE);
        assert_eq!(Class::Other.grants(node.mode), Access::READ);
    }
}
