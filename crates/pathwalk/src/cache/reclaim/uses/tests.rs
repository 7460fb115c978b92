//! Tests of what is recorded of a dentry, bit by bit, and of what the hands read.

use super::*;
use crate::sync::AtomicU64;

const ONE: DentryId = DentryId(1);
const HASH: u64 = 0x1234_5678_9abc_def0;

fn counts(uses: &Uses) -> [u32; 3] {
    [&uses.new, &uses.new_absent, &uses.absent].map(|count| count.load(Ordering::Relaxed))
}

#[test]
fn the_bytes_of_the_records_are_those_of_the_two_arrays() {
    for capacity in [1, 2, 7, 1000] {
        let uses = Uses::new(capacity).unwrap();
        let held = size_of_val(&*uses.bytes) + size_of_val(&*uses.ghosts);
        assert_eq!(bytes(u64::from(capacity)), held as u64, "{capacity}");
    }
}

#[test]
fn counts_follow_the_bits() {
    let uses = Uses::new(10).unwrap();
    uses.begin(ONE, HASH, false);
    assert_eq!((counts(&uses), uses.is_in(ONE, Half::New)), ([1, 0, 0], true));
    uses.turned(ONE, true);
    assert_eq!((counts(&uses), uses.is_in(ONE, Half::New)), ([1, 1, 1], true));
    uses.promote(ONE);
    uses.promote(ONE);
    assert_eq!((counts(&uses), uses.is_in(ONE, Half::Main)), ([0, 0, 1], true));
    uses.turned(ONE, false);
    assert_eq!((counts(&uses), uses.is_in(ONE, Half::Main)), ([0, 0, 0], true));
    uses.end(ONE, None);
    uses.promote(ONE);
    uses.turned(ONE, true);
    assert_eq!((counts(&uses), uses.is_in(ONE, Half::New)), ([0, 0, 0], false));
}

#[test]
fn a_sample_stands_for_all_whatever_the_pattern() {
    use crate::memory::sample::MANY_SLOTS;
    let slots = 2 * MANY_SLOTS;
    for step in [1, 2, 3, 7, 16, 64] {
        let uses = Uses::new(slots).unwrap();
        for id in 1..=slots {
            uses.begin(DentryId(id), HASH.rotate_left(id), id % step == 0);
        }
        let [new, new_absent, absent] = counts(&uses);
        assert!(new.abs_diff(uses.sample.size()) <= uses.sample.size() / 100, "{new} of {}", uses.sample.size());
        assert_eq!(absent, new_absent);
        assert!(absent.abs_diff(new / step) <= new / 50, "{absent} of {new} with one in {step}");
        (1..=slots).for_each(|id| uses.end(DentryId(id), None));
        assert_eq!(counts(&uses), [0; 3]);
    }
}

#[test]
fn what_comes_again_is_promoted_once() {
    let uses = Uses::new(10).unwrap();
    for promoted in [false, true, false] {
        uses.begin(ONE, HASH, false);
        assert_eq!(uses.is_in(ONE, Half::Main), promoted);
        uses.end(ONE, Some(HASH));
    }
}

/// Checks that no fingerprint is that of an empty place, and that turning twice counts once.
#[test]
fn hashes_of_few_bits_have_ghosts_and_turns_count_once() {
    for hash in [0, 1, 2, 3, 1 << 32, u64::MAX, u64::MAX - 1] {
        let uses = Uses::new(10).unwrap();
        uses.begin(ONE, hash, true);
        assert!(uses.is_in(ONE, Half::New), "{hash:x}: nothing went before");
        (0..2).for_each(|_| uses.turned(ONE, true));
        assert_eq!(counts(&uses), [1, 1, 1]);
        uses.end(ONE, Some(hash));
        uses.begin(ONE, hash, false);
        assert!(uses.is_in(ONE, Half::Main), "{hash:x}: it came again");
        (0..2).for_each(|_| uses.turned(ONE, false));
        assert_eq!(counts(&uses), [0, 0, 0]);
    }
}

/// Checks that the places of ghosts are spread over the array, so that few names share a place.
#[test]
fn names_have_places_of_their_own() {
    let uses = Uses::new(1000).unwrap();
    let last = uses.ghosts.len() - 1;
    let places = [0, 1 << 63, u64::MAX].map(|hash| uses.place(hash));
    assert_eq!(places, [0, uses.ghosts.len() / 2, last]);
    for (id, hash) in [(1, 7), (2, 1 << 63 | 7), (3, u64::MAX)] {
        uses.begin(DentryId(id), hash, false);
        uses.end(DentryId(id), Some(hash));
    }
    for (hash, at) in [(7, places[0]), (1 << 63 | 7, places[1]), (u64::MAX, last)] {
        assert_eq!(uses.peek(hash), uses.ghosts[at].load(Ordering::Relaxed));
        assert_eq!(uses.peek(hash), fingerprint(hash));
    }
}

/// Checks that a sixth of the slots that are not parked may be new, and a half absent.
#[test]
fn shares_are_of_what_is_not_parked() {
    let (uses, parked) = (Uses::new(24).unwrap(), Parked::new(24).unwrap());
    let too_many = || {
        let of = |kind| uses.too_many_new(kind, &parked);
        (of(Kind::Any), of(Kind::Absent), uses.too_many_absent(&parked))
    };
    (1..=3).for_each(|id| uses.begin(DentryId(id), HASH, false));
    assert_eq!(too_many(), (false, true, false), "3 of 24 are new; of no absent ones all are");
    uses.begin(DentryId(4), HASH, false);
    assert_eq!(too_many(), (true, true, false), "4 of 24 are new");
    (5..=15).for_each(|id| uses.begin(DentryId(id), HASH, true));
    (5..=14).for_each(|id| uses.promote(DentryId(id)));
    assert_eq!(too_many(), (true, true, false), "11 of 24 are absent, and one of these is new");
    uses.promote(DentryId(15));
    assert_eq!(too_many(), (true, false, false));
    uses.begin(DentryId(16), HASH, true);
    assert_eq!(too_many(), (true, false, true), "1 of 12 absent ones is new");
    uses.begin(DentryId(17), HASH, true);
    assert_eq!(too_many(), (true, true, true), "2 of 13 are");
    (5..=17).for_each(|id| uses.turned(DentryId(id), false));
    (1..=4).for_each(|id| uses.promote(DentryId(id)));
    assert_eq!(too_many(), (false, true, false), "2 of 24 are new");
    let held = AtomicU64::new(0);
    crate::memory::pin::revive(&held);
    (0..12).for_each(|slot| parked.park(slot, &held));
    assert_eq!(too_many(), (true, true, false), "2 of 12 that can go");
}

#[test]
fn it_is_counted_to_three() {
    let uses = Uses::new(10).unwrap();
    uses.begin(ONE, HASH, true);
    (0..5).for_each(|_| uses.count_up(ONE));
    assert_eq!([(); 4].map(|()| uses.count_down(ONE)), [true, true, true, false]);
    assert!(uses.is_in(ONE, Half::New));
}

/// Checks this for all positions of the hand, also behind the end.
#[test]
fn a_round_is_all_slots_and_a_piece_those_that_are_not_parked() {
    let (uses, parked) = (Uses::new(10).unwrap(), Parked::new(10).unwrap());
    let held = AtomicU64::new(0);
    crate::memory::pin::revive(&held);
    [0, 3, 4, 9].into_iter().for_each(|slot| parked.park(slot, &held));
    for (stands, piece) in [(0, [1, 2, 5]), (7, [7, 8, 10]), (8, [8, 10, 10]), (11, [1, 2, 5]), (40, [1, 2, 5])] {
        uses.hand(Kind::Any, Half::New).store(stands, Ordering::Relaxed);
        let mut all: Vec<_> = uses.round(11).into_iter().flatten().collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..11));
        let next = uses.next(Kind::Any, Half::New, 3, 11, &parked);
        let looked: Vec<_> = parked.others_in(next.slots).collect();
        assert!(piece.starts_with(&looked) && !looked.is_empty(), "{stands}: {looked:?}");
    }
}
