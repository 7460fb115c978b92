//! The component `..`: it leads up, but never above the root that the walk is confined to, nor out
//! of what a mount shows. (The directory above may have been moved out from under the mount's
//! root.)

use super::{Arrived, Cursor, Env, Stop, cross, scope, validated};
use crate::Errno;
use crate::cache::dcache::dentry::{flags, parent_of};
use crate::config::Config;

/// Returns whether `..` may lead elsewhere than to the directory above: at the walk's root, and at
/// the root of a mount. Also returns true where a scope, or what the mount shows, has to be
/// checked.
#[inline(always)]
pub(crate) fn is_at_top<C: Config>(env: &Env<'_>, from: Cursor<'_>) -> bool {
    let root = env.asker.root;
    from.dentry() == root.dentry() || from.is(flags::ROOTED) || C::RULES && env.scope.is_some() || env.world.may_stray()
}

/// Returns the directory above, sampled. The caller rechecks the child afterwards. Until then, the
/// result may be any dentry.
#[inline(always)]
pub(crate) fn up<'a>(env: &Env<'a>, from: Cursor<'a>) -> Cursor<'a> {
    env.cursor(parent_of(from.line))
}

/// Returns why a walk must not go on above: `ENOENT` where its mount does not show that directory,
/// because a directory was moved out from under the mount's root.
fn strayed<'a>(env: &Env<'a>, from: Arrived<'a>, to: Arrived<'a>) -> Option<Stop<'a>> {
    let is_shown = env.world.is_shown(to.place());
    let mounts = &env.world.mounts;
    match is_shown {
        // The check used the root of the mount that has the slot now, which may be another mount.
        Some(_) if !mounts.is_still(to.mount) => Some(Stop::CHANGED),
        Some(true) => None,
        Some(false) if mounts.is_still(from.mount) => Some(validated(from.cur, Errno::ENOENT)),
        _ => Some(Stop::CHANGED),
    }
}

/// Returns where `..` leads from a place of which [`is_at_top`] is true, or why the walk must not
/// go on there.
pub(super) fn up_from_top<'a>(env: &Env<'a>, from: Arrived<'a>) -> Result<Arrived<'a>, Stop<'a>> {
    let root = env.root();
    let to = if from.cur.dentry() == root.dentry() || from.cur.is(flags::ROOTED) {
        cross::up_from_root(env, from, root)?
    } else {
        Arrived { cur: up(env, from.cur), mount: from.mount }
    };
    if !from.cur.unchanged() {
        return Err(Stop::CHANGED);
    }
    if to.place() != from.place()
        && let Some(stop) = strayed(env, from, to)
    {
        return Err(stop);
    }
    env.tell_step(to.cur, true);
    match &env.scope {
        Some(scope) => scope::refused_up(env, scope, from, to).map_or(Ok(to), Err),
        None => Ok(to),
    }
}
