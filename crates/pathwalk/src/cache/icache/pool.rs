//! The pool of inodes: their slots, the table that finds them, and their locks.
//!
//! Invariants: an inode's words, and the table's entries of its key, change only under the lock of
//! the key's stripe. An inode is filled before it enters the table ([`Inodes::insert`]), and leaves
//! the table before its slot is given back ([`Inodes::unhash`]).
//!
//! What it does not do: it does not interpret keys, and does not decide how long a holder keeps an
//! inode.

use super::first::{FirstProbe, LockFree};
use super::inode::{INODE_WORDS, LIFE, LINKS_AUX, Record, WORD, flags, set_key};
use crate::memory::alone::{Alone, apart};
use crate::memory::free_list::FreeList;
use crate::memory::lines::{LINE_WORDS, Records};
use crate::memory::slot::InodeId;
use crate::memory::table::{Table, TableView};
use crate::memory::{pin, seqcount};
use crate::node::NodeKey;
use crate::sync::{AtomicU64, Condvar, Mutex, MutexGuard, Ordering, stripes, wait};
use crate::text::hash::fold;

/// The number of stripes of inode locks.
pub(crate) const LOCKS: usize = stripes(256);

/// The pool of inodes and the table that finds them.
pub(crate) struct Inodes<P: FirstProbe = LockFree> {
    records: Records<INODE_WORDS>,
    free: FreeList,
    table: Table,
    locks: Box<[Alone<Mutex<()>>]>,
    /// The locks for changes of a node: held while a thread reads a node's attributes in order to
    /// set them, gives it a name, or takes one away.
    changing: Box<[Mutex<()>]>,
    /// The first search's way, with the lock beside those of buckets, if there is one.
    first: P,
}

/// The right to change the table's entries of a key, and the words of its inodes.
pub(crate) struct Bucket<'a, P: FirstProbe = LockFree> {
    stripe: InodeHeld<'a>,
    _first: P::Held<'a>,
}

/// The lock of the inodes of some keys, held until dropped. Linux: `i_lock` and the hash bucket's
/// lock.
pub(crate) struct InodeHeld<'a>(MutexGuard<'a, ()>);

impl<'a> InodeHeld<'a> {
    /// Sleeps on `condvar`, and gives the lock back meanwhile. Wake-ups may be spurious.
    pub(crate) fn sleep_on(self, condvar: &Condvar) -> InodeHeld<'a> {
        InodeHeld(wait(condvar, self.0))
    }
}

/// The lock for changes of some nodes' attributes and number of names, held until dropped. Linux:
/// `i_rwsem` of a node that is not a directory.
pub(crate) struct ChangingHeld<'a> {
    #[cfg_attr(any(not(test), loom, shuttle), expect(dead_code, reason = "it is there to be dropped"))]
    guard: MutexGuard<'a, ()>,
}

impl<'a, P: FirstProbe> Bucket<'a, P> {
    /// Returns the lock of the inode, which is required to write to it.
    pub(crate) fn stripe(&self) -> &InodeHeld<'a> {
        &self.stripe
    }

    /// Returns the lock of the inode alone, to sleep on it. A sleeper that kept a lock over all
    /// buckets would block all other threads.
    pub(crate) fn into_stripe(self) -> InodeHeld<'a> {
        self.stripe
    }
}

impl<P: FirstProbe> Inodes<P> {
    pub(crate) fn new(capacity: u32) -> Option<Self> {
        Some(Inodes {
            records: Records::new(capacity as usize + 1)?,
            free: FreeList::new(capacity),
            table: Table::new(capacity)?,
            locks: apart(LOCKS, || Mutex::new(())),
            changing: (0..LOCKS).map(|_| Mutex::new(())).collect(),
            first: P::default(),
        })
    }

    #[inline(always)]
    pub(crate) fn record(&self, id: InodeId) -> &Record {
        self.records.at(id.0)
    }

    /// Reads a word of each line of a record, if the slot exists, to bring them into the
    /// processor's cache.
    #[inline(always)]
    pub(crate) fn peek(&self, id: InodeId) -> u64 {
        let record = self.records.all().get(id.0 as usize);
        record.map_or(0, |record| record.iter().step_by(LINE_WORDS).fold(0, |all, word| all ^ word.load(Ordering::Relaxed)))
    }

    pub(crate) fn table(&self) -> TableView<'_> {
        self.table.view()
    }

    /// Takes the lock for changes of an inode's attributes and number of names. It is taken before
    /// the inode's other lock.
    pub(crate) fn changing(&self, id: InodeId) -> ChangingHeld<'_> {
        ChangingHeld { guard: self.changing[id.0 as usize % LOCKS].lock() }
    }

    /// Takes the lock of the inode with a key of this hash.
    pub(crate) fn lock(&self, hash: u64) -> InodeHeld<'_> {
        InodeHeld(self.locks[stripe_of(hash)].lock())
    }

    /// Takes the lock of the bucket of this hash, which is required to search the table exactly, or
    /// to change it.
    pub(crate) fn lock_bucket(&self, hash: u64) -> Bucket<'_, P> {
        let first = self.first.lock();
        Bucket { stripe: self.lock(hash), _first: first }
    }

    pub(crate) fn life(&self, id: InodeId) -> &AtomicU64 {
        &self.record(id)[LIFE]
    }

    pub(crate) fn free(&self) -> &FreeList {
        &self.free
    }

    pub(crate) fn ranges(&self) -> Vec<(usize, usize)> {
        vec![self.records.range(), self.table.range()]
    }

    /// Fetches the table's line for a hash: see [`Table::fetch`].
    pub(crate) fn fetch_place(&self, hash: u64) -> u64 {
        self.table.fetch(hash)
    }

    pub(crate) fn table_bytes(&self) -> u64 {
        let (start, end) = self.table.range();
        (end - start) as u64
    }

    /// Takes an unused slot: it is dead, and belongs to the caller. Returns `None` if there is
    /// none.
    pub(crate) fn take(&self) -> Option<InodeId> {
        self.free.take(|slot| &self.record(InodeId(slot))[LINKS_AUX]).map(InodeId)
    }

    /// Reads both lines of the slot that will probably be taken next, so that they come from memory
    /// while the caller waits for other things. The values are not used.
    pub(crate) fn fetch_next(&self) {
        let record = self.record(InodeId(self.free.next()));
        let halves = record.chunks(record.len() / 2).map(|half| half[0].load(Ordering::Relaxed));
        std::hint::black_box(halves.fold(0, |all, word| all ^ word));
    }

    /// Writes to both lines of a slot that belongs to the caller, to bring them into the
    /// processor's cache before the slot is filled.
    pub(crate) fn write_ahead(&self, id: InodeId) {
        let record = self.record(id);
        record.chunks(record.len() / 2).for_each(|half| half[LINKS_AUX].store(0, Ordering::Relaxed));
    }

    /// Returns the number of slots in use.
    pub(crate) fn used(&self) -> u32 {
        self.free.used(|slot| &self.record(InodeId(slot))[LINKS_AUX])
    }

    /// Gives a dead slot back.
    pub(crate) fn give(&self, id: InodeId) {
        self.free.give(id.0, |slot| &self.record(InodeId(slot))[LINKS_AUX]);
    }

    /// Brings a slot that belongs to the caller to life, with one pin, and puts it into the table.
    /// `fill` stores its words and returns the flags. The bucket is the key's, and the caller has
    /// checked that no live inode has the key.
    pub(crate) fn insert(&self, id: InodeId, key: NodeKey, hash: u64, _held: &Bucket<'_, P>, fill: impl FnOnce(&Record) -> u64) {
        let record = self.record(id);
        // The first access to the record is a write: a page that is read before it is written costs
        // two page faults. Until here the word holds the free list's link.
        record[LINKS_AUX].store(0, Ordering::Relaxed);
        let writing = seqcount::write_alone(&record[WORD]);
        set_key(record, key);
        let flags = fill(record);
        writing.end(flags);
        pin::revive(self.life(id));
        self.table().put(hash, id.0);
    }

    /// Takes an inode that was killed out of the table, if it is still there. Its slot can then be
    /// given back. The bucket is the key's.
    ///
    /// The inode leaves the table while its count is odd, or left it before. So no reader uses it
    /// any more when another inode with its key is put into the table.
    pub(crate) fn unhash(&self, id: InodeId, hash: u64, _held: &Bucket<'_, P>) {
        let record = self.record(id);
        let writing = seqcount::write_alone(&record[WORD]);
        if writing.flags() & flags::UNHASHED == 0 {
            self.table().remove(hash, id.0);
        }
        set_key(record, NodeKey(0));
        writing.end(flags::UNHASHED);
    }
}

/// Returns the stripe of a key with this hash.
pub(crate) fn stripe_of(hash: u64) -> usize {
    hash as usize % LOCKS
}

/// Returns the table's hash of a key.
pub(crate) fn hash_of(seed: u64, key: NodeKey) -> u64 {
    let (low, high) = (key.0 as u64, (key.0 >> 64) as u64);
    fold(fold(low ^ seed, MULTIPLIER) ^ high, seed | 1)
}

const MULTIPLIER: u64 = 0xe703_7ed1_a0b4_28db;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::text::hash::assert_even;

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and minutes there")]
    fn hashes_of_keys_are_spread_evenly() {
        for seed in [0x1234_5678_9abc_def0, 0x5bd1_e995_7b93_1a6f] {
            assert_even("low keys", |n| hash_of(seed, NodeKey(n.into())));
            assert_even("high keys", |n| hash_of(seed, NodeKey(u128::from(n) << 64)));
        }
    }

    #[test]
    #[cfg(not(miri))]
    fn neighbours_share_no_lock() {
        use std::collections::HashSet;
        let inodes = Inodes::<LockFree>::new(2000).unwrap();
        let address = |guard: &MutexGuard<'_, ()>| std::ptr::from_ref(MutexGuard::mutex(guard)).addr();
        for first in [1, 1000] {
            let all = first..first + LOCKS as u32;
            let changing: HashSet<_> = all.clone().map(|id| address(&inodes.changing(InodeId(id)).guard)).collect();
            let buckets: HashSet<_> = all.map(|hash| address(&inodes.lock(hash.into()).0)).collect();
            assert_eq!((changing.len(), buckets.len()), (LOCKS, LOCKS));
        }
    }

    #[test]
    fn no_seed_makes_all_keys_collide() {
        for seed in [0, 1] {
            let hashes = [1, 2, 3, 1 << 64].map(|key| hash_of(seed, NodeKey(key)));
            assert!((1..4).all(|at| !hashes[..at].contains(&hashes[at])), "{seed}: {hashes:?}");
        }
    }
}
