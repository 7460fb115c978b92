//! Tests of which inodes are evicted, when, and which threads wait for it.

use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::thread;

use super::*;
use crate::cache::icache::probe::{InodeMatch, InodeState};
use crate::inode_cache::evict::Which;
use crate::inode_cache::family::NotInserted;
use crate::memory::slot::InodeId;

#[test]
fn idle_ones_stay_until_slots_are_short() {
    let (owner, cache) = noted(2);
    drop((filled(&cache, K, 1), filled(&cache, OTHER, 2)));
    assert_eq!((cache.used(), owner.told()), (2, vec![]));
    let third = filled(&cache, NodeKey(9), 3);
    assert_eq!((cache.used(), owner.told().len()), (2, 1));
    let [one, two] = [K, OTHER].map(|key| cache.ilookup(key));
    assert!(one.is_some() != two.is_some(), "one of them went");
    assert_eq!(cache.iget_locked(NodeKey(10)).unwrap_err(), Errno::ENFILE, "all are held");
    assert_eq!(cache.new_inode().unwrap_err(), Errno::ENFILE);
    drop((one, two));
    drop(cache.new_inode().unwrap());
    assert_eq!((third.attributes().size, cache.used()), (3, 1));
}

#[test]
fn the_owner_is_told_once_with_the_last_attributes() {
    let (owner, cache) = noted(4);
    let inode = filled(&cache, K, 1);
    inode.set_attributes(&sized(2));
    let slot = inode.slot();
    assert_eq!(cache.shrink(4), 0);
    drop(inode);
    assert_eq!(cache.shrink(4), 1);
    assert_eq!(owner.told(), [(K, slot, Some(2))]);
    drop(filled(&cache, OTHER, 3));
    drop(cache);
    assert_eq!(owner.told(), [(OTHER, slot, Some(3))], "also when the cache goes");
}

/// Checks that a hit gives a second chance, which is spent once.
#[test]
fn found_ones_stay_longer() {
    let cache = cache(4);
    (1..=4).for_each(|key| drop(filled(&cache, NodeKey(key), 0)));
    for key in 5..50 {
        assert!(cache.ilookup(NodeKey(2)).is_some(), "found before each eviction: never evicted, before {key}");
        drop(filled(&cache, NodeKey(key), 0));
    }
    assert_eq!(cache.shrink(9), 4, "a mark saves an inode once");
}

/// Checks this where the marks fill two words exactly.
#[test]
fn each_of_many_has_a_mark() {
    let cache = cache(128);
    (1..=128).for_each(|key| drop(filled(&cache, NodeKey(key), 0)));
    (1..=128).for_each(|key| drop(cache.ilookup(NodeKey(key)).expect("there is room for all")));
    drop(filled(&cache, NodeKey(129), 0));
    assert_eq!((cache.used(), cache.shrink(200)), (128, 128));
}

#[test]
fn no_links_no_stay() {
    let (owner, cache) = noted(4);
    let inode = filled(&cache, K, 1);
    let again = inode.clone();
    inode.set_attributes(&Attributes { nlink: 0, ..sized(1) });
    drop(inode);
    assert_eq!(owner.told(), []);
    assert_eq!(cache.ilookup(K).unwrap().attributes().nlink, 0, "found as long as it is held");
    drop(again);
    assert_eq!((owner.told().len(), cache.used()), (1, 0));
}

/// Checks that a wanted inode stays, since a slot may hold another inode by the time it is looked
/// at.
#[test]
fn a_guess_evicts_only_what_nothing_wants() {
    let (owner, cache) = noted(4);
    let inode = filled(&cache, K, 1);
    let id = InodeId(inode.slot() + 1);
    for which in [Which::Unwanted, Which::Idle] {
        assert!(!cache.evict(id, which), "it is held");
    }
    drop(inode);
    assert!(!cache.evict(id, Which::Unwanted));
    assert_eq!((owner.told(), cache.ilookup(K).map(|found| found.attributes().size)), (vec![], Some(1)));
    assert!(cache.evict(id, Which::Idle) && !cache.evict(id, Which::Idle));
    assert_eq!((owner.told().len(), cache.used()), (1, 0));
}

/// An owner that reports when it is told of an eviction, and returns when it is allowed to.
struct Slow {
    begun: Mutex<Sender<()>>,
    go_on: Mutex<Receiver<()>>,
}

impl InodeOwner for Slow {
    fn evicted(&self, _key: NodeKey, _slot: u32, _attributes: Option<&Attributes>) {
        // The receiver is gone when the cache is dropped.
        _ = self.begun.lock().unwrap().send(());
        _ = self.go_on.lock().unwrap().recv();
    }
}

fn slow(capacity: u32) -> (InodeCache, Receiver<()>, SyncSender<()>) {
    let (begun, has_begun) = channel();
    let (let_go_on, go_on) = sync_channel(99);
    let owner = Slow { begun: Mutex::new(begun), go_on: Mutex::new(go_on) };
    (InodeCache::new(capacity, owner).unwrap(), has_begun, let_go_on)
}

/// Checks every call that waits for an inode that is being evicted: it sleeps until the inode has
/// gone, and finds none.
#[test]
fn who_finds_one_that_goes_waits_until_it_has() {
    let calls: [fn(&InodeCache) -> bool; 7] = [
        |cache| cache.ilookup(K).is_none(),
        |cache| cache.ilookup5(7, |_| true).is_none(),
        |cache| cache.ilookup5_nowait(7, |_| true).is_none(),
        |cache| matches!(cache.iget_locked(K), Ok(Iget::New(_))),
        |cache| matches!(cache.iget5_locked(7, |_| true, |_| Ok(())), Ok(Iget::New(_))),
        |cache| matches!(cache.iget5_locked_rcu(7, |_| true, |_| Ok(())), Ok(Iget::New(_))),
        |cache| matches!(cache.inode_insert5(cache.new_inode().unwrap(), 7, |_| true, |_| Ok(())), Ok(Iget::New(_))),
    ];
    for call in calls {
        let (cache, begun, go_on) = slow(4);
        drop(filled(&cache, K, 1));
        thread::scope(|scope| {
            let evictor = scope.spawn(|| cache.shrink(1));
            begun.recv().unwrap();
            let other = asleep(scope, || call(&cache));
            // Sent twice: if the call made a new inode, that was dropped unfilled, and its owner is
            // told, too.
            (0..2).for_each(|_| go_on.send(()).unwrap());
            assert!(other.answer());
            assert_eq!(evictor.join().unwrap(), 1);
        });
        assert_eq!(cache.used(), 0);
    }
}

/// Checks that other keys are not held up and that the state is shown. A creator of the key is
/// inserted beside the old inode, and is the one that is found.
#[test]
fn one_that_goes_holds_up_nobody_else() {
    let (cache, begun, go_on) = slow(4);
    drop(filled(&cache, K, 1));
    let other = filled(&cache, OTHER, 2);
    thread::scope(|scope| {
        let evictor = scope.spawn(|| cache.shrink(1));
        begun.recv().unwrap();
        assert_eq!(cache.ilookup(OTHER).unwrap().slot(), other.slot());
        drop(cache.bucket(K));
        let freeing = |state| state == InodeState::Freeing;
        assert!(
            cache.find_inode_nowait(7, |_, state| if freeing(state) { InodeMatch::Take } else { InodeMatch::Next }).is_none()
        );
        let created = cache.insert_inode_locked(cache.new_inode().unwrap(), K).unwrap();
        assert!(cache.ilookup(K).is_none());
        let created = created.unlock(&sized(3));
        assert_eq!(cache.ilookup(K).unwrap().slot(), created.slot());
        assert_eq!(cached(cache.iget_locked(K)).slot(), created.slot());
        (0..3).for_each(|_| go_on.send(()).unwrap());
        assert_eq!(evictor.join().unwrap(), 1);
        assert_eq!(cache.ilookup(K).unwrap().attributes().size, 3, "the other one has left, this one is still there");
    });
}

struct Panics;

impl InodeOwner for Panics {
    fn evicted(&self, key: NodeKey, _slot: u32, _attributes: Option<&Attributes>) {
        assert_ne!(key, K, "an owner that fails");
    }
}

#[test]
fn an_owner_that_panics_leaves_nothing_behind() {
    let cache = InodeCache::new(2, Panics).unwrap();
    drop(filled(&cache, K, 1));
    let shrink = || cache.shrink(1);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(shrink)).is_err());
    assert!(cache.ilookup(K).is_none());
    let made: Result<NewInode<'_>, NotInserted<'_>> = cache.insert_inode_locked(cache.new_inode().unwrap(), OTHER);
    drop(made.unwrap().unlock(&sized(1)));
    assert_eq!(cache.used(), 1);
}

/// Checks that marks are distinct, also where there is more than one word of them.
#[test]
#[cfg_attr(miri, ignore = "one thread, and minutes there")]
fn of_many_those_that_were_found_stay() {
    let cache = cache(130);
    (1..=130).for_each(|key| drop(filled(&cache, NodeKey(key), 0)));
    let found = [1, 2, 63, 64, 65, 66, 128, 129, 130];
    found.iter().for_each(|key| assert!(cache.ilookup(NodeKey(*key)).is_some()));
    (131..=251).for_each(|key| drop(filled(&cache, NodeKey(key), 0)));
    let there: Vec<_> = (1..=130).filter(|key| cache.ilookup(NodeKey(*key)).is_some()).collect();
    assert_eq!(there, found);
}

#[test]
fn hashes_of_keys_differ() {
    let cache = cache(4);
    let hashes = [K, OTHER, NodeKey(9)].map(|key| cache.hash(key));
    assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2]);
    assert_eq!(format!("{cache:?}"), "InodeCache(0 of 4 inodes)");
}
