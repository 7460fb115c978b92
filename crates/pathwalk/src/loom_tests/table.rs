//! Models of the table: an entry that stays is found, whatever is put and removed beside it. All
//! keys have one hash, so that lines overflow.

use super::{race, words};
use crate::memory::table::Table;
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;

const HASH: u64 = 0x0123_4567_89ab_cdef;
const PER_LINE: u32 = 8;

/// Creates a table of two lines that contains the slots 1 to `slots`.
fn table_with(slots: u32) -> Table {
    let table = Table::new(12).unwrap();
    (1..=slots).for_each(|slot| table.view().put(HASH, slot));
    table
}

fn find(table: &Table, wanted: u32) -> Option<u32> {
    table.view().find(HASH, |slot| (slot == wanted).then_some(slot))
}

#[test]
fn an_entry_past_a_full_line_is_found_while_others_come_and_go() {
    let change: fn(&Table) = |table| {
        // There is room in the first line, and another entry takes it. Then a third one goes past
        // the line, and leaves.
        assert!(table.view().remove(HASH, 1));
        table.view().put(HASH, 10);
        table.view().put(HASH, 11);
        assert!(table.view().remove(HASH, 11));
    };
    let walk: fn(&Table) = |table| assert_eq!(find(table, PER_LINE + 1), Some(PER_LINE + 1));
    race(
        || table_with(PER_LINE + 1),
        [change, walk],
        |table, _| assert_eq!([1, 10, 11].map(|slot| find(table, slot)), [None, Some(10), None]),
    );
}

/// Checks that keys of different locks can share lines: the count and the entry in one word do not
/// undo each other.
#[test]
fn writers_beside_each_other_lose_no_entry_and_no_count() {
    // The first line has room for one: the second entry goes past it, unless the first has left by
    // then.
    let come_and_go: fn(&Table) = |table| {
        table.view().put(HASH, 20);
        assert_eq!(find(table, 20), Some(20));
        assert!(table.view().remove(HASH, 20));
    };
    let come: fn(&Table) = |table| {
        table.view().put(HASH, 30);
        assert_eq!(find(table, 30), Some(30));
    };
    race(
        || table_with(PER_LINE - 1),
        [come_and_go, come],
        |table, _| {
            assert_eq!([20, 30].map(|slot| find(table, slot)), [None, Some(30)]);
            assert!(table.view().remove(HASH, 30));
            (1..PER_LINE).for_each(|slot| assert!(table.view().remove(HASH, slot)));
            // The table is as it was, so eight fit into the first line again, and searches end
            // there.
            (1..=PER_LINE).for_each(|slot| table.view().put(HASH, slot));
            assert!(!table.view().remove(HASH, 40));
        },
    );
}

/// Checks that a reader that finds an entry sees what its slot was filled with.
#[test]
fn an_entry_brings_its_slot() {
    struct Filled {
        table: Table,
        slot: [AtomicU64; 1],
    }
    let fill: fn(&Filled) = |filled| {
        filled.slot[0].store(7, Relaxed);
        filled.table.view().put(HASH, 1);
    };
    let walk: fn(&Filled) = |filled| {
        if find(&filled.table, 1).is_some() {
            assert_eq!(filled.slot[0].load(Relaxed), 7);
        }
    };
    race(|| Filled { table: Table::new(1).unwrap(), slot: words() }, [fill, walk], |_, _| {});
}
