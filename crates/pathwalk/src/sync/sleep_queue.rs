//! Threads that sleep until a word changes: in one queue, for models, and for systems without a
//! call for that. One queue suffices for all words, because spurious wake-ups are allowed.
//!
//! On a system without threads, such as `wasm32-wasip1`, a lock is never held by another thread, so
//! nothing sleeps.

#[cfg(any(loom, shuttle))]
use super::lazy_static;
use super::{AtomicU32, Condvar, Mutex, Ordering, wait};

#[cfg(not(any(loom, shuttle)))]
static SLEEPERS: std::sync::LazyLock<(Mutex<()>, Condvar)> = std::sync::LazyLock::new(Default::default);

#[cfg(any(loom, shuttle))]
lazy_static! {
    static ref SLEEPERS: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
}

/// Sleeps while `word` is `value`. Compares and falls asleep in one step, as a futex does, so that
/// a lost wake-up shows as a deadlock.
pub(crate) fn wait_on(word: &AtomicU32, value: u32) {
    let held = SLEEPERS.0.lock();
    if word.load(Ordering::Relaxed) == value {
        drop(wait(&SLEEPERS.1, held));
    }
}

/// Wakes all threads that sleep, those on other words too.
pub(crate) fn wake_all(_word: &AtomicU32) {
    let _held = SLEEPERS.0.lock();
    SLEEPERS.1.notify_all();
}
