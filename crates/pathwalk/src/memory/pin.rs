//! A pin keeps a slot from being reused.
//!
//! `life` is `generation << 33 | PARKED | ALIVE | count`. A zeroed word is dead. Pinning is a
//! compare-and-swap that fails when the slot is dead or is another generation, so that no thread
//! ever pins a stranger; a bare addition would.
//!
//! `PARKED` is a note for the holder that gives the last count back: that hands do not look at the
//! slot (see [`parked`](super::parked)). It is set only beside a count, and outlives the
//! generation: the count that ended without being given back left it to the next.
//!
//! Pairs: `pin` (Acquire) with `revive` (Release): who pins sees the slot filled. `unpin` (Release) with `kill` (Acquire): whoever kills sees
//! all that holders did. Both orders of pin against kill: if the pin comes first, the count is not 0 and the kill fails; if the kill
//! does, the word is not alive and the pin fails.

use crate::sync::{AtomicU64, Ordering};

const ALIVE: u64 = 1 << 31;
const COUNT: u64 = ALIVE - 1;
const PARKED: u64 = 1 << 32;
const GENERATION: u64 = 1 << 33;

/// A generation of a slot that was alive when this was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Life(u64);

/// What lives in the slot, or `None` if it is dead.
///
/// To know *whom* a later [`pin`] takes, read this before the recheck of the record's sequence count.
pub(crate) fn read(life: &AtomicU64) -> Option<Life> {
    let now = life.load(Ordering::Acquire);
    (now & ALIVE != 0).then_some(life_of(now))
}

fn life_of(word: u64) -> Life {
    Life(word & !(PARKED | COUNT))
}

/// Takes a count, unless the slot died since `of` was read.
pub(crate) fn pin(life: &AtomicU64, of: Life) -> bool {
    let mut now = life.load(Ordering::Relaxed);
    while life_of(now) == of && now & COUNT != COUNT {
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

/// What a count that was given back leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unpinned(u64);

impl Unpinned {
    /// Returns whether no other count is left.
    pub(crate) fn was_last(self) -> bool {
        self.0 & COUNT == 1
    }

    /// Returns whether no other count is left, but the note that hands do not look at the slot: the
    /// caller takes it away.
    pub(crate) fn leaves_parked(self) -> bool {
        self.0 & (PARKED | COUNT) == PARKED | 1
    }
}

/// Gives a count back.
pub(crate) fn unpin(life: &AtomicU64) -> Unpinned {
    let before = life.fetch_sub(1, Ordering::Release);
    debug_assert!(before & ALIVE != 0 && before & COUNT != 0, "unpin of {before:x}");
    Unpinned(before)
}

/// Returns how many counts are held, as of just now.
pub(crate) fn counts(life: &AtomicU64) -> u64 {
    life.load(Ordering::Relaxed) & COUNT
}

/// Returns whether it lives and a count is held: worth parking.
pub(crate) fn is_held(life: &AtomicU64) -> bool {
    let now = life.load(Ordering::Relaxed);
    now & ALIVE != 0 && now & COUNT != 0
}

/// Notes that hands do not look at the slot, if it lives and a count is held; returns whether it
/// does. Also where that is noted already: it is an exchange each time, so that the thread that
/// takes the note away sees what the caller did before.
pub(crate) fn park(life: &AtomicU64) -> bool {
    let note = |now: u64| (now & ALIVE != 0 && now & COUNT != 0).then_some(now | PARKED);
    life.fetch_update(Ordering::AcqRel, Ordering::Relaxed, note).is_ok()
}

/// Takes the note away, whatever lives in the slot by now.
pub(crate) fn unpark(life: &AtomicU64) {
    life.fetch_and(!PARKED, Ordering::AcqRel);
}

/// Whether it lives and nobody holds a count: worth trying to kill.
pub(crate) fn is_idle(life: &AtomicU64) -> bool {
    life.load(Ordering::Relaxed) & (ALIVE | COUNT) == ALIVE
}

/// Ends this generation if nobody holds a count. From then on the slot is the caller's.
pub(crate) fn kill(life: &AtomicU64) -> bool {
    end(life, 0)
}

/// Ends this generation if the caller's count, which ends with it, is the only one. From then on the slot is the caller's.
pub(crate) fn kill_held(life: &AtomicU64) -> bool {
    end(life, 1)
}

/// Ends this generation if there are exactly so many counts.
fn end(life: &AtomicU64, count: u64) -> bool {
    let dead = |now: u64| (now & !(ALIVE | COUNT)).wrapping_add(GENERATION);
    let ended = |now: u64| (now & (ALIVE | COUNT) == ALIVE | count).then(|| dead(now));
    life.fetch_update(Ordering::AcqRel, Ordering::Relaxed, ended).is_ok()
}

/// Begins a generation with one count. The slot is dead and the caller's, and filled.
pub(crate) fn revive(life: &AtomicU64) {
    // The note, too. That it was taken away just now may be undone by this: it does no harm where
    // it stands for nothing.
    let kept = life.load(Ordering::Relaxed) & !(ALIVE | COUNT);
    life.store(kept | ALIVE | 1, Ordering::Release);
}
