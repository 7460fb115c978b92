//! The lock-free walk (Linux: RCU-walk): no store to shared memory, no lock, no allocation; on a
//! hit, no call.
//!
//! One step leads from a directory and a component to a child: hash, table, compare, recheck. The
//! child's count is sampled before the parent's is rechecked, hand over hand. So at the instant of
//! the sample the child was in that directory under that name, and the directory was still the one
//! that the walk had reached.
//!
//! The rare tests come on the miss (FreeBSD's idea). A name that is too long, a name with a NUL,
//! and a child of a dentry that is no directory are never in the cache, so the hit path does not
//! check for them. An empty component and dots share one test of the first byte. One masked compare
//! of the dentry's word checks: a directory, searchable by all users, no link, not negative, not to
//! be revalidated, not being written.
//!
//! Limitations: names over 32 bytes, links, and directories that not all users may search take
//! function calls. What needs the file system, or the security hook, is handed over.

use super::component::{self, Component, Text, last_word_of};
use super::verdict::{OBSTACLES, usable};
use super::{Arrived, Cursor, Env, Stop, cross, dotdot, may, validated};
use crate::Errno;
use crate::cache::Caches;
use crate::cache::dcache::dentry::{INLINE_NAME, NAME, WORD, chain_of, flags, has_parent_and_length, inode_of};
use crate::cache::icache::inode;
use crate::cache::icache::snapshot::Decision;
use crate::cache::search::is_promised;
use crate::config::{Config, SearchCheck};
use crate::memo::recording::Recording;
use crate::memory::lines::Line;
use crate::memory::seqcount::{self, ODD};
use crate::memory::side::ChainReader;
use crate::memory::slot::DentryId;
use crate::mount::MountsView;
use crate::permission::{Access, everyone_may};
use crate::stats::HandOver;
use crate::sync::Ordering;

/// Returns the obstacles for a walk of this configuration. A walk that crosses mounts has crossed
/// already, so a mounted dentry is no obstacle to it.
pub(crate) const fn obstacles<C: Config>() -> u64 {
    if C::CROSSES { OBSTACLES } else { OBSTACLES | flags::MOUNTED }
}

/// The reason why a walk did not reach the end of a text.
pub(crate) enum Broken<'a> {
    /// The walk is at a link with a component behind it, which starts at this position.
    Link(Arrived<'a>, usize),
    /// The walk reached a dentry on which something is mounted, in any mount. This position is the
    /// next.
    Covered(Arrived<'a>, usize),
    /// The walk is at a `..` that may lead to another mount, or that its scope has to check. This
    /// position is behind the `..`.
    Top(Arrived<'a>, usize),
    Stop(Stop<'a>),
}

/// Walks the rest of a text. Whether its end is a link, absent or out of date is not checked yet.
///
/// It continues in `end` or `broken` instead of returning a sum type, with which the dentry's word
/// would be split up and reassembled at every step.
#[inline(always)]
pub(crate) fn segment<'a, C: Config, T: Text, R>(
    env: &Env<'a>,
    text: T,
    from: Arrived<'a>,
    rest: T::Rest,
    end: impl FnOnce(Arrived<'a>) -> R,
    broken: impl FnOnce(Broken<'a>) -> R,
) -> R {
    let (Arrived { mut cur, mut mount }, mut rest) = (from, rest);
    let mounts = if C::CROSSES { env.world.mounts.view() } else { MountsView::NONE };
    loop {
        let component = next::<C, T>(env, text, rest);
        if !text.still_there() {
            return broken(Broken::Stop(Stop::CHANGED));
        }
        let dots = component.may_be_special() && !component.is_name();
        if !dots || component.length != 0 {
            if !plainly_searchable::<C>(env, Arrived { cur, mount })
                && let Some(why) = look_closer::<C, T>(env, Arrived { cur, mount }, text, rest)
            {
                return broken(why);
            }
            if !dots || component.is_dot_dot() {
                let to = if dots {
                    if dotdot::is_at_top::<C>(env, cur) {
                        return broken(Broken::Top(Arrived { cur, mount }, behind(text, rest, component.length)));
                    }
                    dotdot::up(env, cur)
                } else if let Some(child) = child::<C, T>(env, cur, text, rest, component) {
                    child
                } else {
                    return broken(Broken::Stop(Stop::At(HandOver::Miss, Arrived { cur, mount }, text.pos(rest))));
                };
                // The parent is rechecked after the child was sampled, hand over hand. The text is
                // rechecked too, because a name of several words was read again for the comparison.
                if !cur.unchanged() || !text.still_there() {
                    return broken(Broken::Stop(Stop::CHANGED));
                }
                cur = to;
                if C::RECORDS {
                    env.tell_step(cur, dots);
                }
                if C::CROSSES && cur.is(flags::MOUNTED) {
                    match cross::plainly_down::<C>(env, mounts, Arrived { cur, mount }) {
                        Some(down) => Arrived { cur, mount } = down,
                        None => return broken(Broken::Covered(Arrived { cur, mount }, behind(text, rest, component.length))),
                    }
                }
            }
        }
        match text.behind(rest, component.length) {
            Some(behind) => rest = behind,
            None => return end(Arrived { cur, mount }),
        }
    }
}

#[inline(always)]
fn next<C: Config, T: Text>(env: &Env<'_>, text: T, rest: T::Rest) -> Component {
    #[inline(never)]
    fn called<T: Text>(env: &Env<'_>, text: T, rest: T::Rest) -> Component {
        component::next(text, rest, &env.keys)
    }
    if C::INLINE_STEP { component::next(text, rest, &env.keys) } else { called(env, text, rest) }
}

/// Returns the child of this name, sampled. Its name was read after the sample. The caller rechecks
/// the parent; the next step, or the end, rechecks the child.
#[inline(always)]
fn child<'a, C: Config, T: Text>(
    env: &Env<'a>,
    parent: Cursor<'a>,
    text: T,
    rest: T::Rest,
    name: Component,
) -> Option<Cursor<'a>> {
    #[inline(never)]
    fn called<'a, T: Text>(env: &Env<'a>, parent: Cursor<'a>, text: T, rest: T::Rest, name: Component) -> Option<Cursor<'a>> {
        inlined(env, parent, text, rest, name)
    }
    #[inline(always)]
    fn inlined<'a, T: Text>(env: &Env<'a>, parent: Cursor<'a>, text: T, rest: T::Rest, name: Component) -> Option<Cursor<'a>> {
        let parent = parent.dentry();
        let hash = env.keys.in_directory(name.hash, parent.0);
        if let Some(slot) = env.table.likely(hash)
            && let Some(child) = candidate(env, slot, parent, text, rest, name)
        {
            return Some(child);
        }
        unlikely(env, parent, text, rest)
    }
    if C::INLINE_STEP { inlined(env, parent, text, rest, name) } else { called(env, parent, text, rest, name) }
}

/// Searches the table for a child whose entry is not in its first place. The name is split again,
/// so that the likely case need not keep all of it in memory.
#[cold]
#[inline(never)]
fn unlikely<'a, T: Text>(env: &Env<'a>, parent: DentryId, text: T, rest: T::Rest) -> Option<Cursor<'a>> {
    let name = component::next(text, rest, &env.keys);
    let hash = env.keys.in_directory(name.hash, parent.0);
    let found = env.table.search(hash, |slot| candidate(env, slot, parent, text, rest, name));
    if found.is_none() {
        // An absent name is often made next, and that reads this word. The wait for it overlaps
        // with the wait for the table's line.
        std::hint::black_box(env.caches().uses.peek(hash));
    }
    found
}

/// Returns the dentry in a slot, sampled, if it seems to be the child of this name. This is a
/// function and not a closure, because a closure cannot be forced to be inlined.
#[inline(always)]
fn candidate<'a, T: Text>(
    env: &Env<'a>,
    slot: u32,
    parent: DentryId,
    text: T,
    rest: T::Rest,
    name: Component,
) -> Option<Cursor<'a>> {
    let line = env.hot.get(slot as usize)?;
    let word = seqcount::sample(&line[WORD]);
    let same = has_parent_and_length(line, parent, name.length)
        && line[NAME].load(Ordering::Relaxed) == name.first
        && (name.length <= 8 || same_rest(env.caches(), line, text, rest, name.length));
    same.then(|| Cursor::new(slot, line, word))
}

/// Returns whether the bytes of a name behind the first eight are the same.
#[inline(always)]
fn same_rest<T: Text>(caches: &Caches, line: &Line, text: T, rest: T::Rest, length: usize) -> bool {
    if length > INLINE_NAME {
        return same_long(caches, line, text, rest, length);
    }
    let last = (length - 1) / 8;
    (1..last).all(|at| line[NAME + at].load(Ordering::Relaxed) == text.word(rest, at * 8))
        && line[NAME + last % (INLINE_NAME / 8)].load(Ordering::Relaxed) == last_word_of(text, rest, length)
}

#[cold]
#[inline(never)]
fn same_long<T: Text>(caches: &Caches, line: &Line, text: T, rest: T::Rest, length: usize) -> bool {
    let chain = ChainReader::new(caches.side.lines(), chain_of(line));
    let last = (length - 1) / 8;
    (1..=last).all(|at| {
        let stored = match at.checked_sub(INLINE_NAME / 8) {
            None => line[NAME + at].load(Ordering::Relaxed),
            Some(past) => chain.word(past),
        };
        stored == if at == last { last_word_of(text, rest, length) } else { text.word(rest, at * 8) }
    })
}

/// Returns whether a walk passes through this dentry without a closer look. With the checks `Bit`
/// and `Mode`, this holds for directories that all users may search.
#[inline(always)]
fn plainly_searchable<C: Config>(env: &Env<'_>, at: Arrived<'_>) -> bool {
    let cur = at.cur;
    const EVERYONE: u64 = flags::DIRECTORY | flags::EVERYONE_SEARCH;
    let directory = || cur.has(obstacles::<C>() | flags::DIRECTORY, flags::DIRECTORY);
    match C::SEARCH {
        SearchCheck::Bit => cur.has(obstacles::<C>() | EVERYONE, EVERYONE),
        SearchCheck::Mode => directory() && mode_lets_everyone_search(env, cur),
        SearchCheck::Full => directory() && may_search(env, at) == Some(Decision::Granted),
    }
}

#[inline(always)]
fn mode_lets_everyone_search(env: &Env<'_>, cur: Cursor<'_>) -> bool {
    let record = env.caches().inodes.record(inode_of(cur.line));
    let word = seqcount::sample(&record[inode::WORD]);
    let plain = word & (ODD | inode::flags::ACL | inode::flags::OWN_RULE) == 0;
    plain && everyone_may(inode::mode_of(word)).contains(Access::EXECUTE) && seqcount::unchanged(&record[inode::WORD], word)
}

#[inline(never)]
fn may_search(env: &Env<'_>, at: Arrived<'_>) -> Option<Decision> {
    let who = env.who_at(at.mount)?;
    may::snapshot(env, at.cur).map(|snapshot| snapshot.decide(&who, Access::EXECUTE))
}

/// Returns whether the security hook may have to be asked about the search of a directory. Such a
/// way is never learned, because only the locked walk goes on.
fn asks_hook(env: &Env<'_>, cur: Cursor<'_>) -> bool {
    env.caches().search.asks() && may::snapshot(env, cur).is_none_or(|snapshot| !is_promised(snapshot.word))
}

/// Returns what keeps a walk from passing through a dentry that is not plainly searchable. `rest`
/// is what it would walk next.
#[cold]
#[inline(never)]
fn look_closer<'a, C: Config, T: Text>(env: &Env<'a>, at: Arrived<'a>, text: T, rest: T::Rest) -> Option<Broken<'a>> {
    let (cur, pos) = (at.cur, text.pos(rest));
    let stop = match usable(cur, pos) {
        Ok(()) if !C::CROSSES && cur.is(flags::MOUNTED) && text.moves_before(pos) => {
            return Some(Broken::Covered(at, pos));
        }
        Ok(()) if cur.is(flags::LINK) => return Some(Broken::Link(at, pos)),
        Ok(()) if !cur.is(flags::DIRECTORY) => validated(cur, Errno::ENOTDIR),
        Ok(()) => match may_search(env, at) {
            None => Stop::CHANGED,
            Some(Decision::Granted) if asks_hook(env, cur) => Stop::At(HandOver::Permission, at, pos),
            Some(Decision::Granted) => {
                env.tell(Recording::is_restricted);
                return None;
            }
            Some(Decision::Refused) => validated(cur, Errno::EACCES),
            Some(_) => Stop::At(HandOver::Permission, at, pos),
        },
        Err(stop) => stop,
    };
    // A NUL anywhere in the path takes precedence over other errors. It is looked for only after
    // another error was found.
    let errno = matches!(stop, Stop::Errno(_));
    Some(Broken::Stop(if errno && text.has_nul(rest) { Stop::Errno(Errno::EINVAL) } else { stop }))
}

/// Returns the position behind a component, or the end.
#[cold]
#[inline(never)]
fn behind<T: Text>(text: T, rest: T::Rest, length: usize) -> usize {
    text.behind(rest, length).map_or(text.len(), |behind| text.pos(behind))
}
