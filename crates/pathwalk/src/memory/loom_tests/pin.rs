//! A slot is either pinned or dies; nobody pins a stranger.

use loom::thread;

use super::words;
use crate::memory::pin::{is_idle, kill, pin, read, revive, unpin};
use crate::sync::{Arc, AtomicU64, Ordering::Relaxed};

const LIFE: usize = 0;
const DATA: usize = 1;

/// A slot that lives and that nobody pins.
fn idle() -> Arc<[AtomicU64; 2]> {
    let slot = words();
    revive(&slot[LIFE]);
    assert!(unpin(&slot[LIFE]));
    slot
}

/// Pins what lives in the slot, if it can.
fn pin_any(slot: &[AtomicU64; 2]) -> bool {
    read(&slot[LIFE]).is_some_and(|of| pin(&slot[LIFE], of))
}

#[test]
fn a_pin_or_a_kill_but_not_both() {
    loom::model(|| {
        let slot = idle();
        let pinner = thread::spawn({
            let slot = slot.clone();
            move || pin_any(&slot)
        });
        let killed = kill(&slot[LIFE]);
        let pinned = pinner.join().unwrap();
        assert!(pinned != killed, "pinned: {pinned}, killed: {killed}");
    });
}

#[test]
fn two_killers_and_one_dies_once() {
    loom::model(|| {
        let slot = idle();
        let other = thread::spawn({
            let slot = slot.clone();
            move || kill(&slot[LIFE])
        });
        let here = kill(&slot[LIFE]);
        assert!(here != other.join().unwrap());
    });
}

#[test]
fn whoever_kills_sees_what_holders_did() {
    loom::model(|| {
        let slot = idle();
        let holder = thread::spawn({
            let slot = slot.clone();
            move || {
                let pinned = pin_any(&slot);
                if pinned {
                    slot[DATA].store(1, Relaxed);
                    unpin(&slot[LIFE]);
                }
                pinned
            }
        });
        let seen = kill(&slot[LIFE]).then(|| slot[DATA].load(Relaxed));
        if holder.join().unwrap() {
            assert_ne!(seen, Some(0));
        }
    });
}

#[test]
fn nobody_pins_a_stranger() {
    loom::model(|| {
        let slot = idle();
        let first = read(&slot[LIFE]).unwrap();
        let evictor = thread::spawn({
            let slot = slot.clone();
            move || {
                if kill(&slot[LIFE]) {
                    slot[DATA].store(1, Relaxed);
                    revive(&slot[LIFE]);
                    unpin(&slot[LIFE]);
                }
            }
        });
        if let Some(of) = read(&slot[LIFE]) {
            let generation = slot[DATA].load(Relaxed);
            if pin(&slot[LIFE], of) {
                // The first generation, and it stays; or the second, and all of it.
                let now = slot[DATA].load(Relaxed);
                assert_eq!(now, u64::from(of != first));
                assert!(generation <= now);
                unpin(&slot[LIFE]);
            }
        }
        evictor.join().unwrap();
    });
}

/// As `iput`: whoever gives back the last count tries to free, and tries again while it is idle. It is freed, and once.
#[test]
fn the_last_one_out_frees() {
    loom::model(|| {
        let slot = words::<2>();
        revive(&slot[LIFE]);
        let let_go = |slot: &[AtomicU64; 2]| {
            if unpin(&slot[LIFE]) {
                while is_idle(&slot[LIFE]) {
                    if kill(&slot[LIFE]) {
                        slot[DATA].fetch_add(1, Relaxed);
                        return;
                    }
                    thread::yield_now();
                }
            }
        };
        let other = thread::spawn({
            let slot = slot.clone();
            move || {
                if pin_any(&slot) {
                    let_go(&slot);
                }
            }
        });
        let_go(&slot);
        other.join().unwrap();
        assert_eq!(slot[DATA].load(Relaxed), 1);
    });
}
