//! A pin keeps a slot from being reused.
//!
//! `life` is `generation << 32 | ALIVE | count`. A zeroed word is dead. Pinning is a compare-and-swap that fails when the
//! slot is dead or is another generation, so that nobody ever pins a stranger; a bare addition would.
//!
//! Pairs: `pin` (Acquire) with `revive` (Release): who pins sees the slot filled. `unpin` (Release) with `kill` (Acquire): whoever kills sees
//! all that holders did. Both orders of pin against kill: if the pin comes first, the count is not 0 and the kill fails; if the kill
//! does, the word is not alive and the pin fails.

use crate::sync::{AtomicU64, Ordering};

const ALIVE: u64 = 1 << 31;
const COUNT: u64 = ALIVE - 1;
const GENERATION: u64 = 1 << 32;

/// A generation of a slot that was alive when this was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Life(u64);

/// What lives in the slot, or `None` if it is dead.
///
/// To know *whom* a later [`pin`] takes, read this before the recheck of the record's sequence count.
pub(crate) fn read(life: &AtomicU64) -> Option<Life> {
    let now = life.load(Ordering::Acquire);
    (now & ALIVE != 0).then_some(Life(now & !COUNT))
}

/// Takes a count, unless the slot died since `of` was read.
pub(crate) fn pin(life: &AtomicU64, of: Life) -> bool {
    let mut now = life.load(Ordering::Relaxed);
    while now & !COUNT == of.0 && now & COUNT != COUNT {
        match life.compare_exchange_weak(now, now + 1, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return true,
            Err(other) => now = other,
        }
    }
    false
}

/// Takes another count of a slot that the caller has one of. Aborts past 2^30 counts, which only leaks can make.
pub(crate) fn pin_again(life: &AtomicU64) {
    let before = life.fetch_add(1, Ordering::Relaxed);
    if before & COUNT > COUNT / 2 {
        std::process::abort();
    }
    debug_assert!(before & ALIVE != 0 && before & COUNT != 0, "pin_again of {before:x}");
}

/// Gives a count back; whether it was the last.
pub(crate) fn unpin(life: &AtomicU64) -> bool {
    let before = life.fetch_sub(1, Ordering::Release);
    debug_assert!(before & ALIVE != 0 && before & COUNT != 0, "unpin of {before:x}");
    before & COUNT == 1
}

/// Whether it lives and nobody holds a count: worth trying to kill.
pub(crate) fn is_idle(life: &AtomicU64) -> bool {
    life.load(Ordering::Relaxed) & (ALIVE | COUNT) == ALIVE
}

/// Ends this generation if nobody holds a count. From then on the slot is the caller's.
pub(crate) fn kill(life: &AtomicU64) -> bool {
    let now = life.load(Ordering::Relaxed);
    let dead = (now & !(ALIVE | COUNT)).wrapping_add(GENERATION);
    now & (ALIVE | COUNT) == ALIVE && life.compare_exchange(now, dead, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// Ends this generation if the caller's count, which ends with it, is the only one. From then on the slot is the caller's.
pub(crate) fn kill_held(life: &AtomicU64) -> bool {
    let now = life.load(Ordering::Relaxed);
    let dead = (now & !(ALIVE | COUNT)).wrapping_add(GENERATION);
    now & (ALIVE | COUNT) == ALIVE | 1 && life.compare_exchange(now, dead, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// Begins a generation with one count. The slot is dead and the caller's, and filled.
pub(crate) fn revive(life: &AtomicU64) {
    let generation = life.load(Ordering::Relaxed) & !(ALIVE | COUNT);
    life.store(generation | ALIVE | 1, Ordering::Release);
}
