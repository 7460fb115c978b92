//! Linux's calls for finding and making inodes, from `fs/inode.c`, on an [`InodeCache`].
//!
//! | found | get | look up | insert |
//! |---|---|---|---|
//! | a filled inode | that one | that one | that one; `insert_inode_locked`: `EBUSY` |
//! | a new one | waits; if it failed, again | the same; `_nowait` reports it | as get |
//! | one being created by `insert_inode_locked` | none: `ESTALE` | none | `EBUSY` |
//! | one being evicted | waits, then again | as get | as get; `insert_inode_locked`: beside it |
//! | none | inserts a new one | none | inserts the caller's |
//!
//! "Again" means that the call searches again.
//!
//! If a first probe without a lock is not sure, the search is repeated under the lock.
//!
//! Differences from Linux: where `iget_locked` returns null, these calls return an errno. A failed
//! insertion returns the caller's inode. An insertion that finds another inode drops the caller's.
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

/// The result of a call that makes inodes.
///
/// [`InodeCache::iget5_locked_rcu`] has an example.
#[derive(Debug)]
pub enum Iget<'a, P: FirstProbe = LockFree> {
    /// The inode was in the cache.
    Cached(InodeRef<'a, P>),
    /// The inode was not in the cache, and the caller has to fill it.
    New(NewInode<'a, P>),
}

/// The result of a call that does not wait.
///
/// [`InodeCache::iget5_locked_rcu`] has an example.
#[derive(Debug)]
pub enum InodeLookup<'a, P: FirstProbe = LockFree> {
    /// The inode is filled.
    Cached(InodeRef<'a, P>),
    /// The inode was not filled yet.
    New(PendingInode<'a, P>),
}

/// The reason why an inode was not inserted, and the inode for another try.
///
/// [`InodeCache::insert_inode_locked`] has an example.
#[derive(Debug)]
#[non_exhaustive]
pub struct NotInserted<'a, P: FirstProbe = LockFree> {
    /// The reason.
    pub errno: Errno,
    /// The inode, in no table.
    pub inode: UnhashedInode<'a, P>,
}

/// The result of an exact search.
enum Search<'a, P: FirstProbe> {
    Cached(InodeRef<'a, P>),
    Creating,
    /// No inode, and none is inserted as long as this is held.
    Absent(Bucket<'a, P>),
}

/// The treatment of an inode that is being evicted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Freeing {
    Awaited,
    PassedBy,
}

fn any(_: InodeView) -> bool {
    true
}

/// Returns the key that the cache uses for keys with this hash.
pub(super) fn key_for(hash: u64) -> NodeKey {
    NodeKey(hash.into())
}

impl<P: FirstProbe> InodeCache<P> {
    /// Returns the inode of a key: the cached one, or a new one for the caller to fill. A hit takes
    /// no lock; a miss takes its bucket's lock.
    ///
    /// Sleeps while the inode is new or being evicted; looks again if it failed.
    ///
    /// # Errors
    ///
    /// `ENFILE` if a slot is needed and there is none (see [`new_inode`](Self::new_inode)).
    /// `ESTALE` if [`insert_inode_locked`](Self::insert_inode_locked) inserted the inode and it is
    /// not unlocked yet. Source: Linux's `iget_locked`.
    pub fn iget_locked(&self, key: NodeKey) -> Result<Iget<'_, P>, Errno> {
        let found = self.inodes.find_first(self.hash(key), key, any);
        self.get(found, key, any, |_| Ok(()))
    }

    /// Returns the inode of a key longer than 128 bits, cached or new: of the inodes with this
    /// hash, the one that passes `test`. The search holds the lock of the bucket.
    ///
    /// `test` is called only about inodes that were given this hash, under that lock: it must not
    /// call the cache, and should be short. `set` is called with the slot of a new inode, under
    /// that lock, before another thread can see the inode: it stores the key there. Its errors are
    /// returned; then there is no inode, and the owner is not told of it. Other errors and waits
    /// are those of [`iget_locked`](Self::iget_locked). Source: Linux's `iget5_locked`.
    ///
    /// [`iget5_locked_rcu`](Self::iget5_locked_rcu) has an example.
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

    /// Does the same as [`iget5_locked`](Self::iget5_locked), but takes no lock for a hit. `test`
    /// may be shown an inode that is being evicted, and a slot that now holds another inode, while
    /// that inode's `set` writes to it. `test` has to return some answer, which is not used in that
    /// case. So the data that it looks at has to be atomics, or behind a lock of the owner's.
    /// Source: Linux's `iget5_locked_rcu`.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use pathwalk::{Attributes, FileType, Iget, InodeCache, InodeLookup, InodeMatch, InodeState};
    ///
    /// // File handles of 16 bytes, of which the hash has 8; the rest is beside the inode's slot.
    /// let handles: Vec<AtomicU64> = (0..100).map(|_| AtomicU64::new(0)).collect();
    /// let cache = InodeCache::new(100, ())?;
    /// let get = |hash: u64, rest: u64| {
    ///     cache.iget5_locked_rcu(
    ///         hash,
    ///         |view| handles[view.slot() as usize].load(Ordering::Relaxed) == rest,
    ///         |slot| Ok(handles[slot as usize].store(rest, Ordering::Relaxed)),
    ///     )
    /// };
    /// let Iget::New(new) = get(7, 1)? else { panic!("it is the first") };
    /// let one = new.unlock(&Attributes::new(FileType::Regular, 0o644));
    /// assert!(matches!(get(7, 1)?, Iget::Cached(same) if same.slot() == one.slot()));
    /// assert!(matches!(get(7, 2)?, Iget::New(_)), "another handle with an equal hash");
    ///
    /// // The searches that make none: with waiting, without, and among all states.
    /// let is_one = |view: pathwalk::InodeView| handles[view.slot() as usize].load(Ordering::Relaxed) == 1;
    /// assert!(cache.ilookup5(7, is_one).is_some());
    /// assert!(matches!(cache.ilookup5_nowait(7, is_one), Some(InodeLookup::Cached(_))));
    /// let filled = cache.find_inode_nowait(7, |view, state| match state {
    ///     InodeState::Cached if view.key() == one.key() => InodeMatch::Take,
    ///     _ => InodeMatch::Next,
    /// });
    /// assert!(filled.is_some());
    /// assert!(cache.iget5_locked(7, is_one, |_| Ok(())).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

    /// Returns the inode of a key if it is cached. Takes no lock, unless it has to sleep because
    /// the inode is new or being evicted. Returns `None` also for an inode that is being created.
    /// Source: Linux's `ilookup`.
    pub fn ilookup(&self, key: NodeKey) -> Option<InodeRef<'_, P>> {
        match self.inodes.find_first(self.hash(key), key, any) {
            Found::Pinned(id, word) => self.once_filled(id, word).or_else(|| self.search(key, any, Freeing::Awaited).cached()),
            Found::Going => self.search(key, any, Freeing::Awaited).cached(),
            Found::Creating | Found::Absent => None,
        }
    }

    /// Returns the inode that passes `test` of those with this hash (see
    /// [`iget5_locked`](Self::iget5_locked)), if it is cached. Takes the bucket's lock; sleeps as
    /// [`ilookup`](Self::ilookup) does. Source: Linux's `ilookup5`.
    ///
    /// [`iget5_locked_rcu`](Self::iget5_locked_rcu) has an example.
    pub fn ilookup5(&self, hash: u64, test: impl Fn(InodeView) -> bool) -> Option<InodeRef<'_, P>> {
        self.search(key_for(hash), test, Freeing::Awaited).cached()
    }

    /// Does the same as [`ilookup5`](Self::ilookup5), but reports a new inode without waiting for
    /// it. Sleeps while the inode is being evicted. Source: Linux's `ilookup5_nowait`.
    ///
    /// [`iget5_locked_rcu`](Self::iget5_locked_rcu) has an example.
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

    /// Shows `matches` each inode with this hash, in any state, until it takes one or stops. Takes
    /// the bucket's lock and calls `matches` under it (see [`iget5_locked`](Self::iget5_locked));
    /// never sleeps. An inode that is being evicted cannot be taken: then the result is `None`.
    /// Source: Linux's `find_inode_nowait`.
    ///
    /// [`iget5_locked_rcu`](Self::iget5_locked_rcu) has an example.
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

    /// Inserts the caller's inode, which the caller then has to fill; or returns the inode that is
    /// there, and drops the caller's. `test` and `set` are as in
    /// [`iget5_locked`](Self::iget5_locked); sleeps as it does.
    ///
    /// # Errors
    ///
    /// The errors of `set`; `EBUSY` if an inode is there that is being created; `EINVAL` for an
    /// inode of another cache. Source: Linux's `inode_insert5`.
    ///
    /// [`insert_inode_locked`](Self::insert_inode_locked) has an example.
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

    /// Inserts the caller's inode as one that the caller creates. Until it is unlocked, a search
    /// for its key finds none, and an insertion of its key fails with `EBUSY`. Takes the bucket's
    /// lock; sleeps while a new inode of this key is there.
    ///
    /// An inode of the key that is being evicted is not waited for: its node is gone, and the key
    /// is used again. The owner may still be writing it back.
    ///
    /// # Errors
    ///
    /// `EBUSY` if an inode of this key is there, also after it was waited for; `EINVAL` for an
    /// inode of another cache. Source: Linux's `insert_inode_locked`.
    ///
    /// ```
    /// use pathwalk::{Attributes, Errno, FileType, Iget, InodeCache, NodeKey};
    /// let cache = InodeCache::new(100, ())?;
    /// // For a node that the caller creates: its key is known once the store has made it.
    /// let slot = cache.new_inode()?;
    /// let new = cache.insert_inode_locked(slot, NodeKey(7)).map_err(|refused| refused.errno)?;
    /// assert!(cache.ilookup(NodeKey(7)).is_none(), "it is not there before it is unlocked");
    /// new.unlock(&Attributes::new(FileType::Regular, 0o644));
    /// let again = cache.insert_inode_locked(cache.new_inode()?, NodeKey(7)).unwrap_err();
    /// assert_eq!(again.errno, Errno::EBUSY);
    ///
    /// // For a node that may be there: the caller's slot is used where there is none.
    /// let slot = cache.new_inode()?;
    /// let number = slot.slot();
    /// match cache.inode_insert5(slot, 8, |_| true, |_| Ok(())).map_err(|refused| refused.errno)? {
    ///     Iget::New(new) => assert_eq!(new.slot(), number),
    ///     Iget::Cached(_) => unreachable!("no other thread uses the cache"),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

    /// Continues a get call after its first probe.
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

    /// Searches under the lock of the bucket. Waits for a new inode, and searches again if it
    /// failed or is going.
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

    /// Wraps an inode that was found with this word under its lock; takes its pin over.
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
