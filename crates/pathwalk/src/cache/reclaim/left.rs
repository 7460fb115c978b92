//! The dentries that were removed or invalidated while a thread had a pin on them, and are evicted
//! by a later removal or invalidation.
//!
//! A walk that is under way may have a pin on what is removed meanwhile. Nothing looks at the
//! dentry when the walk gives the pin back; so the removal notes it here, and each later one looks
//! at a few. What the file system has for the node (its space, a descriptor) is thereby held for a
//! few removals beyond its last use, and not until the memory of the dentry is needed. An
//! invalidated dentry counts, too: its node may be removed by the name that it gets next.
//!
//! What always holds: a number in the list is a guess. The slot may hold another dentry by now.
//!
//! What it does not do: take a pin. A dentry that finds no place here is left to reclaim.

use std::collections::VecDeque;

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
    /// Notes a dentry, if there is room.
    pub(super) fn add(&self, id: DentryId) {
        let mut all = self.0.lock();
        if all.len() < MOST {
            all.push_back(id);
        }
    }

    /// Takes some of those that were noted first.
    pub(super) fn take_some(&self) -> Vec<DentryId> {
        let mut all = self.0.lock();
        let some = all.len().min(AT_ONCE);
        all.drain(..some).collect()
    }
}
