//! The unused slots: stacks of those that were given back, and a mark from which on no slot was
//! ever taken.
//!
//! The mark keeps untouched memory untouched. A stack's head carries a tag that every change moves,
//! against ABA: a pop that slept while its slot was taken and given back fails. The link of a free
//! slot lies in a word of the slot that has another meaning while the slot is taken. So a pop may
//! read nonsense there; then the tag has moved. Beside the link is the length of the stack from
//! there on, so slots in use need no count of their own.
//!
//! If there are many slots, each thread has a stack of its own, and takes a run of slots that were
//! never taken. So a thread takes the slots that it gave back last, and their neighbours are its
//! own too. If a thread finds no slot of its own, it takes the whole stack of another thread. While
//! a stack moves between two threads, or a slot moves from the mark to a run, a third thread may
//! find no slot although there is one. Few slots have one stack, so this cannot happen there.
//!
//! Pairs: `take` (Acquire) with `give` (Release): a thread that takes a slot sees what was done to
//! it before. `take`'s Release fence with the Acquire fence of a reader's recheck: a reader that
//! read a word stored after the slot was taken sees that the sequence count of the slot's previous
//! owner has moved, also if the slot has no count of its own.

use super::alone::{self, Alone, SHARES, apart};
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// The number of slots from which on threads have stacks of their own.
const MANY: u32 = 1 << 16;

/// The number of slots that a thread with a stack of its own takes from the mark at once.
const RUN: u32 = 64;

/// A pool's unused slots. Slot numbers start at 1; 0 is none.
pub(crate) struct FreeList {
    stacks: Box<[Alone<Stack>]>,
    /// The lowest slot that was never taken and is in no run.
    fresh: Alone<AtomicU32>,
    /// One past the last slot.
    end: u32,
}

/// The slots that were given back here, and a run of slots that were never taken.
pub(crate) struct Stack {
    /// `tag << 32 | slot`.
    head: AtomicU64,
    /// The slots that were never taken and are reserved here, as `end << 32 | next`; none if they
    /// are equal.
    run: AtomicU64,
}

impl FreeList {
    /// Creates a free list of slots 1 to `capacity`.
    pub(crate) fn new(capacity: u32) -> FreeList {
        FreeList::with_stacks(capacity, if capacity < MANY { 1 } else { SHARES })
    }

    pub(crate) fn with_stacks(capacity: u32, stacks: usize) -> FreeList {
        let stack = || Stack { head: AtomicU64::new(0), run: AtomicU64::new(0) };
        FreeList { stacks: apart(stacks, stack), fresh: Alone(AtomicU32::new(1)), end: capacity + 1 }
    }

    /// Takes a slot; returns `None` if all are in use. `link` returns the word of a slot that holds
    /// its link.
    pub(crate) fn take<'a>(&self, link: impl Fn(u32) -> &'a AtomicU64) -> Option<u32> {
        self.take_from(alone::mine(&self.stacks), link)
    }

    pub(crate) fn take_from<'a>(&self, mine: &Stack, link: impl Fn(u32) -> &'a AtomicU64) -> Option<u32> {
        let slot = mine.pop(&link).or_else(|| self.take_fresh(mine, &link)).or_else(|| self.take_over(mine, &link))?;
        fence(Ordering::Release);
        Some(slot)
    }

    /// Returns the slot that this thread would take now, or 0. The result is a guess.
    pub(crate) fn next(&self) -> u32 {
        alone::mine(&self.stacks).head.load(Ordering::Relaxed) as u32
    }

    #[cfg(all(test, loom))]
    pub(crate) fn stack(&self, at: usize) -> &Stack {
        &self.stacks[at]
    }

    /// Takes a slot from the run; or one from the mark, and keeps the slots after it as a new run.
    fn take_fresh<'a>(&self, mine: &Stack, link: &impl Fn(u32) -> &'a AtomicU64) -> Option<u32> {
        if let Some(slot) = mine.take_of_run() {
            return Some(slot);
        }
        let length = if self.stacks.len() == 1 { 1 } else { RUN };
        let more = |fresh| (fresh < self.end).then_some(self.end.min(fresh + length));
        let first = self.fresh.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        mine.keep_fresh(first + 1, self.end.min(first + length), link);
        Some(first)
    }

    /// Takes another thread's stack, or a slot of its run.
    #[cold]
    fn take_over<'a>(&self, mine: &Stack, link: &impl Fn(u32) -> &'a AtomicU64) -> Option<u32> {
        let others = self.stacks.iter().filter(|other| !std::ptr::eq(&***other, mine));
        others
            .clone()
            .find_map(|other| other.take_all(mine, link))
            .or_else(|| others.clone().find_map(|other| other.take_of_run()))
    }

    /// Gives a slot back. It must have no other holder.
    pub(crate) fn give<'a>(&self, slot: u32, link: impl Fn(u32) -> &'a AtomicU64) {
        alone::mine(&self.stacks).push(slot, &link);
    }

    /// Returns one past the highest slot that was ever taken or is in a run.
    pub(crate) fn touched(&self) -> u32 {
        self.fresh.load(Ordering::Relaxed)
    }

    /// Returns the number of slots in use; an estimate while other threads take and give. `link` is
    /// as in [`take`](Self::take).
    pub(crate) fn used<'a>(&self, link: impl Fn(u32) -> &'a AtomicU64) -> u32 {
        let unused: u32 = self.stacks.iter().map(|stack| stack.unused(&link)).sum();
        (self.touched() - 1).saturating_sub(unused)
    }

    /// Returns the number of slots.
    pub(crate) fn capacity(&self) -> u32 {
        self.end - 1
    }
}

impl Stack {
    fn pop<'a>(&self, link: &impl Fn(u32) -> &'a AtomicU64) -> Option<u32> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let slot = head as u32;
            if slot == 0 {
                return None;
            }
            let next = link(slot).load(Ordering::Relaxed) as u32;
            match self.head.compare_exchange_weak(head, retagged(head, next), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(slot),
                Err(other) => head = other,
            }
        }
    }

    fn push<'a>(&self, slot: u32, link: &impl Fn(u32) -> &'a AtomicU64) {
        // Acquire, because the length is read from the slot that was given back before.
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let before = head as u32;
            let length = if before == 0 { 0 } else { link(before).load(Ordering::Relaxed) >> 32 };
            link(slot).store((length + 1) << 32 | u64::from(before), Ordering::Relaxed);
            match self.head.compare_exchange_weak(head, retagged(head, slot), Ordering::Release, Ordering::Acquire) {
                Ok(_) => break,
                Err(other) => head = other,
            }
        }
    }

    /// Takes all slots of this stack. Returns one; the others become the stack `to` if it is empty,
    /// or are pushed onto it.
    fn take_all<'a>(&self, to: &Stack, link: &impl Fn(u32) -> &'a AtomicU64) -> Option<u32> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            if head as u32 == 0 {
                return None;
            }
            match self.head.compare_exchange_weak(head, retagged(head, 0), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(other) => head = other,
            }
        }
        let next_of = |slot: u32| link(slot).load(Ordering::Relaxed) as u32;
        let slot = head as u32;
        let mut rest = next_of(slot);
        let empty = to.head.load(Ordering::Relaxed);
        // The lengths beside the links are right as they are, since the stack below is empty.
        let handed_over = empty as u32 == 0
            && to.head.compare_exchange(empty, retagged(empty, rest), Ordering::Release, Ordering::Relaxed).is_ok();
        while !handed_over && rest != 0 {
            let below = next_of(rest);
            to.push(rest, link);
            rest = below;
        }
        Some(slot)
    }

    fn take_of_run(&self) -> Option<u32> {
        let next = |run: u64| (run as u32 != (run >> 32) as u32).then_some(run + 1);
        self.run.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok().map(|run| run as u32)
    }

    /// Keeps slots that were never taken as the stack's run. Pushes them onto the stack if another
    /// thread that shares the stack has begun a run.
    fn keep_fresh<'a>(&self, next: u32, end: u32, link: &impl Fn(u32) -> &'a AtomicU64) {
        if !self.begin_run(next, end) {
            (next..end).for_each(|slot| self.push(slot, link));
        }
    }

    /// Begins a run. Returns false if there is one already.
    fn begin_run(&self, next: u32, end: u32) -> bool {
        let begin = |run: u64| (run as u32 == (run >> 32) as u32).then_some(u64::from(end) << 32 | u64::from(next));
        self.run.fetch_update(Ordering::Relaxed, Ordering::Relaxed, begin).is_ok()
    }

    /// Returns the number of slots in the stack and in the run.
    fn unused<'a>(&self, link: &impl Fn(u32) -> &'a AtomicU64) -> u32 {
        let run = self.run.load(Ordering::Relaxed);
        let in_run = (run >> 32) as u32 - run as u32;
        loop {
            let head = self.head.load(Ordering::Acquire);
            let slot = head as u32;
            let length = if slot == 0 { 0 } else { (link(slot).load(Ordering::Relaxed) >> 32) as u32 };
            fence(Ordering::Acquire);
            if self.head.load(Ordering::Relaxed) == head {
                return in_run + length;
            }
        }
    }
}

fn retagged(head: u64, slot: u32) -> u64 {
    ((head >> 32).wrapping_add(1) << 32) | u64::from(slot)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn what_one_thread_takes_first_lies_side_by_side() {
        let free = FreeList::with_stacks(1000, 4);
        let links: Vec<AtomicU64> = (0..=1000).map(|_| AtomicU64::new(0)).collect();
        let slots: Vec<u32> = (0..RUN).filter_map(|_| free.take(|slot| &links[slot as usize])).collect();
        assert!(slots.windows(2).all(|pair| pair[1] == pair[0] + 1), "{slots:?}");
        assert!(links.iter().all(|link| link.load(Ordering::Relaxed) == 0), "what was never taken is not written to");
    }

    /// Checks that two threads have separate runs, and that a run ends at the last slot.
    #[test]
    fn a_thread_takes_runs_of_its_own() {
        let links: Vec<AtomicU64> = (0..=200).map(|_| AtomicU64::new(0)).collect();
        let link = |slot: u32| &links[slot as usize];
        let free = FreeList::with_stacks(200, 2);
        let [mine, other] = [&*free.stacks[0], &*free.stacks[1]];
        let take = |stack, n| (0..n).filter_map(|_| free.take_from(stack, link)).collect::<Vec<_>>();
        assert_eq!(take(mine, 3), [1, 2, 3]);
        assert_eq!((free.touched(), free.used(link)), (65, 3));
        assert_eq!(take(other, 2), [65, 66]);
        assert_eq!((free.touched(), free.used(link)), (129, 5));
        assert_eq!(take(mine, 61), (4..=64).collect::<Vec<_>>());
        assert_eq!(take(mine, 72), (129..=200).collect::<Vec<_>>());
        assert_eq!((free.touched(), free.used(link)), (201, 138));
        assert_eq!(take(mine, 2), [67, 68], "of the run of another");
        free.give(5, link);
        free.give(6, link);
        assert_eq!(free.used(link), 138);
        assert_eq!(take(other, 1).len() + take(mine, 1).len(), 2);
    }

    /// Checks the case that two threads that share a stack both found its run used up, and took
    /// from the mark.
    #[test]
    fn the_run_of_the_slower_thread_is_given_back() {
        let links: Vec<AtomicU64> = (0..=200).map(|_| AtomicU64::new(0)).collect();
        let link = |slot: u32| &links[slot as usize];
        let free = FreeList::with_stacks(200, 2);
        let mine = &*free.stacks[0];
        assert_eq!(free.take_from(mine, link), Some(1));
        mine.keep_fresh(101, 104, &link);
        assert_eq!(mine.unused(&link), 66);
        let taken: HashSet<u32> = (0..66).filter_map(|_| mine.pop(&link).or_else(|| mine.take_of_run())).collect();
        assert_eq!(taken, (2..=64).chain(101..104).collect());
        assert_eq!(mine.unused(&link), 0);
    }

    /// Checks the case that a slot was given back while a thread took all slots of another stack.
    #[test]
    fn slots_that_are_taken_over_join_those_given_back_meanwhile() {
        let links: Vec<AtomicU64> = (0..=9).map(|_| AtomicU64::new(0)).collect();
        let link = |slot: u32| &links[slot as usize];
        let free = FreeList::with_stacks(9, 2);
        let [from, to] = [&*free.stacks[0], &*free.stacks[1]];
        (1..=4).for_each(|slot| from.push(slot, &link));
        to.push(5, &link);
        let taken = from.take_all(to, &link);
        let others: HashSet<u32> = std::iter::from_fn(|| to.pop(&link)).collect();
        assert_eq!((taken, others), (Some(4), [1, 2, 3, 5].into()));
        assert_eq!(from.pop(&link), None);
    }

    #[test]
    fn few_slots_have_one_stack() {
        assert_eq!([1, MANY - 1, MANY].map(|slots| FreeList::new(slots).stacks.len()), [1, 1, SHARES]);
        assert_eq!((MANY, FreeList::new(9).capacity()), (65_536, 9));
        let links: Vec<AtomicU64> = (0..=9).map(|_| AtomicU64::new(0)).collect();
        let free = FreeList::new(9);
        assert_eq!((free.next(), free.take(|slot| &links[slot as usize]), free.touched()), (0, Some(1), 2));
    }

    #[test]
    fn every_slot_has_one_taker_and_none_is_lost() {
        const SLOTS: u32 = if cfg!(miri) { 60 } else { 1000 };
        let rounds = if cfg!(miri) { 3 } else { 300 };
        let free = FreeList::with_stacks(SLOTS, 4);
        let links: Vec<AtomicU64> = (0..=SLOTS).map(|_| AtomicU64::new(0)).collect();
        let link = |slot: u32| &links[slot as usize];
        let taken = Mutex::new(HashSet::new());
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let (free, taken) = (&free, &taken);
                scope.spawn(move || {
                    for round in 0..rounds {
                        let slots: Vec<u32> =
                            (0..1 + (thread * 31 + round) % (SLOTS / 6 + 4)).filter_map(|_| free.take(link)).collect();
                        for slot in &slots {
                            assert!((1..=SLOTS).contains(slot) && taken.lock().unwrap().insert(*slot), "slot {slot} twice");
                        }
                        for slot in slots {
                            assert!(taken.lock().unwrap().remove(&slot));
                            free.give(slot, link);
                        }
                    }
                });
            }
        });
        assert_eq!(free.used(link), 0);
        let all: HashSet<u32> = std::iter::from_fn(|| free.take(link)).collect();
        assert_eq!((all.len(), free.used(link), free.capacity()), (SLOTS as usize, SLOTS, SLOTS));
    }

    /// Checks that a head differs from those before it, also with the same slot.
    #[test]
    fn a_head_has_another_tag_after_each_change() {
        let heads: Vec<u64> = std::iter::successors(Some(7), |head| Some(retagged(*head, 7))).take(9).collect();
        assert!(heads.iter().all(|head| *head as u32 == 7));
        assert_eq!(heads.iter().map(|head| head >> 32).collect::<Vec<_>>(), (0..9).collect::<Vec<_>>());
        assert_eq!(retagged(u64::from(u32::MAX) << 32, 7), 7, "the tags begin anew");
    }
}
