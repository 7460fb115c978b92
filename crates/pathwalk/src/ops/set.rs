//! `chmod(2)`, `chown(2)`, `truncate(2)`, `utimensat(2)`: attributes are set.
//!
//! What is found out about a node and what is set of it belong together, so each runs under the lock for changes of its attributes.
//!
//! Source: `notify_change` and `setattr_prepare` of Linux.

use super::lookup;
use super::may_change::{SGID, in_group_or_capable, may_write, without_privileges, writable};
use crate::attr::{FileType, Timestamp};
use crate::context::{At, AtFlags, Context, SetTime};
use crate::dcache::dentry::DentryId;
use crate::permission::{Access, Capabilities, NO_ID, Subject};
use crate::sync::MutexGuard;
use crate::vfs::Core;
use crate::walk::may::Snapshot;
use crate::walk::{Env, Whose};
use crate::{Errno, SetAttributes};

pub(crate) fn chmod(context: &Context, at: At<'_>, path: &[u8], mode: u16, how: AtFlags) -> Result<(), Errno> {
    let env = Env::new(context, Whose::Effective);
    let node = lookup::pinned_at(&env, at, path, how)?;
    change(&env, node.id(), |of, who| {
        unchangeable(of)?;
        if of.kind() == FileType::Symlink {
            return Err(Errno::EOPNOTSUPP);
        }
        owner(of, who)?;
        let drops = !in_group_or_capable(who, of.gid());
        let mode = mode & 0o7777 & !if drops { SGID } else { 0 };
        Ok(SetAttributes { mode: Some(mode), ..SetAttributes::default() })
    })
}

pub(crate) fn chown(
    context: &Context,
    at: At<'_>,
    path: &[u8],
    (uid, gid): (Option<u32>, Option<u32>),
    how: AtFlags,
) -> Result<(), Errno> {
    let env = Env::new(context, Whose::Effective);
    let node = lookup::pinned_at(&env, at, path, how)?;
    change(&env, node.id(), |of, who| {
        if [uid, gid].contains(&Some(NO_ID)) {
            return Err(Errno::EINVAL);
        }
        let mode = match of.kind() {
            FileType::Directory => of.mode(),
            _ => without_privileges(who, of.mode(), of.gid()),
        };
        let mode = (mode != of.mode()).then_some(mode);
        if uid.is_some() || gid.is_some() {
            unchangeable(of)?;
        }
        let owns = of.uid() == who.uid();
        let any = who.has(Capabilities::CHOWN);
        let may_give = |uid| any || owns && uid == of.uid();
        let may_share = |gid| any || owns && (gid == of.gid() || who.in_group(gid));
        if !uid.is_none_or(may_give) || !gid.is_none_or(may_share) {
            return Err(Errno::EPERM);
        }
        // The bits are taken away as `chmod` would.
        let drops = !in_group_or_capable(who, gid.unwrap_or(of.gid()));
        let mode = mode.map(|mode| owner(of, who).map(|()| mode & !if drops { SGID } else { 0 })).transpose()?;
        Ok(SetAttributes { mode, uid, gid, ..SetAttributes::default() })
    })
}

pub(crate) fn truncate(context: &Context, at: At<'_>, path: &[u8], size: u64) -> Result<(), Errno> {
    let env = Env::new(context, Whose::Effective);
    let node = lookup::pinned_at(&env, at, path, AtFlags::empty())?;
    match env.core.known_snapshot(env.core.dentries.inode(node.id()))?.kind() {
        FileType::Directory => return Err(Errno::EISDIR),
        FileType::Regular => {}
        _ => return Err(Errno::EINVAL),
    }
    // Linux asks for the right to write first, and of the mount after it.
    let of = may_write(&env, node.id(), Access::WRITE)?;
    writable(env.core)?;
    if of.is_append_only() {
        return Err(Errno::EPERM);
    }
    env.core.resize(node.id(), &env.who(), size, Times::OfChange)
}

pub(crate) fn set_times(
    context: &Context,
    at: At<'_>,
    path: &[u8],
    (atime, mtime): (SetTime, SetTime),
    how: AtFlags,
) -> Result<(), Errno> {
    if (atime, mtime) == (SetTime::Keep, SetTime::Keep) {
        // Linux does not even look at the path.
        return Ok(());
    }
    let env = Env::new(context, Whose::Effective);
    let node = lookup::pinned_at(&env, at, path, how)?;
    let is_time = |time| !matches!(time, SetTime::To(Timestamp { nanoseconds: 1_000_000_000.., .. }));
    if !is_time(atime) || !is_time(mtime) {
        return Err(Errno::EINVAL);
    }
    let touch = (atime, mtime) == (SetTime::Now, SetTime::Now);
    change(&env, node.id(), |of, who| {
        if touch {
            if of.is_immutable() {
                return Err(Errno::EPERM);
            }
            if owner(of, who).is_err() {
                env.core.may(env.core.dentries.inode(node.id()), who, Access::WRITE)?;
            }
        } else {
            unchangeable(of)?;
            owner(of, who)?;
        }
        let now = env.core.fs.now();
        Ok(SetAttributes { atime: atime.resolve(now), mtime: mtime.resolve(now), ..SetAttributes::default() })
    })
}

/// When a file that gets a size gets new times, too.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// If the size is another than before, as `truncate` has it.
    OfChange,
    /// In any case, as `ftruncate` and `O_TRUNC` have it.
    Always,
}

/// Sets what `what` says of a node, unless its mount is read-only.
fn change(
    env: &Env<'_>,
    node: DentryId,
    what: impl FnOnce(&Snapshot, &Subject<'_>) -> Result<SetAttributes, Errno>,
) -> Result<(), Errno> {
    writable(env.core)?;
    let id = env.core.dentries.inode(node);
    let _changing = env.core.changing(node);
    let set = what(&env.core.known_snapshot(id)?, &env.who())?;
    env.core.set_attributes(id, &set).map(drop)
}

/// `EPERM` for what neither mode, owner nor times can be set of.
fn unchangeable(of: &Snapshot) -> Result<(), Errno> {
    if of.is_immutable() || of.is_append_only() { Err(Errno::EPERM) } else { Ok(()) }
}

/// `EPERM` for who neither owns it nor may do as if.
fn owner(of: &Snapshot, who: &Subject<'_>) -> Result<(), Errno> {
    if of.uid() == who.uid() || who.has(Capabilities::FOWNER) { Ok(()) } else { Err(Errno::EPERM) }
}

impl Core {
    /// The lock for changes of a node's attributes, held while they are looked at and set. Taken before the lock of the inode, inside no lock
    /// but those of directories.
    fn changing(&self, node: DentryId) -> MutexGuard<'_, ()> {
        self.inodes.changing(self.dentries.inode(node))
    }

    /// Refuses with `EPERM` to cut a file that may only grow, also through what was open before.
    /// The caller has a pin on it.
    pub(crate) fn not_append_only(&self, node: DentryId) -> Result<(), Errno> {
        let of = self.known_snapshot(self.dentries.inode(node))?;
        if of.is_append_only() { Err(Errno::EPERM) } else { Ok(()) }
    }

    /// Sets the size of a file that the caller has a pin on, and takes suid and sgid away where `who` may not keep them.
    pub(crate) fn resize(&self, node: DentryId, who: &Subject<'_>, size: u64, times: Times) -> Result<(), Errno> {
        let id = self.dentries.inode(node);
        let _changing = self.changing(node);
        let mode = self.mode_after_write(node, who)?;
        let changes = times == Times::Always || self.stat(id)?.size != size;
        let set = SetAttributes { mode, size: changes.then_some(size), ..SetAttributes::default() };
        if set == SetAttributes::default() {
            return Ok(());
        }
        self.with_room(|| self.set_attributes(id, &set)).map(drop)
    }

    /// Takes suid and sgid away from a file that `who` is about to write to, where they may not be
    /// kept. `check` is asked first what the write would fail with and change nothing.
    ///
    /// The bits go before the data come, so that new data never run with the owner's rights. They
    /// are not given back if the write fails after all: some of it may have been written.
    pub(crate) fn drop_privileges(
        &self,
        node: DentryId,
        who: &Subject<'_>,
        check: impl FnOnce() -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        if self.mode_after_write(node, who)?.is_none() {
            return Ok(());
        }
        check()?;
        let _changing = self.changing(node);
        match self.mode_after_write(node, who)? {
            None => Ok(()),
            mode => {
                let set = SetAttributes { mode, ..SetAttributes::default() };
                self.set_attributes(self.dentries.inode(node), &set).map(drop)
            }
        }
    }

    /// The mode that a file has once it was written to, if it is another.
    fn mode_after_write(&self, node: DentryId, who: &Subject<'_>) -> Result<Option<u16>, Errno> {
        let of = self.known_snapshot(self.dentries.inode(node))?;
        if of.kind() != FileType::Regular || who.has(Capabilities::FSETID) {
            return Ok(None);
        }
        let mode = without_privileges(who, of.mode(), of.gid());
        Ok((mode != of.mode()).then_some(mode))
    }
}
