//! Tests of stamps, and of what is remembered for them.

use std::sync::atomic::Ordering;

use super::{ALL, BEGINS, END, QUESTION, TAG, WORD, Words, dentries, drafted, parts, way, with_entry};
use crate::cache::dcache::dentry::flags;
use crate::cache::dcache::remembered::Changes;
use crate::memo::entry::{OfMount, Slots};
use crate::memo::recording::{End, Recording};
use crate::memo::store::{Learning, Memo};
use crate::memo::what::{Draft, Parts};
use crate::memory::lines::Line;
use crate::memory::seqcount::{self, ODD};

/// The dentries of a way are remembered before it is learned: the draft has the words that they
/// have then.
#[test]
fn a_way_that_is_learned_is_remembered() {
    let lines: [Line; 20] = Default::default();
    lines[2][0].store(WORD, Ordering::Relaxed);
    let way = || {
        let way = Recording::default();
        way.begins(1, 0);
        way.came_to(2, WORD);
        way
    };
    let after = seqcount::written(0, WORD);
    let wanted = Draft::new(&Parts { last_links: &ALL, ..parts(&[(2, WORD), (1, after)], &[]) });
    assert_eq!(drafted(&way(), END, &lines), wanted);
    let words = || [0, 1, 2].map(|slot: usize| seqcount::sample(&lines[slot][0]));
    assert_eq!(words(), [0, after, WORD]);
    assert_eq!(drafted(&way(), END, &lines), None, "it has another word by now");
    assert_eq!(words(), [0, after, WORD]);
    // A write forgets it, and is counted.
    let changes = Changes::default();
    let flags = |slot: usize| {
        let writing = changes.write(&lines[slot][0]);
        let flags = writing.flags();
        writing.end(flags | flags::LINK);
        (seqcount::sample(&lines[slot][0]) as u32, changes.now())
    };
    let link = flags::LINK as u32;
    assert_eq!([flags(1), flags(1), flags(3), flags(2)], [(link, 5), (link, 5), (link, 5), (link, 9)]);
}

/// An entry is fresh while the count stays. Behind a change of another dentry, the words tell that
/// it holds; then it can be stamped anew.
#[test]
fn stamps() {
    let (lines, changes) = (dentries(), Changes::default());
    let words = Words(&lines, &[], &changes);
    let change = |slot: usize| changes.write(&lines[slot][0]).end(0);
    with_entry(&parts(&[(2, WORD), (1, WORD)], &[]), |entry| {
        let is_fresh = || entry.fresh_end(entry.what(), words).is_some_and(|(end, _, word)| (end, word) == (2, WORD));
        assert!(is_fresh());
        change(3);
        assert!(!is_fresh() && entry.end(entry.what(), words).is_some());
        let sampled = entry.sample();
        entry.stamp(sampled, entry.what(), changes.now());
        assert!(is_fresh() && !entry.unchanged(sampled) && entry.is_of(&QUESTION).is_some());
        assert_eq!(entry.sample() as u32, TAG as u32);
        // Of what was sampled before, nothing is believed.
        change(4);
        entry.stamp(sampled, entry.what(), changes.now());
        assert!(!is_fresh());
        change(1);
        assert!(!is_fresh() && entry.end(entry.what(), words).is_none());
    });
    with_entry(&Parts { class: 3, stamp: 3, ..parts(&[(2, WORD)], &[]) }, |entry| {
        let what = entry.what();
        assert!(!what.is_stamped() && !what.is_stamped_at(3));
    });
}

/// An entry that depends on mounts is fresh while both counts stay, and no mount is changing.
#[test]
fn stamps_of_ways_through_mounts() {
    let (lines, mounts, changes) = (dentries(), <[Line; 20]>::default(), Changes::default());
    let words = Words(&lines, &mounts, &changes);
    let set_mount_changes = |count| mounts[0][1].store(count, Ordering::Relaxed);
    set_mount_changes(4);
    with_entry(&Parts { stamp: words.stamp(true).unwrap(), ..parts(&[(2, WORD)], &[(3, 0), (1, 0)]) }, |entry| {
        let is_fresh = || {
            let found = entry.fresh_end_in_mount(entry.what(), words);
            found.is_some_and(|((end, _, word), mount)| (end, word, mount.slot, mount.word) == (2, WORD, 3, 0))
        };
        assert!(is_fresh());
        for count in [5, 6, 3] {
            set_mount_changes(count);
            assert!(!is_fresh() && entry.fresh_end(entry.what(), words).is_none(), "{count}");
        }
        set_mount_changes(4);
        for line in [&lines[2], &mounts[3]] {
            seqcount::write(&line[0]).leave(if std::ptr::eq(line, &lines[2]) { WORD } else { 0 });
            assert!(entry.fresh_end_in_mount(entry.what(), words).is_none(), "it is being written");
            line[0].fetch_and(!ODD, Ordering::Relaxed);
            assert!(is_fresh());
        }
        // No count of dentries alone is the stamp.
        for _ in 0..20 {
            changes.count();
            assert!(!is_fresh() && entry.fresh_end(entry.what(), words).is_none());
        }
    });
    let draft = |way: &Recording, end| way.draft(&QUESTION, (&BEGINS, end), words, 0);
    let crossing = way();
    crossing.crosses(3, 0);
    assert!(draft(&crossing, End::At(2, WORD, 3)).is_some());
    set_mount_changes(5);
    assert_eq!(draft(&crossing, End::At(2, WORD, 3)), None, "mounts change just now");
    assert!(draft(&way(), END).is_some(), "it asks no mount");
}

/// An end that is being written is not fresh, though the write may not be counted yet.
#[test]
fn an_end_that_is_being_written() {
    let (lines, changes) = (dentries(), Changes::default());
    with_entry(&parts(&[(2, WORD), (1, WORD)], &[]), |entry| {
        let writing = seqcount::write(&lines[2][0]);
        assert!(entry.fresh_end(entry.what(), Words(&lines, &[], &changes)).is_none());
        writing.end(WORD);
    });
}

/// The count of changes is kept in 32 bits: a memo that is about to learn is emptied when the count
/// may come round.
#[test]
fn a_lap_of_changes_empties_the_memo() {
    let (lines, changes) = (dentries(), Changes::one_before_a_lap());
    let words = Words(&lines, &lines, &changes);
    let memo = Memo::new(Memo::SET_BYTES, 1, Learning::AtOnce).unwrap();
    let learn = || {
        let room = memo.room(&QUESTION, words, 0).unwrap();
        memo.fill(&room, (&QUESTION, 0), (&way(), &BEGINS, END), words);
        memo.stats().used
    };
    // Repeated, since a lap of any count in the process empties the memo.
    assert!((0..8).any(|_| learn() == 1));
    let before = seqcount::laps();
    changes.write(&lines[3][0]).end(0);
    assert_ne!(seqcount::laps(), before);
    assert!(memo.room(&QUESTION, words, 0).is_some());
    assert_eq!(memo.stats().used, 0);
}

/// An entry whose words were compared is fresh afterwards.
#[test]
fn a_hit_by_the_sum_stamps_the_entry() {
    let (lines, changes) = (dentries(), Changes::default());
    let words = Words(&lines, &lines, &changes);
    let memo = Memo::new(Memo::SET_BYTES, 1, Learning::AtOnce).unwrap();
    let found = || memo.find(&QUESTION, words, &mut OfMount::default()).map(|found| (found.end, found.word));
    let is_fresh = || memo.set(0).unwrap().iter().any(|entry| entry.what().is_stamped_at(changes.now()));
    // Repeated, since a lap of any count in the process empties the memo.
    let stamped = || {
        let room = memo.room(&QUESTION, words, 0).unwrap();
        memo.fill(&room, (&QUESTION, 0), (&way(), &BEGINS, END), words);
        let is_filled = is_fresh();
        changes.count();
        is_filled && !is_fresh() && found() == Some((2, WORD)) && is_fresh()
    };
    assert!((0..8).any(|_| stamped()));
    assert_eq!(found(), Some((2, WORD)));
}
