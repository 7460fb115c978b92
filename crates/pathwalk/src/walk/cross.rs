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

use super::verdict::{OBSTACLES, usable};
use super::{Arrived, Cursor, Env, Stop, validated};
use crate::Errno;
use crate::abi::Resolve;
use crate::cache::dcache::dentry::{flags, guessed_cover, parent_of};
use crate::config::Config;
use crate::memo::recording::Recording;
use crate::memory::seqcount::ODD;
use crate::mount::{Cover, MountsView, PinnedPlace, Place};
use crate::stats::HandOver;

/// Returns the root of what is mounted on what a walk came to by a name or `..`, and what is
/// mounted on that; none where more has to be looked at, as [`down`] does.
#[inline(always)]
pub(super) fn plainly_down<'a, C: Config>(env: &Env<'a>, mounts: MountsView<'a>, from: Arrived<'a>) -> Option<Arrived<'a>> {
    if C::RECORDS || from.cur.is(OBSTACLES) || C::RULES && env.scope.is_some_and(|scope| scope.asks_at_mounts()) {
        return None;
    }
    let place = from.place();
    let (mount, root) = match mounts.covers(guessed_cover(from.cur.line), place) {
        Some(found) => found,
        None => mounts.covers(env.world.mounts.probable_cover(place).0.into(), place)?,
    };
    let to = env.cursor(root);
    // Hand over hand: the root while it is mounted, there, where the walk is.
    let is_so = !to.is(ODD | flags::MOUNTED) && from.cur.unchanged() && mount.is_still() && mounts.is_still(from.mount);
    is_so.then_some(Arrived { cur: to, mount: mount.standing })
}

/// Returns the root of what is mounted on what a walk came to by a name or `..`, and what is
/// mounted on that; itself where nothing is, in the mount in which the walk is.
pub(super) fn down<'a>(env: &Env<'a>, from: Arrived<'a>, pos: usize) -> Result<Arrived<'a>, Stop<'a>> {
    let (mounts, mut at) = (&env.world.mounts, from);
    while at.cur.is(flags::MOUNTED) {
        usable(at.cur, pos)?;
        let (mount, root) = match mounts.cover(at.place()) {
            Cover::Nothing if mounts.is_still(at.mount) => {
                // What comes to cover it later need not write to it.
                env.tell(Recording::refuse);
                return Ok(at);
            }
            Cover::Nothing | Cover::NotNow => return Err(Stop::FromStart(HandOver::Mount)),
            Cover::Mount(mount, root) => (mount, root),
        };
        let to = env.cursor(root);
        // Hand over hand: the root while it is mounted, there, where the walk is.
        if to.is(ODD) || !mounts.is_still(mount) || !mounts.is_still(at.mount) || !at.cur.unchanged() {
            return Err(Stop::FromStart(HandOver::Mount));
        }
        refused(env, at.cur)?;
        if mount.expires() && !env.looks_only() {
            // Whether it is used, its end tells.
            return Err(Stop::FromStart(HandOver::Mount));
        }
        at = Arrived { cur: to, mount };
        env.tell_mount(mount);
        env.tell_place(to);
    }
    Ok(at)
}

/// Returns where `..` leads from a dentry that is the root of a mount, or of the asker, or was. The
/// caller rechecks the child.
pub(super) fn up_from_root<'a>(env: &Env<'a>, from: Arrived<'a>, root: Place) -> Result<Arrived<'a>, Stop<'a>> {
    let mounts = &env.world.mounts;
    let (mut here, mut at) = (from.mount, from.cur.dentry());
    env.tell_mount(here);
    // The mount that keeps the dentry where the way up is.
    let mut by = from.mount;
    loop {
        // Where it ends at the root, the walk stays where it was, be that mounted on the root.
        if root == Place::new(here.mount, at) {
            return Ok(from);
        }
        if mounts.root(here.mount) != at {
            break;
        }
        match mounts.covered(here) {
            Ok(None) => return Ok(from),
            Ok(Some(covered)) => {
                env.tell_mount(covered.by);
                env.tell_mount(covered.mount);
                (by, here, at) = (covered.by, covered.mount, covered.dentry);
            }
            Err(_) => return Err(Stop::FromStart(HandOver::Mount)),
        }
    }
    let cur = if at == from.cur.dentry() { from.cur } else { env.cursor(at) };
    // Hand over hand, from the mount below to the dentry that it covers, and to the directory
    // above. The mount below keeps the one where the walk goes on, which has no recheck of its own,
    // as at any `..`.
    let is_it = mounts.is_still(by);
    let to = env.cursor(parent_of(cur.line));
    if !is_it || cur.is(ODD) || !cur.unchanged() {
        return Err(Stop::FromStart(HandOver::Mount));
    }
    if here.mount != from.mount.mount {
        refused(env, from.cur)?;
    }
    if at != from.cur.dentry() {
        env.tell_step(cur, true);
    }
    Ok(Arrived { cur: to, mount: here })
}

/// Returns the root of what is mounted on a place, if anything is: of a walk that has pins.
pub(crate) fn next_down<'a>(env: &Env<'a>, at: &PinnedPlace<'_>) -> Result<Option<PinnedPlace<'a>>, Errno> {
    if env.caches().dentries.word(at.id()) & flags::MOUNTED == 0 {
        return Ok(None);
    }
    let root = env.world.mounted_on(at);
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
