//! Eviction of inodes: by the hand of a clock when slots are short, and at once if an inode is of
//! no further use.
//!
//! The bucket's lock is held to mark an inode as `FREEING`, and again to take it out of the table.
//! In between the owner is told, under no lock. From the kill on, the slot belongs to the evicting
//! thread, so the owner is told only once.
//!
//! What it does not do: it never waits for another thread's eviction; see
//! [`InodeCache::new_inode`].

use super::cache::InodeCache;
use crate::Errno;
use crate::cache::icache::first::FirstProbe;
use crate::cache::icache::inode::{self, INODE_WORDS, LINKS_AUX, Record, WORD, flags};
use crate::memory::slot::InodeId;
use crate::memory::{pin, seqcount};
use crate::sync::{Ordering, fence};

/// The kind of inodes to evict.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Any inode without holders.
    Idle,
    /// Inodes that are of no further use: they failed, or have no links.
    Unwanted,
}

/// An inode that was killed. It is gone when this is dropped, also by a panic of the owner.
struct Going<'a, P: FirstProbe> {
    cache: &'a InodeCache<P>,
    id: InodeId,
    hash: u64,
}

impl<P: FirstProbe> Drop for Going<'_, P> {
    fn drop(&mut self) {
        let held = self.cache.inodes.lock_bucket(self.hash);
        self.cache.inodes.unhash(self.id, self.hash, &held);
        self.cache.wake(self.hash, held.stripe());
        drop(held);
        self.cache.inodes.give(self.id);
    }
}

impl<P: FirstProbe> InodeCache<P> {
    /// Evicts up to `count` inodes without holders; returns their number. The owner is told of
    /// each.
    ///
    /// [`capacity`](Self::capacity) has an example.
    pub fn shrink(&self, count: u32) -> u32 {
        (0..count).take_while(|_| self.evict_one()).count() as u32
    }

    /// Takes a slot, and evicts an inode if there is none. Fails with `ENFILE` if two rounds of the
    /// hand met only held inodes.
    pub(super) fn take_slot(&self) -> Result<InodeId, Errno> {
        loop {
            if let Some(id) = self.inodes.take() {
                self.clear_visited(id);
                return Ok(id);
            }
            if !self.evict_one() {
                return self.inodes.take().ok_or(Errno::ENFILE);
            }
        }
    }

    fn evict_one(&self) -> bool {
        let touched = self.inodes.free().touched();
        (0..2 * u64::from(touched)).any(|_| {
            let id = InodeId(self.hand.fetch_add(1, Ordering::Relaxed) % touched);
            pin::is_idle(self.inodes.life(id)) && !self.clear_visited(id) && self.evict(id, Which::Idle)
        })
    }

    /// Marks an inode that was found. Stores only if the mark is clear, so that the line of an
    /// inode that is found often can stay in many processors' caches.
    pub(super) fn visit(&self, id: InodeId) {
        let (word, bit) = (&self.visited[id.0 as usize / 64], 1 << (id.0 % 64));
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Clears an inode's mark; returns whether it was set.
    fn clear_visited(&self, id: InodeId) -> bool {
        let (word, bit) = (&self.visited[id.0 as usize / 64], 1 << (id.0 % 64));
        word.load(Ordering::Relaxed) & bit != 0 && word.fetch_and(!bit, Ordering::Relaxed) & bit != 0
    }

    /// Gives a pin back. The thread that gives back the last pin of an inode that is of no further
    /// use evicts it.
    pub(super) fn iput(&self, id: InodeId) {
        if !pin::unpin(self.inodes.life(id)).was_last() {
            return;
        }
        // The fence comes after the other threads' unpins, so what they did to the inode is seen.
        // From here on the slot may hold another inode. Then `id` is a guess, which `evict` checks.
        fence(Ordering::Acquire);
        let record = self.inodes.record(id);
        if is_unwanted(record, record[WORD].load(Ordering::Relaxed)) {
            self.evict(id, Which::Unwanted);
        }
    }

    /// Evicts an inode if it is of this kind and has no holder. The slot may hold another inode by
    /// now: `id` may be a guess.
    pub(super) fn evict(&self, id: InodeId, which: Which) -> bool {
        let record = self.inodes.record(id);
        let word = seqcount::sample_even(&record[WORD]);
        let key = inode::key_of(record);
        if !pin::is_idle(self.inodes.life(id)) {
            return false;
        }
        let hash = self.hash(key);
        let held = self.inodes.lock_bucket(hash);
        // The word is unchanged, so the inode still has this key, and will until this lock is
        // released.
        let unchanged = seqcount::unchanged(&record[WORD], word);
        let wanted = which == Which::Unwanted && !is_unwanted(record, word);
        if !unchanged || wanted || !pin::kill(self.inodes.life(id)) {
            return false;
        }
        let words: [u64; INODE_WORDS] = std::array::from_fn(|at| record[at].load(Ordering::Relaxed));
        let writing = seqcount::write_alone(&record[WORD]);
        let before = writing.flags();
        writing.end(before | flags::FREEING);
        drop(held);
        let going = Going { cache: self, id, hash };
        // An inode that failed was never filled.
        let attributes = (before & flags::UNHASHED == 0).then(|| inode::attributes_of(&words));
        self.owner.evicted(key, id.0 - 1, attributes.as_ref());
        drop(going);
        true
    }
}

fn is_unwanted(record: &Record, word: u64) -> bool {
    let links = record[LINKS_AUX].load(Ordering::Relaxed) >> 32;
    word & flags::UNHASHED != 0 || links == 0
}

impl<P: FirstProbe> Drop for InodeCache<P> {
    /// Evicts all inodes. None is held, since holders borrow the cache.
    fn drop(&mut self) {
        for slot in 1..self.inodes.free().touched() {
            self.evict(InodeId(slot), Which::Idle);
        }
    }
}
