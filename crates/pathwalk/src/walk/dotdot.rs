//! `..`: up, but never above the root that the walk is confined to.

use super::{Cursor, Env};
use crate::cache::dcache::dentry::parent_of;
use crate::config::Config;

/// The directory above, sampled. The caller rechecks the child afterwards: until then, this may be anything.
#[inline(always)]
pub(crate) fn up<'a, C: Config>(env: &Env<'a>, from: Cursor<'a>) -> Cursor<'a> {
    let root = if C::RULES { env.root() } else { env.asker.root };
    if from.dentry() == root { from } else { env.cursor(parent_of(from.line)) }
}
