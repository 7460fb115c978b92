//! What a walk arrived at, and whether that will do.

use super::component::{Path, Text};
use super::fast::{Broken, OBSTACLES, segment, usable};
use super::hand_over::Resume;
use super::symlink::{self, Trail};
use super::{Cursor, Env, Follow, Stop, validated};
use crate::Errno;
use crate::config::Config;
use crate::dcache::dentry::{VISITED, flags};
use crate::sync::Ordering;

/// Why there is no answer from the fast walk.
pub(crate) enum Stopped<'a> {
    /// There is one: this.
    Errno(Errno),
    /// The locked walk goes on.
    HandOver(Resume<'a>),
}

impl Stopped<'_> {
    /// The errno of somebody for whom nobody shall go on: `EAGAIN`, unless there is an answer.
    pub(crate) fn or_again(self) -> Errno {
        match self {
            Stopped::Errno(errno) => errno,
            Stopped::HandOver(_) => Errno::EAGAIN,
        }
    }
}

impl From<Errno> for Stopped<'_> {
    fn from(errno: Errno) -> Self {
        Stopped::Errno(errno)
    }
}

/// What stands behind the last component.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Nothing,
    /// A slash: it has to be a directory.
    Slash,
}

impl Ending {
    pub(crate) fn of(text: impl Text) -> Ending {
        if text.ends_in_slash() { Ending::Slash } else { Ending::Nothing }
    }

    pub(crate) fn or(self, other: Ending) -> Ending {
        if self == Ending::Slash { self } else { other }
    }
}

/// Walks a path to its end and finishes there: what it ends at is there and is what it has to be, provided that `finish` rechecks
/// the cursor after its last read.
#[inline(always)]
pub(crate) fn to_end<'a, C: Config, T>(
    env: &Env<'a>,
    path: &'a [u8],
    from: Cursor<'a>,
    follow: Follow,
    finish: impl Fn(Cursor<'a>) -> Result<T, Stopped<'a>> + Copy,
) -> Result<T, Stopped<'a>> {
    let path = Path(path);
    let end = |cur: Cursor<'a>| {
        if !cur.is(OBSTACLES) && (!path.ends_in_slash() || cur.is(flags::DIRECTORY)) {
            mark(cur);
            return finish(cur);
        }
        // Most of what compilers and shells ask for is absent.
        if cur.has(OBSTACLES, flags::NEGATIVE) && cur.unchanged() {
            mark(cur);
            return Err(Stopped::Errno(Errno::ENOENT));
        }
        at_other::<C>(env, path, cur, follow).and_then(finish)
    };
    segment::<C, _, _>(env, path, from, path.beginning(), end, |why| on_the_way::<C>(env, path, why, follow).and_then(finish))
}

/// The end of the path is a link, absent, out of date or no directory.
#[cold]
#[inline(never)]
fn at_other<'a, C: Config>(env: &Env<'a>, path: Path<'a>, cur: Cursor<'a>, follow: Follow) -> Result<Cursor<'a>, Stopped<'a>> {
    let ending = Ending::of(path);
    if cur.is(flags::LINK) && (follow != Follow::Not || ending == Ending::Slash) {
        if let Err(stop) = usable(cur, path.len()) {
            return Err(Trail::none().stopped(stop));
        }
        return symlink::through::<C>(env, path, cur, path.len(), follow);
    }
    arrive(cur, path.len(), ending).map_err(|stop| Trail::none().stopped(stop))
}

/// Something is in the way.
#[cold]
#[inline(never)]
fn on_the_way<'a, C: Config>(env: &Env<'a>, path: Path<'a>, why: Broken<'a>, follow: Follow) -> Result<Cursor<'a>, Stopped<'a>> {
    match why {
        Broken::Link(link, after) => symlink::through::<C>(env, path, link, after, follow),
        Broken::Stop(Stop::Errno(errno)) => Err(Stopped::Errno(errno)),
        Broken::Stop(stop) => Err(Trail::none().stopped(stop)),
    }
}

/// Whether the place where everything ends will do.
pub(crate) fn arrive(cur: Cursor<'_>, pos: usize, ending: Ending) -> Result<Cursor<'_>, Stop<'_>> {
    usable(cur, pos)?;
    if ending == Ending::Slash && !cur.is(flags::DIRECTORY) {
        return Err(validated(cur, Errno::ENOTDIR));
    }
    mark(cur);
    Ok(cur)
}

/// Leaves the one mark of a hit, once. If the slot is somebody else's by now, that one is kept a little longer.
///
/// Marked is what was reached, and the links on the way. Directories on the way are not: their children keep them.
#[inline(always)]
pub(crate) fn mark(cur: Cursor<'_>) {
    let visited = &cur.line[VISITED];
    if visited.load(Ordering::Relaxed) == 0 {
        visited.store(1, Ordering::Relaxed);
    }
}
