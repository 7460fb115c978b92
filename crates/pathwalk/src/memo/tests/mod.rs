//! Tests of entries that were found, since equal hashes cannot be constructed.

use super::entry::{Entry, LINES, MOST_SLOTS, Slots};
use super::find::Lookup;
use super::question::{LastLink, Question};
use super::recording::{End, Recording};
use super::what::{Draft, Parts, What};
use crate::cache::dcache::dentry::flags;
use crate::cache::dcache::remembered::Changes;
use crate::memory::lines::Line;
use crate::memory::seqcount;
use crate::sync::Ordering;

mod stamps;

const TAG: u64 = 2;

const QUESTION: Question<'_> = Question { path: b"some/path", start: 7, root: 8, last_link: LastLink::Followed };

/// Stores an entry of [`QUESTION`], and calls `then` with it.
fn with_entry(parts: &Parts<'_>, then: impl FnOnce(Entry<'_>)) {
    let lines: [Line; LINES] = Default::default();
    let entry = Entry(&lines);
    assert!(entry.is_empty() && entry.is_of(&QUESTION).is_none());
    assert!(entry.store(TAG, &QUESTION, &Draft::new(parts).unwrap()));
    then(entry);
}

fn parts<'a>(dentries: &'a [(u32, u64)], mounts: &'a [(u32, u64)]) -> Parts<'a> {
    let last_links = &[LastLink::Followed];
    Parts { dentries, mounts, links: 0, last_links, is_absent: false, has_dot_dot: false, crosses: false, class: 0, stamp: 1 }
}

#[test]
fn each_part_of_a_question_is_compared() {
    with_entry(&parts(&[(1, 0)], &[]), |entry| {
        assert!(entry.is_of(&QUESTION).is_some());
        let others = [
            Question { path: b"some/paths", ..QUESTION },
            Question { path: b"some/pat", ..QUESTION },
            Question { path: b"same/path", ..QUESTION },
            Question { path: b"some/patH", ..QUESTION },
            Question { start: 6, ..QUESTION },
            Question { root: 6, ..QUESTION },
            Question { last_link: LastLink::Found, ..QUESTION },
            Question { last_link: LastLink::FollowedOnTheWay, ..QUESTION },
        ];
        for other in others {
            assert!(entry.is_of(&other).is_none(), "{other:?}");
        }
        entry.clear();
        assert!(entry.is_empty() && entry.is_of(&QUESTION).is_none());
    });
}

#[test]
fn a_class_is_asked_for_where_there_is_one() {
    with_entry(&Parts { class: 3, ..parts(&[(1, 0)], &[]) }, |entry| {
        let is_for = |class| entry.what().is_for(|| class);
        assert_eq!([0, 2, 3, 4].map(is_for), [false, false, true, false]);
    });
    for mounts in [&[][..], &[(1, 0)]] {
        with_entry(&Parts { stamp: 3, ..parts(&[(1, 0)], mounts) }, |entry| {
            assert!(entry.what().is_for(|| unreachable!("it is for everyone")));
        });
    }
}

/// The words of dentries and of mounts, and the count of changes of remembered dentries.
#[derive(Clone, Copy)]
struct Words<'a>(&'a [Line], &'a [Line], &'a Changes);

impl<'a> Slots<'a> for Words<'a> {
    fn changes(self) -> &'a Changes {
        self.2
    }

    /// Returns the count that stands in the line of slot 0, which no mount has.
    fn mount_changes(self) -> Option<u64> {
        let count = self.1.first().map_or(0, |line| line[1].load(Ordering::Relaxed));
        Some(count).filter(|count| count % 2 == 0)
    }

    fn dentries(self) -> &'a [Line] {
        self.0
    }

    fn mounts(self) -> &'a [Line] {
        self.1
    }
}

impl<'a> Lookup<'a> for Words<'a> {
    fn class(self) -> u32 {
        0
    }

    fn may_go(self, _: What) -> bool {
        true
    }
}

/// A write of each dentry and mount makes the entry stale, for each number of them.
#[test]
#[cfg_attr(miri, ignore = "one thread, and minutes there")]
fn each_word_is_in_the_sum() {
    for dentries in 1..=MOST_SLOTS {
        let room = MOST_SLOTS - dentries.next_multiple_of(4).min(MOST_SLOTS);
        for mounts in 0..=room {
            let lines = [(); 2].map(|()| -> [Line; 20] { Default::default() });
            let (changes, [of_dentries, of_mounts]) = (Changes::default(), &lines);
            let words = Words(of_dentries, of_mounts, &changes);
            let seen = |lines: &[Line], count: usize| -> Vec<_> {
                let slots = (1..=count).map(|at| (at * 7 % 19) as u32);
                slots.map(|slot| (slot, seqcount::sample(&lines[slot as usize][0]))).collect()
            };
            let write = |lines: &[Line], slot: u32| seqcount::write(&lines[slot as usize][0]).end(2);
            (1..20).for_each(|slot| (0..slot).for_each(|_| write(&lines[0], slot)));
            let (all, of_mounts) = (seen(&lines[0], dentries), seen(&lines[1], mounts));
            for (lines, (slot, _)) in all.iter().map(|one| (&lines[0], one)).chain(of_mounts.iter().map(|one| (&lines[1], one))) {
                with_entry(&parts(&seen(words.0, dentries), &seen(words.1, mounts)), |entry| {
                    let ((end, ..), mount) = entry.end(entry.what(), words).unwrap();
                    assert_eq!((end, mount.slot as u32), (all[0].0, of_mounts.first().map_or(0, |mount| mount.0)));
                    write(lines, *slot);
                    assert!(entry.end(entry.what(), words).is_none(), "slot {slot} of {dentries} and {mounts}");
                });
            }
        }
    }
    let too_many = [(1, 0); MOST_SLOTS + 1];
    assert!(Draft::new(&Parts { class: 1 << 31, ..parts(&[(1, 0)], &[]) }).is_none());
    assert!(Draft::new(&parts(&too_many, &[])).is_none());
    assert!(Draft::new(&parts(&too_many[..9], &too_many[..3])).is_none());
}

/// The mounts of start and root of all walks here.
const BEGINS: [(u32, u64); 2] = [(1, 0), (2, 0)];

/// The word of a dentry that is remembered, and has no other flag.
const WORD: u64 = flags::REMEMBERED;

/// Returns dentries in the slots from 1 to 19, all of them remembered.
fn dentries() -> [Line; 20] {
    let lines: [Line; 20] = Default::default();
    lines[1..].iter().for_each(|line| line[0].store(WORD, Ordering::Relaxed));
    lines
}

/// Returns the draft of a walk.
fn drafted(way: &Recording, end: End, lines: &[Line]) -> Option<Draft> {
    way.draft(&QUESTION, (&BEGINS, end), Words(lines, &[], &Changes::default()), 0)
}

/// Returns the entry of a walk that ends so, for a class. All words of mounts are 0.
fn draft_of(way: &Recording, end: End, class: u32) -> Option<Draft> {
    let mounts: [Line; 20] = Default::default();
    way.draft(&QUESTION, (&BEGINS, end), Words(&dentries(), &mounts, &Changes::default()), class)
}

/// Returns a walk from slot 1 to slot 2.
fn way() -> Recording {
    let way = Recording::default();
    way.begins(1, WORD);
    way.came_to(2, WORD);
    way
}

const END: End = End::At(2, WORD, 1);

#[test]
fn a_way_is_learned() {
    assert_eq!(draft_of(&way(), END, 0), Draft::new(&Parts { last_links: &ALL, ..parts(&[(2, WORD), (1, WORD)], &[]) }));
}

const ALL: [LastLink; 3] = [LastLink::Found, LastLink::Followed, LastLink::FollowedOnTheWay];

/// A way is not learned through a dentry that is not in its directory, or may cease to be.
#[test]
fn names_that_may_change_unseen() {
    for flag in [flags::UNHASHED, flags::REVALIDATE, flags::IN_LOOKUP] {
        let lines = dentries();
        seqcount::write(&lines[3][0]).end(flag | WORD);
        let word = seqcount::sample(&lines[3][0]);
        let draft = |told: fn(&Recording, u32, u64)| {
            let way = Recording::default();
            way.begins(1, WORD);
            told(&way, 3, word);
            way.came_to(2, WORD);
            drafted(&way, END, &lines)
        };
        assert_eq!(draft(Recording::came_to), None, "{flag:#x}");
        assert!(draft(Recording::begins).is_some() && draft(Recording::went_up).is_some(), "{flag:#x}");
        // The same dentry, first as the start and then by its name.
        let by_name: fn(&Recording, u32, u64) = |way, slot, word| {
            way.begins(slot, word);
            way.came_to(slot, word);
        };
        assert_eq!(draft(by_name), None, "{flag:#x}");
    }
}

#[test]
fn what_changed_since_is_not_learned() {
    for slot in [1, 2] {
        let lines = dentries();
        let draft = || drafted(&way(), END, &lines);
        assert!(draft().is_some());
        let writing = seqcount::write(&lines[slot][0]);
        assert_eq!(draft(), None);
        writing.end(WORD);
        assert_eq!(draft(), None);
    }
    for flags in [0, WORD] {
        let lines = dentries();
        seqcount::write(&lines[2][0]).end(flags);
        let writing = seqcount::write(&lines[2][0]);
        let word = seqcount::sample(&lines[2][0]);
        let odd = Recording::default();
        odd.begins(2, word);
        assert_eq!(drafted(&odd, End::At(2, word, 1), &lines), None, "it is being written");
        writing.end(0);
    }
}

/// A slot that had two words on one walk.
#[test]
fn a_slot_that_changed_on_the_way() {
    for (first, second) in [(WORD, WORD | 1 << 32), (WORD | 1 << 32, WORD)] {
        let way = way();
        way.went_up(3, first);
        way.went_up(3, second);
        way.came_to(2, WORD);
        let lines = dentries();
        // The first word is the one it has now, and the only one that would be stored.
        if first != WORD {
            seqcount::write(&lines[3][0]).end(WORD);
        }
        assert_eq!(drafted(&way, END, &lines), None);
    }
}

/// A walk ends where its last step led; a walk that ends in `ENOENT`, at a negative dentry.
#[test]
fn an_end_that_was_not_told() {
    assert_eq!(draft_of(&way(), End::At(3, WORD, 1), 0), None);
    assert_eq!(draft_of(&way(), End::Absent, 0), None);
    let lines = dentries();
    seqcount::write(&lines[2][0]).end(flags::NEGATIVE | WORD);
    let word = seqcount::sample(&lines[2][0]);
    let absent = Recording::default();
    absent.begins(1, WORD);
    absent.came_to(2, word);
    let draft = |end| drafted(&absent, end, &lines);
    assert!(draft(End::Absent).is_some_and(|draft| draft.what.is_absent()));
    assert_eq!(draft(End::At(2, word, 1)), None);
}

#[test]
fn refused_ways_and_classes_that_have_no_number() {
    let refused = way();
    refused.refuse();
    assert_eq!(draft_of(&refused, END, 0), None);
    let restricted = way();
    restricted.is_restricted();
    assert_eq!(draft_of(&restricted, END, 0), None);
    let wanted = Parts { class: 4, last_links: &ALL, ..parts(&[(2, WORD), (1, WORD)], &BEGINS) };
    assert_eq!(draft_of(&restricted, END, 4), Draft::new(&wanted), "ids are seen through the mounts where it begins");
}

/// The mounts of a way; that of the end is the first.
#[test]
fn mounts_of_a_way() {
    let stamp = |mounts: &[_]| if mounts.is_empty() { 1 } else { 3 };
    let of = |mounts| Draft::new(&Parts { last_links: &ALL, stamp: stamp(mounts), ..parts(&[(2, WORD), (1, WORD)], mounts) });
    assert_eq!(draft_of(&way(), END, 0), of(&[]));
    assert_eq!(draft_of(&way(), End::At(2, WORD, 2), 0), of(&[(2, 0)]), "it ends in the mount of the root");
    assert_eq!(draft_of(&way(), End::At(2, WORD, 3), 0), None, "it ends in one of which nothing was told");
    let asking = way();
    asking.asks_mounts();
    assert_eq!(draft_of(&asking, END, 0), of(&BEGINS));
    let crossing = way();
    crossing.crosses(3, 0);
    let crosses = |mounts| {
        Draft::new(&Parts { last_links: &ALL, crosses: true, stamp: stamp(mounts), ..parts(&[(2, WORD), (1, WORD)], mounts) })
    };
    assert_eq!(draft_of(&crossing, End::At(2, WORD, 3), 0), crosses(&[(3, 0)]));
    assert_eq!(draft_of(&crossing, END, 0), crosses(&[(1, 0), (3, 0)]), "it ends where it began");
}
