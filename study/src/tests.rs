//! Tests of each policy against sequences worked by hand, and of properties that hold for all
//! policies.

use std::collections::HashMap;

use proptest::prelude::*;

use super::trace::{Builder, Found, Walks};
use super::{ENTRANTS, Entrant, find, optimal};

/// Creates walks to names of one letter in the root. Names in capitals are absent.
fn letters(text: &str) -> Walks {
    let mut builder = Builder::default();
    for letter in text.chars() {
        let found = if letter.is_uppercase() { Found::Absent } else { Found::Present };
        builder.walk(format!("/{letter}").as_bytes(), found);
    }
    builder.finish()
}

/// Returns which of the walks were hits, as `+` and `-`, and the names that are cached at the end,
/// in the order of first appearance.
fn worked(name: &str, capacity: usize, text: &str) -> (String, String) {
    let walks = letters(text);
    let mut cache = find(name).unwrap().cache(&walks, capacity);
    let mut told = String::new();
    for walk in walks.iter() {
        let hits = cache.outcome().all().hits;
        cache.walk(walk);
        told.push(if cache.outcome().all().hits > hits { '+' } else { '-' });
    }
    let entries: HashMap<char, u32> = text.chars().zip(walks.iter().map(|walk| walk.end())).collect();
    let mut cached: Vec<_> = entries.into_iter().filter(|(_, entry)| cache.is_cached(*entry)).collect();
    cached.sort_by_key(|(_, entry)| *entry);
    (told, cached.into_iter().map(|(letter, _)| letter).collect())
}

fn check(name: &str, capacity: usize, text: &str, told: &str, cached: &str) {
    assert_eq!(worked(name, capacity, text), (told.into(), cached.into()), "{name}, {capacity} slots: {text}");
}

#[test]
fn fifo_and_lru() {
    check("fifo", 3, "abcadba", "---+-+-", "acd");
    // The hit on a makes b the oldest. So d replaces b, and then b replaces c.
    check("lru", 3, "abcadba", "---+--+", "abd");
}

#[test]
fn sieve() {
    // For d, the hand passes a and evicts b. Then it goes on to c, d and e, so a stays without
    // another hit.
    check("sieve", 3, "abcadefg", "---+----", "afg");
    // g replaces e. In the second sequence, h makes the hand pass f and g, which were hit. After
    // the newest it begins again with the oldest, and evicts a.
    check("sieve", 3, "abcadeffg", "---+---+-", "afg");
    check("sieve", 3, "abcadeffggh", "---+---+-+-", "fgh");
}

#[test]
fn s3_fifo() {
    // The small queue has one slot. a, hit twice, goes to the main queue. b is evicted, comes back,
    // and goes to the main queue. After that, only new entries are evicted.
    check("s3-fifo", 10, "aaabcdefghijkb", "-++-----------", "abdefghijk");
    check("s3-fifo", 10, "aaabcdefghijkblmnopqrstuv", "-++----------------------", "abopqrstuv");
    // One hit does not promote a.
    check("s3-fifo", 10, "aabcdefghijk", "-+----------", "bcdefghijk");
}

#[test]
fn clocks() {
    // All entries are marked, so the hand goes round once before it evicts the first.
    check("clock", 3, "abcd", "----", "bcd");
    check("clock", 3, "abcdaeb", "-------", "abe");
    // Only a is marked.
    check("clock-unmarked", 3, "abcad", "---+-", "acd");
    check("clock-unmarked", 3, "abcadef", "---+---", "def");
    // The mark of a becomes a count, which saves a once more.
    check("clock-counting", 2, "abac", "--+-", "ac");
    check("clock-counting", 2, "abacd", "--+--", "ad");
    check("clock-counting", 2, "abacde", "--+---", "de");
}

#[test]
fn rounds() {
    // a is kept for the round, and the round lasts as long as each turn evicts an entry.
    check("rounds", 3, "abcadefghij", "---+-------", "aij");
    // With f, a turn begins that finds nothing to evict: d and e are kept as well. In the next
    // round each entry stays because of its count, once. Then a is evicted.
    check("rounds", 3, "abcadedef", "---+--++-", "def");
}

#[test]
fn two_hands() {
    // One slot is for new entries. a, hit once, is promoted. b is evicted, comes back, and is
    // promoted. After that, only new entries are evicted.
    check("hands-counting", 6, "aabcdefg", "-+------", "acdefg");
    check("hands-counting", 6, "aabcdefgb", "-+-------", "abdefg");
    check("hands-counting", 6, "aabcdefgbhijklm", "-+-------------", "abjklm");
    // Without ghosts, b is a new entry when it comes back.
    check("hands", 6, "aabcdefgbhijklm", "-+-------------", "aijklm");
}

#[test]
fn absent_entries_have_a_share() {
    let text = "abcdeABCDEFGHIJKLMabcdefgh";
    // Absent entries have five slots, and replace one another there. f takes one of these slots.
    // After that, absent entries have less than their share.
    check("hands-share", 10, text, "------------------+++++---", "abcdeJMfgh");
    check("hands-counting", 10, text, "--------------------------", "abcdeLMfgh");
    // Absent entries may also take all free slots, but they are evicted first.
    check("hands-share", 4, "ABCDab", "------", "CDab");
}

#[test]
fn the_bound() {
    let hits = |capacity, text: &str| optimal::bound(&letters(text), capacity).all().hits;
    // With one slot, the three hits are those of a: two come three walks after the last touch, and
    // one comes at once.
    assert_eq!([1, 2, 3, 4].map(|capacity| hits(capacity, "abcabcaab")), [3, 5, 6, 6]);
    assert_eq!(hits(1, "aaaa"), 3);
    let mut builder = Builder::default();
    for path in ["/d/a", "/d/b", "/d"] {
        builder.walk(path.as_bytes(), Found::Present);
    }
    assert_eq!(optimal::bound(&builder.finish(), 1).present.hits, 1, "a directory is touched by what is in it");
}

/// Generates walks in a small tree. Names in capitals are absent. Some walks go through links.
fn some_walks() -> impl Strategy<Value = Walks> {
    let name = prop::sample::select(vec!["a", "b", "c", "d", "X", "Y", "Z"]);
    let path = prop::collection::vec(name, 1..4).prop_map(|names| {
        // An absent name has nothing below it.
        let end = names.iter().position(|name| name.chars().any(char::is_uppercase)).map_or(names.len(), |i| i + 1);
        format!("/{}", names[..end].join("/"))
    });
    prop::collection::vec((path, prop::option::weighted(0.1, 0..3_u8)), 1..200).prop_map(|paths| {
        let mut builder = Builder::default();
        for (path, link) in paths {
            if let Some(link) = link {
                builder.link(format!("/link{link}").as_bytes());
            }
            let found = if path.ends_with(char::is_uppercase) { Found::Absent } else { Found::Present };
            builder.walk(path.as_bytes(), found);
        }
        builder.finish()
    })
}

fn check_cache(entrant: &Entrant, walks: &Walks, capacity: usize) -> Result<(), TestCaseError> {
    let mut cache = entrant.cache(walks, capacity);
    for (i, walk) in walks.iter().enumerate() {
        cache.walk(walk);
        prop_assert!(cache.slots().used() <= capacity);
        let cached = (1..=walks.entries() as u32).filter(|entry| cache.is_cached(*entry));
        let is_orphan = |entry: &u32| !cache.is_cached(walks.parent(*entry));
        prop_assert_eq!(cached.clone().find(is_orphan), None);
        prop_assert_eq!(cached.count(), cache.slots().used());
        prop_assert_eq!(cache.outcome().all().walks, i as u64 + 1);
    }
    let outcome = cache.outcome();
    prop_assert_eq!(outcome.questions, outcome.evictions + outcome.refused + cache.slots().used() as u64);
    let bound = optimal::bound(walks, capacity);
    prop_assert_eq!((bound.present.walks, bound.absent.walks), (outcome.present.walks, outcome.absent.walks));
    prop_assert!(outcome.all().hits <= bound.all().hits, "{} hits, {} at most", outcome.all().hits, bound.all().hits);
    if capacity >= 2 * walks.entries() {
        prop_assert_eq!(outcome.questions, walks.entries() as u64);
        prop_assert_eq!((outcome.evictions, outcome.refused), (0, 0));
    }
    Ok(())
}

/// Returns the size of the largest set of intervals of which no more than `capacity` overlap, by
/// trying all sets.
fn most_hits(intervals: &[(usize, usize)], capacity: usize) -> u32 {
    let fits = |chosen: u32| {
        let is_open = |now: usize| move |i: &usize| chosen >> i & 1 == 1 && intervals[*i].0 < now && now <= intervals[*i].1;
        (0..64).all(|now| (0..intervals.len()).filter(is_open(now)).count() <= capacity)
    };
    (0..1_u32 << intervals.len()).filter(|chosen| fits(*chosen)).map(u32::count_ones).max().unwrap_or(0)
}

proptest! {
    #[test]
    fn whatever_the_policy(walks in some_walks(), capacity in prop_oneof![1..40_usize, Just(200)]) {
        for entrant in ENTRANTS {
            check_cache(entrant, &walks, capacity).map_err(|error| TestCaseError::fail(format!("{}: {error}", entrant.name)))?;
        }
    }

    #[test]
    fn the_bound_is_the_most(text in "[a-e]{1,14}", capacity in 1..4_usize) {
        let letters_before = |i: usize| text[..i].rfind(&text[i..=i]);
        let intervals: Vec<_> = (0..text.len()).filter_map(|i| letters_before(i).map(|begin| (begin, i))).collect();
        let bound = optimal::bound(&letters(&text), capacity).all().hits;
        prop_assert_eq!(bound, u64::from(most_hits(&intervals, capacity)));
    }
}
