//! `stat(2)`, `lstat(2)`, `fstatat(2)`, `fstat(2)`: attributes.

use std::cell::Cell;

use super::{Target, answer, follow, target};
use crate::Errno;
use crate::abi::AtFlags;
use crate::attr::{Attributes, Statx, StatxMask};
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
    let slow = |env: &Env<'_>, found: &PinnedPlace<'_>| {
        let attributes = env.trees().stat(env.caches().dentries.inode(found.id()))?;
        Ok(env.world.mounts.shown(found.mount.id(), attributes))
    };
    stat_with(asker, at, path, how, |env, at| at_end(env, at, flags::STALE), slow)
}

pub(crate) fn statx(asker: &Asker, at: Begin, path: &[u8], how: AtFlags, mask: StatxMask) -> Result<Statx, Errno> {
    if !StatxMask::all().contains(mask) {
        return Err(Errno::EINVAL);
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
    match target(&env, at, path, how, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH)? {
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
    let attributes = at_end(env, at, out_of_date)?;
    let seen = env.world.seen(at.place());
    if !env.world.mounts.is_still(at.mount) {
        return Err(Stopped::HandOver(Resume::FromStart(HandOver::Changed)));
    }
    Ok(Statx::new(attributes, mask, seen))
}

/// Returns the attributes of the node that a walk arrived at, as its mount shows them. Hands over
/// if the inode has any of the flags `out_of_date`.
#[inline(always)]
pub(super) fn at_end<'a>(env: &Env<'a>, at: Arrived<'a>, out_of_date: u64) -> Result<Attributes, Stopped<'a>> {
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
        Ok(None) => Ok(attributes_of(&words)),
        Ok(Some(map)) => Ok(map.shown(attributes_of(&words))),
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
