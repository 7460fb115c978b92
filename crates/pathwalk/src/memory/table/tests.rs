//! Tests of the table by one thread, against a map. The models of `loom_tests` use several threads.

use super::*;
use std::collections::HashMap;

fn find(table: &Table, hash: u64, slot: u32) -> bool {
    table.view().find(hash, |candidate| (candidate == slot).then_some(())).is_some()
}

/// Puts and removes random slots with a given hash, and compares the table with a map after each
/// step.
fn churn(capacity: u32, hash: impl Fn(u32) -> u64) {
    let table = Table::new(capacity).unwrap();
    let mut there = HashMap::new();
    let mut random = 7u64;
    for _ in 0..20 * capacity {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let slot = (random >> 33) as u32 % capacity + 1;
        if there.remove(&slot).is_some() {
            assert!(table.view().remove(hash(slot), slot));
        } else {
            table.view().put(hash(slot), slot);
            there.insert(slot, ());
        }
        assert_eq!(find(&table, hash(slot), slot), there.contains_key(&slot));
    }
    for slot in 1..=capacity {
        assert_eq!(find(&table, hash(slot), slot), there.contains_key(&slot), "slot {slot}");
    }
    for slot in there.keys() {
        assert!(table.view().remove(hash(*slot), *slot));
    }
    assert!(table.view().0.iter().flatten().all(|word| word.load(Ordering::Relaxed) & !PASSED == 0));
}

#[test]
fn one_hash_for_all() {
    churn(100, |_| u64::MAX);
    churn(100, |_| 0);
}

#[test]
fn crowded_lines_and_a_full_table() {
    churn(300, |slot| u64::from(slot % 3) << 62 | u64::from(slot));
    churn(300, |slot| u64::from(slot).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let table = Table::new(60).unwrap();
    (1..=60).for_each(|slot| table.view().put(u64::from(slot) << 60, slot));
    assert!((1..=60).all(|slot| find(&table, u64::from(slot) << 60, slot)));
    assert!(!find(&table, 0, 61));
}

#[test]
fn two_exchange_their_keys() {
    let passed = |table: &Table| table.view().0.iter().any(|line| line[0].load(Ordering::Relaxed) & PASSED != 0);
    for (of_a, of_b) in [(3 << 60, 5 << 60), (7, 7 | 1 << 24), (7, 1 << 63 | 7)] {
        let table = Table::new(24).unwrap();
        let (a, b) = (21, 22);
        (1..=8).for_each(|slot| table.view().put(9, slot));
        table.view().put(of_a, a);
        table.view().put(of_b, b);
        assert!(table.view().replace(of_a, a, b) && table.view().replace(of_b, b, a));
        assert!(find(&table, of_a, b) && find(&table, of_b, a));
        assert!(table.view().remove(of_a, b) && table.view().remove(of_b, a));
        assert!(!table.view().replace(of_a, b, a));
        (1..=8).for_each(|slot| assert!(table.view().remove(9, slot)));
        assert!(!passed(&table));
    }
}

#[test]
fn counts_of_what_went_past_fall_again() {
    let table = Table::new(24).unwrap();
    let passed = || table.view().0.iter().filter(|line| line[0].load(Ordering::Relaxed) & PASSED != 0).count();
    (1..=20).for_each(|slot| table.view().put(0, slot));
    assert_eq!(passed(), 2);
    (1..=20).for_each(|slot| assert!(table.view().remove(0, slot)));
    assert_eq!(passed(), 0);
}

/// Checks that a count which reached its limit never falls: how many went past is not known.
#[test]
fn a_saturated_count_stays() {
    const MANY: u32 = 400;
    let table = Table::new(MANY).unwrap();
    (1..=MANY).for_each(|slot| table.view().put(0, slot));
    for slot in 1..MANY {
        assert!(table.view().remove(0, slot));
        assert!(find(&table, 0, MANY), "slot {slot} was removed");
    }
}

#[test]
fn fetching_changes_nothing_and_marks_the_pages_it_wrote_to() {
    // Newly allocated tables may begin anywhere within a page. The last one takes more than 64
    // pages, unless that takes too long.
    let most = if cfg!(miri) { 500 } else { 30_000 };
    let tables = [1, 12, 24, 383, 384, 385, most].map(|keys| Table::new(keys).unwrap());
    for table in &tables {
        let lines = table.lines.all();
        (1..=8).for_each(|slot| table.view().put(u64::MAX, slot));
        let words = || lines.iter().flatten().map(|word| word.load(Ordering::Relaxed)).collect::<Vec<_>>();
        let before = words();
        let (first, last) = (table.range().0 / PAGE, (table.range().1 - 1) / PAGE);
        let marked = |page: usize| table.written[page / 64].load(Ordering::Relaxed) >> (page % 64) & 1 == 1;
        // The smallest hash with each line as its home.
        for (at, line) in lines.iter().enumerate() {
            let hash = (((at as u128) << 64).div_ceil(lines.len() as u128)) as u64;
            assert_eq!([table.fetch(hash), table.fetch(hash)], [line[0].load(Ordering::Relaxed); 2]);
            assert!(marked(line.as_ptr().addr() / PAGE - first));
        }
        assert_eq!(table.fetch(u64::MAX), lines[lines.len() - 1][0].load(Ordering::Relaxed));
        assert_eq!(words(), before);
        let bits: u32 = table.written.iter().map(|word| word.load(Ordering::Relaxed).count_ones()).sum();
        assert_eq!(bits as usize, last - first + 1);
    }
}

#[test]
fn there_is_a_bit_for_each_page_wherever_the_lines_begin() {
    let lines_of_a_page = (PAGE / LINE) as u64;
    for lines in (2..200 * lines_of_a_page).step_by(if cfg!(miri) { 701 } else { 7 }) {
        // The worst case: the first line is alone in its page.
        let pages = 1 + (lines - 1).div_ceil(lines_of_a_page);
        assert!(words_of_pages(lines) * 64 >= pages, "{lines}");
    }
}
