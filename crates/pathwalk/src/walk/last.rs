//! What a walk arrived at, and whether that will do.

use super::component::{Path, Text};
use super::fast::{Broken, OBSTACLES, segment};
use super::symlink;
use super::verdict::{Ending, Stopped, Trail, arrive, usable};
use super::{Cursor, Env, Follow, Stop, scope};
use crate::Errno;
use crate::cache::dcache::dentry::flags;
use crate::config::Config;

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
    let finish = |cur: Cursor<'a>| {
        if C::RULES
            && let Some(scope) = &env.scope
            && let Some(stop) = scope::refused_end(env, scope, cur)
        {
            return Err(Trail::none().stopped(stop));
        }
        finish(cur)
    };
    let end = |cur: Cursor<'a>| {
        if !cur.is(OBSTACLES) && (!path.ends_in_slash() || cur.is(flags::DIRECTORY)) {
            cur.mark();
            return finish(cur);
        }
        // Most of what compilers and shells ask for is absent.
        if cur.has(OBSTACLES, flags::NEGATIVE) && cur.unchanged() {
            cur.mark();
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
