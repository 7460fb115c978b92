//! Linux's calls for finding and making inodes, from `fs/inode.c`, on an [`InodeCache`].
//!
//! | on the way | get | look up | insert |
//! |---|---|---|---|
//! | filled | that one | that one | that one; `insert_inode_locked`: `EBUSY` |
//! | new | waits; failed: again | the same; `_nowait` reports it | waits; failed: again |
//! | being created by `insert_inode_locked` | none: `ESTALE` | none | `EBUSY` |
//! | being evicted | waits, then again | the same | the same; `insert_inode_locked` goes in beside it |
//! | none | inserts a new one | none | inserts the caller's |
//!
//! A first probe without a lock that is not sure asks again under the lock.
//!
//! Differences from Linux: where `iget_locked` returns null, there is an errno; a failed insertion gives the caller's inode back; one that finds
//! another drops it.
//!
//! What it does not do: it does not fill inodes.

use super::cache::InodeCache;
use super::held::{InodeRef, NewInode, PendingInode, UnhashedInode};
use crate::Errno;
use crate::cache::icache::first::{FirstProbe, LockFree};
use crate::cache::icache::inode::flags;
use crate::cache::icache::pool::Bucket;
use crate::cache::icache::probe::{Found, InodeMatch, InodeState, InodeView};
use crate::memory::slot::InodeId;
use crate::node::NodeKey;

/// What a call that makes inodes gives.
#[derive(Debug)]
pub enum Iget<'a, P: FirstProbe = LockFree> {
    /// It was there.
    Cached(InodeRef<'a, P>),
    /// It was not, and is to be filled.
    New(NewInode<'a, P>),
}

/// What a call that does not wait gives.
#[derive(Debug)]
pub enum InodeLookup<'a, P: FirstProbe = LockFree> {
    /// It is filled.
    Cached(InodeRef<'a, P>),
    /// It was not filled yet.
    New(PendingInode<'a, P>),
}

/// Why an inode was not inserted; and the inode, for another try.
#[derive(Debug)]
pub struct NotInserted<'a, P: FirstProbe = LockFree> {
    /// The reason.
    pub errno: Errno,
    /// The inode, in no table.
    pub inode: UnhashedInode<'a, P>,
}

/// What an exact search ends in.
enum Search<'a, P: FirstProbe> {
    Cached(InodeRef<'a, P>),
    Creating,
    /// None, and none comes as long as this is held.
    Absent(Bucket<'a, P>),
}

/// What becomes of an inode that is being evicted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Freeing {
    Awaited,
    PassedBy,
}

fn any(_: InodeView) -> bool {
    true
}

/// The place in the cache of keys with this hash.
fn key_for(hash: u64) -> NodeKey {
    NodeKey(hash.into())
}

impl<P: FirstProbe> InodeCache<P> {
    /// The inode of a key: the cached one, or a new one for the caller to fill. A hit takes no lock; a miss takes its bucket's.
    ///
    /// Sleeps while the inode is new, or being evicted; if it failed, looks again.
    ///
    /// # Errors
    ///
    /// `ENFILE` if a slot is needed and there is none (see [`new_inode`](Self::new_inode)); `ESTALE` if the inode is one that
    /// [`insert_inode_locked`](Self::insert_inode_locked) put there and that is not unlocked yet. Source: Linux's `iget_locked`.
    pub fn iget_locked(&self, key: NodeKey) -> Result<Iget<'_, P>, Errno> {
        let found = self.inodes.find_first(self.hash(key), key, any);
        self.get(found, key, any, |_| Ok(()))
    }

    /// The same for keys longer than 128 bits: of the inodes with this hash the one that passes `test`, looked for under the lock of the bucket.
    ///
    /// `test` is asked only about inodes that were given this hash, under that lock: it must not call the cache, and should be short.
    /// `set` is told the slot of a new inode, under that lock, before anybody can see it: it stores the key there. Its errors are returned, and
    /// then there is no inode, and the owner is not told of it. Other errors and waits as [`iget_locked`](Self::iget_locked). Source: Linux's
    /// `iget5_locked`.
    pub fn iget5_locked(
        &self,
        hash: u64,
        test: impl Fn(InodeView) -> bool,
        set: impl FnOnce(u32) -> Result<(), Errno>,
    ) -> Result<Iget<'_, P>, Errno> {
        let key = key_for(hash);
        let found = self.inodes.find_locked(self.hash(key), key, &test);
        self.get(found, key, test, set)
    }

    /// The same without a lock for a hit: `test` may be shown an inode that is being evicted, and a slot that has gone to another one, while
    /// that one's `set` writes to it. It has to come to some answer, of which nothing is believed in that case. So what it looks at is
    /// atomics, or behind a lock of the owner's. Source: Linux's `iget5_locked_rcu`.
    pub fn iget5_locked_rcu(
        &self,
        hash: u64,
        test: impl Fn(InodeView) -> bool,
        set: impl FnOnce(u32) -> Result<(), Errno>,
    ) -> Result<Iget<'_, P>, Errno> {
        let key = key_for(hash);
        let found = self.inodes.find_first(self.hash(key), key, &test);
        self.get(found, key, test, set)
    }

    /// The inode of a key, if it is cached. Takes no lock, unless it has to sleep because the inode is new, or being evicted.
    /// `None` also for one that is being created. Source: Linux's `ilookup`.
    pub fn ilookup(&self, key: NodeKey) -> Option<InodeRef<'_, P>> {
        match self.inodes.find_first(self.hash(key), key, any) {
            Found::Pinned(id, word) => self.once_filled(id, word).or_else(|| self.search(key, any, Freeing::Awaited).cached()),
            Found::Going => self.search(key, any, Freeing::Awaited).cached(),
            Found::Creating | Found::Absent => None,
        }
    }

    /// Of the inodes with this hash the one that passes `test` (see [`iget5_locked`](Self::iget5_locked)), if it is cached. Takes the
    /// bucket's lock; sleeps as [`ilookup`](Self::ilookup). Source: Linux's `ilookup5`.
    pub fn ilookup5(&self, hash: u64, test: impl Fn(InodeView) -> bool) -> Option<InodeRef<'_, P>> {
        self.search(key_for(hash), test, Freeing::Awaited).cached()
    }

    /// The same, but reports an inode that is new, without waiting for it. Does sleep while it is being evicted. Source: Linux's
    /// `ilookup5_nowait`.
    pub fn ilookup5_nowait(&self, hash: u64, test: impl Fn(InodeView) -> bool) -> Option<InodeLookup<'_, P>> {
        let key = key_for(hash);
        let hash = self.hash(key);
        loop {
            let held = self.inodes.lock_bucket(hash);
            match self.inodes.find_held(hash, key, &test, &held) {
                Found::Pinned(id, word) => return Some(self.as_it_is(id, word)),
                Found::Creating | Found::Absent => return None,
                Found::Going => drop(self.sleep(held.into_stripe(), hash)),
            }
        }
    }

    /// Shows `matches` each inode with this hash, in any state, until it takes one or stops. Takes the bucket's lock, under which it calls
    /// `matches` (see [`iget5_locked`](Self::iget5_locked)); never sleeps. One that is being evicted cannot be taken: then there is none.
    /// Source: Linux's `find_inode_nowait`.
    pub fn find_inode_nowait(
        &self,
        hash: u64,
        matches: impl Fn(InodeView, InodeState) -> InodeMatch,
    ) -> Option<InodeLookup<'_, P>> {
        let key = key_for(hash);
        let held = self.inodes.lock_bucket(self.hash(key));
        let taken = self.inodes.find_matching(self.hash(key), key, matches, &held);
        drop(held);
        taken.map(|(id, word)| self.as_it_is(id, word))
    }

    /// Inserts the caller's inode, which he is then to fill; or gives the one that is there, and drops the caller's. `test` and `set` as in
    /// [`iget5_locked`](Self::iget5_locked); sleeps as it does.
    ///
    /// # Errors
    ///
    /// What `set` says; `EBUSY` if one is there that is being created; `EINVAL` for an inode of another cache. Source: Linux's
    /// `inode_insert5`.
    pub fn inode_insert5<'a>(
        &'a self,
        inode: UnhashedInode<'a, P>,
        hash: u64,
        test: impl Fn(InodeView) -> bool,
        set: impl FnOnce(u32) -> Result<(), Errno>,
    ) -> Result<Iget<'a, P>, NotInserted<'a, P>> {
        if !inode.is_of(self) {
            return Err(NotInserted { errno: Errno::EINVAL, inode });
        }
        let key = key_for(hash);
        match self.search(key, test, Freeing::Awaited) {
            Search::Cached(found) => Ok(Iget::Cached(found)),
            Search::Creating => Err(NotInserted { errno: Errno::EBUSY, inode }),
            Search::Absent(held) => match set(inode.slot()) {
                Ok(()) => Ok(Iget::New(inode.insert(key, self.hash(key), flags::NEW, &held))),
                Err(errno) => Err(NotInserted { errno, inode }),
            },
        }
    }

    /// Inserts the caller's inode as one that he creates: until it is unlocked, whoever looks for its key is told that there is none, and
    /// whoever inserts it that it is busy. Takes the bucket's lock; sleeps while one is there that is new.
    ///
    /// An inode of the key that is being evicted is not waited for: its node is gone, and the key is used again. The owner may still be writing it
    /// back.
    ///
    /// # Errors
    ///
    /// `EBUSY` if there is one, also after it was waited for; `EINVAL` for an inode of another cache. Source: Linux's `insert_inode_locked`.
    pub fn insert_inode_locked<'a>(
        &'a self,
        inode: UnhashedInode<'a, P>,
        key: NodeKey,
    ) -> Result<NewInode<'a, P>, NotInserted<'a, P>> {
        if !inode.is_of(self) {
            return Err(NotInserted { errno: Errno::EINVAL, inode });
        }
        match self.search(key, any, Freeing::PassedBy) {
            Search::Cached(_) | Search::Creating => Err(NotInserted { errno: Errno::EBUSY, inode }),
            Search::Absent(held) => Ok(inode.insert(key, self.hash(key), flags::NEW | flags::CREATING, &held)),
        }
    }

    /// Goes on after a first probe.
    fn get(
        &self,
        first: Found,
        key: NodeKey,
        test: impl Fn(InodeView) -> bool,
        set: impl FnOnce(u32) -> Result<(), Errno>,
    ) -> Result<Iget<'_, P>, Errno> {
        match first {
            Found::Pinned(id, word) => {
                if let Some(inode) = self.once_filled(id, word) {
                    return Ok(Iget::Cached(inode));
                }
            }
            Found::Creating => return Err(Errno::ESTALE),
            Found::Going | Found::Absent => {}
        }
        let inode = self.new_inode()?;
        match self.search(key, test, Freeing::Awaited) {
            Search::Cached(found) => Ok(Iget::Cached(found)),
            Search::Creating => Err(Errno::ESTALE),
            Search::Absent(held) => {
                set(inode.slot())?;
                Ok(Iget::New(inode.insert(key, self.hash(key), flags::NEW, &held)))
            }
        }
    }

    /// Looks under the lock of the bucket; waits for what is new, and as long as that fails or goes, looks again.
    fn search(&self, key: NodeKey, test: impl Fn(InodeView) -> bool, freeing: Freeing) -> Search<'_, P> {
        let hash = self.hash(key);
        loop {
            let held = self.inodes.lock_bucket(hash);
            match self.inodes.find_held(hash, key, &test, &held) {
                Found::Absent => return Search::Absent(held),
                Found::Going if freeing == Freeing::PassedBy => return Search::Absent(held),
                Found::Going => drop(self.sleep(held.into_stripe(), hash)),
                Found::Creating => return Search::Creating,
                Found::Pinned(id, word) => {
                    drop(held);
                    if let Some(inode) = self.once_filled(id, word) {
                        return Search::Cached(inode);
                    }
                }
            }
        }
    }

    /// Takes over a count of an inode that was found with this word under its lock.
    fn as_it_is(&self, id: InodeId, word: u64) -> InodeLookup<'_, P> {
        self.visit(id);
        match word & flags::NEW {
            0 => InodeLookup::Cached(InodeRef::new(self, id)),
            _ => InodeLookup::New(PendingInode::new(self, id)),
        }
    }
}

impl<'a, P: FirstProbe> Search<'a, P> {
    fn cached(self) -> Option<InodeRef<'a, P>> {
        match self {
            Search::Cached(inode) => Some(inode),
            Search::Creating | Search::Absent(_) => None,
        }
    }
}
