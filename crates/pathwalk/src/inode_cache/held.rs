//! The results of the family's calls: inodes that are held, new, pending, or not yet in the table.
//!
//! Each is given back when dropped. A [`NewInode`] that is dropped has failed: it leaves the table,
//! and threads that wait for it look again.
//!
//! What it does not do: it finds nothing; see [`family`](super::family).

use super::cache::InodeCache;
use crate::Errno;
use crate::attr::Attributes;
use crate::cache::icache::first::{FirstProbe, LockFree};
use crate::cache::icache::inode::{self, INODE_WORDS, WORD, flags, set_fields};
use crate::cache::icache::pool::Bucket;
use crate::memory::slot::InodeId;
use crate::memory::{pin, seqcount};
use crate::node::{NodeKey, PermissionRule};
use crate::sync::Ordering;

/// A pin on an inode, given back when dropped.
struct Pin<'a, P: FirstProbe> {
    cache: &'a InodeCache<P>,
    id: InodeId,
}

impl<P: FirstProbe> Drop for Pin<'_, P> {
    fn drop(&mut self) {
        self.cache.iput(self.id);
    }
}

impl<P: FirstProbe> std::fmt::Debug for Pin<'_, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "key {:#x} in slot {}", self.cache.key(self.id).0, self.id.0 - 1)
    }
}

/// An inode that is filled and held: it is not evicted before this is dropped. Afterwards it stays
/// cached until its slot is needed. An inode whose link count is 0 goes with its last holder.
///
/// ```
/// use pathwalk::{Attributes, FileType, Iget, InodeCache, NodeKey};
/// let cache = InodeCache::new(100, ())?;
/// let Iget::New(new) = cache.iget_locked(NodeKey(7))? else { panic!("it is the first") };
/// assert_eq!(new.key(), NodeKey(7));
/// let slot = new.slot();
/// let inode = new.unlock(&Attributes::new(FileType::Regular, 0o644));
/// assert_eq!((inode.key(), inode.slot()), (NodeKey(7), slot));
/// inode.set_attributes(&inode.attributes().with_size(5));
/// assert_eq!(cache.ilookup(NodeKey(7)).unwrap().attributes().size, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct InodeRef<'a, P: FirstProbe = LockFree>(Pin<'a, P>);

/// An inode that is in the table and not filled: a thread that looks for it waits.
///
/// The holder has to [unlock](Self::unlock) it. If it is dropped instead, also by a panic, it has
/// failed. It leaves the table, and the waiting threads look again, so that one of them makes the
/// next inode. The owner is told of it once the last of them has given it back. Source: Linux's
/// `unlock_new_inode` and `iget_failed`.
///
/// [`InodeRef`] has an example.
#[derive(Debug)]
#[must_use = "dropping a new inode takes it out of the cache"]
pub struct NewInode<'a, P: FirstProbe = LockFree>(Option<Pin<'a, P>>);

/// An inode that was not filled yet when it was found, held.
///
/// ```
/// use pathwalk::{Attributes, FileType, Iget, InodeCache, InodeLookup};
/// let cache = InodeCache::new(100, ())?;
/// let Iget::New(new) = cache.iget5_locked(7, |_| true, |_| Ok(()))? else { panic!("it is the first") };
/// let Some(InodeLookup::New(pending)) = cache.ilookup5_nowait(7, |_| true) else { panic!("it is not filled") };
/// assert_eq!((pending.key(), pending.slot()), (new.key(), new.slot()));
/// drop(new.unlock(&Attributes::new(FileType::Regular, 0o644)));
/// assert!(pending.wait().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PendingInode<'a, P: FirstProbe = LockFree>(Pin<'a, P>);

/// A slot that holds no inode yet. It is to be inserted, and is given back when dropped. Source:
/// Linux's `new_inode`.
///
/// [`InodeCache::insert_inode_locked`] has an example.
#[derive(Debug)]
pub struct UnhashedInode<'a, P: FirstProbe = LockFree> {
    cache: &'a InodeCache<P>,
    id: InodeId,
}

impl<'a, P: FirstProbe> InodeRef<'a, P> {
    pub(super) fn new(cache: &'a InodeCache<P>, id: InodeId) -> Self {
        InodeRef(Pin { cache, id })
    }

    /// Returns the key, or the hash that was given for it.
    pub fn key(&self) -> NodeKey {
        self.0.cache.key(self.0.id)
    }

    /// Returns the inode's slot: a number below the capacity that is this inode's for as long as it
    /// is held or cached. Owners use it as an index into data of their own about the inode.
    pub fn slot(&self) -> u32 {
        self.0.id.0 - 1
    }

    /// Returns the attributes that were last set, all as of one instant. Cost: 16 loads; the
    /// stripe's lock if they change meanwhile.
    pub fn attributes(&self) -> Attributes {
        self.0.cache.attributes(self.0.id)
    }

    /// Sets the attributes; a reader sees either the old or the new ones. The cache keeps what
    /// [`Vfs`](crate::Vfs) keeps: nanoseconds below 10^9, and device numbers of 12 and 20 bits, to
    /// which larger ones are cut. Takes the stripe's lock for a few stores.
    pub fn set_attributes(&self, attributes: &Attributes) {
        self.0.cache.fill(self.0.id, attributes);
    }
}

impl<P: FirstProbe> Clone for InodeRef<'_, P> {
    fn clone(&self) -> Self {
        pin::pin_again(self.0.cache.inodes.life(self.0.id));
        InodeRef::new(self.0.cache, self.0.id)
    }
}

impl<'a, P: FirstProbe> NewInode<'a, P> {
    fn pin(&self) -> &Pin<'a, P> {
        self.0.as_ref().expect("it is taken only by what consumes it")
    }

    /// Returns the key, or the hash that was given for it.
    ///
    /// [`InodeRef`] has an example.
    pub fn key(&self) -> NodeKey {
        self.pin().cache.key(self.pin().id)
    }

    /// Returns the inode's slot: see [`InodeRef::slot`].
    ///
    /// [`InodeRef`] has an example.
    pub fn slot(&self) -> u32 {
        self.pin().id.0 - 1
    }

    /// Fills the inode and wakes the threads that wait for it. They see the attributes, and
    /// everything that this thread did before. Takes the stripe's lock for a few stores. Source:
    /// Linux's `unlock_new_inode`.
    ///
    /// [`InodeRef`] has an example.
    pub fn unlock(mut self, attributes: &Attributes) -> InodeRef<'a, P> {
        let pin = self.0.take().expect("it is taken only by what consumes it");
        pin.cache.fill(pin.id, attributes);
        InodeRef(pin)
    }
}

impl<P: FirstProbe> Drop for NewInode<'_, P> {
    fn drop(&mut self) {
        if let Some(pin) = &self.0 {
            pin.cache.fail(pin.id);
        }
    }
}

impl<'a, P: FirstProbe> PendingInode<'a, P> {
    pub(super) fn new(cache: &'a InodeCache<P>, id: InodeId) -> Self {
        PendingInode(Pin { cache, id })
    }

    /// Returns the key, or the hash that was given for it.
    pub fn key(&self) -> NodeKey {
        self.0.cache.key(self.0.id)
    }

    /// Returns the inode's slot: see [`InodeRef::slot`].
    pub fn slot(&self) -> u32 {
        self.0.id.0 - 1
    }

    /// Sleeps until the inode is filled; returns `None` if it failed. Source: Linux's
    /// `wait_on_inode`.
    pub fn wait(self) -> Option<InodeRef<'a, P>> {
        let cache = self.0.cache;
        cache.wait_until_filled(self.0.id).then_some(InodeRef(self.0))
    }
}

impl<'a, P: FirstProbe> UnhashedInode<'a, P> {
    /// Returns the slot, which stays the same when the inode is inserted: see [`InodeRef::slot`].
    ///
    /// [`InodeCache::insert_inode_locked`] has an example.
    pub fn slot(&self) -> u32 {
        self.id.0 - 1
    }

    pub(super) fn is_of(&self, cache: &InodeCache<P>) -> bool {
        std::ptr::eq(self.cache, cache)
    }

    /// Puts the inode into the table, in which no live inode has its key. The bucket is the key's.
    pub(super) fn insert(self, key: NodeKey, hash: u64, state: u64, held: &Bucket<'_, P>) -> NewInode<'a, P> {
        let (cache, id) = (self.cache, self.id);
        std::mem::forget(self);
        let fill = |record: &inode::Record| {
            inode::set_links(record, 0, 0);
            state
        };
        cache.inodes.insert(id, key, hash, held, fill);
        NewInode(Some(Pin { cache, id }))
    }
}

impl<P: FirstProbe> Drop for UnhashedInode<'_, P> {
    fn drop(&mut self) {
        self.cache.inodes.give(self.id);
    }
}

impl<P: FirstProbe> InodeCache<P> {
    /// Takes a slot for an inode to be inserted; see [`inode_insert5`](Self::inode_insert5) and
    /// [`insert_inode_locked`](Self::insert_inode_locked).
    ///
    /// If all slots are taken, an inode without holders is evicted. Fails with `ENFILE` if there is
    /// none: all are held, or are being evicted by other threads, which are not waited for. Source:
    /// Linux's `new_inode`.
    ///
    /// [`InodeCache::insert_inode_locked`] has an example.
    pub fn new_inode(&self) -> Result<UnhashedInode<'_, P>, Errno> {
        self.take_slot().map(|id| UnhashedInode { cache: self, id })
    }

    /// Returns the key of an inode that the caller holds.
    fn key(&self, id: InodeId) -> NodeKey {
        inode::key_of(self.inodes.record(id))
    }

    fn attributes(&self, id: InodeId) -> Attributes {
        let record = self.inodes.record(id);
        let read = || std::array::from_fn::<_, INODE_WORDS, _>(|at| record[at].load(Ordering::Relaxed));
        let word = seqcount::sample(&record[WORD]);
        let words = read();
        if word & seqcount::ODD == 0 && seqcount::unchanged(&record[WORD], word) {
            return inode::attributes_of(&words);
        }
        let _held = self.inodes.lock(self.hash(self.key(id)));
        inode::attributes_of(&read())
    }

    /// Stores attributes of an inode that the caller holds; the inode is no longer new.
    fn fill(&self, id: InodeId, attributes: &Attributes) {
        let record = self.inodes.record(id);
        let attributes = inode::normalised(*attributes);
        let hash = self.hash(inode::key_of(record));
        let held = self.inodes.lock(hash);
        let writing = seqcount::write_alone(&record[WORD]);
        let was_new = writing.flags() & flags::NEW != 0;
        set_fields(record, &attributes, 0);
        writing.end(inode::word_of(&attributes, PermissionRule::Generic));
        if was_new {
            self.wake(hash, &held);
        }
    }

    /// Takes an inode that was not filled out of the table.
    fn fail(&self, id: InodeId) {
        let record = self.inodes.record(id);
        let hash = self.hash(inode::key_of(record));
        let held = self.inodes.lock_bucket(hash);
        let writing = seqcount::write_alone(&record[WORD]);
        self.inodes.table().remove(hash, id.0);
        writing.end(flags::UNHASHED);
        self.wake(hash, held.stripe());
    }

    /// Takes over a pin on an inode that was found with this word, and waits until it is filled.
    /// Returns `None` if it failed.
    pub(super) fn once_filled(&self, id: InodeId, word: u64) -> Option<InodeRef<'_, P>> {
        let found = InodeRef::new(self, id);
        self.visit(id);
        (word & flags::NEW == 0 || self.wait_until_filled(id)).then_some(found)
    }

    /// Sleeps until an inode that the caller holds is filled; returns false if it failed.
    fn wait_until_filled(&self, id: InodeId) -> bool {
        let record = self.inodes.record(id);
        let hash = self.hash(inode::key_of(record));
        let mut held = self.inodes.lock(hash);
        // While the lock is held, no thread writes the word. What was done before it was written is
        // seen.
        while record[WORD].load(Ordering::Relaxed) & flags::NEW != 0 {
            held = self.sleep(held, hash);
        }
        record[WORD].load(Ordering::Relaxed) & flags::UNHASHED == 0
    }
}
