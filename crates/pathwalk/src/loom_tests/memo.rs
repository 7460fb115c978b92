//! Models of an entry of the memo of whole paths: its fields are read as those of one path, and its
//! words are checked as of one instant.

use super::{race, words};
use crate::cache::dcache::dentry::flags::REMEMBERED;
use crate::cache::dcache::remembered::Changes;
use crate::memo::question::{LastLink, Question};
use crate::memo::recording::{End, Recording};
use crate::memo::{Found, Learning, Lookup, Memo, OfMount, Slots, What};
use crate::memory::lines::Line;
use crate::memory::seqcount;
use crate::sync::{AtomicU64, Ordering};

/// One set, and the words of dentries; slot 0 is never used.
struct Bed {
    memo: Memo,
    dentries: [Line; 4],
    changes: Changes,
    is_over: AtomicU64,
}

impl<'a> Slots<'a> for &'a Bed {
    fn changes(self) -> &'a Changes {
        &self.changes
    }

    fn mount_changes(self) -> Option<u64> {
        Some(0)
    }

    fn dentries(self) -> &'a [Line] {
        &self.dentries
    }

    fn mounts(self) -> &'a [Line] {
        &[]
    }
}

impl<'a> Lookup<'a> for &'a Bed {
    fn class(self) -> u32 {
        0
    }

    fn may_go(self, _: What) -> bool {
        true
    }
}

/// Three paths of one length.
const OLD: &[u8] = b"what was here";
const NEW: &[u8] = b"what comes in";
const THIRD: &[u8] = b"what comes as";

/// The slots where paths begin and end.
const START: u32 = 1;
const END: u32 = 2;
const OTHER_END: u32 = 3;

fn question(path: &[u8]) -> Question<'_> {
    Question { path, start: 1, root: 1, last_link: LastLink::Followed }
}

fn word(bed: &Bed, slot: u32) -> u64 {
    seqcount::sample(&bed.dentries[slot as usize][0])
}

/// Stores in the memo that a path leads to `end`.
fn learn(bed: &Bed, path: &[u8], end: u32) {
    let question = question(path);
    let Some(room) = bed.memo.room(&question, bed, 0) else { return };
    let recording = Recording::default();
    recording.begins(START, word(bed, START));
    let of_end = word(bed, end);
    recording.came_to(end, of_end);
    bed.memo.fill(&room, (&question, 0), (&recording, &[(1, 0)], End::At(end, of_end, 1)), bed);
}

fn find(bed: &Bed, path: &[u8]) -> Option<Found> {
    bed.memo.find(&question(path), bed, &mut OfMount::default())
}

fn write(bed: &Bed, slot: u32, flags: u64) {
    bed.changes.write(&bed.dentries[slot as usize][0]).end(flags);
}

fn bed() -> Bed {
    let memo = Memo::new(Memo::SET_BYTES, 1, Learning::AtOnce).unwrap();
    Bed { memo, dentries: [(); 4].map(|()| words()), changes: Changes::default(), is_over: AtomicU64::new(0) }
}

/// Creates a set with one entry.
fn bed_with_one() -> Bed {
    let bed = bed();
    learn(&bed, OLD, END);
    bed
}

/// Creates a set with one entry that is no longer valid, and so is given to the next path.
fn bed_with_one_to_give() -> Bed {
    let bed = bed();
    learn(&bed, OLD, END);
    learn(&bed, b"what stays on", OTHER_END);
    write(&bed, END, 0);
    bed
}

/// Checks that a reader never combines the text of one path with the end of another.
#[test]
fn reader_of_a_torn_entry() {
    let fill: fn(&Bed) = |bed| learn(bed, NEW, OTHER_END);
    let read: fn(&Bed) = |bed| assert!(find(bed, OLD).is_none());
    race(bed_with_one_to_give, [fill, read], |bed, _| assert_eq!(find(bed, NEW).map(|found| found.end), Some(OTHER_END)));
}

/// Checks the same while the reader asks for the new path.
#[test]
fn reader_of_an_entry_that_is_being_filled() {
    let fill: fn(&Bed) = |bed| learn(bed, NEW, OTHER_END);
    let read: fn(&Bed) = |bed| assert!(find(bed, NEW).is_none_or(|found| found.end == OTHER_END));
    race(bed_with_one_to_give, [fill, read], |_, _| {});
}

/// Checks that one of the two fillers gets the entry, whole.
#[test]
fn two_fillers() {
    let fill_one: fn(&Bed) = |bed| learn(bed, NEW, OTHER_END);
    let fill_other: fn(&Bed) = |bed| learn(bed, THIRD, END);
    race(bed_with_one_to_give, [fill_one, fill_other], |bed, _| {
        let found = [NEW, THIRD].map(|path| find(bed, path).map(|found| found.end));
        assert!([[Some(OTHER_END), None], [None, Some(END)]].contains(&found), "{found:?}");
    });
}

/// Checks two words that change one after the other, so that their flags add up to the old sum.
#[test]
fn sum_beside_exchange() {
    let setup = || {
        let bed = bed();
        write(&bed, START, 4);
        write(&bed, END, 2);
        learn(&bed, OLD, END);
        assert!(find(&bed, OLD).is_some());
        bed
    };
    let exchange: fn(&Bed) = |bed| {
        write(bed, START, 2);
        write(bed, END, 4);
        bed.is_over.store(1, Ordering::Release);
    };
    let read: fn(&Bed) = |bed| {
        let is_over = bed.is_over.load(Ordering::Acquire) == 1;
        if let Some(found) = find(bed, OLD) {
            assert!(!is_over, "what is over is seen");
            assert_eq!(found.word, 2 << 32 | REMEMBERED | 2);
        }
    };
    race(setup, [exchange, read], |bed, _| assert!(find(bed, OLD).is_none()));
}

/// Changes a dentry on the way: all that was learned before is over.
fn change_the_way(bed: &Bed) {
    write(bed, START, 2);
    bed.is_over.store(1, Ordering::Release);
}

/// Checks that an entry is not believed whose way changed behind its stamp.
fn is_not_believed_behind_a_change(bed: &Bed) {
    let is_over = bed.is_over.load(Ordering::Acquire) == 1;
    assert!(!(find(bed, OLD).is_some() && is_over), "what is over is seen");
}

/// Checks that no entry is left whose way has changed: a dentry that was written last by a change
/// is not remembered.
fn only_what_is_remembered_is_found(bed: &Bed) {
    assert!(find(bed, OLD).is_none() || word(bed, START) & REMEMBERED != 0);
}

/// Checks a reader of a stamped entry beside a change of the way.
#[test]
fn stamp_beside_change() {
    race(bed_with_one, [change_the_way as fn(&Bed), is_not_believed_behind_a_change], |bed, _| assert!(find(bed, OLD).is_none()));
}

/// Checks a reader beside a change of the path's end: the end is read as of one state.
#[test]
fn stamp_beside_change_of_the_end() {
    let change: fn(&Bed) = |bed| write(bed, END, 2);
    let read: fn(&Bed) = |bed| assert!(find(bed, OLD).is_none_or(|found| found.word == 1 << 32 | REMEMBERED));
    race(bed_with_one, [change, read], |bed, _| assert!(find(bed, OLD).is_none()));
}

/// Checks that a path is not stored as fresh whose way changed while it was learned.
#[test]
fn fill_beside_change() {
    let fill: fn(&Bed) = |bed| learn(bed, OLD, END);
    race(bed, [fill, change_the_way], |bed, _| only_what_is_remembered_is_found(bed));
}

/// Checks that an entry is not stamped anew whose way changed meanwhile.
#[test]
fn stamping_beside_change() {
    let setup = || {
        let bed = bed();
        learn(&bed, b"what stays on", OTHER_END);
        learn(&bed, OLD, END);
        write(&bed, OTHER_END, 0);
        bed
    };
    race(setup, [change_the_way as fn(&Bed), is_not_believed_behind_a_change], |bed, _| only_what_is_remembered_is_found(bed));
}
