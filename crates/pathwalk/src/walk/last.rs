//! What a walk arrived at, and whether that will do.

use super::component::{Path, Text};
use super::fast::{OBSTACLES, Segment, segment, usable};
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

/// Walks a path to its end. What it ends at is there and is what it has to be, provided that the cursor is rechecked after the last
/// read.
#[inline(always)]
pub(crate) fn to_end<'a, C: Config>(env: &Env<'a>, path: &'a [u8], from: Cursor<'a>, follow: Follow) -> Result<Cursor<'a>, Stopped<'a>> {
    let path = Path(path);
    match segment::<C, _>(env, path, from, path.0) {
        Segment::End(cur) if !cur.is(OBSTACLES) && (!path.ends_in_slash() || cur.is(flags::DIRECTORY)) => {
            mark(cur);
            Ok(cur)
        }
        // Most of what compilers and shells ask for is absent.
        Segment::End(cur) if cur.has(OBSTACLES, flags::NEGATIVE) && cur.unchanged() => {
            mark(cur);
            Err(Stopped::Errno(Errno::ENOENT))
        }
        other => not_plain::<C>(env, path, other, follow),
    }
}

#[cold]
#[inline(never)]
fn not_plain<'a, C: Config>(env: &Env<'a>, path: Path<'a>, end: Segment<'a>, follow: Follow) -> Result<Cursor<'a>, Stopped<'a>> {
    let ending = Ending::of(path);
    match end {
        Segment::Link(link, after) => symlink::through::<C>(env, path, link, after, follow),
        Segment::End(link) if link.is(flags::LINK) && (follow == Follow::Links || ending == Ending::Slash) => {
            symlink::through::<C>(env, path, link, path.len(), follow)
        }
        Segment::End(cur) => arrive(cur, path.len(), ending).map_err(|stop| Trail::none().stopped(stop)),
        Segment::Stop(stop) => Err(Trail::none().stopped(stop)),
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
#[inline(always)]
fn mark(cur: Cursor<'_>) {
    let visited = &cur.line[VISITED];
    if visited.load(Ordering::Relaxed) == 0 {
        visited.store(1, Ordering::Relaxed);
    }
}
