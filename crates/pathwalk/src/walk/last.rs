//! What a walk arrived at, and whether that will do.

use super::component::{Path, Text};
use super::fast::{Broken, OBSTACLES, segment};
use super::symlink;
use super::verdict::{Ending, Stopped, Trail, arrive, usable};
use super::{Cursor, Env, Follow, Stop, cross, scope};
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
    let cur = if cur.is(flags::MOUNTED) {
        let moved = || path.moves_before(path.len());
        cross::down(env, cur, path.len(), moved).map_err(|stop| Trail::none().stopped(stop))?
    } else {
        cur
    };
    if cur.is(flags::LINK) && (follow != Follow::Not || ending == Ending::Slash) {
        if let Err(stop) = usable(cur, path.len()) {
            return Err(Trail::none().stopped(stop));
        }
        return symlink::through::<C>(env, path, cur, path.len(), follow);
    }
    arrive(cur, path.len(), ending).map_err(|stop| Trail::none().stopped(stop))
}

/// The walk goes on in another mount.
fn elsewhere<'a, C: Config>(
    env: &Env<'a>,
    path: Path<'a>,
    mut from: Cursor<'a>,
    mut pos: usize,
    follow: Follow,
) -> Result<Cursor<'a>, Stopped<'a>> {
    loop {
        let end = |cur| Ok(at_other::<C>(env, path, cur, follow));
        match segment::<C, _, _>(env, path, from, path.from(pos), end, Err) {
            Ok(arrived) => return arrived,
            Err(Broken::Elsewhere(there, next)) => (from, pos) = (there, next),
            Err(why) => return on_the_way::<C>(env, path, why, follow),
        }
    }
}

/// Something is in the way.
#[cold]
#[inline(never)]
fn on_the_way<'a, C: Config>(env: &Env<'a>, path: Path<'a>, why: Broken<'a>, follow: Follow) -> Result<Cursor<'a>, Stopped<'a>> {
    match why {
        Broken::Link(link, after) => symlink::through::<C>(env, path, link, after, follow),
        Broken::Elsewhere(there, pos) => elsewhere::<C>(env, path, there, pos, follow),
        Broken::Stop(Stop::Errno(errno)) => Err(Stopped::Errno(errno)),
        Broken::Stop(stop) => Err(Trail::none().stopped(stop)),
    }
}
