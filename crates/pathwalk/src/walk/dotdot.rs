//! `..`: up, but never above the root that the walk is confined to.

use super::{Cursor, Env};
use crate::dcache::dentry::{DentryId, WORD, parent_of};
use crate::memory::{pin, seqcount};
use crate::vfs::Core;

/// The directory above, sampled. The caller rechecks the child afterwards: until then, this may be anything.
#[inline(always)]
pub(crate) fn up<'a>(env: &Env<'a>, from: Cursor<'a>) -> Cursor<'a> {
    if from.dentry() == env.root() { from } else { env.cursor(parent_of(from.line)) }
}

impl Core {
    /// The parent of a dentry that the caller has a pin on, pinned. The root is its own.
    pub(crate) fn pin_parent(&self, id: DentryId) -> DentryId {
        loop {
            let word = self.dentries.word(id);
            let parent = self.dentries.parent(id);
            // A parent is kept by its child: if the child did not move, this life is the parent's.
            let life = pin::read(self.dentries.life(parent));
            if let Some(life) = life
                && seqcount::unchanged(&self.dentries.line(id)[WORD], word)
                && pin::pin(self.dentries.life(parent), life)
            {
                return parent;
            }
        }
    }
}
