//! Crossings of mounts: from a covered dentry to the root of the mount that covers it, and back.
//!
//! What always holds: at the instant of the last recheck, the mount was there, and the dentry that
//! it covers was the one that the walk had reached. The mount is not pinned: its count is
//! remembered, and checked at the next crossing, or when a place is pinned.
//!
//! A walk does not cross where it begins or jumps to, because that is a place already (Linux calls
//! `handle_mounts` for each name and each `..`, and for nothing else).
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

/// Returns the root of the mount on the place that a walk reached by a name or `..`. Returns `None`
/// where more has to be checked: [`down`] does that.
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
    // The root is sampled before the mount and the covered place are rechecked, hand over hand.
    let is_so = !to.is(ODD | flags::MOUNTED) && from.cur.unchanged() && mount.is_still() && mounts.is_still(from.mount);
    is_so.then_some(Arrived { cur: to, mount: mount.standing })
}

/// Returns the root of the topmost mount on the place that a walk reached by a name or `..`.
/// Returns the place itself, in the walk's mount, where nothing is mounted on it.
pub(super) fn down<'a>(env: &Env<'a>, from: Arrived<'a>, pos: usize) -> Result<Arrived<'a>, Stop<'a>> {
    let (mounts, mut at) = (&env.world.mounts, from);
    while at.cur.is(flags::MOUNTED) {
        usable(at.cur, pos)?;
        let (mount, root) = match mounts.cover(at.place()) {
            Cover::Nothing if mounts.is_still(at.mount) => {
                // A mount that covers this place later need not write to the dentry's word.
                env.tell(Recording::refuse);
                return Ok(at);
            }
            Cover::Nothing | Cover::NotNow => return Err(Stop::FromStart(HandOver::Mount)),
            Cover::Mount(mount, root) => (mount, root),
        };
        let to = env.cursor(root);
        // The root is sampled before the mount and the covered place are rechecked, hand over hand.
        if to.is(ODD) || !mounts.is_still(mount) || !mounts.is_still(at.mount) || !at.cur.unchanged() {
            return Err(Stop::FromStart(HandOver::Mount));
        }
        refused(env, at.cur)?;
        if mount.expires() && !env.looks_only() {
            // Whether the mount counts as used depends on where the walk ends. The locked walk
            // decides it.
            return Err(Stop::FromStart(HandOver::Mount));
        }
        at = Arrived { cur: to, mount };
        env.tell_mount(mount);
        env.tell_place(to);
    }
    Ok(at)
}

/// Returns where `..` leads from a dentry that is, or was, the root of a mount or of the asker. The
/// caller rechecks the child.
pub(super) fn up_from_root<'a>(env: &Env<'a>, from: Arrived<'a>, root: Place) -> Result<Arrived<'a>, Stop<'a>> {
    let mounts = &env.world.mounts;
    let (mut here, mut at) = (from.mount, from.cur.dentry());
    env.tell_mount(here);
    // The mount that keeps the dentry `at`.
    let mut by = from.mount;
    loop {
        // A way up that ends at the root leaves the walk where it was, even in a mount on the root.
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
    // Hand over hand, from the mount `by` to the dentry that it covers, and to the directory above.
    // The mount `by` keeps the mount `here`, where the walk goes on. That one has no recheck of its
    // own, as at any `..`.
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

/// Returns the root of the mount on a pinned place, if there is one. `EXDEV` with `NO_XDEV`.
pub(crate) fn next_down<'a>(env: &Env<'a>, at: &PinnedPlace<'_>) -> Result<Option<PinnedPlace<'a>>, Errno> {
    if env.caches().dentries.word(at.id()) & flags::MOUNTED == 0 {
        return Ok(None);
    }
    let root = env.world.mounted_on(at);
    let forbids = root.is_some() && env.scope.is_some_and(|scope| scope.has(Resolve::NO_XDEV));
    if forbids { Err(Errno::EXDEV) } else { Ok(root) }
}

/// Returns `EXDEV` for a walk that must not cross mounts.
fn refused<'a>(env: &Env<'a>, cur: Cursor<'a>) -> Result<(), Stop<'a>> {
    match &env.scope {
        Some(scope) if scope.has(Resolve::NO_XDEV) => Err(validated(cur, Errno::EXDEV)),
        _ => Ok(()),
    }
}
