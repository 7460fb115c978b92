//! `stat(2)`, `lstat(2)`, `fstatat(2)`, `fstat(2)`, `statx(2)`: attributes.
//!
//! The usual requests go through the fast walk. Those that name how far the caches are to be
//! trusted (`FORCE_SYNC`, `DONT_SYNC`), or want what the caches never have, are in functions of
//! their own, so that the usual ones test no more for them. The file system is asked about the node
//! at the end alone: names on the way are cached as for any walk.
//!
//! Source: `fs/stat.c` and `nfs_getattr` of Linux.

use std::cell::Cell;

use super::{Target, answer, follow, target_of};
use crate::Errno;
use crate::abi::AtFlags;
use crate::attr::{Attributes, Details, Seen, Statx, StatxMask};
use crate::cache::dcache::dentry::{self, inode_of};
use crate::cache::icache::inode::{WORD, attributes_of, flags, key_of};
use crate::cache::icache::snapshot::words;
use crate::config::Shipped;
use crate::fs_api::StatFs;
use crate::mount::{PinnedPlace, Place, World};
use crate::stats::HandOver;
use crate::walk::asker::{Asker, Begin};
use crate::walk::verdict::{Resume, Stopped};
use crate::walk::whole::to_end;
use crate::walk::{Arrived, Env, Follow, Whose};

pub(crate) fn fstatat(asker: &Asker, at: Begin, path: &[u8], how: AtFlags) -> Result<Attributes, Errno> {
    if !AtFlags::OF_PATH.contains(how) {
        return fstatat_by_flags(asker, at, path, how);
    }
    let slow = |env: &Env<'_>, found: &PinnedPlace<'_>| {
        let attributes = env.trees().stat(env.caches().dentries.inode(found.id()))?;
        Ok(env.world.mounts.shown(found.mount.id(), attributes))
    };
    stat_with(asker, at, path, how, |env, at| at_end(env, at, flags::STALE).map(|(attributes, _)| attributes), slow)
}

#[cold]
#[inline(never)]
fn fstatat_by_flags(asker: &Asker, at: Begin, path: &[u8], how: AtFlags) -> Result<Attributes, Errno> {
    statx_by_flags(asker, at, path, of_fstatat(how), StatxMask::BASIC_STATS).map(|(found, _)| found.into())
}

/// Returns the flags of an `fstatat` as those of a `statx`: it is no error to force and not to.
/// Linux: `nfs_getattr` looks at `AT_STATX_FORCE_SYNC` first.
pub(super) fn of_fstatat(how: AtFlags) -> AtFlags {
    if how.contains(AtFlags::SYNC_TYPE) { how - AtFlags::DONT_SYNC } else { how }
}

pub(crate) fn statx(asker: &Asker, at: Begin, path: &[u8], how: AtFlags, mask: StatxMask) -> Result<Statx, Errno> {
    if !AtFlags::OF_PATH.contains(how) || mask.contains(StatxMask::RESERVED) {
        return statx_by_flags(asker, at, path, how, mask - StatxMask::DETAILS).map(|(found, _)| found);
    }
    let kept = StatxMask::KEPT.contains(mask);
    let slow = |env: &Env<'_>, found: &PinnedPlace<'_>| {
        let inode = env.caches().dentries.inode(found.id());
        let attributes = if kept { env.trees().kept_attributes(inode) } else { env.trees().stat(inode) };
        let attributes = env.world.mounts.shown(found.mount.id(), attributes?);
        Ok(Statx::new(attributes, mask, env.world.seen(found.place())))
    };
    stat_with(asker, at, path, how, |env, at| statx_at_end(env, at, mask), slow)
}

/// Returns the attributes by any flags, with what the mask names beside them: for that and by
/// `FORCE_SYNC` the file system is asked.
#[cold]
#[inline(never)]
pub(crate) fn statx_by_flags(
    asker: &Asker,
    at: Begin,
    path: &[u8],
    how: AtFlags,
    mask: StatxMask,
) -> Result<(Statx, Details), Errno> {
    check(how, mask)?;
    let rest = how & AtFlags::OF_PATH;
    let slow = |env: &Env<'_>, found: &PinnedPlace<'_>| asked(env, found, how, mask);
    if how.contains(AtFlags::DONT_SYNC) {
        let alone = |found| (found, Details::default());
        stat_with(asker, at, path, rest, |env, at| at_hand_at_end(env, at, mask).map(alone), slow)
    } else if how.contains(AtFlags::FORCE_SYNC) || mask.intersects(StatxMask::DETAILS) {
        // Only the locked walk ends where the file system can be asked.
        let fast = |_: &Env<'_>, _| Err(Stopped::HandOver(Resume::FromStart(HandOver::Attributes)));
        stat_with(asker, at, path, rest, fast, slow)
    } else {
        statx(asker, at, path, rest, mask).map(|found| (found, Details::default()))
    }
}

/// Checks flags and mask, in Linux's order.
pub(super) fn check(how: AtFlags, mask: StatxMask) -> Result<(), Errno> {
    let refused = mask.contains(StatxMask::RESERVED) || how.contains(AtFlags::SYNC_TYPE) || !AtFlags::OF_STAT.contains(how);
    if refused { Err(Errno::EINVAL) } else { Ok(()) }
}

/// Returns attributes and details of a pinned node. With a change cookie come attributes that the
/// file system is asked for after the cookie: a client that keeps both sees each later change.
fn asked(env: &Env<'_>, found: &PinnedPlace<'_>, how: AtFlags, mask: StatxMask) -> Result<(Statx, Details), Errno> {
    let (trees, inode) = (env.trees(), env.caches().dentries.inode(found.id()));
    let shown = |attributes| env.world.mounts.shown(found.mount.id(), attributes);
    let seen = env.world.seen(found.place());
    if how.contains(AtFlags::DONT_SYNC) {
        let (attributes, word) = trees.at_hand(inode);
        return Ok((Statx::of_known(shown(attributes), known_of(word), mask, seen), Details::default()));
    }
    let wanted = mask & StatxMask::DETAILS;
    let (mut details, came) = if wanted.is_empty() { Default::default() } else { trees.details(inode, wanted)? };
    let mut present = StatxMask::empty();
    let mut keep = |flag, is_there| present.set(flag, is_there && wanted.contains(flag));
    keep(StatxMask::CHANGE_COOKIE, details.change.is_some());
    keep(StatxMask::SUBVOL, details.subvolume.is_some());
    details.change = details.change.filter(|_| present.contains(StatxMask::CHANGE_COOKIE));
    details.subvolume = details.subvolume.filter(|_| present.contains(StatxMask::SUBVOL));
    let forced = how.contains(AtFlags::FORCE_SYNC) || details.change.is_some();
    let attributes = match came {
        Some(attributes) => Ok(attributes),
        None if forced => trees.asked_again(inode),
        None => trees.stat(inode),
    };
    let mut statx = Statx::of_known(shown(attributes?), StatxMask::all(), mask, seen);
    statx.mask |= present;
    Ok((statx, details))
}

/// Returns the attributes that are up to date where an inode has this word.
fn known_of(word: u64) -> StatxMask {
    match word {
        word if word & flags::UNKNOWN != 0 => StatxMask::TYPE,
        word if word & flags::STALE != 0 => StatxMask::KEPT,
        _ => StatxMask::all(),
    }
}

/// Returns what `fast` reads at the end of a fast walk, or else `slow` at the end of a locked one.
#[inline(always)]
fn stat_with<'a, T>(
    asker: &'a Asker,
    at: Begin,
    path: &'a [u8],
    how: AtFlags,
    fast: impl Fn(&Env<'a>, Arrived<'a>) -> Result<T, Stopped<'a>>,
    slow: impl Fn(&Env<'a>, &PinnedPlace<'a>) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let follow = follow(how);
    match target_of(&env, at, path, how)? {
        Target::Start(start) => slow(&env, &start),
        Target::Path(from) => {
            let env = env.from(from);
            let found = to_end::<Shipped, _>(&env, path, follow, Ok).and_then(|at| fast(&env, at));
            let is_first = Cell::new(true);
            answer(&env, path, follow, found, |found| {
                let answer = slow(&env, &found)?;
                // The name was removed before the attributes were read, so the path may never have
                // led to a node with these attributes. The path is walked once more.
                let is_there = env.caches().dentries.word(found.id()) & dentry::flags::UNHASHED == 0;
                if is_there || !is_first.replace(false) { Ok(answer) } else { Err(Errno::ESTALE) }
            })
        }
    }
}

/// Returns the same by the fast walk only.
pub(super) fn statx_fast<'a>(env: &Env<'a>, path: &'a [u8], follow: Follow, mask: StatxMask) -> Result<Statx, Stopped<'a>> {
    to_end::<Shipped, _>(env, path, follow, Ok).and_then(|at| statx_at_end(env, at, mask))
}

/// Returns the attributes of the node that a walk arrived at, and how it was seen.
pub(super) fn statx_at_end<'a>(env: &Env<'a>, at: Arrived<'a>, mask: StatxMask) -> Result<Statx, Stopped<'a>> {
    let out_of_date = if StatxMask::KEPT.contains(mask) { flags::UNKNOWN } else { flags::STALE };
    let (attributes, _) = at_end(env, at, out_of_date)?;
    Ok(Statx::new(attributes, mask, seen_at_end(env, at)?))
}

/// Returns the attributes that the caches have of the node that a walk arrived at, of whatever age.
pub(super) fn at_hand_at_end<'a>(env: &Env<'a>, at: Arrived<'a>, mask: StatxMask) -> Result<Statx, Stopped<'a>> {
    let (attributes, word) = at_end(env, at, 0)?;
    Ok(Statx::of_known(attributes, known_of(word), mask, seen_at_end(env, at)?))
}

#[inline(always)]
fn seen_at_end<'a>(env: &Env<'a>, at: Arrived<'a>) -> Result<Seen, Stopped<'a>> {
    let seen = env.world.seen(at.place());
    if env.world.mounts.is_still(at.mount) { Ok(seen) } else { Err(Stopped::HandOver(Resume::FromStart(HandOver::Changed))) }
}

/// Returns the attributes of the node that a walk arrived at, as its mount shows them, and the
/// inode's word. Hands over if the inode has any of the flags `out_of_date`.
#[inline(always)]
pub(super) fn at_end<'a>(env: &Env<'a>, at: Arrived<'a>, out_of_date: u64) -> Result<(Attributes, u64), Stopped<'a>> {
    let cur = at.cur;
    let hand_over = |reason| Err(Stopped::HandOver(Resume::FromStart(reason)));
    let Some(words) = words(env.caches(), inode_of(cur.line)) else { return hand_over(HandOver::Changed) };
    if !cur.unchanged() {
        return hand_over(HandOver::Changed);
    }
    if words[WORD] & out_of_date != 0 {
        return hand_over(HandOver::Attributes);
    }
    match env.world.mounts.id_map_at(at.mount) {
        Ok(None) => Ok((attributes_of(&words), words[WORD])),
        Ok(Some(map)) => Ok((map.shown(attributes_of(&words)), words[WORD])),
        Err(_) => hand_over(HandOver::Changed),
    }
}

pub(crate) fn statfs(asker: &Asker, at: Begin, path: &[u8]) -> Result<StatFs, Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let node = super::lookup::pinned_at(&env, at, path, AtFlags::empty())?;
    statfs_at(&asker.world, node.place())
}

/// Returns the file system's answer for a pinned place, with the flags of its mount. Linux:
/// `vfs_statfs`.
pub(crate) fn statfs_at(world: &World, place: Place) -> Result<StatFs, Errno> {
    let inode = world.caches().dentries.inode(place.dentry());
    let key = key_of(world.caches().inodes.record(inode));
    let mut found = world.trees.superblock(inode).fs.statfs_of(key)?;
    found.flags |= world.mounts.switches(place.mount()).told();
    Ok(found)
}
