//! Threads that sleep until a word changes: by the system's call for that, such as `futex(2)`.

use super::AtomicU32;

/// Sleeps while `word` is `value`. Spurious wake-ups are possible.
pub(crate) fn wait_on(word: &AtomicU32, value: u32) {
    atomic_wait::wait(word, value);
}

/// Wakes all threads that sleep on `word`.
pub(crate) fn wake_all(word: &AtomicU32) {
    atomic_wait::wake_all(word);
}
