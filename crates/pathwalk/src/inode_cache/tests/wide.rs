//! Tests of keys longer than 128 bits: the cache has the hash, the owner the key.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::cache::icache::probe::InodeView;

const CAPACITY: u32 = 8;

type Wide = [u64; 4];

/// The keys, by slot.
struct Keys([[AtomicU64; 4]; CAPACITY as usize]);

impl Keys {
    fn new() -> Keys {
        Keys(std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))))
    }

    fn is(&self, view: InodeView, wide: Wide) -> bool {
        (0..4).all(|at| self.0[view.slot() as usize][at].load(Ordering::Relaxed) == wide[at])
    }

    fn set(&self, slot: u32, wide: Wide) -> Result<(), Errno> {
        (0..4).for_each(|at| self.0[slot as usize][at].store(wide[at], Ordering::Relaxed));
        Ok(())
    }
}

fn wide(number: u64) -> Wide {
    [1, 2, 3, number]
}

/// Checks keys that all have one hash.
#[test]
fn keys_of_one_hash_are_told_apart() {
    let (cache, keys) = (cache(CAPACITY), Keys::new());
    let get = |rcu: bool, number| {
        let (test, set) = (|view| keys.is(view, wide(number)), |slot| keys.set(slot, wide(number)));
        if rcu { cache.iget5_locked_rcu(9, test, set) } else { cache.iget5_locked(9, test, set) }
    };
    for number in 0..u64::from(CAPACITY) {
        drop(new(get(number % 2 == 0, number)).unlock(&sized(number)));
    }
    for number in 0..u64::from(CAPACITY) {
        let found = [
            cached(get(true, number)),
            cached(get(false, number)),
            cache.ilookup5(9, |view| keys.is(view, wide(number))).unwrap(),
        ];
        assert!(found.iter().all(|one| one.attributes().size == number && one.key() == NodeKey(9)));
        assert!(cache.ilookup5(10, |view| keys.is(view, wide(number))).is_none(), "another hash");
    }
    assert!(cache.ilookup5(9, |view| keys.is(view, wide(99))).is_none());
    // The cache is full, so a slot changes its key.
    drop(new(get(true, 99)).unlock(&sized(99)));
    let there = (0..u64::from(CAPACITY)).filter(|number| cache.ilookup5(9, |view| keys.is(view, wide(*number))).is_some());
    assert_eq!(there.count(), CAPACITY as usize - 1);
    assert_eq!(cached(get(true, 99)).attributes().size, 99);
}

#[test]
fn the_key_is_stored_before_anybody_is_asked_about_it() {
    let (cache, keys) = (cache(CAPACITY), Keys::new());
    let inode = cache.new_inode().unwrap();
    let slot = inode.slot();
    let nobody = |_: InodeView| panic!("there is none");
    let set = |own| {
        assert_eq!(own, slot);
        keys.set(own, wide(1))
    };
    let made = new(cache.inode_insert5(inode, 9, nobody, set).map_err(|no| no.errno));
    let asked = cache.ilookup5_nowait(9, |view| keys.is(view, wide(1)) && view.key() == NodeKey(9));
    assert!(asked.is_some());
    drop(asked);
    drop(made.unlock(&sized(1)));
}
