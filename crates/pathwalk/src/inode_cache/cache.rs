//! An inode cache for callers that have no names: the engine's pool, table, pins and locks, without
//! its dentries.
//!
//! An inode's life:
//!
//! ```text
//!   slot taken ─ inserted: NEW ─┬─ unlocked: filled ─ count 0, evicted: FREEING ─┬─ told
//!                               └─ failed: UNHASHED ─ count 0 ───────────────────┘
//!
//!   told ─ unhashed, unless it is already ─ slot free
//! ```
//!
//! - A held inode has pins in `life`, and is not evicted. An inode without holders stays until its
//!   slot is needed, or its link count is 0.
//! - `NEW` and `FREEING` change under the bucket's lock. A thread that waits for such a change
//!   sleeps on the stripe's condition variable, and looks again.
//! - The owner is told once of each inode that was inserted, under no lock, while the inode is
//!   `FREEING`.
//!
//! What it does not do: it does not fetch attributes, and has no names, dentries or links' bodies.

use crate::Errno;
use crate::attr::Attributes;
use crate::cache::budget::MOST;
use crate::cache::icache::first::{FirstProbe, LockFree};
use crate::cache::icache::pool::{Bucket, InodeHeld, Inodes, LOCKS, hash_of, stripe_of};
use crate::node::NodeKey;
use crate::sync::{AtomicU32, AtomicU64, Condvar, zeroed};

/// The owner of the inodes of an [`InodeCache`]; `()` if nothing has to be done when they leave.
pub trait InodeOwner: Send + Sync {
    /// Reports that an inode leaves the cache. It has no holder and cannot be found; a thread that
    /// looks for its key waits until this returns. An owner writes dirty data back here.
    ///
    /// Called once for each inode that was inserted, under no lock of the cache, in the thread that
    /// needs the slot or drops the inode. `attributes` are the last that were set; `None` if the
    /// inode was never unlocked. The data that the owner keeps for the slot has to stay readable,
    /// since tests may still be shown it; the slot's next `set` or filler overwrites it.
    ///
    /// The owner may look up and give back other inodes. A search for this inode would wait
    /// forever. Taking slots may call this method again, and so on, until the stack overflows. A
    /// panic is passed on, after the inode is gone.
    ///
    /// Source: Linux's `super_operations.evict_inode`.
    fn evicted(&self, key: NodeKey, slot: u32, attributes: Option<&Attributes>);
}

impl InodeOwner for () {
    fn evicted(&self, _key: NodeKey, _slot: u32, _attributes: Option<&Attributes>) {}
}

impl<T: InodeOwner + ?Sized> InodeOwner for std::sync::Arc<T> {
    fn evicted(&self, key: NodeKey, slot: u32, attributes: Option<&Attributes>) {
        (**self).evicted(key, slot, attributes);
    }
}

/// A cache of inodes by key, for servers and stores that have keys and no names: NFS, 9P, FUSE,
/// objects.
///
/// [`Vfs`](crate::Vfs) finds its inodes with the same code: a table whose hits take no lock, and in
/// which each miss takes the lock of its bucket, one of 256. The calls are Linux's, from
/// `fs/inode.c`, with its names and contracts.
///
/// | call | first probe | if it is not there |
/// |---|---|---|
/// | [`iget_locked`], [`iget5_locked_rcu`] | lock-free | a new one, to be filled |
/// | [`iget5_locked`] | under the lock | the same |
/// | [`inode_insert5`] | under the lock | the caller's, to be filled |
/// | [`insert_inode_locked`] | under the lock | the caller's, to be filled; `EBUSY` if it is there |
/// | [`ilookup`] | lock-free | none |
/// | [`ilookup5`] | under the lock | none |
/// | [`ilookup5_nowait`] | under the lock, does not wait for one that is new | none |
/// | [`find_inode_nowait`] | under the lock, waits for nothing | none |
///
/// *Keys* have 128 bits. Longer keys, such as file handles, use the calls with a `hash` and a
/// `test`. The cache keeps the hash. The owner keeps the key in an array of its own, at the inode's
/// [`slot`](crate::InodeRef::slot), where `set` stores it. A cache must be used with one kind of
/// key only, since a hash is treated as a key of that value.
///
/// *Budget*: room for `capacity` inodes is reserved at once and never grows. An inode takes 128
/// bytes, 10.7 bytes of the table, and one bit. When all slots are taken, an inode without holders
/// is evicted, by the hand of a clock. If all inodes are held, calls fail with `ENFILE`.
///
/// *Waiting*: a thread that finds a new inode sleeps until it is filled. A thread that finds an
/// inode that is being evicted sleeps until it is gone. So a thread that looks for an inode that it
/// has itself to fill waits forever, as on Linux.
///
/// ```
/// use pathwalk::{Attributes, FileType, Iget, InodeCache, NodeKey};
///
/// let cache = InodeCache::new(1000, ())?;
/// let inode = match cache.iget_locked(NodeKey(7))? {
///     Iget::Cached(inode) => inode,
///     // Ask the source of the attributes. Other threads that need key 7 wait. If `new` is dropped
///     // instead of unlocked, they look again.
///     Iget::New(new) => new.unlock(&Attributes::new(FileType::Regular, 0o644).with_ino(7)),
/// };
/// assert_eq!(inode.attributes().ino, 7);
/// drop(inode);
/// assert!(cache.ilookup(NodeKey(7)).is_some(), "it has no holder, but it stays");
/// # Ok::<(), pathwalk::Errno>(())
/// ```
///
/// [`iget_locked`]: Self::iget_locked
/// [`iget5_locked_rcu`]: Self::iget5_locked_rcu
/// [`iget5_locked`]: Self::iget5_locked
/// [`inode_insert5`]: Self::inode_insert5
/// [`insert_inode_locked`]: Self::insert_inode_locked
/// [`ilookup`]: Self::ilookup
/// [`ilookup5`]: Self::ilookup5
/// [`ilookup5_nowait`]: Self::ilookup5_nowait
/// [`find_inode_nowait`]: Self::find_inode_nowait
pub struct InodeCache<P: FirstProbe = LockFree> {
    pub(crate) inodes: Inodes<P>,
    /// The condition variables, one for each stripe of locks.
    sleepers: Box<[Condvar]>,
    /// The marks of the clock, a bit for each slot: found since the hand passed.
    pub(super) visited: Box<[AtomicU64]>,
    pub(super) hand: AtomicU32,
    seed: u64,
    pub(super) owner: Box<dyn InodeOwner>,
}

impl InodeCache {
    /// Creates a cache with room for `capacity` inodes, from 1 to 2^31 − 1. Memory is used as slots
    /// are first used.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a capacity outside that range; `ENOMEM` if the address space cannot be
    /// reserved.
    pub fn new(capacity: u32, owner: impl InodeOwner + 'static) -> Result<InodeCache, Errno> {
        Self::probed(capacity, owner)
    }
}

impl<P: FirstProbe> InodeCache<P> {
    /// Creates a cache with any first probe; see [`new`](InodeCache::new).
    pub(crate) fn probed(capacity: u32, owner: impl InodeOwner + 'static) -> Result<Self, Errno> {
        use std::hash::{BuildHasher, RandomState};
        // The seed is random, so that an attacker cannot choose keys that collide.
        Self::with_seed(capacity, owner, RandomState::new().hash_one(0))
    }

    pub(crate) fn with_seed(capacity: u32, owner: impl InodeOwner + 'static, seed: u64) -> Result<Self, Errno> {
        if capacity == 0 || u64::from(capacity) > MOST {
            return Err(Errno::EINVAL);
        }
        Ok(InodeCache {
            inodes: Inodes::new(capacity).ok_or(Errno::ENOMEM)?,
            sleepers: (0..LOCKS).map(|_| Condvar::new()).collect(),
            visited: zeroed(capacity as usize / 64 + 1).ok_or(Errno::ENOMEM)?,
            hand: AtomicU32::new(0),
            seed,
            owner: Box::new(owner),
        })
    }

    /// Returns the number of inodes that the cache has room for.
    ///
    /// ```
    /// use pathwalk::{Attributes, FileType, Iget, InodeCache, NodeKey};
    /// let cache = InodeCache::new(1000, ())?;
    /// let Iget::New(new) = cache.iget_locked(NodeKey(7))? else { panic!("it is the first") };
    /// let held = new.unlock(&Attributes::new(FileType::Regular, 0o644));
    /// assert_eq!((cache.capacity(), cache.used()), (1000, 1));
    /// assert_eq!(cache.shrink(10), 0, "a held inode is not evicted");
    /// drop(held);
    /// assert_eq!(cache.shrink(10), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn capacity(&self) -> u32 {
        self.inodes.free().capacity()
    }

    /// Returns the number of slots in use, held or not. The number may be out of date when it is
    /// returned. Cost: a few loads.
    ///
    /// [`capacity`](Self::capacity) has an example.
    pub fn used(&self) -> u32 {
        self.inodes.used()
    }

    pub(crate) fn hash(&self, key: NodeKey) -> u64 {
        hash_of(self.seed, key)
    }

    /// Sleeps until something changed in the stripe of this hash, in which the caller has just
    /// looked. Wake-ups may be spurious.
    pub(super) fn sleep<'a>(&'a self, held: InodeHeld<'a>, hash: u64) -> InodeHeld<'a> {
        held.sleep_on(&self.sleepers[stripe_of(hash)])
    }

    /// Wakes the threads that sleep in the stripe that is held.
    pub(super) fn wake(&self, hash: u64, _held: &InodeHeld<'_>) {
        self.sleepers[stripe_of(hash)].notify_all();
    }

    /// Takes the lock of a key's bucket.
    pub(crate) fn bucket(&self, key: NodeKey) -> Bucket<'_, P> {
        self.inodes.lock_bucket(self.hash(key))
    }
}

impl<P: FirstProbe> std::fmt::Debug for InodeCache<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "InodeCache({} of {} inodes)", self.used(), self.capacity())
    }
}

#[cfg(not(any(loom, shuttle)))]
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<InodeCache>();
    shared::<super::held::InodeRef<'_>>();
};
