//! The rights to change a directory, and the owners of a new node.
//!
//! Source: `may_create`, `may_delete` and `inode_init_owner` of Linux; `inode(7)` for set-gid
//! directories. The checks run with the directory's lock held, so that what was found out about the
//! name still holds. Each operation computes its subject through the mount once and uses it for all
//! checks: a mount that is attached nowhere yet may get an id map meanwhile.

use crate::Errno;
use crate::attr::FileType;
use crate::cache::Pinned;
use crate::cache::icache::snapshot::Snapshot;
use crate::memory::slot::{DentryId, MountId};
use crate::mount::MountWriter;
use crate::node::{NewKind, NewNode};
use crate::permission::{Access, Capabilities, GROUP_EXECUTE, NO_ID, SGID, Subject, in_group_or_capable};
use crate::walk::Env;

const STICKY: u16 = 0o1000;

/// The kind of node to be removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Victim {
    Directory,
    Other,
}

/// Keeps a mount and its superblock from becoming read-only: `EROFS` if one is. The caller has a
/// pin on the mount for as long. Linux: `mnt_want_write`.
pub(crate) fn writing<'a>(env: &Env<'a>, mount: MountId) -> Result<MountWriter<'a>, Errno> {
    MountWriter::new(env.world, mount).ok_or(Errno::EROFS)
}

/// Checks whether the asker may write to a node, apart from its mount: `EPERM` if it is immutable,
/// else by its mode.
pub(crate) fn may_write(env: &Env<'_>, who: &Subject<'_>, node: DentryId, want: Access) -> Result<Snapshot, Errno> {
    let id = env.caches().dentries.inode(node);
    let snapshot = env.trees().known_snapshot(id)?;
    if snapshot.is_immutable() {
        return Err(Errno::EPERM);
    }
    env.trees().may_by(&snapshot, id, who, want)?;
    Ok(snapshot)
}

/// Checks whether the asker may put a name into a directory. `EOVERFLOW` if no node can belong to
/// the asker, or none in this mount.
pub(crate) fn may_create(env: &Env<'_>, who: &Subject<'_>, dir: DentryId) -> Result<Snapshot, Errno> {
    if who.uid() == NO_ID || who.gid() == NO_ID {
        return Err(Errno::EOVERFLOW);
    }
    may_change_names(env, who, dir)
}

/// Checks whether the asker may change the names in a directory.
fn may_change_names(env: &Env<'_>, who: &Subject<'_>, dir: DentryId) -> Result<Snapshot, Errno> {
    may_write(env, who, dir, Access::WRITE | Access::EXECUTE)
}

/// Checks whether the asker may take the name of `victim` out of a directory, as one of this kind.
/// `EOVERFLOW` if the mount does not map the victim's owner or group.
pub(crate) fn may_delete(
    env: &Env<'_>,
    who: &Subject<'_>,
    dir: DentryId,
    victim: &Pinned<'_>,
    wanted: Victim,
) -> Result<(), Errno> {
    let of_victim = env.trees().known_snapshot(env.caches().dentries.inode(victim.id()))?;
    if !of_victim.is_seen_by(who) {
        return Err(Errno::EOVERFLOW);
    }
    let of_dir = may_change_names(env, who, dir)?;
    if of_dir.is_append_only() || is_sticky(&of_dir, &of_victim, who) || of_victim.is_append_only() || of_victim.is_immutable() {
        return Err(Errno::EPERM);
    }
    match (wanted, of_victim.kind()) {
        (Victim::Directory, FileType::Directory) => Ok(()),
        (Victim::Directory, _) => Err(Errno::ENOTDIR),
        (Victim::Other, FileType::Directory) => Err(Errno::EISDIR),
        (Victim::Other, _) => Ok(()),
    }
}

/// Returns whether only the owner of the directory or of the node may remove the name, and the
/// asker is neither.
fn is_sticky(dir: &Snapshot, victim: &Snapshot, who: &Subject<'_>) -> bool {
    let owns = who.owns(victim.uid()) || who.owns(dir.uid());
    dir.mode() & STICKY != 0 && !owns && !who.has_for(Capabilities::FOWNER, victim.uid(), victim.gid())
}

/// Describes a node to be made in a directory with this snapshot: applies the rules of set-gid
/// directories, and the umask unless the file system does. Its owners are as the file system stores
/// them.
pub(crate) fn new_node<'n>(
    env: &Env<'_>,
    who: &Subject<'_>,
    (at, dir): (DentryId, &Snapshot),
    kind: NewKind<'n>,
    mode: u16,
) -> NewNode<'n> {
    let inherits = dir.mode() & SGID != 0;
    let gid = if inherits { dir.gid() } else { who.gid() };
    let mode = match kind {
        NewKind::Symlink(_) => 0o777,
        NewKind::Directory => mode & 0o1777 | if inherits { SGID } else { 0 },
        _ => {
            let runs_as_group = mode & (SGID | GROUP_EXECUTE) == SGID | GROUP_EXECUTE;
            let stripped = runs_as_group && inherits && !in_group_or_capable(who, dir.owners(), gid);
            mode & 0o7777 & !if stripped { SGID } else { 0 }
        }
    };
    let umask = if matches!(kind, NewKind::Symlink(_)) { 0 } else { env.asker.umask };
    let new = NewNode::new(kind, mode, who.uid(), gid);
    // A default ACL of the directory replaces the umask.
    if env.trees().superblock_at(at).keeps_acls { new.with_umask(umask) } else { NewNode { mode: mode & !umask, ..new } }
}

/// Returns `EPERM` for a subject that neither owns the node nor may act as its owner.
pub(super) fn owner(of: &Snapshot, who: &Subject<'_>) -> Result<(), Errno> {
    if who.owns_or_may(of.uid()) { Ok(()) } else { Err(Errno::EPERM) }
}
