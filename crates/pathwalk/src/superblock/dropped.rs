//! Entries that were dropped while something was mounted on them: what is mounted there is to be
//! unmounted, which is for those that know of mounts.
//!
//! What always holds: each is pinned once. The thread that dropped one is the next to look here.

use crate::cache::{Caches, Pinned};
use crate::memory::slot::DentryId;
use crate::sync::{AtomicU32, Mutex, Ordering};

/// See the module.
#[derive(Default)]
pub(crate) struct Dropped {
    /// How many there are, or a moment ago; `Relaxed`: the thread that adds one sees it itself.
    count: AtomicU32,
    entries: Mutex<Vec<DentryId>>,
}

impl Dropped {
    /// Adds entries, with their pins.
    pub(super) fn add(&self, entries: Vec<Pinned<'_>>) {
        if entries.is_empty() {
            return;
        }
        let mut all = self.entries.lock();
        all.extend(entries.into_iter().map(Pinned::into_id));
        self.count.store(all.len() as u32, Ordering::Relaxed);
    }

    /// Returns whether there are none: a guess about those of other threads.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Takes all there are, of these caches.
    pub(crate) fn take<'a>(&self, caches: &'a Caches) -> Vec<Pinned<'a>> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut all = self.entries.lock();
        self.count.store(0, Ordering::Relaxed);
        all.drain(..).map(|id| Pinned::new(caches, id)).collect()
    }
}
