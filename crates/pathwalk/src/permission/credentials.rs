//! Who asks: user, groups and capabilities.

use std::sync::Arc;

use bitflags::bitflags;

use super::{Access, IdMap, NO_ID};
use crate::attr::{Attributes, FileType};

bitflags! {
    /// The capabilities that operations on names look at. Source: `capabilities(7)`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Capabilities: u8 {
        /// `CAP_DAC_OVERRIDE`: bypass read, write and execute checks (executing needs one x bit).
        const DAC_OVERRIDE = 1;
        /// `CAP_DAC_READ_SEARCH`: bypass read checks, and search checks on directories.
        const DAC_READ_SEARCH = 2;
        /// `CAP_FOWNER`: bypass checks that ask for the owner.
        const FOWNER = 4;
        /// `CAP_CHOWN`: give nodes to any owner and group.
        const CHOWN = 8;
        /// `CAP_FSETID`: keep suid and sgid bits where they would be cleared.
        const FSETID = 16;
        /// `CAP_MKNOD`: make device nodes.
        const MKNOD = 32;
        /// `CAP_SYS_ADMIN`: mount and unmount.
        const SYS_ADMIN = 64;
    }
}

/// A user and a group: one pair is real, one is effective.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ids {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// Whose rights an operation has. Source: `credentials(7)`.
///
/// Cheap to clone: the groups are shared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Credentials {
    real: Ids,
    effective: Ids,
    /// Sorted. None: there are none, so that nothing is counted when those of most users are cloned.
    groups: Option<Arc<[u32]>>,
    permitted: Capabilities,
    active: Capabilities,
}

impl Credentials {
    /// Root with all capabilities and no supplementary groups.
    pub fn root() -> Credentials {
        let ids = Ids { uid: 0, gid: 0 };
        Credentials { real: ids, effective: ids, groups: None, permitted: Capabilities::all(), active: Capabilities::all() }
    }

    /// A user with a group and supplementary groups, without capabilities unless `uid` is 0.
    pub fn user(uid: u32, gid: u32, groups: &[u32]) -> Credentials {
        let ids = Ids { uid, gid };
        let caps = if uid == 0 { Capabilities::all() } else { Capabilities::empty() };
        Credentials { real: ids, effective: ids, groups: sorted(groups), permitted: caps, active: caps }
    }

    /// The same with other capabilities, both permitted and effective.
    #[must_use]
    pub fn with_capabilities(mut self, caps: Capabilities) -> Credentials {
        self.permitted = caps;
        self.active = caps;
        self
    }

    /// The same with capabilities of which not all permitted ones are effective.
    #[must_use]
    pub fn with_capability_sets(mut self, permitted: Capabilities, effective: Capabilities) -> Credentials {
        self.permitted = permitted;
        self.active = effective;
        self
    }

    /// The same with other real ids: those that `access(2)` asks for unless told `AT_EACCESS`.
    #[must_use]
    pub fn with_real(mut self, real: Ids) -> Credentials {
        self.real = real;
        self
    }

    /// Whose rights all operations but `access` have.
    #[inline(always)]
    pub fn effective(&self) -> Subject<'_> {
        Subject { ids: self.effective, groups: self.groups(), caps: self.active, map: None }
    }

    /// Whose rights `access(2)` asks about: the real ids, with no capabilities unless the real user is root, who has all
    /// that are permitted. Source: `access(2)`.
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

/// As what somebody comes to a node: whose bits of its mode are his. Source: `path_resolution(7)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// As its owner.
    Owner,
    /// As one of its group.
    Group,
    /// As anybody else.
    Other,
}

impl Class {
    /// What these bits of a mode grant.
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
/// [map](IdMap) has for it, or [`NO_ID`]. So they compare with what the file system stores.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    ids: Ids,
    /// Sorted, and not mapped: [`in_group`](Self::in_group) maps what it is asked.
    groups: &'a [u32],
    caps: Capabilities,
    /// That of the mount through which it comes, if it has one.
    map: Option<&'a IdMap>,
}

impl<'a> Subject<'a> {
    /// Returns the same as it comes through a mount with this map.
    pub(crate) fn through(self, map: Option<&'a IdMap>) -> Subject<'a> {
        let Some(of_mount) = map else { return self };
        let uid = of_mount.stored_uid(self.ids.uid).unwrap_or(NO_ID);
        let gid = of_mount.stored_gid(self.ids.gid).unwrap_or(NO_ID);
        Subject { ids: Ids { uid, gid }, map, ..self }
    }

    /// Returns the owner that the file system stores for a user; none if it is unmapped.
    pub(crate) fn stored_uid(&self, uid: u32) -> Option<u32> {
        self.map.map_or(Some(uid), |map| map.stored_uid(uid))
    }

    /// Returns the group that the file system stores for a group; none if it is unmapped.
    pub(crate) fn stored_gid(&self, gid: u32) -> Option<u32> {
        self.map.map_or(Some(gid), |map| map.stored_gid(gid))
    }

    /// Returns whether a stored owner is mapped. Linux: `vfsuid_valid`.
    pub(crate) fn sees_uid(&self, uid: u32) -> bool {
        uid != NO_ID && self.map.is_none_or(|map| map.seen_uid(uid).is_some())
    }

    /// Returns whether a stored group is mapped. Linux: `vfsgid_valid`.
    pub(crate) fn sees_gid(&self, gid: u32) -> bool {
        gid != NO_ID && self.map.is_none_or(|map| map.seen_gid(gid).is_some())
    }

    /// Returns whether owner and group of a node are mapped. A node of which one is not is never
    /// written to, and no capability counts for it. Without a map, all are but [`NO_ID`]. Linux:
    /// `HAS_UNMAPPED_ID`.
    pub fn sees_owners(&self, uid: u32, gid: u32) -> bool {
        self.sees_uid(uid) && self.sees_gid(gid)
    }

    /// Returns whether all of `caps` count for a node of this owner and group. Linux:
    /// `capable_wrt_inode_uidgid`.
    pub fn has_for(&self, caps: Capabilities, uid: u32, gid: u32) -> bool {
        self.has(caps) && self.sees_owners(uid, gid)
    }

    /// Returns whether a node of this owner is its own. Linux: `vfsuid_eq_kuid`.
    pub fn owns(&self, uid: u32) -> bool {
        self.ids.uid == uid && uid != NO_ID
    }

    /// Returns whether it owns a node of this owner, or may do as if. Linux:
    /// `inode_owner_or_capable`.
    pub(crate) fn owns_or_may(&self, uid: u32) -> bool {
        self.owns(uid) || self.has(Capabilities::FOWNER) && self.sees_uid(uid)
    }

    /// Returns the supplementary groups, sorted, as they are seen without a map.
    pub(crate) fn groups(&self) -> &'a [u32] {
        self.groups
    }

    /// Returns all capabilities.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.caps
    }

    /// The user.
    pub fn uid(&self) -> u32 {
        self.ids.uid
    }

    /// The group.
    pub fn gid(&self) -> u32 {
        self.ids.gid
    }

    /// Whether all of `caps` are held.
    pub fn has(&self, caps: Capabilities) -> bool {
        self.caps.contains(caps)
    }

    /// Whether `gid`, as the file system stores it, is the group or one of the supplementary groups. Cost: a binary search.
    pub fn in_group(&self, gid: u32) -> bool {
        let is_one = |seen: u32| self.groups.binary_search(&seen).is_ok();
        let is_other = || self.map.map_or(Some(gid), |map| map.seen_gid(gid)).is_some_and(is_one);
        gid != NO_ID && (self.ids.gid == gid || is_other())
    }

    /// As what he comes to `node`: the first of owner, group and other that he is, whatever it grants. Cost: as [`in_group`](Self::in_group).
    pub fn class_of(&self, node: &Attributes) -> Class {
        if self.owns(node.uid) {
            Class::Owner
        } else if self.in_group(node.gid) {
            Class::Group
        } else {
            Class::Other
        }
    }

    /// Whether capabilities grant what mode bits or ACL refuse.
    ///
    /// Directories: `CAP_DAC_READ_SEARCH` unless writing, else `CAP_DAC_OVERRIDE`. Others: `CAP_DAC_READ_SEARCH` for pure
    /// reading, else `CAP_DAC_OVERRIDE`, where executing needs at least one x bit.
    pub fn overrides(&self, node: &Attributes, want: Access) -> bool {
        self.sees_owners(node.uid, node.gid) && self.overrides_mode(node.kind, node.mode, want)
    }

    /// The same of a node whose owner and group are mapped.
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
