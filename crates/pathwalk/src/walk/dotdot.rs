//! `..`: up, but never above the root that the walk is confined to.

use super::{Cursor, Env, FoundIn, Stop, cross, scope};
use crate::cache::dcache::dentry::{flags, parent_of};
use crate::config::Config;

/// Returns whether `..` may lead elsewhere than to the directory above: at the walk's root, and at
/// the root of a mount.
#[inline(always)]
pub(crate) fn is_at_top<C: Config>(env: &Env<'_>, from: Cursor<'_>) -> bool {
    let root = if C::RULES { env.root() } else { env.asker.root };
    from.dentry() == root.dentry() || from.is(flags::ROOTED)
}

/// Returns the directory above, sampled. The caller rechecks the child afterwards: until then, this may be anything.
#[inline(always)]
pub(crate) fn up<'a>(found_in: &FoundIn<'a>, from: Cursor<'a>) -> Cursor<'a> {
    found_in.cursor(parent_of(from.line))
}

/// Returns where `..` leads at such a top, sampled; or why the walk must not go on there. The caller
/// rechecks the child, as above.
pub(super) fn up_from_top<'a>(env: &Env<'a>, from: Cursor<'a>) -> Result<Cursor<'a>, Stop<'a>> {
    let before = env.place(from.dentry());
    let to = cross::up_from_root(env, from, env.root())?;
    match &env.scope {
        Some(scope) => scope::refused_between(env, scope, (before, from), to).map_or(Ok(to), Err),
        None => Ok(to),
    }
}
