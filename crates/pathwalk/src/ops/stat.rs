//! `stat(2)`, `lstat(2)`, `fstatat(2)`, `fstat(2)`: attributes.

use std::cell::Cell;

use super::{Target, answer, follow, target};
use crate::Errno;
use crate::attr::{Attributes, FileType, Statx, StatxMask};
use crate::config::Shipped;
use crate::context::{At, AtFlags, Context};
use crate::dcache::dentry::{self, InodeId, inode_of};
use crate::fs_api::StatFs;
use crate::handle::Handle;
use crate::icache::inode::{self, INODE_WORDS, WORD, attributes_of, flags};
use crate::memory::seqcount::{self, ODD};
use crate::stats::HandOver;
use crate::sync::{Ordering, yield_now};
use crate::vfs::Core;
use crate::walk::hand_over::Resume;
use crate::walk::last::{Stopped, to_end};
use crate::walk::{Cursor, Env, Follow, Whose};

pub(crate) fn fstatat(context: &Context, at: At<'_>, path: &[u8], how: AtFlags) -> Result<Attributes, Errno> {
    let env = Env::new(context, Whose::Effective);
    let follow = follow(how);
    match target(&env, at, path, how, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH)? {
        Target::Start(start) => env.core.stat(env.core.dentries.inode(start.id())),
        Target::Path(from) => {
            let fast = fast(&env, path, from, follow, flags::STALE);
            let is_first = Cell::new(true);
            answer(&env, path, from.dentry(), follow, fast, |found| {
                let attributes = env.core.stat(env.core.dentries.inode(found.id()))?;
                // Its name was taken away before they were read, so that the path never led to what they say: looked up once more.
                let is_there = env.core.dentries.word(found.id()) & dentry::flags::UNHASHED == 0;
                if is_there || !is_first.replace(false) { Ok(attributes) } else { Err(Errno::ESTALE) }
            })
        }
    }
}

pub(crate) fn statx(context: &Context, at: At<'_>, path: &[u8], flags: AtFlags, mask: StatxMask) -> Result<Statx, Errno> {
    if !StatxMask::all().contains(mask) {
        return Err(Errno::EINVAL);
    }
    let attributes = if StatxMask::KEPT.contains(mask) {
        let env = Env::new(context, Whose::Effective);
        let node = super::lookup::pinned_at(&env, at, path, flags)?;
        env.core.kept_attributes(env.core.dentries.inode(node.id()))?
    } else {
        fstatat(context, at, path, flags)?
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
    let Some(words) = read(env.core, inode_of(cur.line)) else { return hand_over(HandOver::Changed) };
    if !cur.unchanged() {
        return hand_over(HandOver::Changed);
    }
    if words[WORD] & out_of_date != 0 {
        return hand_over(HandOver::Attributes);
    }
    Ok(attributes_of(&words))
}

/// The words of an inode as of one instant; `None` if it changed meanwhile.
#[inline(always)]
fn read(core: &Core, id: InodeId) -> Option<[u64; INODE_WORDS]> {
    let record = core.inodes.record(id);
    let word = seqcount::sample(&record[WORD]);
    let mut words: [u64; INODE_WORDS] = std::array::from_fn(|at| record[at].load(Ordering::Relaxed));
    words[WORD] = word;
    (word & ODD == 0 && seqcount::unchanged(&record[WORD], word)).then_some(words)
}

impl Core {
    /// The attributes of an inode that the caller has a pin on, up to date.
    pub(crate) fn stat(&self, id: InodeId) -> Result<Attributes, Errno> {
        loop {
            match read(self, id) {
                Some(words) if words[WORD] & flags::STALE == 0 => return Ok(attributes_of(&words)),
                Some(_) => return self.refresh(id),
                None => yield_now(),
            }
        }
    }
}

impl Core {
    /// The attributes of which type, mode and owner are up to date.
    fn kept_attributes(&self, id: InodeId) -> Result<Attributes, Errno> {
        self.known_snapshot(id)?;
        loop {
            if let Some(words) = read(self, id) {
                return Ok(attributes_of(&words));
            }
            yield_now();
        }
    }
}

pub(crate) fn statfs(context: &Context, at: At<'_>, path: &[u8]) -> Result<StatFs, Errno> {
    let env = Env::new(context, Whose::Effective);
    super::lookup::pinned_at(&env, at, path, AtFlags::empty())?;
    env.core.fs.statfs()
}

pub(crate) fn attributes(handle: &Handle) -> Result<Attributes, Errno> {
    let core = handle.vfs().core();
    core.stat(core.dentries.inode(handle.dentry()))
}

pub(crate) fn kind(handle: &Handle) -> FileType {
    let core = handle.vfs().core();
    let record = core.inodes.record(core.dentries.inode(handle.dentry()));
    inode::kind_of(record[WORD].load(Ordering::Relaxed))
}
