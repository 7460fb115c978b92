//! `..`: up, but never above the root that the walk is confined to.

use super::{Arrived, Cursor, Env, Stop, cross, scope};
use crate::cache::dcache::dentry::{flags, parent_of};
use crate::config::Config;

/// Returns whether `..` may lead elsewhere than to the directory above: at the walk's root, and at
/// the root of a mount; or whether a scope has to be asked.
#[inline(always)]
pub(crate) fn is_at_top<C: Config>(env: &Env<'_>, from: Cursor<'_>) -> bool {
    let root = env.asker.root;
    from.dentry() == root.dentry() || from.is(flags::ROOTED) || C::RULES && env.scope.is_some()
}

/// Returns the directory above, sampled. The caller rechecks the child afterwards: until then, this
/// may be anything.
#[inline(always)]
pub(crate) fn up<'a>(env: &Env<'a>, from: Cursor<'a>) -> Cursor<'a> {
    env.cursor(parent_of(from.line))
}

/// Returns where `..` leads at such a top; or why the walk must not go on there.
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
    match &env.scope {
        Some(scope) => scope::refused_up(env, scope, from, to).map_or(Ok(to), Err),
        None => Ok(to),
    }
}
