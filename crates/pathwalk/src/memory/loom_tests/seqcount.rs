//! What a reader believes was written by one writer, whole.

use loom::thread;

use super::words;
use crate::memory::seqcount::{ODD, sample, unchanged, write};
use crate::sync::{AtomicU64, Ordering::Relaxed};

/// Adds one to both words of data, and sets a flag that says whether they are odd.
fn step(record: &[AtomicU64; 3]) {
    let writing = write(&record[0]);
    let next = record[1].load(Relaxed) + 1;
    record[1].store(next, Relaxed);
    record[2].store(next, Relaxed);
    writing.end((next & 1) << 1);
}

/// What a reader sees, if it may believe it.
fn read(record: &[AtomicU64; 3]) -> Option<(u64, u64, u64)> {
    let word = sample(&record[0]);
    let (left, right) = (record[1].load(Relaxed), record[2].load(Relaxed));
    (word & ODD == 0 && unchanged(&record[0], word)).then_some((word, left, right))
}

#[test]
fn a_reader_believes_no_torn_record() {
    loom::model(|| {
        let record = words::<3>();
        let writer = thread::spawn({
            let record = record.clone();
            move || (0..2).for_each(|_| step(&record))
        });
        if let Some((word, left, right)) = read(&record) {
            // Count, flags and data are of one write.
            assert_eq!((left, right), (word >> 32, word >> 32));
            assert_eq!(word & 2, (left & 1) << 1);
        }
        writer.join().unwrap();
        assert_eq!(read(&record), Some((2 << 32, 2, 2)));
    });
}

#[test]
fn writers_take_turns() {
    loom::model(|| {
        let record = words::<3>();
        let other = thread::spawn({
            let record = record.clone();
            move || step(&record)
        });
        step(&record);
        other.join().unwrap();
        assert_eq!(read(&record), Some((2 << 32, 2, 2)));
    });
}

/// Hand over hand: a child moves from one directory to another, which changes the directory first and then the child. Whoever
/// samples the child before he rechecks the parent never combines the old parent with the new child.
#[test]
fn hand_over_hand_sees_one_instant() {
    loom::model(|| {
        let (parent, child) = (words::<2>(), words::<2>());
        let mover = thread::spawn({
            let (parent, child) = (parent.clone(), child.clone());
            move || {
                for record in [parent, child] {
                    let writing = write(&record[0]);
                    record[1].store(1, Relaxed);
                    writing.end(0);
                }
            }
        });
        let (of_parent, seen_parent) = (sample(&parent[0]), parent[1].load(Relaxed));
        let of_child = sample(&child[0]);
        let parent_same = of_parent & ODD == 0 && unchanged(&parent[0], of_parent);
        let seen_child = child[1].load(Relaxed);
        if parent_same && of_child & ODD == 0 && unchanged(&child[0], of_child) {
            assert!(seen_parent >= seen_child, "the child moved after its parent changed");
        }
        mover.join().unwrap();
    });
}
