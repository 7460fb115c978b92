//! The sleep of a request that waits.
//!
//! What always holds: a signal is reset before its request is entered among those that wait, and
//! that is before a cancellation is looked for. So a wake-up, or a cancellation, after that is not
//! lost.

use crate::cancellation::Wake;
use crate::sync::{Arc, AtomicU32, Ordering, wait_on, wake_all};

const ASLEEP: u32 = 0;
const WOKEN: u32 = 1;

/// The state of one sleeper. `Release` by the thread that wakes, `Acquire` by the sleeper; all else
/// that they share is under locks.
#[derive(Debug, Default)]
pub(super) struct Signal(AtomicU32);

impl Signal {
    pub(super) fn reset(&self) {
        self.0.store(ASLEEP, Ordering::Relaxed);
    }

    pub(super) fn wake(&self) {
        self.0.store(WOKEN, Ordering::Release);
        wake_all(&self.0);
    }

    pub(super) fn sleep(&self) {
        while self.0.load(Ordering::Acquire) == ASLEEP {
            wait_on(&self.0, ASLEEP);
        }
    }
}

impl Wake for Arc<Signal> {
    fn wake(&self) {
        Signal::wake(self);
    }
}
