//! Across mounts: from a dentry that is covered to the root of what covers it, and back.
//!
//! What always holds: at the instant of the last recheck, the mount was there, and the dentry that
//! it covers was what the walk had come to. The mount is not pinned: its count is remembered, and
//! checked at the next crossing, or when a place is pinned.
//!
//! A walk does not cross where it begins or jumps to: that is a place already (Linux:
//! `handle_mounts` is called for each name and each `..`, and for nothing else).
//!
//! Source: `__follow_mount_rcu` and `follow_dotdot_rcu` of Linux.

use super::verdict::usable;
use super::{Cursor, Env, Stop, validated};
use crate::Errno;
use crate::abi::Resolve;
use crate::cache::dcache::dentry::{flags, parent_of};
use crate::memory::seqcount::ODD;
use crate::memory::slot::DentryId;
use crate::mount::{Cover, PinnedPlace, Place, Standing};
use crate::stats::HandOver;

/// Returns the root of what is mounted on a cursor, in the mount in which the walk is; itself where
/// nothing is, or where the walk has not moved.
#[cold]
#[inline(never)]
pub(super) fn down<'a>(env: &Env<'a>, from: Cursor<'a>, pos: usize, moved: impl Fn() -> bool) -> Result<Cursor<'a>, Stop<'a>> {
    if !moved() {
        return Ok(from);
    }
    let mut cur = from;
    while cur.is(flags::MOUNTED) {
        usable(cur, pos)?;
        let here = env.standing();
        let (mount, root) = match env.world.mounts.cover(env.place(cur.dentry())) {
            Cover::Nothing if env.world.mounts.is_still(here) => return Ok(cur),
            Cover::Nothing | Cover::NotNow => return Err(Stop::FromStart(HandOver::Mount)),
            Cover::Mount(mount, root) => (mount, root),
        };
        let to = env.cursor(root);
        // Hand over hand: the root while it is mounted, there, where the walk is.
        let mounts = &env.world.mounts;
        if to.is(ODD) || !mounts.is_still(mount) || !mounts.is_still(here) || !cur.unchanged() {
            return Err(Stop::FromStart(HandOver::Mount));
        }
        refused(env, cur)?;
        if mount.expires() && !env.looks_only() {
            mounts.used(mount.mount);
            return Err(Stop::FromStart(HandOver::Mount));
        }
        env.stand_in(mount);
        cur = to;
    }
    Ok(cur)
}

/// Returns where `..` leads from a dentry that is the root of a mount, or of the asker, or was.
#[cold]
#[inline(never)]
pub(super) fn up_from_root<'a>(env: &Env<'a>, from: Cursor<'a>, root: Place) -> Result<Cursor<'a>, Stop<'a>> {
    let (mut here, mut at) = (env.standing(), from.dentry());
    loop {
        // Where it ends at the root, the walk stays where it was, be that mounted on the root.
        if root.dentry() == at && root.mount() == here.mount {
            return Ok(from);
        }
        if env.world.mounts.root(here.mount) != at {
            break;
        }
        match env.world.mounts.covered(here) {
            Ok(None) => return Ok(from),
            Ok(Some((above, covered))) => (here, at) = (above, covered),
            Err(_) => return Err(Stop::FromStart(HandOver::Mount)),
        }
    }
    let cur = if at == from.dentry() { from } else { env.cursor(at) };
    let to = parent_of(cur.line);
    if !cur.unchanged() {
        return Err(Stop::CHANGED);
    }
    arrive(env, from, here, to)
}

/// Returns a dentry in a mount, sampled, as where the walk is now.
fn arrive<'a>(env: &Env<'a>, from: Cursor<'a>, here: Standing, at: DentryId) -> Result<Cursor<'a>, Stop<'a>> {
    let to = env.cursor(at);
    if !env.world.mounts.is_still(here) {
        return Err(Stop::FromStart(HandOver::Mount));
    }
    if here.mount != env.standing().mount {
        refused(env, from)?;
        env.stand_in(here);
    }
    Ok(to)
}

/// Returns the root of what is mounted on a place, if anything is: of a walk that has pins.
pub(crate) fn next_down<'a>(env: &Env<'a>, at: &PinnedPlace<'_>) -> Result<Option<PinnedPlace<'a>>, Errno> {
    if env.caches().dentries.word(at.id()) & flags::MOUNTED == 0 {
        return Ok(None);
    }
    let root = env.world.mounted_on(at);
    if let Some(root) = &root
        && !env.looks_only()
    {
        env.world.mounts.used(root.mount.id());
    }
    let forbids = root.is_some() && env.scope.is_some_and(|scope| scope.has(Resolve::NO_XDEV));
    if forbids { Err(Errno::EXDEV) } else { Ok(root) }
}

/// `EXDEV` for a walk that must not cross.
fn refused<'a>(env: &Env<'a>, cur: Cursor<'a>) -> Result<(), Stop<'a>> {
    match &env.scope {
        Some(scope) if scope.has(Resolve::NO_XDEV) => Err(validated(cur, Errno::EXDEV)),
        _ => Ok(()),
    }
}
