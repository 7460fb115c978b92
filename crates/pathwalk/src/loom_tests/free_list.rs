//! Models of the free list: a slot has one taker, whatever was popped and pushed meanwhile (ABA).

use super::{race, words};
use crate::memory::free_list::FreeList;
use crate::sync::AtomicU64;
use crate::sync::Ordering::{Relaxed, SeqCst};

struct Pool {
    free: FreeList,
    links: [AtomicU64; 4],
    /// 1 while a thread has the slot.
    owners: [AtomicU64; 4],
}

impl Pool {
    /// Creates a pool whose slots were all taken once and given back.
    fn used_once(capacity: u32) -> Pool {
        let pool = Pool { free: FreeList::new(capacity), links: words(), owners: words() };
        let slots: Vec<_> = (0..capacity).map(|_| pool.take().unwrap()).collect();
        slots.into_iter().for_each(|slot| pool.give(slot));
        pool
    }

    fn take(&self) -> Option<u32> {
        self.take_from(0)
    }

    fn take_from(&self, stack: usize) -> Option<u32> {
        let slot = self.free.take_from(self.free.stack(stack), |slot| &self.links[slot as usize])?;
        assert_eq!(self.owners[slot as usize].swap(1, SeqCst), 0, "slot {slot} has two owners");
        // The holder of a taken slot may overwrite its link.
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
    let take_one: fn(&Pool) -> Option<u32> = Pool::take;
    let give_one_back: fn(&Pool) -> Option<u32> = |pool| {
        let (first, second) = (pool.take(), pool.take());
        first.into_iter().for_each(|slot| pool.give(slot));
        second
    };
    race(
        || Pool::used_once(3),
        [take_one, give_one_back],
        |pool, [one, other]| {
            assert!(one.is_some() && one != other);
            one.into_iter().chain(other).for_each(|slot| pool.give(slot));
            assert_eq!(pool.free.used(|slot| &pool.links[slot as usize]), 0);
            assert!([(); 3].map(|()| pool.take()).iter().all(Option::is_some));
            assert_eq!(pool.take(), None);
        },
    );
}

#[test]
fn whoever_takes_a_slot_sees_what_was_done_to_it() {
    let setup = || {
        let pool = Pool { free: FreeList::new(1), links: words(), owners: words() };
        assert_eq!(pool.free.take(|slot| &pool.links[slot as usize]), Some(1));
        pool
    };
    let give: fn(&Pool) = |pool| {
        pool.owners[0].store(7, Relaxed);
        pool.free.give(1, |slot| &pool.links[slot as usize]);
    };
    let take: fn(&Pool) = |pool| {
        if pool.free.take(|slot| &pool.links[slot as usize]).is_some() {
            assert_eq!(pool.owners[0].load(Relaxed), 7);
        }
    };
    race(setup, [give, take], |_, _| {});
}

#[test]
fn a_stack_that_is_taken_over_loses_no_slot() {
    let setup = || {
        // All slots are given back to the first stack.
        let pool = Pool { free: FreeList::with_stacks(3, 2), links: words(), owners: words() };
        let slots: Vec<_> = (0..3).map(|_| pool.take().unwrap()).collect();
        slots.into_iter().for_each(|slot| pool.give(slot));
        pool
    };
    let take_over: fn(&Pool) -> Option<u32> = |pool| pool.take_from(1);
    // This may find no slot while they are on their way.
    let take: fn(&Pool) -> Option<u32> = |pool| pool.take_from(0);
    race(setup, [take_over, take], |pool, taken| {
        let taken = taken.into_iter().flatten().count();
        let left = std::iter::from_fn(|| pool.take_from(0)).count();
        assert_eq!(taken + left, 3);
        assert_eq!(pool.free.used(|slot| &pool.links[slot as usize]), 3);
    });
}
