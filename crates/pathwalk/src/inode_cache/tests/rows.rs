//! Tests of filled, new and absent inodes, by each call.

use std::collections::HashMap;
use std::thread;

use super::*;
use crate::cache::icache::first::{Global, LockFree, Locked};
use crate::cache::icache::probe::{InodeMatch, InodeState};
use crate::inode_cache::family::{InodeLookup, key_for};
use crate::inode_cache::held::PendingInode;

#[test]
fn a_new_one_is_filled_and_then_found() {
    let cache = cache(4);
    assert!(cache.ilookup(K).is_none() && cache.ilookup5(7, |_| true).is_none());
    let made = new(cache.iget_locked(K));
    assert_eq!((made.key(), made.slot() < 4), (K, true));
    let slot = made.slot();
    let inode = made.unlock(&sized(5));
    assert_eq!((inode.key(), inode.slot(), inode.attributes()), (K, slot, sized(5)));
    for found in [cached(cache.iget_locked(K)), cache.ilookup(K).unwrap(), cache.ilookup5(7, |_| true).unwrap(), inode.clone()] {
        assert_eq!((found.slot(), found.attributes().size), (slot, 5));
    }
    inode.set_attributes(&sized(6));
    assert_eq!(cache.ilookup(K).unwrap().attributes().size, 6);
    assert!(cache.ilookup(OTHER).is_none());
    assert_eq!(cache.used(), 1);
}

#[test]
fn keys_of_128_bits_and_nought_are_keys() {
    let cache = cache(8);
    let keys = [0, 1, u128::from(u64::MAX), 1 << 64, u128::MAX].map(NodeKey);
    for (size, key) in keys.iter().enumerate() {
        assert!(cache.ilookup(*key).is_none());
        filled(&cache, *key, size as u64);
    }
    for (size, key) in keys.iter().enumerate() {
        assert_eq!(cache.ilookup(*key).unwrap().attributes().size, size as u64);
    }
}

/// Checks every call that waits for a new inode: it sleeps until the inode is unlocked, and returns
/// it.
#[test]
fn who_finds_a_new_one_waits_until_it_is_unlocked() {
    let calls: [fn(&InodeCache) -> Option<InodeRef<'_>>; 6] = [
        |cache| Some(cached(cache.iget_locked(K))),
        |cache| Some(cached(cache.iget5_locked(7, |_| true, |_| Ok(())))),
        |cache| Some(cached(cache.iget5_locked_rcu(7, |_| true, |_| Ok(())))),
        |cache| Some(cached(cache.inode_insert5(cache.new_inode().unwrap(), 7, |_| true, |_| Ok(())).map_err(|no| no.errno))),
        |cache| cache.ilookup(K),
        |cache| cache.ilookup5(7, |_| true),
    ];
    for call in calls {
        let cache = cache(4);
        let made = new(cache.iget_locked(K));
        thread::scope(|scope| {
            let other = asleep(scope, || call(&cache).map(|found| (found.slot(), found.attributes().size)));
            let inode = made.unlock(&sized(5));
            assert_eq!(other.answer(), Some((inode.slot(), 5)));
        });
        assert_eq!(cache.used(), 1, "slots of those who did not insert were given back");
    }
}

/// Checks, as for Linux's `iget_failed`, that one of the waiting threads makes the next inode, and
/// that look-ups find none.
#[test]
fn who_waits_for_one_that_fails_looks_again() {
    let (owner, cache) = noted(4);
    let made = new(cache.iget_locked(K));
    let slot = made.slot();
    thread::scope(|scope| {
        let getter = asleep(scope, || new(cache.iget_locked(K)).unlock(&sized(6)).slot());
        drop(made);
        let again = getter.answer();
        assert_eq!((cache.ilookup(K).unwrap().slot(), cache.used()), (again, 1));
    });
    assert_eq!(owner.told(), [(K, slot, None)]);
    let looks: [fn(&InodeCache) -> bool; 2] =
        [|cache| cache.ilookup(OTHER).is_some(), |cache| cache.ilookup5(8, |_| true).is_some()];
    for look in looks {
        let made = new(cache.iget_locked(OTHER));
        thread::scope(|scope| {
            let other = asleep(scope, || look(&cache));
            drop(made);
            assert!(!other.answer());
        });
    }
    assert_eq!((owner.told().len(), cache.used()), (2, 1));
}

#[test]
fn a_filler_that_panics_has_failed() {
    let (owner, cache) = noted(2);
    let filler = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _made = new(cache.iget_locked(K));
        panic!("a filler that fails");
    }));
    assert!(filler.is_err() && cache.ilookup(K).is_none());
    assert_eq!((owner.told().len(), cache.used()), (1, 0));
}

fn pending(cache: &InodeCache) -> PendingInode<'_> {
    match cache.ilookup5_nowait(7, |_| true) {
        Some(InodeLookup::New(pending)) => pending,
        other => panic!("not new: {other:?}"),
    }
}

#[test]
fn a_look_up_that_does_not_wait_reports_a_new_one() {
    let (owner, cache) = noted(4);
    assert!(cache.ilookup5_nowait(7, |_| true).is_none());
    // Another inode has slot 0, so that the slots compared below differ from 0.
    let first = new(cache.iget_locked(NodeKey(1)));
    let made = new(cache.iget_locked(K));
    drop(first);
    let slot = made.slot();
    let found = pending(&cache);
    assert_eq!((found.key(), found.slot()), (K, slot));
    thread::scope(|scope| {
        let other = asleep(scope, || found.wait().map(|found| found.attributes().size));
        drop(made.unlock(&sized(5)));
        assert_eq!(other.answer(), Some(5));
    });
    assert!(matches!(cache.ilookup5_nowait(7, |_| true), Some(InodeLookup::Cached(_))));
    // An inode that fails while it is held: the last holder frees it.
    assert_eq!(cache.shrink(2), 1);
    let made = new(cache.iget_locked(K));
    let found = pending(&cache);
    owner.told();
    drop(made);
    assert_eq!((owner.told(), cache.used()), (vec![], 1));
    assert!(found.wait().is_none());
    assert_eq!((owner.told().len(), cache.used()), (1, 0));
}

#[test]
fn a_match_sees_every_state_and_never_waits() {
    let cache = cache(8);
    let see = || {
        let states = Mutex::new(Vec::new());
        let none = cache.find_inode_nowait(7, |view, state| {
            states.lock().unwrap().push((view.key(), view.slot(), state));
            InodeMatch::Next
        });
        assert!(none.is_none());
        states.into_inner().unwrap()
    };
    assert_eq!(see(), []);
    let made = new(cache.iget_locked(K));
    let slot = made.slot();
    assert_eq!(see(), [(K, slot, InodeState::New)]);
    assert!(matches!(cache.find_inode_nowait(7, |_, _| InodeMatch::Take), Some(InodeLookup::New(_))));
    let inode = made.unlock(&sized(5));
    assert_eq!(see(), [(K, slot, InodeState::Cached)]);
    assert!(cache.find_inode_nowait(7, |_, _| InodeMatch::Stop).is_none());
    assert!(
        matches!(cache.find_inode_nowait(7, |_, _| InodeMatch::Take), Some(InodeLookup::Cached(found)) if found.slot() == slot)
    );
    drop(inode);
    assert_eq!(cache.shrink(8), 1);
    let made = cache.insert_inode_locked(cache.new_inode().unwrap(), K).unwrap();
    assert_eq!(see(), [(K, made.slot(), InodeState::Creating)]);
}

/// Returns a cache of four slots with one inode in it.
fn with_one<P: FirstProbe>() -> InodeCache<P> {
    let cache = InodeCache::probed(4, ()).unwrap();
    drop(filled(&cache, K, 5));
    cache
}

/// Returns the calls whose first probe takes no lock by contract. Each returns whether it hit.
fn hits<P: FirstProbe>() -> [fn(&InodeCache<P>) -> bool; 3] {
    [
        |cache| cache.ilookup(K).is_some(),
        |cache| matches!(cache.iget_locked(K), Ok(Iget::Cached(_))),
        |cache| matches!(cache.iget5_locked_rcu(7, |_| true, |_| Ok(())), Ok(Iget::Cached(_))),
    ]
}

#[test]
fn a_lock_free_hit_does_not_wait_for_the_holder_of_the_bucket() {
    let cache = with_one::<LockFree>();
    let inode = cache.ilookup(K).unwrap();
    let _held = cache.bucket(K);
    assert_eq!(inode.attributes().size, 5);
    for hit in hits() {
        assert!(hit(&cache));
        assert!(cache.ilookup(OTHER).is_none());
    }
}

/// Checks that hits, and the calls in `more`, wait for the holder of K's bucket.
fn sleeps<P: FirstProbe>(more: &[fn(&InodeCache<P>) -> bool]) {
    let cache = with_one::<P>();
    for call in hits().iter().chain(more) {
        let held = cache.bucket(K);
        thread::scope(|scope| {
            let other = asleep(scope, || call(&cache));
            drop(held);
            assert!(other.answer());
        });
    }
}

#[test]
fn measuring_variants_wait_for_the_holder_of_their_lock() {
    sleeps::<Locked>(&[]);
    // All keys share the one lock.
    sleeps::<Global>(&[|cache| cache.ilookup(OTHER).is_none()]);
}

#[test]
fn what_ships_has_no_lock_beside_those_of_buckets() {
    assert_eq!((size_of::<LockFree>(), size_of::<Locked>()), (0, 0));
    assert!(size_of::<Global>() > 0);
    assert_eq!(format!("{:?} {:?}", LockFree, Global::default()), "LockFree Global");
}

#[test]
fn capacities_that_cannot_be_are_refused() {
    for capacity in [0, 1 << 31, u32::MAX] {
        assert_eq!(InodeCache::new(capacity, ()).unwrap_err(), Errno::EINVAL);
    }
}

/// Asks for the largest cache, which takes more address space than a machine may give.
#[test]
#[cfg_attr(miri, ignore = "the interpreter has no memory for that")]
fn the_largest_capacity_is_refused_for_lack_of_memory_alone() {
    assert!(matches!(InodeCache::new((1 << 31) - 1, ()), Ok(_) | Err(Errno::ENOMEM)));
}

/// Checks that an inode of another hash is not shown where the table cannot tell the two apart.
#[test]
#[cfg_attr(miri, ignore = "one thread, and minutes there")]
fn inodes_with_the_same_tag_are_told_apart() {
    let cache = cache(4);
    let (mut by_tag, mut pairs) = (HashMap::new(), Vec::new());
    for hash in 0..1 << 15 {
        let tag = cache.hash(key_for(hash)) as u32 & 0xff_ffff;
        pairs.extend(by_tag.insert(tag, hash).map(|before| (before, hash)));
    }
    assert!(pairs.len() > 8, "some of them are in the same line of the table, too");
    for (one, other) in pairs {
        let inode = new(cache.iget5_locked(one, |_| true, |_| Ok(()))).unlock(&sized(1));
        assert!(cache.find_inode_nowait(other, |_, _| InodeMatch::Take).is_none());
        assert!(cache.ilookup5(other, |_| true).is_none());
        let found = cache.find_inode_nowait(one, |_, _| InodeMatch::Take);
        assert!(matches!(found, Some(InodeLookup::Cached(found)) if found.slot() == inode.slot()));
    }
}
