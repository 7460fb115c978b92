//! Who may change a directory, and what a new node belongs to.
//!
//! Source: `may_create`, `may_delete` and `inode_init_owner` of Linux; `inode(7)` for set-gid directories. Asked with the directory's lock
//! held: what was found out about the name still holds.

use crate::Errno;
use crate::attr::FileType;
use crate::context::Context;
use crate::dcache::dentry::DentryId;
use crate::fs_api::{NewKind, NewNode};
use crate::mount::MountFlags;
use crate::permission::{Access, Capabilities, NO_ID, Subject};
use crate::vfs::{Core, Pinned};
use crate::walk::Env;
use crate::walk::may::{Decision, Snapshot};

pub(crate) const SUID: u16 = 0o4000;
pub(crate) const SGID: u16 = 0o2000;
const STICKY: u16 = 0o1000;
const GROUP_EXECUTE: u16 = 0o010;

/// What kind of node is to be taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Victim {
    Directory,
    Other,
}

/// `EROFS` on a read-only mount.
pub(crate) fn writable(core: &Core) -> Result<(), Errno> {
    if core.mount.contains(MountFlags::READ_ONLY) { Err(Errno::EROFS) } else { Ok(()) }
}

/// Whether the asker may write to a node, its mount aside: `EPERM` if it is immutable, else by its mode.
pub(crate) fn may_write(env: &Env<'_>, node: DentryId, want: Access) -> Result<Snapshot, Errno> {
    let id = env.core.dentries.inode(node);
    let snapshot = env.core.known_snapshot(id)?;
    if snapshot.is_immutable() {
        return Err(Errno::EPERM);
    }
    match snapshot.decide(&env.who(), want) {
        Decision::Granted => {}
        Decision::Refused => return Err(Errno::EACCES),
        _ => env.core.may(id, &env.who(), want)?,
    }
    Ok(snapshot)
}

/// Whether the asker may put a name into a directory. `EOVERFLOW` if nothing can belong to the
/// asker.
pub(crate) fn may_create(env: &Env<'_>, dir: DentryId) -> Result<Snapshot, Errno> {
    if env.who().uid() == NO_ID || env.who().gid() == NO_ID {
        return Err(Errno::EOVERFLOW);
    }
    may_change_names(env, dir)
}

/// Whether the asker may change the names in a directory.
fn may_change_names(env: &Env<'_>, dir: DentryId) -> Result<Snapshot, Errno> {
    may_write(env, dir, Access::WRITE | Access::EXECUTE)
}

/// Whether the asker may take the name of `victim` out of a directory, as one of this kind.
pub(crate) fn may_delete(env: &Env<'_>, dir: DentryId, victim: &Pinned<'_>, wanted: Victim) -> Result<(), Errno> {
    let of_dir = may_change_names(env, dir)?;
    let of_victim = env.core.known_snapshot(env.core.dentries.inode(victim.id()))?;
    if of_dir.is_append_only()
        || is_sticky(&of_dir, &of_victim, &env.who())
        || of_victim.is_append_only()
        || of_victim.is_immutable()
    {
        return Err(Errno::EPERM);
    }
    match (wanted, of_victim.kind()) {
        (Victim::Directory, FileType::Directory) => Ok(()),
        (Victim::Directory, _) => Err(Errno::ENOTDIR),
        (Victim::Other, FileType::Directory) => Err(Errno::EISDIR),
        (Victim::Other, _) => Ok(()),
    }
}

/// Whether only the owner of the directory or of the node may take the name away, and the asker is neither.
fn is_sticky(dir: &Snapshot, victim: &Snapshot, who: &Subject<'_>) -> bool {
    let owns = victim.uid() == who.uid() || dir.uid() == who.uid();
    dir.mode() & STICKY != 0 && !owns && !who.has(Capabilities::FOWNER)
}

/// Whether somebody keeps the sgid bit on a node of this group.
pub(crate) fn in_group_or_capable(who: &Subject<'_>, gid: u32) -> bool {
    who.in_group(gid) || who.has(Capabilities::FSETID)
}

/// A node as it is made in a directory that says this: the umask, set-gid directories.
pub(crate) fn new_node<'n>(context: &Context, who: &Subject<'_>, dir: &Snapshot, kind: NewKind<'n>, mode: u16) -> NewNode<'n> {
    let inherits = dir.mode() & SGID != 0;
    let gid = if inherits { dir.gid() } else { who.gid() };
    let mode = match kind {
        NewKind::Symlink(_) => 0o777,
        NewKind::Directory => mode & 0o1777 & !context.umask | if inherits { SGID } else { 0 },
        _ => {
            let runs_as_group = mode & (SGID | GROUP_EXECUTE) == SGID | GROUP_EXECUTE;
            let stripped = runs_as_group && inherits && !in_group_or_capable(who, gid);
            mode & 0o7777 & !context.umask & !if stripped { SGID } else { 0 }
        }
    };
    NewNode { kind, mode, uid: who.uid(), gid }
}

/// The mode without the bits that a change of owner takes away, whoever makes it.
pub(crate) fn without_privileges(who: &Subject<'_>, mode: u16, gid: u32) -> u16 {
    let drops_sgid = mode & GROUP_EXECUTE != 0 || !in_group_or_capable(who, gid);
    mode & !SUID & !if drops_sgid { SGID } else { 0 }
}
