//! Models of the directory lock: writers are alone, readers see whole writes, and no thread sleeps
//! for ever, since a lost wake-up is a deadlock here.

use super::{race, words};
use crate::memory::dir_lock::{exclusive, shared};
use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicU32, AtomicU64};

struct Locked {
    lock: AtomicU32,
    data: [AtomicU64; 2],
}

fn setup() -> Locked {
    Locked { lock: AtomicU32::new(0), data: words() }
}

fn write(locked: &Locked) {
    let _held = exclusive(&locked.lock);
    locked.data.iter().for_each(|word| word.store(word.load(Relaxed) + 1, Relaxed));
}

fn read(locked: &Locked) {
    let _held = shared(&locked.lock);
    assert_eq!(locked.data[0].load(Relaxed), locked.data[1].load(Relaxed));
}

#[test]
fn a_reader_and_a_writer() {
    race(setup, [read, write], |locked, _| assert_eq!(locked.lock.load(Relaxed), 0));
}

#[test]
fn two_writers_and_a_reader() {
    race(setup, [write, write, read], |locked, _| {
        assert_eq!((locked.data[0].load(Relaxed), locked.lock.load(Relaxed)), (2, 0));
    });
}

#[test]
fn two_readers_and_a_writer() {
    race(setup, [read, read, write], |locked, _| assert_eq!(locked.lock.load(Relaxed), 0));
}
