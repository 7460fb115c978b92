//! Finding a key's inode in the table: without a lock, or under the lock of its bucket.
//!
//! Both read a candidate as of one instant: word 0 and life, key, the caller's test, and word 0 again. Then the pin, which fails if the
//! generation that was read has ended, is of the inode that was read; the test need not be asked again. What the test looks at is not in the
//! record, but was stored there by who inserted the inode, that is, after word 0 of the slot's last owner had moved: a test
//! that saw anything of another owner is followed by a recheck that fails (see `docs/memory-ordering.md`, "Slots that are reused").
//!
//! - *Lock-free*: [`Found::Absent`] means that no inode had the key at some instant of the search; what did not hold still is
//!   [`Found::Going`], and whoever has to know asks under the lock.
//! - *Under the lock*: exact. Candidates that share the tag may be strangers of other stripes, which nothing holds still; so they are read until
//!   they are. [`Found::Going`] is one whose owner is being told.
//!
//! What it does not do: it waits for nobody but a writer of a few stores, and does not insert.

use std::cell::Cell;

use super::first::FirstProbe;
use super::inode::{self, WORD, flags};
use super::pool::{Bucket, Inodes};
use crate::memory::slot::InodeId;
use crate::memory::{pin, seqcount};
use crate::node::NodeKey;

/// An inode as a test sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InodeView {
    pub(super) key: NodeKey,
    pub(super) id: InodeId,
}

impl InodeView {
    /// The key, or the hash that was given for it.
    pub fn key(self) -> NodeKey {
        self.key
    }

    /// Its slot, as the engine counts.
    pub(crate) fn id(self) -> InodeId {
        self.id
    }

    /// Its slot, a number below the capacity: where the owner keeps what is his of this inode.
    pub fn slot(self) -> u32 {
        self.id.0 - 1
    }
}

/// How far an inode is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InodeState {
    /// Filled.
    Cached,
    /// To be filled by whoever asked for it first.
    New,
    /// To be filled by whoever creates its node.
    Creating,
    /// Its owner is being told that it goes.
    Freeing,
}

/// What to do with an inode that was shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InodeMatch {
    /// Show the next one.
    Next,
    /// Take this one.
    Take,
    /// Take none.
    Stop,
}

/// What a search says.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// This one, with a count that is the caller's, and word 0 as it was.
    Pinned(InodeId, u64),
    /// Only one that its maker has not finished.
    Creating,
    /// One that goes, or that did not hold still.
    Going,
    /// None.
    Absent,
}

/// What a candidate is.
enum Seen {
    Another,
    Pinned(u64),
    Creating,
    Freeing,
    /// It changed while it was looked at.
    Moving,
}

impl<P: FirstProbe> Inodes<P> {
    /// Looks for the inode of a key that passes the test, in the way that `P` says.
    pub(crate) fn find_first(&self, hash: u64, key: NodeKey, test: impl Fn(InodeView) -> bool) -> Found {
        if P::LOCKED { self.find_locked(hash, key, test) } else { self.find_lock_free(hash, key, test) }
    }

    /// Looks for it without a lock.
    pub(crate) fn find_lock_free(&self, hash: u64, key: NodeKey, test: impl Fn(InodeView) -> bool) -> Found {
        self.search(hash, |id| self.look(id, seqcount::sample(&self.record(id)[WORD]), key, &test))
    }

    /// Looks for it under the lock of its bucket.
    pub(crate) fn find_locked(&self, hash: u64, key: NodeKey, test: impl Fn(InodeView) -> bool) -> Found {
        self.find_held(hash, key, test, &self.lock_bucket(hash))
    }

    /// The same for who has the lock of the bucket already.
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

    /// Shows each inode of a key, whatever its state, until one is taken, with a count that is the caller's, or none is to be.
    pub(crate) fn find_matching(
        &self,
        hash: u64,
        key: NodeKey,
        matches: impl Fn(InodeView, InodeState) -> InodeMatch,
        _held: &Bucket<'_, P>,
    ) -> Option<(InodeId, u64)> {
        // Not `find`, which may look at one twice.
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

    /// Word 0 of a candidate that has this key, whose bucket the caller holds.
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

    /// One that lives is preferred to one that goes: both are there where a maker did not wait.
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

    /// Takes a count of a candidate whose word was sampled, if it is the one.
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
            // Killed, and about to say so; whoever has the lock does not meet it.
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
