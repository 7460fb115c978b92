//! The hand-over from the fast walk to the locked one. It pins the place that was reached and goes
//! on from there, or starts again.
//!
//! A hand-over is counted by reason. Where a name is missing, or where the file system decides
//! about permission to search, the locked walk goes on in the last validated directory, if that and
//! all links on the trail are unchanged since they were sampled. In all other cases it starts
//! again.

use super::locked::{Text, Walker};
use super::verdict::{Entered, Kept, Resume};
use super::{Env, Follow};
use crate::abi::Resolve;
use crate::cache::Pinned;
use crate::cache::icache::inode::WORD;
use crate::memory::seqcount;
use crate::memory::slot::InodeId;
use crate::mount::{MountPin, PinnedPlace};
use crate::stats::HandOver;

/// Returns the locked walk that takes over. It starts from the beginning where the place cannot be
/// kept.
pub(crate) fn walker<'a>(env: &Env<'a>, path: &'a [u8], resume: &Resume<'a>, follow: Follow) -> Walker<'a> {
    let (reason, kept) = match resume {
        Resume::FromStart(reason) => (*reason, None),
        Resume::Awaited(_) => (HandOver::Miss, None),
        // What these rules check about the way requires a walk of all of it.
        Resume::At(kept) if env.scope.is_some_and(|scope| scope.has(Resolve::NO_XDEV)) => (kept.reason, None),
        Resume::At(kept) => (kept.reason, keep(env, path, kept, follow)),
    };
    env.caches().counters.hand_over(reason);
    kept.unwrap_or_else(|| Walker::start(env, path, env.start, follow))
}

/// Pins the place of the fast walk; `None` if it changed.
fn keep<'a>(env: &Env<'a>, path: &'a [u8], kept: &Kept<'a>, follow: Follow) -> Option<Walker<'a>> {
    let Kept { dir, trail, .. } = kept;
    let id = dir.cur.dentry();
    let node = env.caches().dentries.pin_sampled(id, dir.cur.word).then(|| Pinned::new(env.caches(), id))?;
    let pinned = PinnedPlace { node, mount: MountPin::sampled(env.world, dir.mount)? };
    let texts = trail.left().iter().chain([&trail.current]);
    let texts = texts.map(|entered| text(env, path, entered)).collect::<Option<_>>()?;
    Some(Walker::resume(env, pinned, texts, trail.links, follow))
}

/// Returns a text that was left, copied if it is a link's; `None` if the link changed.
fn text<'a>(env: &Env<'_>, path: &'a [u8], entered: &Entered) -> Option<Text<'a>> {
    if entered.inode == InodeId::NONE {
        return Some(Text::new(path.into(), entered.pos, entered.behind));
    }
    let body = env.caches().copy_body(entered.inode);
    let record = env.caches().inodes.record(entered.inode);
    seqcount::unchanged(&record[WORD], entered.word).then(|| Text::new(body.into(), entered.pos, entered.behind))
}

/// Returns the hash of the directory and name at which the fast walk stopped; `None` if it did not
/// stop at a name. The result is a guess where something changes meanwhile.
#[cold]
pub(crate) fn missing(env: &Env<'_>, path: &[u8], resume: &Resume<'_>) -> Option<u64> {
    match resume {
        Resume::FromStart(_) => None,
        Resume::Awaited(name) => Some(env.caches().hash_of(env.caches().dentries.parent(*name), *name)),
        Resume::At(kept) if kept.reason != HandOver::Miss => None,
        Resume::At(kept) => {
            let text = text(env, path, &kept.trail.current)?;
            Some(env.keys.in_directory(env.keys.name(text.next()?), kept.dir.cur.dentry().0))
        }
    }
}
