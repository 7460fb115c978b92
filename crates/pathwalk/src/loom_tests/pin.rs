//! Models of pins: a slot is either pinned or dies, and no thread pins a generation that it did not
//! read.

use super::{race, words};
use crate::memory::pin::{is_idle, kill, kill_held, pin, read, revive, unpin};
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;

type Slot = [AtomicU64; 2];
const LIFE: usize = 0;
const DATA: usize = 1;

/// Creates a slot that is alive and pinned once.
fn pinned() -> Slot {
    let slot = words();
    revive(&slot[LIFE]);
    slot
}

/// Creates a slot that is alive and not pinned.
fn idle() -> Slot {
    let slot = pinned();
    assert!(unpin(&slot[LIFE]).was_last());
    slot
}

/// Pins the slot's current generation, if it can.
fn pin_any(slot: &Slot) -> bool {
    read(&slot[LIFE]).is_some_and(|of| pin(&slot[LIFE], of))
}

#[test]
fn a_pin_or_a_kill_but_not_both() {
    race(idle, [pin_any, |slot| kill(&slot[LIFE])], |_, [pinned, killed]| assert!(pinned != killed));
}

/// Checks a holder with the only pin that ends the generation and begins a new one. Another thread
/// that pins either makes the pins two, or pins the new generation, filled.
#[test]
fn a_holder_ends_it_only_if_he_is_alone() {
    let anew: fn(&Slot) -> Option<u64> = |slot| {
        let alone = kill_held(&slot[LIFE]);
        if alone {
            slot[DATA].store(1, Relaxed);
            revive(&slot[LIFE]);
        }
        Some(u64::from(alone))
    };
    let other: fn(&Slot) -> Option<u64> = |slot| pin_any(slot).then(|| slot[DATA].load(Relaxed));
    race(pinned, [anew, other], |_, [alone, seen]| {
        assert!(alone == Some(1) || seen == Some(0), "it was not alone, so the other thread pinned what was there");
        assert!(alone != Some(1) || seen != Some(0), "a pin taken after the end sees what came then");
    });
}

#[test]
fn two_killers_and_it_dies_once() {
    race(idle, [|slot: &Slot| kill(&slot[LIFE]); 2], |_, [one, other]| assert!(one != other));
}

#[test]
fn whoever_kills_sees_what_holders_did() {
    let hold: fn(&Slot) -> Option<u64> = |slot| {
        pin_any(slot).then(|| {
            slot[DATA].store(1, Relaxed);
            unpin(&slot[LIFE]);
            1
        })
    };
    let end: fn(&Slot) -> Option<u64> = |slot| kill(&slot[LIFE]).then(|| slot[DATA].load(Relaxed));
    race(idle, [hold, end], |_, returned| assert_ne!(returned, [Some(1), Some(0)]));
}

#[test]
fn nobody_pins_a_stranger() {
    let reuse: fn(&Slot) = |slot| {
        if kill(&slot[LIFE]) {
            slot[DATA].store(1, Relaxed);
            revive(&slot[LIFE]);
            unpin(&slot[LIFE]);
        }
    };
    let visit: fn(&Slot) = |slot| {
        let Some(of) = read(&slot[LIFE]) else { return };
        // The data of this generation, as a record would give it: `of` was read before.
        let who = slot[DATA].load(Relaxed);
        let is_first = of == first_life();
        if pin(&slot[LIFE], of) {
            assert_eq!(slot[DATA].load(Relaxed), u64::from(!is_first), "it stays what it was");
            assert_eq!(who, u64::from(!is_first));
            unpin(&slot[LIFE]);
        }
    };
    race(idle, [reuse, visit], |_, _| {});
}

/// Returns the first generation of any slot.
fn first_life() -> crate::memory::pin::Life {
    read(&pinned()[LIFE]).unwrap()
}

/// Checks the loop of `iput`: the thread that gives the last pin back tries to free the slot, and
/// tries again while it is idle. The slot is freed exactly once.
#[test]
fn the_last_one_out_frees() {
    fn let_go(slot: &Slot) {
        if unpin(&slot[LIFE]).was_last() {
            while is_idle(&slot[LIFE]) {
                if kill(&slot[LIFE]) {
                    slot[DATA].fetch_add(1, Relaxed);
                    return;
                }
                loom::thread::yield_now();
            }
        }
    }
    let visit: fn(&Slot) = |slot| {
        if pin_any(slot) {
            let_go(slot);
        }
    };
    race(pinned, [let_go, visit], |slot, _| assert_eq!(slot[DATA].load(Relaxed), 1));
}
