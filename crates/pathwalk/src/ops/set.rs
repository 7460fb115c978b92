//! `chmod(2)`, `chown(2)`, `truncate(2)`, `utimensat(2)`: changes of attributes.
//!
//! The check of a node and its change belong together, so each operation does both under the lock
//! for changes of the node's attributes.
//!
//! Source: `notify_change` and `setattr_prepare` of Linux.

use super::leases;
use super::lookup;
use super::may_change::{may_write, owner, writing};
use super::security;
use crate::Errno;
use crate::abi::{AtFlags, SetTime};
use crate::attr::{FileType, Timestamp};
use crate::cache::icache::snapshot::Snapshot;
use crate::locks::breaks::Breaks;
use crate::mount::PinnedPlace;
use crate::node::SetAttributes;
use crate::permission::{Access, Capabilities, NO_ID, SGID, Subject, in_group_or_capable, without_privileges};
use crate::security::Rights;
use crate::superblock::write::Times;
use crate::walk::asker::{Asker, Begin};
use crate::walk::{Env, Whose};

pub(crate) fn chmod(asker: &Asker, at: Begin, path: &[u8], mode: u16, how: AtFlags) -> Result<(), Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let node = lookup::pinned_at(&env, at, path, how)?;
    change(&env, &node, Capability::Stays, |of, who| {
        unchangeable(of)?;
        if of.kind() == FileType::Symlink {
            return Err(Errno::EOPNOTSUPP);
        }
        mapped(of, who)?;
        owner(of, who)?;
        let drops = !in_group_or_capable(who, of.owners(), of.gid());
        let mode = mode & 0o7777 & !if drops { SGID } else { 0 };
        Ok(SetAttributes { mode: Some(mode), ..SetAttributes::default() })
    })
}

pub(crate) fn chown(
    asker: &Asker,
    at: Begin,
    path: &[u8],
    (uid, gid): (Option<u32>, Option<u32>),
    how: AtFlags,
) -> Result<(), Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let node = lookup::pinned_at(&env, at, path, how)?;
    change(&env, &node, Capability::GoesFromFiles, |of, who| {
        if [uid, gid].contains(&Some(NO_ID)) {
            return Err(Errno::EINVAL);
        }
        let mode = match of.kind() {
            FileType::Directory => of.mode(),
            _ => without_privileges(who, of.mode(), of.owners()),
        };
        let mode = (mode != of.mode()).then_some(mode);
        if uid.is_some() || gid.is_some() {
            unchangeable(of)?;
        }
        let (uid, gid) = stored_owners(of, who, (uid, gid))?;
        let owns = who.owns(of.uid());
        let any = who.has_for(Capabilities::CHOWN, of.uid(), of.gid());
        // An unmapped owner or group can be replaced by a mapped one.
        let mends = |is_mapped: bool| !is_mapped && who.has(Capabilities::CHOWN);
        let may_give = |uid| any || owns && uid == of.uid() || mends(who.sees_uid(of.uid()));
        let may_share = |gid| any || owns && (gid == of.gid() || who.in_group(gid)) || mends(who.sees_gid(of.gid()));
        if !uid.is_none_or(may_give) || !gid.is_none_or(may_share) {
            return Err(Errno::EPERM);
        }
        // The bits are cleared as by `chmod`.
        let drops = !in_group_or_capable(who, of.owners(), gid.unwrap_or(of.gid()));
        let mode = mode.map(|mode| owner(of, who).map(|()| mode & !if drops { SGID } else { 0 })).transpose()?;
        Ok(SetAttributes { mode, uid, gid, ..SetAttributes::default() })
    })
}

pub(crate) fn truncate(asker: &Asker, at: Begin, path: &[u8], size: u64) -> Result<(), Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let node = lookup::pinned_at(&env, at, path, AtFlags::empty())?;
    let kind = env.trees().known_snapshot(env.caches().dentries.inode(node.id()))?.kind();
    match kind {
        FileType::Directory => return Err(Errno::EISDIR),
        FileType::Regular if env.world.mounts.switches(node.mount.id()).refuse_writing_to(kind) => return Err(Errno::EROFS),
        FileType::Regular => {}
        _ => return Err(Errno::EINVAL),
    }
    // Linux checks the right to write first: of the superblock before the node, and of the mount
    // after it.
    let who = env.who_in(node.mount.id());
    let of = may_write(&env, &who, node.id(), Access::WRITE)?;
    let _writing = writing(&env, node.mount.id())?;
    if of.is_append_only() {
        return Err(Errno::EPERM);
    }
    let counted = leases::count_writer(&env, env.caches().dentries.inode(node.id()));
    if let Some(counted) = &counted {
        counted.break_leases(Breaks::Waits)?;
    }
    security::may(&env, node.place(), Rights::TRUNCATE)?;
    env.trees().resize(node.id(), &who, size, Times::OfChange)
}

pub(crate) fn set_times(
    asker: &Asker,
    at: Begin,
    path: &[u8],
    (atime, mtime): (SetTime, SetTime),
    how: AtFlags,
) -> Result<(), Errno> {
    if (atime, mtime) == (SetTime::Keep, SetTime::Keep) {
        // Linux does not even read the path.
        return Ok(());
    }
    let env = Env::of(asker, Whose::Effective, at);
    let node = lookup::pinned_at(&env, at, path, how)?;
    let is_time = |time| !matches!(time, SetTime::To(Timestamp { nanoseconds: 1_000_000_000.., .. }));
    if !is_time(atime) || !is_time(mtime) {
        return Err(Errno::EINVAL);
    }
    let touch = (atime, mtime) == (SetTime::Now, SetTime::Now);
    change(&env, &node, Capability::Stays, |of, who| {
        if touch {
            if of.is_immutable() {
                return Err(Errno::EPERM);
            }
            if owner(of, who).is_err() {
                env.trees().may(env.caches().dentries.inode(node.id()), who, Access::WRITE)?;
            }
            mapped(of, who)?;
        } else {
            unchangeable(of)?;
            mapped(of, who)?;
            owner(of, who)?;
        }
        let now = env.trees().superblock_at(node.id()).fs.now();
        Ok(SetAttributes { atime: atime.resolve(now), mtime: mtime.resolve(now), ..SetAttributes::default() })
    })
}

/// The effect of a change on a node's capability (`security.capability`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Capability {
    Stays,
    /// The capability of any node but a directory is removed.
    GoesFromFiles,
}

/// Sets the attributes that `what` returns for a node, unless its mount is read-only.
fn change(
    env: &Env<'_>,
    node: &PinnedPlace<'_>,
    capability: Capability,
    what: impl FnOnce(&Snapshot, &Subject<'_>) -> Result<SetAttributes, Errno>,
) -> Result<(), Errno> {
    let _writing = writing(env, node.mount.id())?;
    let id = env.caches().dentries.inode(node.id());
    let changing = env.trees().changing(node.id());
    let (of, who) = (env.trees().known_snapshot(id)?, env.who_in(node.mount.id()));
    let set = what(&of, &who)?;
    if capability == Capability::GoesFromFiles && of.kind() != FileType::Directory {
        env.trees().drop_capability(id, &who, &changing)?;
    }
    env.trees().set_attributes(id, &set)?;
    env.trees().tell_set(node.id(), &set);
    Ok(())
}

/// Returns `EPERM` for a node whose mode, owner and times cannot be set: immutable, or append-only.
pub(super) fn unchangeable(of: &Snapshot) -> Result<(), Errno> {
    if of.is_immutable() || of.is_append_only() { Err(Errno::EPERM) } else { Ok(()) }
}

/// Returns `EOVERFLOW` for a node whose owner or group its mount does not map.
fn mapped(of: &Snapshot, who: &Subject<'_>) -> Result<(), Errno> {
    if of.is_seen_by(who) { Ok(()) } else { Err(Errno::EOVERFLOW) }
}

/// Returns the owners to be set, as the file system stores them. `EOVERFLOW` for one that the mount
/// does not map, and for a node that would keep an unmapped one.
fn stored_owners(
    of: &Snapshot,
    who: &Subject<'_>,
    (uid, gid): (Option<u32>, Option<u32>),
) -> Result<(Option<u32>, Option<u32>), Errno> {
    let to = (uid.map(|uid| who.stored_uid(uid)), gid.map(|gid| who.stored_gid(gid)));
    let lost = to.0 == Some(None) || to.1 == Some(None);
    let stays_lost = uid.is_none() && !who.sees_uid(of.uid()) || gid.is_none() && !who.sees_gid(of.gid());
    if lost || stays_lost { Err(Errno::EOVERFLOW) } else { Ok((to.0.flatten(), to.1.flatten())) }
}
