//! Through links, without recursion and without copying.
//!
//! A link's body is a text like the path. What is left of a text when a link in it is entered is remembered as (inode, count, offset)
//! in a [`Trail`] of fixed size; after the last component of a body the walk goes on in the text before. Nothing of a body is used
//! before its inode's count was rechecked.
//!
//! Order for one link: `ELOOP` past 40, `protected_symlinks` for the last component, a mount that follows none, the body. What it
//! does not do: access times of links are not kept, as on a mount with `noatime`.

use arrayvec::ArrayVec;

use super::component::{Path, Text};
use super::fast::{Broken, segment, usable};
use super::hand_over::{Kept, Resume};
use super::last::{Ending, Stopped, arrive};
use super::may::Snapshot;
use super::{Cursor, Env, Follow, Stop, validated};
use crate::Errno;
use crate::config::Config;
use crate::dcache::dentry::{InodeId, flags, inode_of, parent_of};
use crate::icache::inode::{self, LINKS_AUX, MIXED, Record};
use crate::limits::MAX_LINKS;
use crate::memory::seqcount;
use crate::memory::side::ChainReader;
use crate::mount::MountFlags;
use crate::stats::HandOver;
use crate::sync::Ordering;

/// A text that the walk is in, or left for a link.
#[derive(Clone, Copy)]
pub(crate) struct Entered {
    /// The link whose body it is; none: the path.
    pub(crate) inode: InodeId,
    /// The inode's word when it was entered.
    pub(crate) word: u64,
    /// Where the next component starts.
    pub(crate) pos: usize,
    /// What stood behind the link: it is what stands behind the body's last component.
    pub(crate) behind: Ending,
}

const PATH: Entered = Entered { inode: InodeId::NONE, word: 0, pos: 0, behind: Ending::Nothing };

/// The texts of a walk.
pub(crate) struct Trail {
    left: ArrayVec<Entered, MAX_LINKS>,
    pub(crate) current: Entered,
    /// Links entered so far.
    pub(crate) links: usize,
}

impl Trail {
    /// In the path, with no link entered.
    pub(crate) fn none() -> Trail {
        Trail { left: ArrayVec::new_const(), current: PATH, links: 0 }
    }

    /// The texts that were left, outermost first.
    pub(crate) fn left(&self) -> &[Entered] {
        &self.left
    }

    /// A stop within the current text, made into one of the walk.
    #[cold]
    pub(crate) fn stopped(mut self, stop: Stop<'_>) -> Stopped<'_> {
        match stop {
            Stop::Errno(errno) => Stopped::Errno(errno),
            Stop::FromStart(reason) => Stopped::HandOver(Resume::FromStart(reason)),
            Stop::At(reason, dir, pos) => {
                self.current.pos = pos;
                Stopped::HandOver(Resume::At(Box::new(Kept { reason, dir, trail: self })))
            }
        }
    }

    /// Walks the current text from a position; `body` is its body if it was just entered.
    fn walk<'a, C: Config>(
        &self,
        env: &Env<'a>,
        path: Path<'a>,
        body: Option<&Body<'a>>,
        from: Cursor<'a>,
        pos: usize,
    ) -> Result<Walked<'a>, Stop<'a>> {
        if let Some(body) = body {
            return walk_text::<C, _>(env, body, from, pos);
        }
        if self.current.inode == InodeId::NONE {
            return walk_text::<C, _>(env, path, from, pos);
        }
        let body = Body::of(env, self.current.inode, self.current.word).ok_or(Stop::CHANGED)?;
        walk_text::<C, _>(env, &body, from, pos)
    }

    /// Enters a link: its body becomes the current text. Returns it, and where its walk begins.
    fn enter<'a>(&mut self, env: &Env<'a>, link: Cursor<'a>, rest: Rest) -> Result<(Body<'a>, Cursor<'a>), Stop<'a>> {
        let is_last = matches!(rest, Rest::Over(_)) && self.left.is_empty();
        // Where it was found, as of an instant at which it was there.
        let dir = env.cursor(parent_of(link.line));
        if let Some(errno) = refused(env, link, dir, self.links, is_last)? {
            return Err(validated(link, errno));
        }
        let inode = inode_of(link.line);
        let word = seqcount::sample(&env.core.inodes.record(inode)[inode::WORD]);
        if word & inode::flags::BODY == 0 {
            return Err(Stop::FromStart(HandOver::LinkBody));
        }
        let body = Body::of(env, inode, word).ok_or(Stop::CHANGED)?;
        let absolute = (&body).is_absolute();
        if !(&body).still_there() || !link.unchanged() {
            return Err(Stop::CHANGED);
        }
        let behind = match rest {
            Rest::At(pos) => {
                self.left.push(Entered { pos, ..self.current });
                Ending::Nothing
            }
            Rest::Over(behind) => behind,
        };
        self.current = Entered { inode, word, pos: 0, behind };
        self.links += 1;
        Ok((body, if absolute { env.cursor(env.root()) } else { dir }))
    }

    /// Back to the text before, where there is one; returns where its next component starts.
    fn leave(&mut self) -> Option<usize> {
        self.current = self.left.pop()?;
        Some(self.current.pos)
    }
}

/// What is left of a text behind a link in it.
#[derive(Clone, Copy)]
enum Rest {
    /// A component, which starts here.
    At(usize),
    /// None; this stands behind the link.
    Over(Ending),
}

/// How far the walk got in the current text.
enum Walked<'a> {
    /// To a link, with a component behind it that starts here.
    ToLink(Cursor<'a>, usize),
    ToEnd {
        cur: Cursor<'a>,
        length: usize,
        ending: Ending,
    },
}

#[inline(always)]
fn walk_text<'a, C: Config, T: Text>(env: &Env<'a>, text: T, from: Cursor<'a>, pos: usize) -> Result<Walked<'a>, Stop<'a>> {
    let end = |cur| Ok(Walked::ToEnd { cur, length: text.len(), ending: Ending::of(text) });
    let broken = |why| match why {
        Broken::Link(link, after) => Ok(Walked::ToLink(link, after)),
        Broken::Stop(stop) => Err(stop),
    };
    let rest = if pos == 0 { text.beginning() } else { text.from(pos) };
    segment::<C, _, _>(env, text, from, rest, end, broken)
}

/// What forbids a link to be followed, in the order in which Linux asks.
fn refused<'a>(env: &Env<'a>, link: Cursor<'a>, dir: Cursor<'a>, links: usize, is_last: bool) -> Result<Option<Errno>, Stop<'a>> {
    if links == MAX_LINKS {
        return Ok(Some(Errno::ELOOP));
    }
    if is_last && env.core.protects_symlinks() {
        let of_link = Snapshot::of(env, link).ok_or(Stop::CHANGED)?;
        let of_dir = Snapshot::of(env, dir).ok_or(Stop::CHANGED)?;
        if is_protected(env.who().uid(), &of_link, &of_dir) {
            return Ok(Some(Errno::EACCES));
        }
    }
    Ok(env.core.mount.contains(MountFlags::NOSYMFOLLOW).then_some(Errno::ELOOP))
}

/// Whether `protected_symlinks` forbids `follower` a link in this directory: it is sticky and everyone may write to it, and neither
/// the follower nor the directory's owner owns the link.
pub(crate) fn is_protected(follower: u32, link: &Snapshot, dir: &Snapshot) -> bool {
    const STICKY_FOR_ALL: u16 = 0o1002;
    dir.mode() & STICKY_FOR_ALL == STICKY_FOR_ALL && link.uid() != follower && link.uid() != dir.uid()
}

/// The body of a link, in side lines.
struct Body<'a> {
    record: &'a Record,
    word: u64,
    length: usize,
    text: ChainReader<'a>,
}

impl<'a> Body<'a> {
    /// Of the link that `word` was sampled of; `None` if it changed.
    fn of(env: &Env<'a>, inode: InodeId, word: u64) -> Option<Body<'a>> {
        let record = env.core.inodes.record(inode);
        let length = inode::body_length(record[MIXED].load(Ordering::Relaxed));
        let chain = inode::aux_of(record[LINKS_AUX].load(Ordering::Relaxed));
        let body = Body { record, word, length, text: ChainReader::new(env.core.side.lines(), chain) };
        (&body).still_there().then_some(body)
    }
}

impl Text for &Body<'_> {
    type Rest = usize;

    fn len(self) -> usize {
        self.length
    }

    fn from(self, pos: usize) -> usize {
        pos
    }

    fn left(self, rest: usize) -> usize {
        self.length - rest
    }

    #[inline(always)]
    fn word(self, rest: usize, at: usize) -> u64 {
        let (index, shift) = ((rest + at) / 8, 8 * ((rest + at) % 8));
        let low = self.text.word(index) >> shift;
        // The last word is padded with zeros; behind it there is none.
        if shift == 0 || (index + 1) * 8 >= self.length { low } else { low | self.text.word(index + 1) << (64 - shift) }
    }

    fn behind(self, rest: usize, bytes: usize) -> Option<usize> {
        (bytes < self.length - rest).then_some(rest + bytes + 1)
    }

    fn still_there(self) -> bool {
        self.word & seqcount::ODD == 0 && seqcount::unchanged(&self.record[inode::WORD], self.word)
    }

    fn is_absolute(self) -> bool {
        self.text.word(0) as u8 == b'/'
    }

    fn ends_in_slash(self) -> bool {
        let last = self.length.saturating_sub(1);
        (self.text.word(last / 8) >> (8 * (last % 8))) as u8 == b'/'
    }

    /// Bodies with a NUL are not cached.
    fn has_nul(self, _rest: usize) -> bool {
        false
    }
}

/// Follows a link at which the walk of the path stopped, and all that come after it, to the end of everything. `after` is where the
/// next component starts, or the end of the path.
#[cold]
#[inline(never)]
pub(crate) fn through<'a, C: Config>(
    env: &Env<'a>,
    path: Path<'a>,
    link: Cursor<'a>,
    after: usize,
    follow: Follow,
) -> Result<Cursor<'a>, Stopped<'a>> {
    let mut trail = Trail::none();
    let first = if after < path.len() { Rest::At(after) } else { Rest::Over(Ending::of(path)) };
    trail.follow::<C>(env, path, (link, first), follow).map_err(|stop| match stop {
        // A NUL anywhere in the path is found before anything else is; here it is looked for when something else was.
        Stop::Errno(_) if path.has_nul(path.0) => Stopped::Errno(Errno::EINVAL),
        other => trail.stopped(other),
    })
}

impl Trail {
    fn follow<'a, C: Config>(
        &mut self,
        env: &Env<'a>,
        path: Path<'a>,
        first: (Cursor<'a>, Rest),
        follow: Follow,
    ) -> Result<Cursor<'a>, Stop<'a>> {
        let (mut link, mut rest) = first;
        loop {
            let (body, mut cur) = self.enter(env, link, rest)?;
            let (mut pos, mut entered) = (0, Some(&body));
            (link, rest) = loop {
                let (length, ending) = match self.walk::<C>(env, path, entered.take(), cur, pos)? {
                    Walked::ToLink(link, after) => break (link, Rest::At(after)),
                    Walked::ToEnd { cur: end, length, ending } => {
                        cur = end;
                        (length, self.current.behind.or(ending))
                    }
                };
                usable(cur, length)?;
                let stays = self.left.is_empty() && follow == Follow::Not && ending == Ending::Nothing;
                if cur.is(flags::LINK) && !stays {
                    break (cur, Rest::Over(ending));
                }
                match self.leave() {
                    Some(next) => pos = next,
                    None => return arrive(cur, length, ending),
                }
            };
        }
    }
}
