//! An entry that is there is found, whatever goes in and out beside it. All keys have one hash, so that lines overflow.

use loom::thread;

use crate::memory::table::Table;
use crate::sync::{Arc, Ordering::Relaxed};

const HASH: u64 = 0x0123_4567_89ab_cdef;
const PER_LINE: u32 = 8;

/// Two lines; the first is full with the slots 1 to 8, and 9 went past it.
fn overflowing() -> Arc<Table> {
    let table = Table::new(12).unwrap();
    (1..=PER_LINE + 1).for_each(|slot| table.view().put(HASH, slot));
    Arc::new(table)
}

fn find(table: &Table, wanted: u32) -> Option<u32> {
    table.view().find(HASH, |slot| (slot == wanted).then_some(slot))
}

#[test]
fn an_entry_past_a_full_line_is_found_while_others_come_and_go() {
    loom::model(|| {
        let table = overflowing();
        let writer = thread::spawn({
            let table = table.clone();
            move || {
                // Room in the first line, and somebody else takes it; then another one goes past it, and leaves.
                assert!(table.view().remove(HASH, 1));
                table.view().put(HASH, 10);
                table.view().put(HASH, 11);
                assert!(table.view().remove(HASH, 11));
            }
        });
        assert_eq!(find(&table, PER_LINE + 1), Some(PER_LINE + 1));
        writer.join().unwrap();
        assert_eq!(find(&table, 1), None);
        assert_eq!(find(&table, 10), Some(10));
    });
}

/// Keys of different locks share lines: counts and entries, which are in one word, do not undo each other.
#[test]
fn writers_beside_each_other_lose_no_entry_and_no_count() {
    loom::model(|| {
        let table = Table::new(12).unwrap();
        (1..PER_LINE).for_each(|slot| table.view().put(HASH, slot));
        let table = Arc::new(table);
        let other = thread::spawn({
            let table = table.clone();
            move || {
                table.view().put(HASH, 20);
                assert_eq!(find(&table, 20), Some(20));
                assert!(table.view().remove(HASH, 20));
            }
        });
        // One of the two goes past the first line, unless the other left by then.
        table.view().put(HASH, 30);
        assert_eq!(find(&table, 30), Some(30));
        other.join().unwrap();
        assert_eq!(find(&table, 30), Some(30));
        assert_eq!(find(&table, 20), None);
        assert!(table.view().remove(HASH, 30));
        (1..PER_LINE).for_each(|slot| assert!(table.view().remove(HASH, slot)));
        // All is as it was: no entry, no count.
        assert!(!table.view().remove(HASH, 30));
        assert_eq!(find(&table, 30), None);
    });
}

/// Who finds an entry sees what its slot was filled with.
#[test]
fn an_entry_brings_its_slot() {
    loom::model(|| {
        let table = Arc::new(Table::new(1).unwrap());
        let slot = super::words::<1>();
        let writer = thread::spawn({
            let (table, slot) = (table.clone(), slot.clone());
            move || {
                slot[0].store(7, Relaxed);
                table.view().put(HASH, 1);
            }
        });
        if find(&table, 1).is_some() {
            assert_eq!(slot[0].load(Relaxed), 7);
        }
        writer.join().unwrap();
    });
}
