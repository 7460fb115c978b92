//! Entries that were dropped while something was mounted on them. It has to be unmounted, and only
//! code that handles mounts can do that.
//!
//! What always holds: each entry is pinned once. The thread that dropped it is the next to look
//! here.

use crate::cache::{Caches, Pinned};
use crate::memory::slot::DentryId;
use crate::sync::{AtomicU32, Mutex, Ordering};

/// The list of dropped entries that still have mounts on them.
#[derive(Default)]
pub(crate) struct Dropped {
    /// The number of entries, as of some recent moment. `Relaxed`: the thread that adds one sees
    /// its own store.
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

    /// Returns whether there are none. The result is a guess about entries of other threads.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Removes and returns all entries, as pins of these caches.
    pub(crate) fn take<'a>(&self, caches: &'a Caches) -> Vec<Pinned<'a>> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut all = self.entries.lock();
        self.count.store(0, Ordering::Relaxed);
        all.drain(..).map(|id| Pinned::new(caches, id)).collect()
    }
}
