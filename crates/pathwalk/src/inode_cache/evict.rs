//! How an inode goes: by the hand of a clock when slots are short, at once when nobody can want it any more.
//!
//! The bucket's lock is held to say that it goes, and to take it out of the table; between, the owner is told, under no lock.
//! From the kill on the slot is the evicting thread's, so that nobody is told twice.
//!
//! What it does not do: it never waits for somebody else's eviction; see [`InodeCache::new_inode`].

use super::cache::InodeCache;
use crate::Errno;
use crate::cache::icache::first::FirstProbe;
use crate::cache::icache::inode::{self, INODE_WORDS, LINKS_AUX, Record, WORD, flags};
use crate::memory::slot::InodeId;
use crate::memory::{pin, seqcount};
use crate::sync::{Ordering, fence};

/// Which inodes go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Any that nobody holds.
    Idle,
    /// Those that nobody can want any more: they failed, or have no links.
    Unwanted,
}

/// An inode that was killed: gone when dropped, also by a panic of the owner.
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
    /// Evicts inodes that nobody holds, up to `count`; returns how many. The owner is told of each.
    pub fn shrink(&self, count: u32) -> u32 {
        (0..count).take_while(|_| self.evict_one()).count() as u32
    }

    /// A slot, evicting if there is none. `ENFILE` if two rounds of the hand met none that nobody holds.
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

    /// Marks an inode that was found. Stores only where there is no mark: what is found often stays in many caches.
    pub(super) fn visit(&self, id: InodeId) {
        let (word, bit) = (&self.visited[id.0 as usize / 64], 1 << (id.0 % 64));
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Whether it was marked.
    fn clear_visited(&self, id: InodeId) -> bool {
        let (word, bit) = (&self.visited[id.0 as usize / 64], 1 << (id.0 % 64));
        word.load(Ordering::Relaxed) & bit != 0 && word.fetch_and(!bit, Ordering::Relaxed) & bit != 0
    }

    /// Gives a count back. Who gives the last one of an inode that nobody can want frees it.
    pub(super) fn iput(&self, id: InodeId) {
        if !pin::unpin(self.inodes.life(id)).was_last() {
            return;
        }
        // After the others' unpins: what they did to the inode is seen. From here on the slot may be somebody else's; then this is
        // a guess, which `evict` makes sure of.
        fence(Ordering::Acquire);
        let record = self.inodes.record(id);
        if is_unwanted(record, record[WORD].load(Ordering::Relaxed)) {
            self.evict(id, Which::Unwanted);
        }
    }

    /// Evicts an inode, if it is one of these and nobody holds it. It may be anything by now: a guess of a slot is enough.
    pub(super) fn evict(&self, id: InodeId, which: Which) -> bool {
        let record = self.inodes.record(id);
        let word = seqcount::sample_even(&record[WORD]);
        let key = inode::key_of(record);
        if !pin::is_idle(self.inodes.life(id)) {
            return false;
        }
        let hash = self.hash(key);
        let held = self.inodes.lock_bucket(hash);
        // Unchanged: it has this key yet, and will until this lock is given back.
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
        // What failed was never filled.
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
    /// Evicts all: nobody holds any, since what holds one borrows the cache.
    fn drop(&mut self) {
        for slot in 1..self.inodes.free().touched() {
            self.evict(InodeId(slot), Which::Idle);
        }
    }
}
