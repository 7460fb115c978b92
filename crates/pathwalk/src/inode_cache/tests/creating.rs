//! Tests of `inode_insert5` and `insert_inode_locked`, and of how other calls see their inodes.

use std::thread;

use super::*;
use crate::inode_cache::family::{InodeLookup, NotInserted};
use crate::inode_cache::held::UnhashedInode;

fn create(cache: &InodeCache) -> Result<NewInode<'_>, Errno> {
    cache.insert_inode_locked(cache.new_inode().unwrap(), K).map_err(|no| no.errno)
}

fn insert5(cache: &InodeCache) -> Result<Iget<'_>, Errno> {
    cache.inode_insert5(cache.new_inode().unwrap(), 7, |_| true, |_| Ok(())).map_err(|no| no.errno)
}

#[test]
fn while_one_is_created_there_is_none_and_inserting_is_busy() {
    let cache = cache(8);
    let creating = create(&cache).unwrap();
    let slot = creating.slot();
    assert_eq!(cache.iget_locked(K).unwrap_err(), Errno::ESTALE);
    assert_eq!(cache.iget5_locked(7, |_| true, |_| Ok(())).unwrap_err(), Errno::ESTALE);
    assert_eq!(cache.iget5_locked_rcu(7, |_| true, |_| Ok(())).unwrap_err(), Errno::ESTALE);
    assert!(cache.ilookup(K).is_none() && cache.ilookup5(7, |_| true).is_none() && cache.ilookup5_nowait(7, |_| true).is_none());
    assert_eq!((create(&cache).unwrap_err(), insert5(&cache).unwrap_err()), (Errno::EBUSY, Errno::EBUSY));
    drop(creating.unlock(&sized(5)));
    for found in [cached(cache.iget_locked(K)), cache.ilookup(K).unwrap(), cached(insert5(&cache))] {
        assert_eq!((found.slot(), found.attributes().size), (slot, 5));
    }
    assert_eq!((create(&cache).unwrap_err(), cache.used()), (Errno::EBUSY, 1));
}

#[test]
fn creating_waits_for_a_new_one() {
    let cache = cache(8);
    let made = new(cache.iget_locked(K));
    thread::scope(|scope| {
        let creator = asleep(scope, || create(&cache).map(|new| new.slot()));
        drop(made.unlock(&sized(5)));
        assert_eq!(creator.answer(), Err(Errno::EBUSY), "it is hashed afterwards");
    });
    assert_eq!(cache.shrink(8), 1);
    let made = new(cache.iget_locked(K));
    thread::scope(|scope| {
        let creator = asleep(scope, || create(&cache).map(|new| new.unlock(&sized(6)).slot()));
        drop(made);
        let slot = creator.answer().expect("the other one failed");
        assert_eq!(cache.ilookup(K).unwrap().slot(), slot);
    });
}

#[test]
fn one_that_is_not_created_after_all_leaves_nothing() {
    let (owner, cache) = noted(2);
    drop(create(&cache).unwrap());
    assert!(cache.ilookup(K).is_none());
    assert_eq!((owner.told().len(), cache.used()), (1, 0));
}

#[test]
fn the_callers_inode_is_inserted_or_given_back() {
    let (owner, cache) = noted(2);
    let inode = cache.new_inode().unwrap();
    let slot = inode.slot();
    // `set` fails: nothing happened, and the slot can be used again.
    let no = cache.inode_insert5(inode, 7, |_| true, |_| Err(Errno::EIO)).unwrap_err();
    assert_eq!((no.errno, no.inode.slot(), cache.ilookup(K).is_none()), (Errno::EIO, slot, true));
    let made = new(cache
        .inode_insert5(no.inode, 7, |_| true, |own| if own == slot { Ok(()) } else { Err(Errno::EIO) })
        .map_err(|no| no.errno));
    assert_eq!((made.slot(), made.key()), (slot, K));
    let held = made.unlock(&sized(1));
    let no: NotInserted<'_> = cache.insert_inode_locked(cache.new_inode().unwrap(), K).unwrap_err();
    drop(cache.insert_inode_locked(no.inode, OTHER).unwrap().unlock(&sized(2)));
    assert_eq!((cache.ilookup(OTHER).unwrap().attributes().size, cache.used(), owner.told().len()), (2, 2, 0));
    assert_eq!(held.attributes().size, 1);
}

#[test]
fn a_stranger_is_not_inserted() {
    let (one, two) = (cache(2), cache(2));
    let stranger = |inode: UnhashedInode<'_>, errno| assert_eq!((errno, inode.slot()), (Errno::EINVAL, 0));
    let no = one.insert_inode_locked(two.new_inode().unwrap(), K).unwrap_err();
    stranger(no.inode, no.errno);
    let no = one.inode_insert5(two.new_inode().unwrap(), 7, |_| true, |_| Ok(())).unwrap_err();
    stranger(no.inode, no.errno);
    assert_eq!((one.used(), two.used()), (0, 0));
}

#[test]
fn a_failed_set_leaves_none() {
    let (owner, cache) = noted(1);
    for _ in 0..3 {
        assert_eq!(cache.iget5_locked(7, |_| true, |_| Err(Errno::EIO)).unwrap_err(), Errno::EIO);
        assert_eq!(cache.iget5_locked_rcu(7, |_| true, |_| Err(Errno::EIO)).unwrap_err(), Errno::EIO);
    }
    let panics = || cache.iget5_locked(7, |_| true, |_| panic!("a set that fails")).is_ok();
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    assert_eq!((cache.used(), owner.told()), (0, vec![]));
    let Iget::New(made) = cache.iget_locked(K).unwrap() else { panic!("there was none") };
    assert!(matches!(cache.ilookup5_nowait(7, |_| true), Some(InodeLookup::New(_))));
    drop(made);
}
