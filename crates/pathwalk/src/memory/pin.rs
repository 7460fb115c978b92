//! Pins, which keep a slot from being reused.
//!
//! `life` is `generation << 33 | PARKED | ALIVE | count`. A zeroed word is dead. Pinning is a
//! compare-and-swap that fails if the slot is dead or is of another generation. So no thread ever
//! pins another generation than the one it read, as a bare addition could.
//!
//! `PARKED` is a note for the holder that gives the last pin back: hands skip the slot (see
//! [`parked`](super::parked)). It is set only beside a count. A generation that ends without its
//! last count being given back leaves the note to the next generation.
//!
//! Pairs: `pin` (Acquire) with `revive` (Release): a thread that pins a slot sees it filled.
//! `unpin` (Release) with `kill` (Acquire): a thread that kills sees everything that the holders
//! did. Both orders of pin against kill: if the pin comes first, the count is not 0 and the kill
//! fails; if the kill comes first, the word is not alive and the pin fails.

use crate::sync::{AtomicU64, Ordering};

const ALIVE: u64 = 1 << 31;
const COUNT: u64 = ALIVE - 1;
const PARKED: u64 = 1 << 32;
const GENERATION: u64 = 1 << 33;

/// A generation of a slot that was alive when this was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Life(u64);

/// Returns the slot's generation, or `None` if the slot is dead.
///
/// To know which generation a later [`pin`] takes, call this before the recheck of the record's
/// sequence count.
pub(crate) fn read(life: &AtomicU64) -> Option<Life> {
    let now = life.load(Ordering::Acquire);
    (now & ALIVE != 0).then_some(life_of(now))
}

fn life_of(word: u64) -> Life {
    Life(word & !(PARKED | COUNT))
}

/// Takes a pin, unless the slot died since `of` was read.
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

/// Takes one more pin on a slot that the caller has a pin on. Aborts past 2^30 pins, which only
/// leaks can cause.
pub(crate) fn pin_again(life: &AtomicU64) {
    let before = life.fetch_add(1, Ordering::Relaxed);
    if before & COUNT > COUNT / 2 {
        std::process::abort();
    }
    debug_assert!(before & ALIVE != 0 && before & COUNT != 0, "pin_again of {before:x}");
}

/// The state that a pin leaves when it is given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unpinned(u64);

impl Unpinned {
    /// Returns whether no other pin is left.
    pub(crate) fn was_last(self) -> bool {
        self.0 & COUNT == 1
    }

    /// Returns whether no other pin is left but the note that hands skip the slot. The caller has
    /// to clear the note.
    pub(crate) fn leaves_parked(self) -> bool {
        self.0 & (PARKED | COUNT) == PARKED | 1
    }
}

/// Gives a pin back.
pub(crate) fn unpin(life: &AtomicU64) -> Unpinned {
    let before = life.fetch_sub(1, Ordering::Release);
    debug_assert!(before & ALIVE != 0 && before & COUNT != 0, "unpin of {before:x}");
    Unpinned(before)
}

/// Returns the number of pins, as of just now.
pub(crate) fn counts(life: &AtomicU64) -> u64 {
    life.load(Ordering::Relaxed) & COUNT
}

/// Returns whether the slot is alive and pinned, so that parking it is worth trying.
pub(crate) fn is_held(life: &AtomicU64) -> bool {
    let now = life.load(Ordering::Relaxed);
    now & ALIVE != 0 && now & COUNT != 0
}

/// Sets the note that hands skip the slot, if the slot is alive and pinned. Returns whether it is.
/// It writes the word even if the note is set already, so that the thread that clears the note sees
/// what the caller did before.
pub(crate) fn park(life: &AtomicU64) -> bool {
    let note = |now: u64| (now & ALIVE != 0 && now & COUNT != 0).then_some(now | PARKED);
    life.fetch_update(Ordering::AcqRel, Ordering::Relaxed, note).is_ok()
}

/// Clears the note, whichever generation the slot has by now.
pub(crate) fn unpark(life: &AtomicU64) {
    life.fetch_and(!PARKED, Ordering::AcqRel);
}

/// Returns whether the slot is alive and has no pin, so that a kill is worth trying.
pub(crate) fn is_idle(life: &AtomicU64) -> bool {
    life.load(Ordering::Relaxed) & (ALIVE | COUNT) == ALIVE
}

/// Ends this generation if there is no pin. From then on the slot belongs to the caller.
pub(crate) fn kill(life: &AtomicU64) -> bool {
    end(life, 0)
}

/// Ends this generation if the caller's pin is the only one; the pin ends with it. From then on the
/// slot belongs to the caller.
pub(crate) fn kill_held(life: &AtomicU64) -> bool {
    end(life, 1)
}

/// Ends this generation if there are exactly `count` pins.
fn end(life: &AtomicU64, count: u64) -> bool {
    let dead = |now: u64| (now & !(ALIVE | COUNT)).wrapping_add(GENERATION);
    let ended = |now: u64| (now & (ALIVE | COUNT) == ALIVE | count).then(|| dead(now));
    life.fetch_update(Ordering::AcqRel, Ordering::Relaxed, ended).is_ok()
}

/// Begins a generation with one pin. The slot is dead, belongs to the caller, and is filled.
pub(crate) fn revive(life: &AtomicU64) {
    // The note is kept, too. This store may undo that it was cleared just now; a note without a bit
    // does no harm.
    let kept = life.load(Ordering::Relaxed) & !(ALIVE | COUNT);
    life.store(kept | ALIVE | 1, Ordering::Release);
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_held_idle_or_dead() {
        let life = AtomicU64::new(0);
        let is = || (is_held(&life), is_idle(&life), counts(&life));
        assert_eq!(is(), (false, false, 0));
        revive(&life);
        assert_eq!(is(), (true, false, 1));
        assert!(pin(&life, read(&life).unwrap()));
        assert_eq!(is(), (true, false, 2));
        assert!(!kill_held(&life));
        unpin(&life);
        unpin(&life);
        assert_eq!(is(), (false, true, 0));
        assert!(kill(&life));
        assert_eq!(is(), (false, false, 0));
    }

    /// Checks that a pin is given whatever other pins and notes the slot has, and only in the
    /// generation that was read.
    #[test]
    fn a_pin_is_of_one_generation() {
        let life = AtomicU64::new(0);
        revive(&life);
        let first = read(&life).unwrap();
        pin_again(&life);
        assert!(park(&life));
        assert!(pin(&life, first));
        (0..3).for_each(|_| _ = unpin(&life));
        assert!(kill(&life));
        assert!(!pin(&life, first) && read(&life).is_none());
        revive(&life);
        assert!(!pin(&life, first) && pin(&life, read(&life).unwrap()));
    }
}
