//! What a walk arrived at, and whether that will do.

use super::component::{Path, Text};
use super::fast::{Broken, OBSTACLES, segment};
use super::symlink;
use super::verdict::{Ending, Stopped, Trail, arrive, usable};
use super::{Arrived, Cursor, Env, Follow, Stop, cross, dotdot, scope};
use crate::Errno;
use crate::cache::dcache::dentry::flags;
use crate::config::{Config, Uncovered};
use crate::mount::Standing;

/// Walks a path to its end and finishes there: what it ends at is there and is what it has to be, provided that `finish` rechecks
/// the cursor after its last read.
#[inline(always)]
pub(crate) fn to_end<'a, C: Config, T>(
    env: &Env<'a>,
    path: &'a [u8],
    follow: Follow,
    finish: impl Fn(Arrived<'a>) -> Result<T, Stopped<'a>> + Copy,
) -> Result<T, Stopped<'a>> {
    let path = Path(path);
    let finish = |at: Arrived<'a>| {
        if C::RULES
            && let Some(scope) = &env.scope
            && let Some(stop) = scope::refused_end(env, scope, at)
        {
            return Err(Trail::none().stopped(stop, at.mount));
        }
        finish(at)
    };
    let end = |cur: Cursor<'a>| {
        let at = Arrived { cur, mount: env.first_mount() };
        if !cur.is(OBSTACLES) && (!path.ends_in_slash() || cur.is(flags::DIRECTORY)) {
            cur.mark();
            return finish(at);
        }
        // Most of what compilers and shells ask for is absent.
        if cur.has(OBSTACLES, flags::NEGATIVE) && cur.unchanged() {
            cur.mark();
            return Err(Stopped::Errno(Errno::ENOENT));
        }
        at_other::<C>(env, path, at, follow).and_then(finish)
    };
    let broken = |why| on_the_way::<C>(env, path, why, follow).and_then(finish);
    segment::<C, _, _>(env, path, env.begin(), path.beginning(), end, broken)
}

/// The end of the path is a link, absent, out of date, no directory, or covered.
#[cold]
#[inline(never)]
fn at_other<'a, C: Config>(env: &Env<'a>, path: Path<'a>, at: Arrived<'a>, follow: Follow) -> Result<Arrived<'a>, Stopped<'a>> {
    let (ending, pos) = (Ending::of(path), path.len());
    let stopped = |stop| Trail::none().stopped(stop, at.mount);
    let at = if at.cur.is(flags::MOUNTED) && path.moves_before(pos) { cross::down(env, at, pos).map_err(stopped)? } else { at };
    if at.cur.is(flags::LINK) && (follow != Follow::Not || ending == Ending::Slash) {
        usable(at.cur, pos).map_err(stopped)?;
        return symlink::through::<C>(env, path, at, pos, follow);
    }
    arrive(at.cur, pos, ending).map_err(stopped)?;
    Ok(at)
}

/// Something is in the way.
#[cold]
#[inline(never)]
fn on_the_way<'a, C: Config>(env: &Env<'a>, path: Path<'a>, why: Broken<'a>, follow: Follow) -> Result<Arrived<'a>, Stopped<'a>> {
    let mount = env.first_mount();
    match why {
        Broken::Link(cur, after) => symlink::through::<C>(env, path, Arrived { cur, mount }, after, follow),
        Broken::Stop(Stop::Errno(errno)) => Err(Stopped::Errno(errno)),
        other => across::<C>(env, path, other, mount, follow),
    }
}

/// The walk may go on in another mount.
#[cold]
#[inline(never)]
fn across<'a, C: Config>(
    env: &Env<'a>,
    path: Path<'a>,
    mut why: Broken<'a>,
    mut mount: Standing,
    follow: Follow,
) -> Result<Arrived<'a>, Stopped<'a>> {
    loop {
        let (at, pos) = match why {
            Broken::Link(cur, after) => return symlink::through::<C>(env, path, Arrived { cur, mount }, after, follow),
            Broken::Stop(stop) => return Err(Trail::none().stopped(stop, mount)),
            Broken::Covered(cur, pos) => (cross::down(env, Arrived { cur, mount }, pos), pos),
            Broken::Top(cur, pos) => {
                let above = dotdot::up_from_top(env, Arrived { cur, mount });
                (above.and_then(|above| cross::down(env, above, pos)), pos)
            }
        };
        let at = at.map_err(|stop| Trail::none().stopped(stop, mount))?;
        mount = at.mount;
        let end = |cur| Ok(at_other::<C>(env, path, Arrived { cur, mount }, follow));
        match segment::<Uncovered<C>, _, _>(env, path, at.cur, path.from(pos), end, Err) {
            Ok(arrived) => return arrived,
            Err(next) => why = next,
        }
    }
}
