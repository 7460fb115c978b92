//! The dentries that were removed while a thread had a pin on them, and are evicted by a later
//! removal.
//!
//! A walk that is under way may have a pin on what is removed meanwhile. Nothing looks at the
//! dentry when the walk gives the pin back; so the removal notes it here, and each later removal
//! looks at a few. What the file system has for the node (its space, a descriptor) is thereby held
//! for a few removals beyond its last use, and not until the memory of the dentry is needed.
//!
//! What always holds: a number in the list is a guess. The slot may hold another dentry by now.
//!
//! What it does not do: take a pin. A dentry that finds no place here is left to reclaim.

use std::collections::VecDeque;

use crate::cache::Caches;
use crate::memory::slot::DentryId;
use crate::sync::Mutex;

/// The number of dentries that are noted. Nodes that are open or have handles stay here for as long
/// as that.
const MOST: usize = 1024;

/// The number of dentries that one removal looks at.
const AT_ONCE: usize = 4;

/// The dentries, the first noted first.
#[derive(Default)]
pub(crate) struct Left(Mutex<VecDeque<DentryId>>);

impl Left {
    fn add(&self, id: DentryId) {
        let mut all = self.0.lock();
        if all.len() < MOST {
            all.push_back(id);
        }
    }

    /// Takes some of those that were noted first.
    fn take_some(&self) -> Vec<DentryId> {
        let mut all = self.0.lock();
        let some = all.len().min(AT_ONCE);
        all.drain(..some).collect()
    }
}

impl Caches {
    /// Gives back the pin on a dentry that was removed, and evicts it if there is no other; else
    /// notes it. Looks at a few that were noted before, too.
    pub(crate) fn discard_removed(&self, id: DentryId) {
        self.collect_left();
        self.dentries.unpin(id);
        self.collect_or_note(id);
    }

    /// Evicts a few of the dentries that were noted, if they are not pinned by now.
    pub(crate) fn collect_left(&self) {
        let some = self.left.take_some();
        some.into_iter().for_each(|id| self.collect_or_note(id));
    }

    fn collect_or_note(&self, id: DentryId) {
        if !self.collect_from(id) && self.is_out(id) {
            self.left.add(id);
        }
    }
}
