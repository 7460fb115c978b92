//! Searches of the table for a key's inode: without a lock, or under the lock of its bucket.
//!
//! Both read a candidate as of one instant: word 0 and life, the key, the caller's test, and word 0
//! again. The pin then fails if the generation that was read has ended. So a pin that succeeds is
//! of the inode that was read, and the test need not be repeated. The data that the test looks at
//! is not in the record. The inserting thread stored it there, after word 0 of the slot's last
//! owner had moved. So a test that saw data of another owner is followed by a recheck that fails
//! (see `docs/memory-ordering.md`, "Slots that are reused").
//!
//! - *Lock-free*: [`Found::Absent`] means that no inode had the key at some instant of the search.
//!   A candidate that changed meanwhile is [`Found::Going`]; a caller that needs an exact answer
//!   searches under the lock.
//! - *Under the lock*: exact. Candidates with the same tag may belong to other stripes, whose locks
//!   are not held; they are read again until they did not change meanwhile. [`Found::Going`] is an
//!   inode whose owner is being told.
//!
//! What it does not do: it waits for no thread but a writer of a few stores, and it inserts
//! nothing.

use std::cell::Cell;

use super::first::FirstProbe;
use super::inode::{self, WORD, flags};
use super::pool::{Bucket, Inodes};
use crate::memory::slot::InodeId;
use crate::memory::{pin, seqcount};
use crate::node::NodeKey;

/// An inode as a test sees it.
///
/// [`iget5_locked_rcu`](crate::InodeCache::iget5_locked_rcu) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InodeView {
    pub(super) key: NodeKey,
    pub(super) id: InodeId,
}

impl InodeView {
    /// Returns the key, or the hash that was given for it.
    ///
    /// [`iget5_locked_rcu`](crate::InodeCache::iget5_locked_rcu) has an example.
    pub fn key(self) -> NodeKey {
        self.key
    }

    /// Returns the inode's slot, as the engine counts slots.
    pub(crate) fn id(self) -> InodeId {
        self.id
    }

    /// Returns the inode's slot, a number below the capacity. Owners use it as an index into data
    /// of their own about the inode.
    ///
    /// [`iget5_locked_rcu`](crate::InodeCache::iget5_locked_rcu) has an example.
    pub fn slot(self) -> u32 {
        self.id.0 - 1
    }
}

/// The state of an inode.
///
/// [`iget5_locked_rcu`](crate::InodeCache::iget5_locked_rcu) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InodeState {
    /// The inode is filled.
    Cached,
    /// The inode is to be filled by the thread that asked for it first.
    New,
    /// The inode is to be filled by the thread that creates its node.
    Creating,
    /// The inode's owner is being told that the inode goes.
    Freeing,
}

/// The decision about an inode that was shown.
///
/// [`iget5_locked_rcu`](crate::InodeCache::iget5_locked_rcu) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InodeMatch {
    /// Show the next one.
    Next,
    /// Take this one.
    Take,
    /// Take none.
    Stop,
}

/// The result of a search.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// A matching inode, with a pin that belongs to the caller, and word 0 as it was.
    Pinned(InodeId, u64),
    /// Only an inode that its creator has not finished.
    Creating,
    /// An inode that is going, or that changed while it was looked at.
    Going,
    /// No such inode.
    Absent,
}

/// The state of a candidate.
enum Seen {
    Another,
    Pinned(u64),
    Creating,
    Freeing,
    /// The candidate changed while it was looked at.
    Moving,
}

impl<P: FirstProbe> Inodes<P> {
    /// Looks for the inode of a key that passes the test, in the way that `P` selects.
    pub(crate) fn find_first(&self, hash: u64, key: NodeKey, test: impl Fn(InodeView) -> bool) -> Found {
        if P::LOCKED { self.find_locked(hash, key, test) } else { self.find_lock_free(hash, key, test) }
    }

    /// Looks for the inode without a lock.
    pub(crate) fn find_lock_free(&self, hash: u64, key: NodeKey, test: impl Fn(InodeView) -> bool) -> Found {
        self.search(hash, |id| self.look(id, seqcount::sample(&self.record(id)[WORD]), key, &test))
    }

    /// Looks for the inode under the lock of its bucket.
    pub(crate) fn find_locked(&self, hash: u64, key: NodeKey, test: impl Fn(InodeView) -> bool) -> Found {
        self.find_held(hash, key, test, &self.lock_bucket(hash))
    }

    /// Looks for the inode as [`find_locked`](Self::find_locked) does, for a caller that holds the
    /// lock of the bucket already.
    pub(crate) fn find_held(&self, hash: u64, key: NodeKey, test: impl Fn(InodeView) -> bool, _held: &Bucket<'_, P>) -> Found {
        self.search(hash, |id| {
            loop {
                let word = seqcount::sample_even(&self.record(id)[WORD]);
                match self.look(id, word, key, &test) {
                    Seen::Moving => {}
                    seen => return seen,
                }
            }
        })
    }

    /// Shows each inode of a key to `matches`, whatever its state, until one is taken or the search
    /// is stopped. Returns the taken one, with a pin that belongs to the caller, and its word 0.
    pub(crate) fn find_matching(
        &self,
        hash: u64,
        key: NodeKey,
        matches: impl Fn(InodeView, InodeState) -> InodeMatch,
        _held: &Bucket<'_, P>,
    ) -> Option<(InodeId, u64)> {
        // `find` is not used, since it may look at one candidate twice.
        let ended = self.table().search(hash, |slot| {
            let id = InodeId(slot);
            let word = self.word_if(id, key)?;
            match matches(InodeView { key, id }, state_of(word)) {
                InodeMatch::Next => None,
                InodeMatch::Stop => Some(None),
                InodeMatch::Take => {
                    let taken = pin::read(self.life(id)).is_some_and(|life| pin::pin(self.life(id), life));
                    Some(taken.then_some((id, word)))
                }
            }
        });
        ended.flatten()
    }

    /// Returns word 0 of a candidate if it has this key. The caller holds the key's bucket.
    fn word_if(&self, id: InodeId, key: NodeKey) -> Option<u64> {
        let record = self.record(id);
        loop {
            let word = seqcount::sample_even(&record[WORD]);
            let same = inode::key_of(record) == key && word & flags::UNHASHED == 0 && id.0 != 0;
            if seqcount::unchanged(&record[WORD], word) {
                return same.then_some(word);
            }
        }
    }

    /// Searches the table, and prefers a live inode to one that is going. Both are there where a
    /// creator did not wait.
    fn search(&self, hash: u64, look: impl Fn(InodeId) -> Seen) -> Found {
        let going = Cell::new(false);
        let found = self.table().find(hash, |slot| match look(InodeId(slot)) {
            Seen::Another => None,
            Seen::Pinned(word) => Some(Found::Pinned(InodeId(slot), word)),
            Seen::Creating => Some(Found::Creating),
            Seen::Freeing | Seen::Moving => {
                going.set(true);
                None
            }
        });
        found.unwrap_or(if going.get() { Found::Going } else { Found::Absent })
    }

    /// Takes a pin on a candidate whose word was sampled, if it is the inode that is searched for.
    #[inline]
    fn look(&self, id: InodeId, word: u64, key: NodeKey, test: impl Fn(InodeView) -> bool) -> Seen {
        let record = self.record(id);
        let life = pin::read(self.life(id));
        let same = inode::key_of(record) == key && word & flags::UNHASHED == 0 && id.0 != 0 && test(InodeView { key, id });
        if word & seqcount::ODD != 0 || !seqcount::unchanged(&record[WORD], word) {
            return Seen::Moving;
        }
        match life {
            _ if !same => Seen::Another,
            _ if word & flags::FREEING != 0 => Seen::Freeing,
            _ if word & flags::CREATING != 0 => Seen::Creating,
            Some(life) if pin::pin(self.life(id), life) => Seen::Pinned(word),
            // The inode was killed, and its word will say so soon. A holder of the bucket's lock
            // does not meet such an inode.
            _ => Seen::Moving,
        }
    }
}

fn state_of(word: u64) -> InodeState {
    match word {
        _ if word & flags::FREEING != 0 => InodeState::Freeing,
        _ if word & flags::CREATING != 0 => InodeState::Creating,
        _ if word & flags::NEW != 0 => InodeState::New,
        _ => InodeState::Cached,
    }
}
