//! Which slots are unused: a stack of those given back, above a mark below which none was ever taken.
//!
//! The mark keeps untouched memory untouched. The head carries a tag that every change moves, against ABA: a pop that slept while its
//! slot was taken and given back fails. The link of a free slot lives in a word of the slot that means something else while
//! it is taken, so a pop may read nonsense there; then the tag has moved. Beside the link is the length of the stack from there on, so that
//! slots in use need no count of their own.
//!
//! Pairs: `take` (Acquire) with `give` (Release): who takes a slot sees what was done to it before. `take`'s Release fence with the
//! Acquire fence of a reader's recheck: who reads a word that was stored after the slot was taken sees that the count of whoever had
//! the slot before has moved, also where the slot has no count of its own.

use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// Slot numbers start at 1; 0 is none.
pub(crate) struct FreeList {
    /// `tag << 32 | slot`.
    head: AtomicU64,
    /// The lowest slot never taken.
    fresh: AtomicU32,
    /// One past the last slot.
    end: u32,
}

impl FreeList {
    /// Slots 1 to `capacity`.
    pub(crate) fn new(capacity: u32) -> FreeList {
        FreeList { head: AtomicU64::new(0), fresh: AtomicU32::new(1), end: capacity + 1 }
    }

    /// A slot, or `None` if all are in use. `link` is the word of a slot that holds its link.
    pub(crate) fn take<'a>(&self, link: impl Fn(u32) -> &'a AtomicU64) -> Option<u32> {
        let slot = self.pop(link).or_else(|| self.take_fresh())?;
        fence(Ordering::Release);
        Some(slot)
    }

    /// The slot that would be taken now, or 0: a guess.
    pub(crate) fn next(&self) -> u32 {
        self.head.load(Ordering::Relaxed) as u32
    }

    fn pop<'a>(&self, link: impl Fn(u32) -> &'a AtomicU64) -> Option<u32> {
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

    fn take_fresh(&self) -> Option<u32> {
        let end = self.end;
        let more = |fresh| (fresh < end).then_some(fresh + 1);
        self.fresh.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()
    }

    /// Gives a slot back; nobody else may hold it.
    pub(crate) fn give<'a>(&self, slot: u32, link: impl Fn(u32) -> &'a AtomicU64) {
        // Acquire: the length is read from the slot that was given before.
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

    /// One past the highest slot that was ever taken.
    pub(crate) fn touched(&self) -> u32 {
        self.fresh.load(Ordering::Relaxed)
    }

    /// Slots in use. `link` as in [`take`](Self::take).
    pub(crate) fn used<'a>(&self, link: impl Fn(u32) -> &'a AtomicU64) -> u32 {
        loop {
            let head = self.head.load(Ordering::Acquire);
            let slot = head as u32;
            let unused = if slot == 0 { 0 } else { (link(slot).load(Ordering::Relaxed) >> 32) as u32 };
            fence(Ordering::Acquire);
            if self.head.load(Ordering::Relaxed) == head {
                return (self.touched() - 1).saturating_sub(unused);
            }
        }
    }

    /// Slots there are.
    pub(crate) fn capacity(&self) -> u32 {
        self.end - 1
    }
}

fn retagged(head: u64, slot: u32) -> u64 {
    ((head >> 32).wrapping_add(1) << 32) | u64::from(slot)
}
