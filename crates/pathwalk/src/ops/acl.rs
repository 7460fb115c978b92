//! Access control lists: `getxattr(2)`, `setxattr(2)` and `removexattr(2)` of
//! `system.posix_acl_access` and `system.posix_acl_default`.
//!
//! Order of the errors of a change, as Linux has it: a read-only mount (`EROFS`), an immutable or
//! append-only node, or an owner that the mount does not map (`EPERM`), a node that can have no
//! list (`EOPNOTSUPP`), a default list for a node that is no directory (`EACCES`; to remove it does
//! nothing), another owner (`EPERM`), an invalid list (`EINVAL`). Any caller that reaches a node
//! may read its lists.
//!
//! Source: `vfs_get_acl`, `vfs_set_acl`, `set_posix_acl` and `posix_acl_update_mode` of Linux.

use super::lookup;
use super::may_change::owner;
use super::may_change::writing;
use super::set::unchangeable;
use crate::Errno;
use crate::abi::AtFlags;
use crate::attr::FileType;
use crate::cache::icache::snapshot::Snapshot;
use crate::memory::slot::InodeId;
use crate::mount::{MountWriter, Place, World};
use crate::permission::{Acl, AclKind, SGID, Subject, in_group_or_capable};
use crate::walk::asker::{Asker, Begin};
use crate::walk::{Env, Whose};

pub(crate) fn get(asker: &Asker, at: Begin, path: &[u8], kind: AclKind, how: AtFlags) -> Result<Option<Acl>, Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let node = lookup::pinned_at(&env, at, path, how)?;
    ListsOf { world: env.world, place: node.place(), who: &env.who_in(node.mount.id()) }.get(kind)
}

/// Sets a list, or removes it.
pub(crate) fn set(
    asker: &Asker,
    at: Begin,
    path: &[u8],
    (kind, acl): (AclKind, Option<&Acl>),
    how: AtFlags,
) -> Result<(), Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let node = lookup::pinned_at(&env, at, path, how)?;
    let writing = writing(&env, node.mount.id())?;
    ListsOf { world: env.world, place: node.place(), who: &env.who_in(node.mount.id()) }.set(kind, acl, &writing)
}

/// The lists of a pinned node, and the subject that asks for them, as it comes through the node's
/// mount.
pub(super) struct ListsOf<'a> {
    pub(super) world: &'a World,
    pub(super) place: Place,
    pub(super) who: &'a Subject<'a>,
}

impl ListsOf<'_> {
    /// Returns a list, with the ids that the mount shows.
    pub(super) fn get(&self, kind: AclKind) -> Result<Option<Acl>, Errno> {
        let id = self.inode();
        self.can_exist(&self.world.trees.known_snapshot(id)?)?;
        let list = self.world.trees.get_acl(id, kind)?;
        let shown = |list: Acl| match self.world.mounts.id_map(self.place.mount()) {
            Some(map) => list.with_ids(|uid| map.seen_uid(uid), |gid| map.seen_gid(gid)),
            None => list,
        };
        Ok(list.map(shown))
    }

    /// Sets a list, or removes it. The caller keeps the mount writable.
    pub(super) fn set(&self, kind: AclKind, acl: Option<&Acl>, _writing: &MountWriter<'_>) -> Result<(), Errno> {
        let (id, trees, who) = (self.inode(), &self.world.trees, self.who);
        let acl = acl.map(|acl| acl.with_ids(|uid| who.stored_uid(uid), |gid| who.stored_gid(gid)));
        let _changing = trees.changing(self.place.dentry());
        let of = trees.known_snapshot(id)?;
        unchangeable(&of)?;
        if !of.is_seen_by(who) {
            return Err(Errno::EPERM);
        }
        self.can_exist(&of)?;
        if kind == AclKind::Default && of.kind() != FileType::Directory {
            return if acl.is_some() { Err(Errno::EACCES) } else { Ok(()) };
        }
        owner(&of, who)?;
        if acl.as_ref().is_some_and(|acl| !acl.is_valid()) {
            return Err(Errno::EINVAL);
        }
        match kind {
            AclKind::Default => trees.set_acl(id, kind, acl.as_ref(), None)?,
            AclKind::Access => {
                let keeps_mode = acl.is_none() && !trees.acl_removal_clears_sgid(id);
                let mode = if keeps_mode { of.mode() } else { mode_with(&of, who, acl.as_ref()) };
                trees.set_acl(id, kind, acl.filter(|acl| !acl.is_only_mode()).as_ref(), Some(mode))?;
            }
        }
        trees.tell_attributes(self.place.dentry());
        Ok(())
    }

    fn inode(&self) -> InodeId {
        self.world.caches().dentries.inode(self.place.dentry())
    }

    /// Returns `EOPNOTSUPP` for a link, and where the file system keeps no lists.
    fn can_exist(&self, of: &Snapshot) -> Result<(), Errno> {
        let keeps = self.world.trees.superblock_at(self.place.dentry()).keeps_acls;
        if keeps && of.kind() != FileType::Symlink { Ok(()) } else { Err(Errno::EOPNOTSUPP) }
    }
}

/// Returns the mode of a node with this access list. A subject outside the node's group clears the
/// sgid bit, as by `chmod`.
fn mode_with(of: &Snapshot, who: &Subject<'_>, acl: Option<&Acl>) -> u16 {
    let mode = acl.map_or(of.mode(), |acl| of.mode() & !0o777 | acl.mode());
    mode & !if in_group_or_capable(who, of.owners(), of.gid()) { 0 } else { SGID }
}
