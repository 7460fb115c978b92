//! Models of the sequence count: data that a reader validates was written by one writer, whole.

use super::{race, words};
use crate::memory::seqcount::{ODD, sample, unchanged, write, write_alone};
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;

type Record = [AtomicU64; 3];

/// Adds one to both words of data, and sets a flag that says whether they are odd.
fn step(record: &Record) {
    let writing = write(&record[0]);
    let next = record[1].load(Relaxed) + 1;
    record[1].store(next, Relaxed);
    record[2].store(next, Relaxed);
    writing.end((next & 1) << 1);
}

/// Returns what a reader sees, if it is valid.
fn read(record: &Record) -> Option<(u64, u64, u64)> {
    let word = sample(&record[0]);
    let (left, right) = (record[1].load(Relaxed), record[2].load(Relaxed));
    (word & ODD == 0 && unchanged(&record[0], word)).then_some((word, left, right))
}

/// Checks that count, flags and data are of one write.
fn read_and_check(record: &Record) {
    if let Some((word, left, right)) = read(record) {
        assert_eq!((left, right), (word >> 32, word >> 32));
        assert_eq!(word & 2, (left & 1) << 1);
    }
}

#[test]
fn a_reader_believes_no_torn_record() {
    let write_twice: fn(&Record) = |record| (0..2).for_each(|_| step(record));
    race(words, [write_twice, read_and_check], |record, _| assert_eq!(read(record), Some((2 << 32, 2, 2))));
}

#[test]
fn a_writer_who_is_alone_needs_no_swap() {
    let write_twice: fn(&Record) = |record| {
        for next in 1..=2 {
            let writing = write_alone(&record[0]);
            record[1].store(next, Relaxed);
            record[2].store(next, Relaxed);
            writing.end((next & 1) << 1);
        }
    };
    race(words, [write_twice, read_and_check], |record, _| assert_eq!(read(record), Some((2 << 32, 2, 2))));
}

#[test]
fn writers_take_turns_beside_a_reader() {
    race(words, [step, step, read_and_check], |record: &Record, _| assert_eq!(read(record), Some((2 << 32, 2, 2))));
}

/// Checks hand over hand: first a directory changes, then its child. A reader that samples the
/// child before it rechecks the directory never combines the old directory with the new child.
#[test]
fn hand_over_hand_sees_one_instant() {
    type Records = [[AtomicU64; 2]; 2];
    let change: fn(&Records) = |records| {
        for record in records {
            let writing = write(&record[0]);
            record[1].store(1, Relaxed);
            writing.end(0);
        }
    };
    let walk: fn(&Records) = |[parent, child]| {
        let (of_parent, seen_parent) = (sample(&parent[0]), parent[1].load(Relaxed));
        let of_child = sample(&child[0]);
        let parent_same = of_parent & ODD == 0 && unchanged(&parent[0], of_parent);
        let seen_child = child[1].load(Relaxed);
        if parent_same && of_child & ODD == 0 && unchanged(&child[0], of_child) {
            assert!(seen_parent >= seen_child, "the child changed after its parent");
        }
    };
    race(|| [words(), words()], [change, walk], |_, _| {});
}
