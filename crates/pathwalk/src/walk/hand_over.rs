//! From the fast walk to the locked one: pin what was reached and go on from there, or start again.
//!
//! A hand-over is counted by reason. Where a name is missing, or permission to search is the file system's to give, the locked walk goes on in
//! the last good directory, if that and all links on the trail are still what they were when they were sampled. Everything else
//! starts again.

use super::locked::{Text, Walker};
use super::symlink::{Entered, Trail};
use super::{Cursor, Env, Follow};
use crate::dcache::dentry::{DentryId, InodeId};
use crate::icache::inode::{self, WORD};
use crate::memory::seqcount;
use crate::stats::HandOver;
use crate::vfs::Pinned;

/// How the locked walk begins.
pub(crate) enum Resume<'a> {
    FromStart(HandOver),
    /// From the start; this name is being looked up just now.
    Awaited(DentryId),
    At(Box<Kept<'a>>),
}

/// A place that the fast walk got to.
pub(crate) struct Kept<'a> {
    pub(crate) reason: HandOver,
    /// The last good directory.
    pub(crate) dir: Cursor<'a>,
    /// The texts; the current one's position is that of the next component.
    pub(crate) trail: Trail,
}

/// The locked walk that takes over; from `start`, which somebody has a pin on, where the place cannot be kept.
pub(crate) fn walker<'a>(env: &Env<'a>, path: &'a [u8], start: DentryId, resume: &Resume<'a>, follow: Follow) -> Walker<'a> {
    let (reason, kept) = match resume {
        Resume::FromStart(reason) => (*reason, None),
        Resume::Awaited(_) => (HandOver::Miss, None),
        Resume::At(kept) => (kept.reason, keep(env, path, kept, follow)),
    };
    env.core.counters.hand_over(reason);
    kept.unwrap_or_else(|| Walker::start(env, path, start, follow))
}

/// Pins where the fast walk is; `None` if it is not what it was.
fn keep<'a>(env: &Env<'a>, path: &'a [u8], kept: &Kept<'a>, follow: Follow) -> Option<Walker<'a>> {
    let Kept { dir, trail, .. } = kept;
    let id = dir.dentry();
    let pinned = env.core.dentries.pin_sampled(id, dir.word).then(|| Pinned::new(env.core, id))?;
    let texts = trail.left().iter().chain([&trail.current]);
    let texts = texts.map(|entered| text(env, path, entered)).collect::<Option<_>>()?;
    Some(Walker::resume(env, pinned, texts, trail.links, follow))
}

/// A text that was left, copied if it is a link's; `None` if the link changed.
fn text<'a>(env: &Env<'_>, path: &'a [u8], entered: &Entered) -> Option<Text<'a>> {
    if entered.inode == InodeId::NONE {
        return Some(Text::new(path.into(), entered.pos, entered.behind));
    }
    let body = env.core.copy_body(entered.inode);
    let record = env.core.inodes.record(entered.inode);
    seqcount::unchanged(&record[WORD], entered.word).then(|| Text::new(body.into(), entered.pos, entered.behind))
}

/// The name that kept the fast walk from its answer: a number that stands for it and its directory. `None` if it was no name. A guess where
/// something changes meanwhile.
#[cold]
pub(crate) fn missing(env: &Env<'_>, path: &[u8], resume: &Resume<'_>) -> Option<u64> {
    match resume {
        Resume::FromStart(_) => None,
        Resume::Awaited(name) => Some(env.core.hash_of(env.core.dentries.parent(*name), *name)),
        Resume::At(kept) if kept.reason != HandOver::Miss => None,
        Resume::At(kept) => {
            let text = text(env, path, &kept.trail.current)?;
            Some(env.keys.in_directory(env.keys.name(text.next()?), kept.dir.dentry().0))
        }
    }
}

impl crate::vfs::Core {
    /// The cached body of a link; to be believed if its inode is pinned, or found unchanged afterwards.
    pub(crate) fn copy_body(&self, id: InodeId) -> Vec<u8> {
        use crate::memory::side::ChainReader;
        use crate::sync::Ordering;
        let record = self.inodes.record(id);
        let length = inode::body_length(record[inode::MIXED].load(Ordering::Relaxed));
        let chain = inode::aux_of(record[inode::LINKS_AUX].load(Ordering::Relaxed));
        let text = ChainReader::new(self.side.lines(), chain);
        let mut body: Vec<u8> = (0..length.div_ceil(8)).flat_map(|at| text.word(at).to_le_bytes()).collect();
        body.truncate(length);
        body
    }
}
