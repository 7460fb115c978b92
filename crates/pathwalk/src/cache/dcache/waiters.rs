//! Where threads sleep until a name that another one asks for is answered for.

use crate::memory::alone::{Alone, apart};
use crate::memory::slot::DentryId;
use crate::sync::{AtomicU32, Condvar, Mutex, Ordering, fence, stripes, wait};

const STRIPES: usize = stripes(64);

/// Where threads sleep for somebody else's answer.
pub(crate) struct Waiters(Box<[Alone<Bed>]>);

/// For those names whose dentries map to it.
#[derive(Default)]
pub(crate) struct Bed {
    /// Who are asleep, or about to be. Written under the lock.
    ///
    /// Pairs: who waits counts himself and then looks at the mark; who answers takes the mark away
    /// and then looks at the count; a SeqCst fence between both. So one of them sees the other.
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
    /// Sleeps while `is_marked`.
    pub(crate) fn sleep_while(&self, is_marked: impl Fn() -> bool) {
        let mut held = self.lock.lock();
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        while is_marked() {
            held = wait(&self.condvar, held);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// A mark was taken away: wakes whoever sleeps for it, or for another.
    pub(crate) fn wake(&self) {
        fence(Ordering::SeqCst);
        self.wake_if_asleep();
    }

    /// The same by somebody whose fence came after the mark was taken away.
    pub(super) fn wake_if_asleep(&self) {
        if self.sleepers.load(Ordering::Relaxed) == 0 {
            return;
        }
        // Under the lock: who saw the mark is asleep by now.
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
