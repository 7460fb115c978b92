//! A slot has one taker, whatever was popped and pushed meanwhile (ABA).

use loom::thread;

use crate::memory::free_list::FreeList;
use crate::sync::{
    Arc, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

struct Pool {
    free: FreeList,
    links: [AtomicU64; 4],
    /// 1 while somebody has the slot.
    owners: [AtomicU64; 4],
}

impl Pool {
    /// Three slots, all of which were taken once and given back.
    fn used_once() -> Arc<Pool> {
        let zeros = || std::array::from_fn(|_| AtomicU64::new(0));
        let pool = Pool { free: FreeList::new(3), links: zeros(), owners: zeros() };
        let slots = [(); 3].map(|()| pool.take().unwrap());
        slots.into_iter().for_each(|slot| pool.give(slot));
        Arc::new(pool)
    }

    fn take(&self) -> Option<u32> {
        let slot = self.free.take(|slot| &self.links[slot as usize])?;
        assert_eq!(self.owners[slot as usize].swap(1, SeqCst), 0, "slot {slot} has two owners");
        // A taken slot's link is its owner's to overwrite.
        self.links[slot as usize].store(0xdead_beef, Relaxed);
        Some(slot)
    }

    fn give(&self, slot: u32) {
        assert_eq!(self.owners[slot as usize].swap(0, SeqCst), 1);
        self.free.give(slot, |slot| &self.links[slot as usize]);
    }
}

#[test]
fn a_slot_that_comes_back_does_not_fool_a_pop() {
    loom::model(|| {
        let pool = Pool::used_once();
        let other = thread::spawn({
            let pool = pool.clone();
            move || {
                let (first, second) = (pool.take(), pool.take());
                first.into_iter().for_each(|slot| pool.give(slot));
                second
            }
        });
        let here = pool.take();
        let there = other.join().unwrap();
        assert!(here.is_some() && here != there);
        here.into_iter().chain(there).for_each(|slot| pool.give(slot));
        assert_eq!(pool.free.used(), 0);
        assert!([(); 3].map(|()| pool.take()).into_iter().all(|slot| slot.is_some()));
        assert_eq!(pool.take(), None);
    });
}

#[test]
fn whoever_takes_a_slot_sees_what_was_done_to_it() {
    loom::model(|| {
        let pool = Arc::new(Pool {
            free: FreeList::new(1),
            links: std::array::from_fn(|_| AtomicU64::new(0)),
            owners: std::array::from_fn(|_| AtomicU64::new(0)),
        });
        let slot = pool.free.take(|slot| &pool.links[slot as usize]).unwrap();
        let giver = thread::spawn({
            let pool = pool.clone();
            move || {
                pool.owners[0].store(7, Relaxed);
                pool.free.give(slot, |slot| &pool.links[slot as usize]);
            }
        });
        if pool.free.take(|slot| &pool.links[slot as usize]).is_some() {
            assert_eq!(pool.owners[0].load(Relaxed), 7);
        }
        giver.join().unwrap();
    });
}
