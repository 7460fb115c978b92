//! A stress test: threads get, insert, create, fail and look up in the smallest cache that can
//! work, with a slot for each of them, so that nearly every call evicts. Every answer is checked.
//! `PATHWALK_STRESS_SECONDS` sets the duration (default: 2).

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pathwalk::{
    Attributes, Errno, FileType, Iget, InodeCache, InodeLookup, InodeMatch, InodeOwner, InodeRef, InodeState, InodeView,
    NewInode, NodeKey,
};

/// More threads than the machine may have cores, so that threads are also descheduled at bad
/// moments.
const THREADS: usize = 6;
/// The number of long keys, a few more than slots.
const KEYS: usize = 16;
/// The number of hashes of long keys: several keys have the same hash.
const HASHES: u64 = 5;
/// The number of keys that only `insert_inode_locked` makes. They have no links, so that they are
/// freed at once.
const CREATED: u64 = 3;
const FIRST_CREATED: u64 = 1000;
const UNFILLED: u64 = u64::MAX;

type Wide = [u64; 4];

fn wide(number: usize) -> Wide {
    std::array::from_fn(|at| (number as u64 + 1) << (at * 8))
}

fn hash(number: usize) -> u64 {
    number as u64 % HASHES
}

/// The data that an owner keeps beside a slot.
#[derive(Default)]
struct OfSlot {
    key: [AtomicU64; 4],
    in_use: AtomicU64,
}

/// The expected state of a key.
#[derive(Default)]
struct OfKey {
    /// The number of live inodes with the key.
    lives: AtomicU64,
    /// The last value that was set, by the holder of this lock.
    latest: Mutex<u64>,
    /// The value that was written back.
    stored: AtomicU64,
}

struct Truth {
    slots: Vec<OfSlot>,
    keys: Vec<OfKey>,
    inserted: AtomicUsize,
    told: AtomicUsize,
    evicted: AtomicUsize,
}

impl Truth {
    fn new(slots: usize) -> Truth {
        let [inserted, told, evicted] = std::array::from_fn(|_| AtomicUsize::new(0));
        let (slots, keys) = ((0..slots).map(|_| OfSlot::default()).collect(), (0..KEYS).map(|_| OfKey::default()).collect());
        Truth { slots, keys, inserted, told, evicted }
    }

    fn has(&self, slot: u32, number: usize) -> bool {
        (0..4).all(|at| self.slots[slot as usize].key[at].load(Relaxed) == wide(number)[at])
    }

    fn takes(&self, slot: u32, key: Wide) {
        let slot = &self.slots[slot as usize];
        assert_eq!(slot.in_use.swap(1, SeqCst), 0, "one at a time has a slot");
        (0..4).for_each(|at| slot.key[at].store(key[at], Relaxed));
        self.inserted.fetch_add(1, SeqCst);
    }

    fn begins(&self, slot: u32, number: usize) -> Result<(), Errno> {
        assert_eq!(self.keys[number].lives.swap(1, SeqCst), 0, "one at a time has a key");
        self.takes(slot, wide(number));
        Ok(())
    }
}

impl InodeOwner for Truth {
    fn evicted(&self, key: NodeKey, slot: u32, attributes: Option<&Attributes>) {
        assert_eq!(self.slots[slot as usize].in_use.swap(0, SeqCst), 1, "told once of each");
        self.told.fetch_add(1, SeqCst);
        let Some(attributes) = attributes.filter(|_| key.0 < FIRST_CREATED.into()) else { return };
        let number = attributes.ino as usize;
        assert!(self.has(slot, number), "the key is there until the owner was told");
        assert_eq!(self.keys[number].lives.swap(0, SeqCst), 1);
        std::thread::yield_now();
        self.keys[number].stored.store(attributes.size, Relaxed);
        self.evicted.fetch_add(1, SeqCst);
    }
}

struct Worker<'a> {
    cache: &'a InodeCache,
    truth: &'a Truth,
    random: u64,
}

impl Worker<'_> {
    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) % end
    }

    fn act(&mut self) {
        let number = self.below(KEYS as u64) as usize;
        let truth = self.truth;
        let test = move |view: InodeView| truth.has(view.slot(), number);
        let set = move |slot| truth.begins(slot, number);
        match self.below(10) {
            0..4 => self.settle(self.cache.iget5_locked_rcu(hash(number), test, set), number),
            4 => self.settle(self.cache.iget5_locked(hash(number), test, set), number),
            5 => {
                let Ok(inode) = self.cache.new_inode() else { return };
                let inserted = self.cache.inode_insert5(inode, hash(number), test, set);
                self.settle(inserted.map_err(|no| no.errno), number);
            }
            6 => self.cache.ilookup5(hash(number), test).iter().for_each(|inode| self.check(inode, number)),
            7 => match self.cache.ilookup5_nowait(hash(number), test) {
                Some(InodeLookup::Cached(inode)) => self.check(&inode, number),
                Some(InodeLookup::New(new)) => new.wait().iter().for_each(|inode| self.check(inode, number)),
                None => {}
            },
            8 => self.match_one(number),
            _ => self.create(),
        }
    }

    fn settle(&mut self, got: Result<Iget<'_>, Errno>, number: usize) {
        match got {
            Ok(Iget::Cached(inode)) => self.check(&inode, number),
            Ok(Iget::New(new)) if self.below(8) == 0 => {
                assert_eq!(self.truth.keys[number].lives.swap(0, SeqCst), 1);
                drop(new);
            }
            Ok(Iget::New(new)) => self.fill(new, number),
            // The hand may meet each slot at a moment at which it is held.
            Err(errno) => assert_eq!(errno, Errno::ENFILE),
        }
    }

    fn fill(&self, new: NewInode<'_>, number: usize) {
        let key = &self.truth.keys[number];
        let stored = key.stored.load(Relaxed);
        assert_eq!(stored, *key.latest.lock().unwrap(), "all was written back before the next one of the key");
        let mut file = Attributes::new(FileType::Regular, 0o600).with_ino(number as u64).with_size(stored);
        file.blocks = stored;
        let inode = new.unlock(&file);
        self.check(&inode, number);
    }

    /// Checks that a held inode is the one that was requested, stays so, and has the last
    /// attributes, all of one instant.
    fn check(&self, inode: &InodeRef<'_>, number: usize) {
        let key = &self.truth.keys[number];
        let slot = inode.slot();
        let is_it = || self.truth.has(slot, number) && inode.slot() == slot && inode.key() == NodeKey(hash(number).into());
        assert!(is_it());
        let torn = inode.attributes();
        assert_eq!((torn.ino, torn.size), (number as u64, torn.blocks));
        let mut latest = key.latest.lock().unwrap();
        let mut attributes = inode.attributes();
        assert_eq!(attributes.size, *latest);
        *latest += 1;
        (attributes.size, attributes.blocks) = (*latest, *latest);
        inode.set_attributes(&attributes);
        drop(latest);
        std::thread::yield_now();
        assert!(is_it() && self.truth.slots[slot as usize].in_use.load(SeqCst) == 1);
        assert_eq!(key.lives.load(SeqCst), 1);
    }

    fn match_one(&self, number: usize) {
        let matches = |view: InodeView, state| match state {
            InodeState::Creating => panic!("no thread creates one of these"),
            _ if !self.truth.has(view.slot(), number) => InodeMatch::Next,
            InodeState::Cached => InodeMatch::Take,
            InodeState::New | InodeState::Freeing => InodeMatch::Stop,
        };
        match self.cache.find_inode_nowait(hash(number), matches) {
            Some(InodeLookup::Cached(inode)) => self.check(&inode, number),
            Some(InodeLookup::New(_)) => panic!("it was not to be taken"),
            None => {}
        }
    }

    /// Creates an inode with a key that is reused at once, while its last inode may still be on its
    /// way out.
    fn create(&mut self) {
        let key = FIRST_CREATED + self.below(CREATED);
        let Ok(inode) = self.cache.new_inode() else { return };
        let slot = inode.slot();
        match self.cache.insert_inode_locked(inode, NodeKey(key.into())) {
            Ok(new) => {
                self.truth.takes(slot, [key, 0, 0, 0]);
                if self.below(4) == 0 {
                    return drop(new);
                }
                assert!(self.cache.ilookup(NodeKey(key.into())).is_none(), "it is not finished");
                let file = Attributes::new(FileType::Regular, 0o600);
                let created = new.unlock(&file.with_ino(key).with_size(UNFILLED).with_nlink(0));
                let found = self.cache.ilookup(NodeKey(key.into()));
                assert_eq!(found.map(|found| found.slot()), Some(created.slot()));
            }
            Err(no) => assert_eq!(no.errno, Errno::EBUSY),
        }
        if let Some(found) = self.cache.ilookup(NodeKey(key.into())) {
            assert_eq!((found.attributes().ino, found.attributes().size), (key, UNFILLED));
            assert_eq!(self.truth.slots[found.slot() as usize].key[0].load(Relaxed), key);
        }
    }
}

fn limit() -> Duration {
    let seconds = std::env::var("PATHWALK_STRESS_SECONDS").unwrap_or_else(|_| "2".into());
    Duration::from_secs(seconds.parse().unwrap_or_else(|_| panic!("PATHWALK_STRESS_SECONDS is to be a number, not {seconds:?}")))
}

fn storm(slots: usize) {
    let truth = Arc::new(Truth::new(slots));
    let cache = InodeCache::new(slots as u32, truth.clone()).expect("a small one");
    let (begin, limit) = (Instant::now(), limit());
    let acted = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for seed in 1..=THREADS as u64 {
            let (cache, truth, acted) = (&cache, &truth, &acted);
            scope.spawn(move || {
                let mut worker = Worker { cache, truth, random: seed };
                while begin.elapsed() < limit {
                    (0..64).for_each(|_| worker.act());
                    acted.fetch_add(64, Relaxed);
                    assert!(cache.used() as usize <= slots);
                }
            });
        }
    });
    drop(cache);
    let [inserted, told, evicted] = [&truth.inserted, &truth.told, &truth.evicted].map(|count| count.load(SeqCst));
    println!("{slots} slots: {acted:?} calls, {inserted} inserted, {evicted} evicted");
    assert_eq!(inserted, told, "of each that was inserted the owner was told");
    assert!(truth.slots.iter().all(|slot| slot.in_use.load(SeqCst) == 0));
    assert!(evicted > 0 && truth.keys.iter().all(|key| key.stored.load(SeqCst) == *key.latest.lock().unwrap()));
}

/// Runs threads that each hold one inode, and one slot while they look for another, so that nearly
/// every call evicts.
#[test]
fn the_smallest_cache_that_works() {
    storm(THREADS);
}

/// Runs the threads with room for most keys: calls find inodes, and evict now and then.
#[test]
fn a_larger_one() {
    storm(2 * THREADS);
}
