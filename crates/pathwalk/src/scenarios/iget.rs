//! An inode cache without names: get against evict against insert, with long keys, in fewer slots
//! than are needed.
//!
//! Under `Hash::Collide` all keys have one hash, so that each search meets each inode, and tests
//! are shown slots that change their key.
//!
//! These scenarios end in `Inodes::end`: all inserted inodes have left, the owner was told of each
//! once, and what was filled was written back.

use std::sync::Arc;

use super::explore;
use super::thread::{self, JoinHandle};
use super::world::Hash;
use crate::Errno;
use crate::attr::{Attributes, FileType};
use crate::cache::icache::probe::{InodeMatch, InodeState, InodeView};
use crate::inode_cache::cache::{InodeCache, InodeOwner};
use crate::inode_cache::family::{Iget, InodeLookup};
use crate::inode_cache::held::{InodeRef, NewInode};
use crate::node::NodeKey;
use crate::sync::Ordering::SeqCst;
use crate::sync::{AtomicU64, yield_now};

const SLOTS: usize = 3;
const KEYS: usize = 3;

/// A key of four words.
type Wide = [u64; 4];

fn wide(number: usize) -> Wide {
    std::array::from_fn(|at| (number * 10 + at) as u64)
}

fn zeroes<const N: usize>() -> [AtomicU64; N] {
    std::array::from_fn(|_| AtomicU64::new(0))
}

/// The owner's data: by slot, and by number of key.
struct Truth {
    keys: [[AtomicU64; 4]; SLOTS],
    /// 1 if an inode was inserted in this slot and the owner was not told of it yet.
    in_use: [AtomicU64; SLOTS],
    /// 1 if a live inode has this key.
    lives: [AtomicU64; KEYS],
    /// The number of times that each key was filled; the next field is what was written back of
    /// that.
    fills: [AtomicU64; KEYS],
    written: [AtomicU64; KEYS],
}

impl InodeOwner for Truth {
    fn evicted(&self, _key: NodeKey, slot: u32, attributes: Option<&Attributes>) {
        assert_eq!(self.in_use[slot as usize].swap(0, SeqCst), 1, "told once of each");
        if let Some(attributes) = attributes {
            let number = attributes.ino as usize;
            assert!(self.has(slot, number));
            assert_eq!(self.lives[number].swap(0, SeqCst), 1);
            yield_now();
            self.written[number].store(attributes.size, SeqCst);
        }
    }
}

impl Truth {
    fn has(&self, slot: u32, number: usize) -> bool {
        (0..4).all(|at| self.keys[slot as usize][at].load(SeqCst) == wide(number)[at])
    }

    fn begins(&self, slot: u32, number: usize) -> Result<(), Errno> {
        assert_eq!(self.in_use[slot as usize].swap(1, SeqCst), 0, "one at a time has a slot");
        assert_eq!(self.lives[number].swap(1, SeqCst), 0, "one at a time has a key");
        (0..4).for_each(|at| self.keys[slot as usize][at].store(wide(number)[at], SeqCst));
        Ok(())
    }
}

struct Inodes {
    cache: InodeCache,
    truth: Arc<Truth>,
    hash: Hash,
}

impl Inodes {
    fn new(capacity: u32, hash: Hash) -> Arc<Inodes> {
        let truth = Arc::new(Truth {
            keys: std::array::from_fn(|_| zeroes()),
            in_use: zeroes(),
            lives: zeroes(),
            fills: zeroes(),
            written: zeroes(),
        });
        Arc::new(Inodes { cache: InodeCache::with_seed(capacity, truth.clone(), 1).unwrap(), truth, hash })
    }

    fn hash_of(&self, number: usize) -> u64 {
        if self.hash == Hash::Collide { 0 } else { number as u64 }
    }

    fn is(&self, number: usize) -> impl Fn(InodeView) -> bool {
        move |view| self.truth.has(view.slot(), number)
    }

    fn fill<'a>(&self, new: NewInode<'a>, number: usize) -> InodeRef<'a> {
        let fills = self.truth.fills[number].fetch_add(1, SeqCst);
        assert_eq!(self.truth.written[number].load(SeqCst), fills, "what the last one had was written back before");
        let file = Attributes::new(FileType::Regular, 0o600);
        new.unlock(&Attributes { ino: number as u64, size: fills + 1, ..file })
    }

    fn fail(&self, new: NewInode<'_>, number: usize) {
        assert_eq!(self.truth.lives[number].swap(0, SeqCst), 1);
        drop(new);
    }

    /// Checks that a held inode is the one that was asked for, and stays it.
    fn check(&self, inode: &InodeRef<'_>, number: usize) {
        let before = inode.attributes();
        assert!(self.truth.has(inode.slot(), number));
        yield_now();
        assert!(self.truth.has(inode.slot(), number));
        assert_eq!((before.ino, before), (number as u64, inode.attributes()));
        assert_eq!(self.truth.in_use[inode.slot() as usize].load(SeqCst), 1);
    }

    /// Handles a call's result. `ENFILE` is allowed, since there are fewer slots than threads.
    fn settle(&self, got: Result<Iget<'_>, Errno>, number: usize, then: Then) {
        match got {
            Ok(Iget::Cached(inode)) => self.check(&inode, number),
            Ok(Iget::New(new)) if then == Then::Fail => self.fail(new, number),
            Ok(Iget::New(new)) => self.check(&self.fill(new, number), number),
            Err(errno) => assert!([Errno::ENFILE, Errno::EBUSY].contains(&errno), "{errno}"),
        }
    }

    fn get(&self, number: usize, then: Then) {
        let set = |slot| self.truth.begins(slot, number);
        self.settle(self.cache.iget5_locked_rcu(self.hash_of(number), self.is(number), set), number, then);
    }

    fn insert(&self, number: usize, then: Then) {
        let Ok(inode) = self.cache.new_inode() else { return };
        let set = |slot| self.truth.begins(slot, number);
        let inserted = self.cache.inode_insert5(inode, self.hash_of(number), self.is(number), set);
        self.settle(inserted.map_err(|no| no.errno), number, then);
    }

    fn look_up(&self, number: usize) {
        if let Some(inode) = self.cache.ilookup5(self.hash_of(number), self.is(number)) {
            self.check(&inode, number);
        }
        if let Some(InodeLookup::New(new)) = self.cache.ilookup5_nowait(self.hash_of(number), self.is(number))
            && let Some(inode) = new.wait()
        {
            self.check(&inode, number);
        }
    }

    fn end(self: Arc<Self>) {
        while self.cache.shrink(1) != 0 {}
        assert_eq!(self.cache.used(), 0);
        assert!(self.truth.in_use.iter().chain(&self.truth.lives).all(|one| one.load(SeqCst) == 0));
        for number in 0..KEYS {
            assert_eq!(self.truth.fills[number].load(SeqCst), self.truth.written[number].load(SeqCst));
        }
    }
}

/// The treatment of a new inode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Fill,
    Fail,
}

fn spawn(inodes: &Arc<Inodes>, run: impl FnOnce(&Inodes) + Send + 'static) -> JoinHandle<()> {
    let inodes = inodes.clone();
    thread::spawn(move || run(&inodes))
}

/// Checks one slot for two keys and an evictor, so that the slot changes its key often.
#[test]
fn one_slot_for_two_keys() {
    explore(|hash| {
        let inodes = Inodes::new(1, hash);
        let others = [
            spawn(&inodes, |inodes| (0..2).for_each(|_| inodes.get(1, Then::Fill))),
            spawn(&inodes, |inodes| _ = inodes.cache.shrink(2)),
        ];
        (0..2).for_each(|_| inodes.get(0, Then::Fill));
        others.into_iter().for_each(|other| other.join().unwrap());
        inodes.end();
    });
}

#[test]
fn get_against_evict_against_insert() {
    explore(|hash| {
        let inodes = Inodes::new(2, hash);
        let others = [
            spawn(&inodes, |inodes| {
                inodes.insert(0, Then::Fill);
                inodes.get(1, Then::Fill);
            }),
            spawn(&inodes, |inodes| _ = inodes.cache.shrink(2)),
            spawn(&inodes, |inodes| inodes.look_up(0)),
        ];
        inodes.get(0, Then::Fill);
        inodes.insert(2, Then::Fill);
        others.into_iter().for_each(|other| other.join().unwrap());
        inodes.end();
    });
}

/// Checks that threads that wait for an inode that fails make the next; some of these fail, too.
#[test]
fn failing_beside_waiting() {
    explore(|hash| {
        let inodes = Inodes::new(3, hash);
        let others = [
            spawn(&inodes, |inodes| inodes.get(0, Then::Fail)),
            spawn(&inodes, |inodes| inodes.insert(0, Then::Fail)),
            spawn(&inodes, |inodes| inodes.look_up(0)),
        ];
        inodes.get(0, Then::Fill);
        others.into_iter().for_each(|other| other.join().unwrap());
        inodes.end();
    });
}

const KEY: NodeKey = NodeKey(5);
const CREATED: u64 = 1;
const FOUND: u64 = 2;

fn sized(size: u64) -> Attributes {
    Attributes { size, ..Attributes::new(FileType::Regular, 0o600) }
}

fn create(cache: &InodeCache) {
    let Ok(inode) = cache.new_inode() else { return };
    match cache.insert_inode_locked(inode, KEY) {
        Ok(new) => drop(new.unlock(&sized(CREATED))),
        Err(no) => assert_eq!(no.errno, Errno::EBUSY),
    }
}

/// Checks creators of one key beside a getter and an evictor: one at a time creates, and no caller
/// is given an unfinished inode.
#[test]
fn creating_beside_getting() {
    explore(|_| {
        let cache = Arc::new(InodeCache::with_seed(3, (), 1).unwrap());
        let others = [create, create, |cache: &InodeCache| _ = cache.shrink(1)].map(|run| {
            let cache = cache.clone();
            thread::spawn(move || run(&cache))
        });
        match cache.iget_locked(KEY) {
            Ok(Iget::New(new)) => drop(new.unlock(&sized(FOUND))),
            Ok(Iget::Cached(inode)) => assert_eq!(inode.attributes().size, CREATED),
            Err(errno) => assert!([Errno::ESTALE, Errno::ENFILE].contains(&errno), "{errno}"),
        }
        let seen = cache.find_inode_nowait(5, |_, state| match state {
            InodeState::Cached => InodeMatch::Take,
            InodeState::New | InodeState::Creating | InodeState::Freeing => InodeMatch::Next,
        });
        assert!(!matches!(seen, Some(InodeLookup::New(_))));
        drop(seen);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(cache.used() <= 1, "one inode has the key");
        cache.shrink(3);
        assert_eq!(cache.used(), 0);
    });
}
