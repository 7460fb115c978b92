//! `stat(2)`, `lstat(2)`, `fstatat(2)`, `fstat(2)`: attributes.

use std::cell::Cell;

use super::{Target, answer, follow, target};
use crate::Errno;
use crate::abi::AtFlags;
use crate::attr::{Attributes, Statx, StatxMask};
use crate::cache::dcache::dentry::{self, inode_of};
use crate::cache::icache::inode::{WORD, attributes_of, flags};
use crate::cache::icache::snapshot::words;
use crate::config::Shipped;
use crate::fs_api::StatFs;
use crate::stats::HandOver;
use crate::walk::asker::{Asker, Begin};
use crate::walk::last::to_end;
use crate::walk::verdict::{Resume, Stopped};
use crate::walk::{Cursor, Env, Follow, Whose};

pub(crate) fn fstatat(asker: &Asker, at: Begin, path: &[u8], how: AtFlags) -> Result<Attributes, Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let follow = follow(how);
    match target(&env, at, path, how, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH)? {
        Target::Start(start) => env.trees().stat(env.caches().dentries.inode(start.id())),
        Target::Path(from) => {
            let fast = fast(&env, path, from, follow, flags::STALE);
            let is_first = Cell::new(true);
            answer(&env, path, from.dentry(), follow, fast, |found| {
                let attributes = env.trees().stat(env.caches().dentries.inode(found.id()))?;
                // Its name was taken away before they were read, so that the path never led to what they say: looked up once more.
                let is_there = env.caches().dentries.word(found.id()) & dentry::flags::UNHASHED == 0;
                if is_there || !is_first.replace(false) { Ok(attributes) } else { Err(Errno::ESTALE) }
            })
        }
    }
}

pub(crate) fn statx(asker: &Asker, at: Begin, path: &[u8], flags: AtFlags, mask: StatxMask) -> Result<Statx, Errno> {
    if !StatxMask::all().contains(mask) {
        return Err(Errno::EINVAL);
    }
    let attributes = if StatxMask::KEPT.contains(mask) {
        let env = Env::of(asker, Whose::Effective, at);
        let node = super::lookup::pinned_at(&env, at, path, flags)?;
        env.trees().kept_attributes(env.caches().dentries.inode(node.id()))?
    } else {
        fstatat(asker, at, path, flags)?
    };
    Ok(Statx::new(attributes, mask))
}

#[inline(always)]
pub(super) fn fast<'a>(
    env: &Env<'a>,
    path: &'a [u8],
    from: Cursor<'a>,
    follow: Follow,
    out_of_date: u64,
) -> Result<Attributes, Stopped<'a>> {
    to_end::<Shipped, _>(env, path, from, follow, Ok).and_then(|cur| at_end(env, cur, out_of_date))
}

/// The attributes of what a walk arrived at; not if the inode has any of the flags `out_of_date`.
#[inline(always)]
pub(super) fn at_end<'a>(env: &Env<'a>, cur: Cursor<'a>, out_of_date: u64) -> Result<Attributes, Stopped<'a>> {
    let hand_over = |reason| Err(Stopped::HandOver(Resume::FromStart(reason)));
    let Some(words) = words(env.caches(), inode_of(cur.line)) else { return hand_over(HandOver::Changed) };
    if !cur.unchanged() {
        return hand_over(HandOver::Changed);
    }
    if words[WORD] & out_of_date != 0 {
        return hand_over(HandOver::Attributes);
    }
    Ok(attributes_of(&words))
}

pub(crate) fn statfs(asker: &Asker, at: Begin, path: &[u8]) -> Result<StatFs, Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let node = super::lookup::pinned_at(&env, at, path, AtFlags::empty())?;
    env.trees().superblock_at(node.id()).fs.statfs()
}
