//! An inode cache for those who have no names: the engine's pool, table, pins and locks, without its dentries.
//!
//! An inode's life:
//!
//! ```text
//!   slot taken ── inserted: NEW ──┬── unlocked: filled ── count 0, evicted: FREEING ── told ── unhashed ── slot free
//!                                 └── failed: UNHASHED ── count 0 ──────────────────── told ─────────────┘
//! ```
//!
//! - A held inode has counts in `life`, and is not evicted. One that nobody holds stays until its slot is needed, or its link count is 0.
//! - `NEW` and `FREEING` change under the bucket's lock; whoever waits for them sleeps on the stripe's condition variable, and looks again.
//! - The owner is told of each inode that was inserted once, under no lock, while it is `FREEING`.
//!
//! What it does not do: it does not ask anybody for attributes, and knows no name, no dentry and no body of a link.

use crate::Errno;
use crate::attr::Attributes;
use crate::cache::budget::MOST;
use crate::cache::icache::first::{FirstProbe, LockFree};
use crate::cache::icache::pool::{Bucket, InodeHeld, Inodes, LOCKS, hash_of, stripe_of};
use crate::node::NodeKey;
use crate::sync::{AtomicU32, AtomicU64, Condvar, zeroed};

/// Whose inodes an [`InodeCache`] holds; `()` if nobody has to know when they go.
pub trait InodeOwner: Send + Sync {
    /// An inode leaves: nobody holds it, and nobody finds it; who looks for its key waits until this returns. Here dirty data is written back.
    ///
    /// Called once for each inode that was inserted, under no lock of the cache, in whichever thread needs its slot or drops it. `attributes`
    /// are the last that were set; `None` if it was never unlocked. What the owner keeps for the slot has to stay readable, since tests may still
    /// be shown it; the slot's next `set` or filler overwrites it.
    ///
    /// It may look up and give back other inodes. Looking for this one would wait forever; taking slots may call it again, and so
    /// on, until the stack ends. A panic is passed on, after the inode is gone.
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

/// A cache of inodes by key, for servers and stores that have keys and no names: NFS, 9P, FUSE, objects.
///
/// It is what [`Vfs`](crate::Vfs) finds its inodes with: a table whose hits take no lock, and in which each miss takes the
/// lock of its bucket, one of 256. The calls are Linux's, from `fs/inode.c`, with its names and contracts.
///
/// | call | first probe | if it is not there |
/// |---|---|---|
/// | [`iget_locked`](Self::iget_locked), [`iget5_locked_rcu`](Self::iget5_locked_rcu) | lock-free | a new one, to be filled |
/// | [`iget5_locked`](Self::iget5_locked) | under the lock | the same |
/// | [`inode_insert5`](Self::inode_insert5) | under the lock | the caller's, to be filled |
/// | [`insert_inode_locked`](Self::insert_inode_locked) | under the lock | the caller's, to be filled; `EBUSY` if it is there |
/// | [`ilookup`](Self::ilookup) | lock-free | none |
/// | [`ilookup5`](Self::ilookup5) | under the lock | none |
/// | [`ilookup5_nowait`](Self::ilookup5_nowait) | under the lock, does not wait for one that is new | none |
/// | [`find_inode_nowait`](Self::find_inode_nowait) | under the lock, waits for nothing | none |
///
/// *Keys* have 128 bits. Longer ones, such as file handles, go through the calls with a `hash` and a `test`: the cache keeps the hash,
/// the owner keeps the key, in an array of his own beside, at the inode's [`slot`](crate::InodeRef::slot), stored there by `set`. A cache is used
/// with one kind of key or the other, since a hash is taken for a key of that value.
///
/// *Budget*: room for `capacity` inodes is reserved at once and never grows: 128 bytes each, 10.7 for the table, one bit. When all are
/// taken, one that nobody holds is evicted, by the hand of a clock. If all are held, there is `ENFILE`.
///
/// *Waiting*: who finds an inode that is new sleeps until it is filled, and who finds one that is being evicted until it is gone. A thread that
/// looks for an inode that it has itself to fill therefore waits forever, as on Linux.
///
/// ```
/// use pathwalk::{Attributes, FileType, Iget, InodeCache, NodeKey};
///
/// let cache = InodeCache::new(1000, ())?;
/// let inode = match cache.iget_locked(NodeKey(7))? {
///     Iget::Cached(inode) => inode,
///     // Ask whoever knows; other threads that want key 7 wait. Dropped instead of unlocked: they look again.
///     Iget::New(new) => new.unlock(&Attributes { ino: 7, ..Attributes::new(FileType::Regular, 0o644) }),
/// };
/// assert_eq!(inode.attributes().ino, 7);
/// drop(inode);
/// assert!(cache.ilookup(NodeKey(7)).is_some(), "nobody holds it, but it stays");
/// # Ok::<(), pathwalk::Errno>(())
/// ```
pub struct InodeCache<P: FirstProbe = LockFree> {
    pub(crate) inodes: Inodes<P>,
    /// One for each stripe of locks.
    sleepers: Box<[Condvar]>,
    /// A bit for each slot: found since the hand passed.
    pub(super) visited: Box<[AtomicU64]>,
    pub(super) hand: AtomicU32,
    seed: u64,
    pub(super) owner: Box<dyn InodeOwner>,
}

impl InodeCache {
    /// A cache with room for so many inodes, from 1 to 2^31 − 1.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a capacity outside of that; `ENOMEM` if the address space cannot be had. Memory is used as slots are first used.
    pub fn new(capacity: u32, owner: impl InodeOwner + 'static) -> Result<InodeCache, Errno> {
        Self::probed(capacity, owner)
    }
}

impl<P: FirstProbe> InodeCache<P> {
    /// Returns a cache with any first probe; see [`new`](InodeCache::new).
    pub(crate) fn probed(capacity: u32, owner: impl InodeOwner + 'static) -> Result<Self, Errno> {
        use std::hash::{BuildHasher, RandomState};
        // Random, so that nobody can choose keys that collide.
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

    /// How many inodes there is room for.
    pub fn capacity(&self) -> u32 {
        self.inodes.free().capacity()
    }

    /// How many slots are in use, held or not. May be out of date as it returns. Cost: a few loads.
    pub fn used(&self) -> u32 {
        self.inodes.used()
    }

    pub(crate) fn hash(&self, key: NodeKey) -> u64 {
        hash_of(self.seed, key)
    }

    /// Sleeps until something changed in the stripe of this hash, in which the caller has just looked; may wake for nothing.
    pub(super) fn sleep<'a>(&'a self, held: InodeHeld<'a>, hash: u64) -> InodeHeld<'a> {
        held.sleep_on(&self.sleepers[stripe_of(hash)])
    }

    /// Wakes who sleeps in the stripe that is held.
    pub(super) fn wake(&self, hash: u64, _held: &InodeHeld<'_>) {
        self.sleepers[stripe_of(hash)].notify_all();
    }

    /// The lock of a key's bucket.
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
