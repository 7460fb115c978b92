//! The lock-free walk (Linux: RCU-walk): no store to shared memory, no lock, no allocation; on a hit, no call.
//!
//! One step takes a directory and a component to a child: hash, table, compare, recheck. The child's count is sampled before the
//! parent's is rechecked, hand over hand; so at the instant of the sample the child was in that directory under that name, and
//! the directory was still the one the walk had come to.
//!
//! The rare tests come on the miss (FreeBSD's idea): an over-long name, a name with a NUL, and a child of what is no directory are never
//! in the cache, so they are not looked for here; an empty component and dots share one test of the first byte. Directory,
//! searchable by everyone, no link, not negative, not to be revalidated, not being written: one masked compare of the dentry's word.
//!
//! Limitations: names over 32 bytes, links, and directories that not everyone may search go through calls. What needs the file
//! system is handed over.

use super::component::{self, Component, Text, name_word};
use super::dotdot;
use super::may::{Decision, Snapshot};
use super::{Cursor, Env, Place, Stop};
use crate::Errno;
use crate::config::{Config, SearchCheck};
use crate::dcache::dentry::{CHAIN, DentryId, INLINE_NAME, NAME, WORD, flags, inode_of, length_of, parent_of};
use crate::icache::inode;
use crate::memory::lines::Line;
use crate::memory::seqcount::{self, ODD};
use crate::memory::side::ChainReader;
use crate::permission::{Access, everyone_may};
use crate::stats::HandOver;
use crate::sync::Ordering;

/// Flags that keep a walk from passing through a dentry without a further look.
pub(crate) const OBSTACLES: u64 = ODD | flags::LINK | flags::NEGATIVE | flags::REVALIDATE | flags::IN_LOOKUP;

/// How far a walk got in one text.
pub(crate) enum Segment<'a> {
    /// To its end; whether that is a link, absent or out of date was not looked at yet.
    End(Place<'a>),
    /// To a link with a component behind it, which starts at this position.
    Link(Place<'a>, usize),
    Stop(Stop<'a>),
}

/// Walks the text from a position to its end.
#[inline(always)]
pub(crate) fn segment<'a, C: Config, T: Text>(env: &Env<'a>, text: &T, from: Cursor<'a>, pos: usize) -> Segment<'a> {
    let mut place = Place { cur: from, dir: from, pos };
    let mut pos = pos;
    loop {
        let step = if C::INLINE_STEP {
            step::<C, T>(env, text, &mut place, pos)
        } else {
            called_step::<C, T>(env, text, &mut place, pos)
        };
        match step {
            Step::Next(next) => pos = next,
            Step::End => return Segment::End(place),
            Step::Link => return Segment::Link(place, pos),
            Step::Stop(stop) => return Segment::Stop(stop),
        }
    }
}

enum Step<'a> {
    /// On, to the component that starts here.
    Next(usize),
    /// Nothing more in the text.
    End,
    /// The place is a link: this component is behind it.
    Link,
    Stop(Stop<'a>),
}

#[inline(never)]
fn called_step<'a, C: Config, T: Text>(env: &Env<'a>, text: &T, place: &mut Place<'a>, pos: usize) -> Step<'a> {
    step::<C, T>(env, text, place, pos)
}

/// Takes the component at `pos`.
#[inline(always)]
fn step<'a, C: Config, T: Text>(env: &Env<'a>, text: &T, place: &mut Place<'a>, pos: usize) -> Step<'a> {
    let component = component::next(text, pos, &env.core.hash);
    if !text.still_there() {
        return Step::Stop(Stop::changed(place));
    }
    let special = component.may_be_special();
    if special && component.len() == 0 {
        return after(text, &component);
    }
    if !plainly_searchable::<C>(env, &place.cur) {
        match look_closer(env, place, pos, text.has_nul(pos)) {
            Closer::Pass => {}
            Closer::Link => return Step::Link,
            Closer::Stop(stop) => return Step::Stop(stop),
        }
    }
    let from = place.cur;
    let to = if special && component.is_dot() {
        Some(from)
    } else if special && component.is_dot_dot() {
        dotdot::up(env, &from)
    } else {
        let Some(child) = child(env, from.dentry, text, &component) else {
            return Step::Stop(Stop::HandOver(HandOver::Miss, from, pos));
        };
        from.unchanged().then_some(child)
    };
    let Some(to) = to else { return Step::Stop(Stop::changed(place)) };
    *place = Place { cur: to, dir: from, pos };
    after(text, &component)
}

#[inline(always)]
fn after<'a, T: Text>(text: &T, component: &Component) -> Step<'a> {
    if component.end == text.len() { Step::End } else { Step::Next(component.end + 1) }
}

/// The child of this name, sampled; its name was read after the sample and is to be rechecked.
#[inline(always)]
fn child<'a, T: Text>(env: &Env<'a>, parent: DentryId, text: &T, name: &Component) -> Option<Cursor<'a>> {
    let hash = env.core.hash.in_directory(name.hash, parent.0);
    env.table.find(hash, |slot| {
        let line = env.hot.get(slot as usize)?;
        let word = seqcount::sample(&line[WORD]);
        let same = length_of(word) == name.len()
            && parent_of(line) == parent
            && line[NAME].load(Ordering::Relaxed) == name.first
            && (name.len() <= 8 || same_rest(env, line, text, name));
        same.then_some(Cursor { dentry: DentryId(slot), line, word })
    })
}

/// Whether a name of more than eight bytes is the same behind them.
#[inline(always)]
fn same_rest<T: Text>(env: &Env<'_>, line: &Line, text: &T, name: &Component) -> bool {
    if name.len() > INLINE_NAME {
        return same_long(env, line, text, name);
    }
    let mut at = 8;
    while at < name.len() {
        if line[NAME + at / 8].load(Ordering::Relaxed) != name_word(text, name.start + at, name.end) {
            return false;
        }
        at += 8;
    }
    true
}

#[cold]
#[inline(never)]
fn same_long<T: Text>(env: &Env<'_>, line: &Line, text: &T, name: &Component) -> bool {
    let chain = ChainReader::new(env.core.side.lines(), line[CHAIN].load(Ordering::Relaxed) as u32);
    (8..name.len()).step_by(8).all(|at| {
        let stored = match at.checked_sub(INLINE_NAME) {
            None => line[NAME + at / 8].load(Ordering::Relaxed),
            Some(past) => chain.word(past / 8),
        };
        stored == name_word(text, name.start + at, name.end)
    })
}

/// Whether a walk passes through this dentry, whoever asks.
#[inline(always)]
fn plainly_searchable<C: Config>(env: &Env<'_>, cur: &Cursor<'_>) -> bool {
    const EVERYONE: u64 = flags::DIRECTORY | flags::EVERYONE_SEARCH;
    let directory = || cur.word & (OBSTACLES | flags::DIRECTORY) == flags::DIRECTORY;
    match C::SEARCH {
        SearchCheck::Bit => cur.word & (OBSTACLES | EVERYONE) == EVERYONE,
        SearchCheck::Mode => directory() && mode_lets_everyone_search(env, cur),
        SearchCheck::Full => directory() && may_search(env, cur) == Some(Decision::Granted),
    }
}

#[inline(always)]
fn mode_lets_everyone_search(env: &Env<'_>, cur: &Cursor<'_>) -> bool {
    let record = env.core.inodes.record(inode_of(cur.line));
    let word = seqcount::sample(&record[inode::WORD]);
    let plain = word & (ODD | inode::flags::ACL | inode::flags::OWN_RULE) == 0;
    plain && everyone_may(inode::mode_of(word)).contains(Access::EXECUTE) && seqcount::unchanged(&record[inode::WORD], word)
}

#[inline(never)]
fn may_search(env: &Env<'_>, cur: &Cursor<'_>) -> Option<Decision> {
    Snapshot::of(env, cur).map(|snapshot| snapshot.decide(&env.who(), Access::EXECUTE))
}

enum Closer<'a> {
    Pass,
    Link,
    Stop(Stop<'a>),
}

/// What to do about a dentry that a walk does not simply pass through. `pos` is where the walk wants to go on.
#[cold]
#[inline(never)]
fn look_closer<'a>(env: &Env<'a>, place: &Place<'a>, pos: usize, nul_ahead: bool) -> Closer<'a> {
    if let Err(stop) = usable(place) {
        return Closer::Stop(with_nul(stop, nul_ahead));
    }
    let cur = &place.cur;
    if cur.is(flags::LINK) {
        return Closer::Link;
    }
    let verdict = if !cur.is(flags::DIRECTORY) {
        Err(Errno::ENOTDIR)
    } else {
        match may_search(env, cur) {
            None => return Closer::Stop(Stop::changed(place)),
            Some(Decision::Granted) => Ok(()),
            Some(Decision::Refused) => Err(Errno::EACCES),
            Some(_) => return Closer::Stop(Stop::HandOver(HandOver::Permission, *cur, pos)),
        }
    };
    match verdict {
        _ if !cur.unchanged() => Closer::Stop(Stop::changed(place)),
        Ok(()) => Closer::Pass,
        Err(errno) => Closer::Stop(with_nul(Stop::Errno(errno), nul_ahead)),
    }
}

/// A NUL anywhere in the path is found before anything else is; here it is looked for when something else was.
fn with_nul(stop: Stop<'_>, nul: bool) -> Stop<'_> {
    match stop {
        Stop::Errno(_) if nul => Stop::Errno(Errno::EINVAL),
        other => other,
    }
}

/// Whether what the walk arrived at is there, and up to date; `ENOENT` if it is known to be absent.
pub(crate) fn usable<'a>(place: &Place<'a>) -> Result<(), Stop<'a>> {
    let cur = &place.cur;
    if cur.is(ODD) {
        return Err(Stop::changed(place));
    }
    if cur.is(flags::IN_LOOKUP) {
        return Err(Stop::HandOver(HandOver::Miss, place.dir, place.pos));
    }
    // Where the walk began, no name was used that could be out of date.
    if cur.is(flags::REVALIDATE) && cur.dentry != place.dir.dentry {
        return Err(Stop::HandOver(HandOver::Revalidate, place.dir, place.pos));
    }
    if !cur.is(flags::NEGATIVE) {
        return Ok(());
    }
    Err(if cur.unchanged() { Stop::Errno(Errno::ENOENT) } else { Stop::changed(place) })
}
