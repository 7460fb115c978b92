//! Models of the hand-overs of an inode cache, with its real functions: a new inode from the thread
//! that fills it to one that waits, and an evicted inode to a thread that looks for it.

use std::sync::Arc;

use super::race;
use crate::Errno;
use crate::attr::{Attributes, FileType};
use crate::cache::icache::probe::Found;
use crate::inode_cache::cache::{InodeCache, InodeOwner};
use crate::inode_cache::family::Iget;
use crate::memory::pin;
use crate::memory::slot::InodeId;
use crate::node::NodeKey;
use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;

const K: NodeKey = NodeKey(7);
const FILLED: u64 = 5;

/// The data that the owner keeps of the one slot, and the counts of its calls. All are Relaxed,
/// since the cache has to order them.
#[derive(Default)]
struct Owner {
    of_slot: AtomicU64,
    told_filled: AtomicU64,
    told_failed: AtomicU64,
}

impl InodeOwner for Arc<Owner> {
    fn evicted(&self, _key: NodeKey, _slot: u32, attributes: Option<&Attributes>) {
        let told = if attributes.is_some() { &self.told_filled } else { &self.told_failed };
        told.store(told.load(Relaxed) + 1, Relaxed);
    }
}

struct World {
    cache: InodeCache,
    owner: Arc<Owner>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Got {
    New,
    Cached,
    NoSlot,
    None,
}

fn empty(capacity: u32) -> World {
    let owner = Arc::new(Owner::default());
    World { cache: InodeCache::with_seed(capacity, owner.clone(), 1).unwrap(), owner }
}

fn with_one() -> World {
    let world = empty(1);
    assert_eq!(get(&world), Got::New);
    world
}

fn attributes() -> Attributes {
    Attributes { size: FILLED, ..Attributes::new(FileType::Regular, 0o600) }
}

fn get(world: &World) -> Got {
    match world.cache.iget_locked(K) {
        Ok(Iget::New(new)) => {
            world.owner.of_slot.store(FILLED, Relaxed);
            drop(new.unlock(&attributes()));
            Got::New
        }
        Ok(Iget::Cached(inode)) => {
            assert_eq!((world.owner.of_slot.load(Relaxed), inode.attributes().size), (FILLED, FILLED));
            Got::Cached
        }
        Err(Errno::ENFILE) => Got::NoSlot,
        Err(other) => panic!("{other}"),
    }
}

fn fail(world: &World) -> Got {
    match world.cache.iget_locked(K) {
        Ok(Iget::New(new)) => {
            drop(new);
            Got::New
        }
        Ok(Iget::Cached(_)) => Got::Cached,
        Err(other) => panic!("{other}"),
    }
}

fn told(world: &World) -> [u64; 2] {
    [&world.owner.told_filled, &world.owner.told_failed].map(|told| told.load(Relaxed))
}

/// Checks `NEW`: the waiting thread sees what the other one filled.
#[test]
fn one_fills_and_the_other_waits() {
    race(
        || empty(2),
        [get, get],
        |world, got| {
            assert_eq!(got.iter().filter(|one| **one == Got::New).count(), 1, "{got:?}");
            assert!(got.contains(&Got::Cached));
            assert_eq!((world.cache.used(), told(world)), (1, [0, 0]));
        },
    );
}

/// Checks `NEW`: the thread that waits for an inode that fails makes the next, and the owner is
/// told of each that failed.
#[test]
fn one_fails_and_the_other_waits() {
    race(
        || empty(2),
        [fail, get],
        |world, got| {
            let failed = u64::from(got[0] == Got::New);
            assert_eq!((got[1], failed == 1), (Got::New, got[0] != Got::Cached));
            assert_eq!((world.cache.used(), told(world)), (1, [0, failed]));
        },
    );
}

/// Checks `FREEING`: a thread that finds no inode sees that the owner was told.
#[test]
fn one_is_evicted_while_it_is_looked_up() {
    let evict: fn(&World) -> Got = |world| if world.cache.shrink(1) == 1 { Got::None } else { Got::Cached };
    let look_up: fn(&World) -> Got = |world| match world.cache.ilookup(K) {
        Some(inode) => {
            assert_eq!((inode.attributes().size, told(world)), (FILLED, [0, 0]), "it is held");
            Got::Cached
        }
        None => {
            assert_eq!(told(world), [1, 0]);
            Got::None
        }
    };
    race(with_one, [evict, look_up], |world, [evicted, _]| {
        let gone = u64::from(evicted == Got::None);
        assert_eq!((told(world), u64::from(world.cache.used())), ([gone, 0], 1 - gone));
    });
}

/// Checks `FREEING`: a thread that needs the inode again waits, and makes it anew. With one slot,
/// the new inode is in the slot that was given back, or there is none.
#[test]
fn one_is_evicted_while_it_is_wanted() {
    let evict: fn(&World) -> Got = |world| if world.cache.shrink(1) == 1 { Got::None } else { Got::Cached };
    race(with_one, [evict, get], |world, [evicted, got]| {
        assert!(evicted == Got::None || got == Got::Cached, "{evicted:?} {got:?}");
        assert_eq!(told(world), [u64::from(evicted == Got::None), 0]);
    });
}

/// Checks a slot that passes from one long key to another while a test looks at it without a lock:
/// a thread that is given an inode has the one that it asked for. This uses the pool's functions as
/// `evict` and `inode_insert5` call them.
#[test]
fn a_test_beside_another_owner_of_the_slot() {
    const OLD: u64 = FILLED;
    const NEXT: u64 = 6;
    const SLOT: InodeId = InodeId(1);
    let replace: fn(&World) -> Got = |world| {
        let (inodes, hash) = (&world.cache.inodes, world.cache.hash(K));
        if !pin::kill(inodes.life(SLOT)) {
            return Got::NoSlot;
        }
        inodes.unhash(SLOT, hash, &inodes.lock_bucket(hash));
        inodes.give(SLOT);
        assert_eq!(inodes.take(), Some(SLOT));
        world.owner.of_slot.store(NEXT, Relaxed);
        inodes.insert(SLOT, K, hash, &inodes.lock_bucket(hash), |_| 0);
        Got::New
    };
    let probe: fn(&World) -> Got = |world| {
        let (inodes, of_slot) = (&world.cache.inodes, &world.owner.of_slot);
        let Found::Pinned(id, _) = inodes.find_lock_free(world.cache.hash(K), K, |_| of_slot.load(Relaxed) == OLD) else {
            return Got::None;
        };
        assert_eq!(of_slot.load(Relaxed), OLD);
        pin::unpin(inodes.life(id));
        Got::Cached
    };
    race(with_one, [replace, probe], |_, [replaced, found]| assert!(replaced == Got::New || found == Got::Cached));
}
