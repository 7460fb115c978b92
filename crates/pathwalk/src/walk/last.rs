//! The end of a walk: the dentry that it reached, and whether that is acceptable.

use super::component::{Path, Text};
use super::fast::{Broken, obstacles, segment};
use super::symlink;
use super::verdict::{Ending, Stopped, Trail, arrive, usable};
use super::whole::{Whence, directory, walked, walked_to};
use super::{Arrived, Cursor, Env, Follow, Stop, cross, dotdot, scope};
use crate::Errno;
use crate::cache::dcache::dentry::flags;
use crate::config::{Config, Crossing};
use crate::memory::slot::DentryId;
use crate::mount::Standing;

/// Walks a path to its end and calls `finish` there. The dentry at the end exists and has the
/// required type, provided that `finish` rechecks the cursor after its last read.
#[inline(always)]
pub(crate) fn to_end<'a, C: Config, T>(
    env: &Env<'a>,
    path: &'a [u8],
    follow: Follow,
    finish: impl Fn(Arrived<'a>) -> Result<T, Stopped<'a>> + Copy,
) -> Result<T, Stopped<'a>> {
    let path = Path(path);
    let (from, rest, whence) = beginning::<C>(env, path);
    let finish = move |at: Arrived<'a>| within_scope::<C, T>(env, at, finish);
    let end = move |at: Arrived<'a>| {
        let cur = at.cur;
        if !cur.is(obstacles::<C>()) && (!path.ends_in_slash() || cur.is(flags::DIRECTORY)) {
            let word = walked_to::<C>(env, path, (follow, whence), cur);
            return finish(Arrived { cur: Cursor { word, ..cur }, ..at });
        }
        // Most of what compilers and shells look up is absent.
        if cur.has(obstacles::<C>(), flags::NEGATIVE) && cur.unchanged() {
            walked::<C>(env, path, follow, whence, cur.mark());
            return Err(Stopped::Errno(Errno::ENOENT));
        }
        at_other::<C>(env, path, (cur.dentry(), cur.word), at.mount, (follow, whence)).and_then(finish)
    };
    let broken = move |why| on_the_way::<C>(env, path, why, (follow, whence)).and_then(finish);
    segment::<C, _, _>(env, path, from, rest, end, broken)
}

/// Returns where the walk of a path begins: at the directory of its last component, if the memo has
/// that.
#[inline(always)]
fn beginning<'a, C: Config>(env: &Env<'a>, path: Path<'a>) -> (Arrived<'a>, &'a [u8], Whence) {
    if C::WHOLE_PATHS
        && env.world.memo.asks_for_directories()
        && let Some((dentry, word, mount, pos)) = directory(env, path)
    {
        return (Arrived { cur: env.sampled(dentry, word), mount }, path.from(pos), Whence::Directory);
    }
    (env.begin(), path.beginning(), Whence::Start)
}

/// Finishes where the walk ends, unless its scope forbids it to end there.
#[inline(always)]
pub(super) fn within_scope<'a, C: Config, T>(
    env: &Env<'a>,
    at: Arrived<'a>,
    finish: impl Fn(Arrived<'a>) -> Result<T, Stopped<'a>>,
) -> Result<T, Stopped<'a>> {
    if C::RULES
        && let Some(scope) = &env.scope
        && let Some(stop) = scope::refused_end(env, scope, at)
    {
        return Err(Trail::none().stopped(stop));
    }
    finish(at)
}

/// Marks the dentry that a walk reached, and lets the memo learn. An absent name counts as marked:
/// it is cached, so it was looked up before.
fn learned<'a, C: Config>(
    env: &Env<'a>,
    path: Path<'a>,
    (follow, whence): (Follow, Whence),
    arrived: &mut Result<Arrived<'a>, Stopped<'a>>,
) {
    match arrived {
        Ok(at) => at.cur.word = walked_to::<C>(env, path, (follow, whence), at.cur),
        Err(Stopped::Errno(Errno::ENOENT)) => walked::<C>(env, path, follow, whence, true),
        Err(_) => {}
    }
}

/// Handles an end of the path that is a link, absent, out of date, no directory, or covered.
#[cold]
#[inline(never)]
fn at_other<'a, C: Config>(
    env: &Env<'a>,
    path: Path<'a>,
    at: (DentryId, u64),
    mount: Standing,
    (follow, whence): (Follow, Whence),
) -> Result<Arrived<'a>, Stopped<'a>> {
    let mut arrived = behind_other::<C>(env, path, at, mount, follow);
    learned::<C>(env, path, (follow, whence), &mut arrived);
    arrived
}

/// Goes on from such an end of the path, as in [`at_other`].
fn behind_other<'a, C: Config>(
    env: &Env<'a>,
    path: Path<'a>,
    (dentry, word): (DentryId, u64),
    mount: Standing,
    follow: Follow,
) -> Result<Arrived<'a>, Stopped<'a>> {
    let at = Arrived { cur: env.sampled(dentry, word), mount };
    let (ending, pos) = (Ending::of(path), path.len());
    let stopped = |stop| Trail::none().stopped(stop);
    let is_covered = !C::CROSSES && at.cur.is(flags::MOUNTED) && path.moves_before(pos);
    let at = if is_covered { cross::down(env, at, pos).map_err(stopped)? } else { at };
    if at.cur.is(flags::LINK) && (follow != Follow::Not || ending == Ending::Slash) {
        usable(at.cur, pos).map_err(stopped)?;
        return symlink::through::<C>(env, path, at, pos, follow);
    }
    arrive(at.cur, pos, ending).map_err(stopped)?;
    Ok(at)
}

/// Handles a walk that did not reach the end of the path.
#[cold]
#[inline(never)]
fn on_the_way<'a, C: Config>(
    env: &Env<'a>,
    path: Path<'a>,
    why: Broken<'a>,
    (follow, whence): (Follow, Whence),
) -> Result<Arrived<'a>, Stopped<'a>> {
    let mut arrived = match why {
        Broken::Link(link, after) => symlink::through::<C>(env, path, link, after, follow),
        Broken::Stop(Stop::Errno(errno)) => Err(Stopped::Errno(errno)),
        other => across::<C>(env, path, other, follow),
    };
    learned::<C>(env, path, (follow, whence), &mut arrived);
    arrived
}

/// Goes on where the walk may enter another mount.
#[cold]
#[inline(never)]
fn across<'a, C: Config>(env: &Env<'a>, path: Path<'a>, mut why: Broken<'a>, follow: Follow) -> Result<Arrived<'a>, Stopped<'a>> {
    loop {
        let (at, pos) = match why {
            Broken::Link(link, after) => return symlink::through::<C>(env, path, link, after, follow),
            Broken::Stop(stop) => return Err(Trail::none().stopped(stop)),
            Broken::Covered(at, pos) => (cross::down(env, at, pos), pos),
            Broken::Top(at, pos) => (dotdot::up_from_top(env, at).and_then(|above| cross::down(env, above, pos)), pos),
        };
        let at = at.map_err(|stop| Trail::none().stopped(stop))?;
        let end = |at: Arrived<'a>| Ok(behind_other::<Crossing<C>>(env, path, (at.cur.dentry(), at.cur.word), at.mount, follow));
        match segment::<Crossing<C>, _, _>(env, path, at, path.from(pos), end, Err) {
            Ok(arrived) => return arrived,
            Err(next) => why = next,
        }
    }
}
