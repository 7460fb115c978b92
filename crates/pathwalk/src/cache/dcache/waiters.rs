//! The places where threads sleep until another thread has answered for a name.

use crate::memory::alone::{Alone, apart};
use crate::memory::slot::DentryId;
use crate::sync::{AtomicU32, Condvar, Mutex, Ordering, fence, stripes, wait};

const STRIPES: usize = stripes(64);

/// The beds of all threads that wait for another thread's answer.
pub(crate) struct Waiters(Box<[Alone<Bed>]>);

/// The place to sleep for the names whose dentries map to it.
#[derive(Default)]
pub(crate) struct Bed {
    /// The number of threads that are asleep or about to be. Written under the lock.
    ///
    /// Pairs: a waiting thread increments the count and then reads the mark. An answering thread
    /// clears the mark and then reads the count. Each has a SeqCst fence between the two, so at
    /// least one of them sees the other.
    sleepers: AtomicU32,
    lock: Mutex<()>,
    condvar: Condvar,
}

impl Waiters {
    pub(crate) fn new() -> Waiters {
        Waiters(apart(STRIPES, Bed::default))
    }

    pub(super) fn of(&self, id: DentryId) -> &Bed {
        &self.0[id.0 as usize % STRIPES]
    }
}

impl Bed {
    /// Sleeps while `is_marked` returns true.
    pub(crate) fn sleep_while(&self, is_marked: impl Fn() -> bool) {
        let mut held = self.lock.lock();
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        while is_marked() {
            held = wait(&self.condvar, held);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Wakes all threads that sleep here, after a mark was cleared. Some may wait for another mark.
    pub(crate) fn wake(&self) {
        fence(Ordering::SeqCst);
        self.wake_if_asleep();
    }

    /// Does the same for a caller whose own fence came after it cleared the mark.
    pub(super) fn wake_if_asleep(&self) {
        if self.sleepers.load(Ordering::Relaxed) == 0 {
            return;
        }
        // The lock is held, so a thread that saw the mark is asleep by now.
        let _held = self.lock.lock();
        self.condvar.notify_all();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_no_bed() {
        let waiters = Waiters::new();
        let bed = |id: usize| std::ptr::from_ref(waiters.of(DentryId(id as u32))).addr();
        for first in [1, 1000] {
            let beds: std::collections::HashSet<_> = (first..first + STRIPES).map(bed).collect();
            assert_eq!(beds.len(), STRIPES);
        }
    }
}
