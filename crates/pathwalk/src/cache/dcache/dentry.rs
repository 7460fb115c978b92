//! The record of a name: a hot line that readers see, and cold words that they do not.
//!
//! Hot, eight words:
//!
//! | word | what | written by |
//! |---|---|---|
//! | 0 | sequence count (32), flags (32) | whoever holds the count odd |
//! | 1 | parent (32), length of the name (32) | with the count odd |
//! | 2 | inode (32), chain of the name's bytes from the 33rd (32) | with the count odd |
//! | 3 | 0: not hit since a hand passed; else hit. Of what is covered: the mount that covered it last | anyone; guesses |
//! | 4–7 | the first 32 bytes of the name, padded with zeros | with the count odd |
//!
//! Parent and length are one word, so that one compare tells both. Names have no NUL, so padded words of equal number are equal
//! exactly if the names are.
//!
//! Cold, three words: life (see `memory/pin.rs`); next and previous sibling (under the parent's children lock; the link of the free list
//! while the slot is free); first child, and what is known of the children as a whole (under the dentry's own children lock; see
//! `dcache/complete.rs`). And the directory's lock.
//!
//! Who may hold the count odd: the one who filled the slot before showing it; whoever holds the parent's directory lock
//! exclusively, or is the one to finish its lookup; the holder of the inode's lock, for the flags of permission; whoever killed
//! the slot.

use crate::attr::FileType;
use crate::memory::alone::{Alone, apart};
use crate::memory::free_list::FreeList;
use crate::memory::lines::{LINE, Line, Records};
use crate::memory::parked::Parked;
use crate::memory::side::Chain;
use crate::memory::slot::DentryId;
use crate::memory::slot::{InodeId, MountId};
use crate::memory::table::{Table, TableView};
use crate::memory::{pin, seqcount};
use crate::permission::Access;
use crate::sync::{AtomicU32, AtomicU64, Mutex, MutexGuard, Ordering, stripes, zeroed};
use crate::text::swar::word_at;

/// Flags in word 0 of a dentry; bit 0 is the count's.
pub(crate) mod flags {
    /// A directory.
    pub(crate) const DIRECTORY: u64 = 1 << 1;
    /// A symbolic link.
    pub(crate) const LINK: u64 = 1 << 2;
    /// Known to be absent.
    pub(crate) const NEGATIVE: u64 = 1 << 3;
    /// The first of three: execute (search), write, read are granted to everyone by the generic rule, with no ACL; in
    /// the order of [`Access`](crate::Access)'s bits.
    pub(crate) const EVERYONE_SHIFT: u32 = 4;
    pub(crate) const EVERYONE_SEARCH: u64 = 1 << EVERYONE_SHIFT;
    pub(crate) const EVERYONE: u64 = 7 << EVERYONE_SHIFT;
    /// The file system wants to be asked before each use.
    pub(crate) const REVALIDATE: u64 = 1 << 7;
    /// Somebody is asking the file system just now.
    pub(crate) const IN_LOOKUP: u64 = 1 << 8;
    /// Not in the table (any more).
    pub(crate) const UNHASHED: u64 = 1 << 9;
    /// With `IN_LOOKUP`: nobody is asking yet. A listing said that the name is there, and nothing else is known of it.
    pub(crate) const LISTED: u64 = 1 << 11;
    /// Removed: a directory that takes no more names, or a file without this one.
    pub(crate) const REMOVED: u64 = 1 << 10;

    /// Something is mounted on it, in whatever mount it is seen through. Linux: `DCACHE_MOUNTED`.
    pub(crate) const MOUNTED: u64 = 1 << 12;
    /// It is the root of a mount, or was: `..` may lead to where that is mounted.
    pub(crate) const ROOTED: u64 = 1 << 13;

    /// What depends on the inode.
    pub(crate) const OF_INODE: u64 = DIRECTORY | LINK | NEGATIVE | EVERYONE | REVALIDATE;
}

pub(crate) const WORD: usize = 0;
const PARENT_LENGTH: usize = 1;
const INODE_CHAIN: usize = 2;
const HIT: usize = 3;
pub(crate) const NAME: usize = 4;

/// Bytes of a name that are in its line.
pub(crate) const INLINE_NAME: usize = 32;

const LIFE: usize = 0;
const SIBLINGS: usize = 1;
const FIRST_CHILD: usize = 2;

const _: () = assert!(cfg!(any(loom, shuttle)) || size_of::<Line>() == LINE);

/// Stripes of children locks.
const CHILDREN_LOCKS: usize = stripes(256);

/// The pool of dentries and the table that finds them.
pub(crate) struct Dentries {
    hot: Records<8>,
    cold: Box<[[AtomicU64; 3]]>,
    locks: Box<[AtomicU32]>,
    free: FreeList,
    /// Which of them the hands skip.
    parked: Parked,
    table: Table,
    /// Each protects the lists of children, and with them the table's entries, of the directories whose slot number maps
    /// to it.
    children: Box<[Alone<Mutex<()>>]>,
}

impl Dentries {
    pub(crate) fn new(capacity: u32) -> Option<Dentries> {
        let slots = capacity as usize + 1;
        Some(Dentries {
            hot: Records::new(slots)?,
            cold: zeroed(slots)?,
            locks: zeroed(slots)?,
            free: FreeList::new(capacity),
            parked: Parked::new(capacity)?,
            table: Table::new(capacity)?,
            children: apart(CHILDREN_LOCKS, || Mutex::new(())),
        })
    }

    #[inline(always)]
    pub(crate) fn hot(&self) -> &[Line] {
        self.hot.all()
    }

    #[inline(always)]
    pub(crate) fn table(&self) -> TableView<'_> {
        self.table.view()
    }

    pub(crate) fn line(&self, id: DentryId) -> &Line {
        self.hot.at(id.0)
    }

    fn cold(&self, id: DentryId) -> &[AtomicU64; 3] {
        &self.cold[id.0 as usize]
    }

    /// The directory lock of this dentry.
    pub(crate) fn lock(&self, id: DentryId) -> &AtomicU32 {
        &self.locks[id.0 as usize]
    }

    pub(crate) fn free(&self) -> &FreeList {
        &self.free
    }

    pub(crate) fn ranges(&self) -> Vec<(usize, usize)> {
        let locks = self.locks.as_ptr_range();
        let cold = self.cold.as_ptr_range();
        vec![self.hot.range(), self.table.range(), (cold.start.addr(), cold.end.addr()), (locks.start.addr(), locks.end.addr())]
    }

    /// See [`Table::fetch`].
    pub(crate) fn fetch_place(&self, hash: u64) -> u64 {
        self.table.fetch(hash)
    }

    pub(crate) fn table_bytes(&self) -> u64 {
        let (start, end) = self.table.range();
        (end - start) as u64
    }

    /// The word of a live dentry, once no writer is in it.
    pub(crate) fn word(&self, id: DentryId) -> u64 {
        seqcount::sample_even(&self.line(id)[WORD])
    }

    pub(crate) fn parent(&self, id: DentryId) -> DentryId {
        parent_of(self.line(id))
    }

    pub(crate) fn inode(&self, id: DentryId) -> InodeId {
        inode_of(self.line(id))
    }

    // Pins.

    pub(crate) fn life(&self, id: DentryId) -> &AtomicU64 {
        &self.cold(id)[LIFE]
    }

    /// Reads the life of a dentry, if there is such: so that it is near.
    #[inline(always)]
    pub(crate) fn peek_life(&self, id: DentryId) -> u64 {
        self.cold.get(id.0 as usize).map_or(0, |cold| cold[LIFE].load(Ordering::Relaxed))
    }

    /// Another count of a dentry that the caller has one of.
    pub(crate) fn pin_again(&self, id: DentryId) {
        pin::pin_again(self.life(id));
    }

    /// Gives a count back. Never blocks; the hands collect what is left.
    pub(crate) fn unpin(&self, id: DentryId) {
        if pin::unpin(self.life(id)).leaves_parked() {
            self.parked.unpark(id.0, self.life(id));
        }
    }

    pub(crate) fn parked(&self) -> &Parked {
        &self.parked
    }

    /// Keeps the hands from looking at a dentry, if it is pinned.
    pub(crate) fn park(&self, id: DentryId) {
        if pin::is_held(self.life(id)) {
            self.parked.park(id.0, self.life(id));
        }
    }

    /// Pins the dentry that `word` was sampled of, unless it changed since.
    pub(crate) fn pin_sampled(&self, id: DentryId, word: u64) -> bool {
        let Some(life) = pin::read(self.life(id)) else { return false };
        let line = self.line(id);
        // Unchanged after `life` was read: it is this dentry's life. Unchanged after the pin: it still has its name.
        if word & seqcount::ODD != 0 || !seqcount::unchanged(&line[WORD], word) || !pin::pin(self.life(id), life) {
            return false;
        }
        let same = seqcount::unchanged(&line[WORD], word);
        if !same {
            self.unpin(id);
        }
        same
    }

    // Lists of children.

    /// Takes the lock of the list of children of `parent`. A leaf but for the stripe of a second parent, which is taken in
    /// order of number.
    pub(crate) fn children_lock(&self, parent: DentryId) -> ChildrenHeld<'_> {
        let stripe = children_stripe(parent);
        ChildrenHeld { stripe, _guard: self.children[stripe].lock() }
    }

    pub(crate) fn siblings(&self, id: DentryId) -> &AtomicU64 {
        &self.cold(id)[SIBLINGS]
    }

    pub(crate) fn first_child(&self, id: DentryId) -> &AtomicU64 {
        &self.cold(id)[FIRST_CHILD]
    }

    // Slots.

    /// An unused slot: dead, and the caller's.
    pub(crate) fn take(&self) -> Option<DentryId> {
        self.free.take(|slot| self.siblings(DentryId(slot))).map(DentryId)
    }

    /// Writes to where a slot of the caller's lies, so that it is near when it is filled.
    pub(crate) fn write_ahead(&self, id: DentryId) {
        forget_hit(self.line(id));
        self.siblings(id).store(0, Ordering::Relaxed);
        self.first_child(id).store(0, Ordering::Relaxed);
    }

    /// Slots in use.
    pub(crate) fn used(&self) -> u32 {
        self.free.used(|slot| self.siblings(DentryId(slot)))
    }

    /// Gives a dead slot back.
    pub(crate) fn give(&self, id: DentryId) {
        self.free.give(id.0, |slot| self.siblings(DentryId(slot)));
    }
}

/// The children lock of some directories, held until dropped. Linux: `d_lock` of the parent.
pub(crate) struct ChildrenHeld<'a> {
    stripe: usize,
    _guard: MutexGuard<'a, ()>,
}

impl ChildrenHeld<'_> {
    /// Returns whether it is the lock of this directory's list.
    pub(super) fn covers(&self, parent: DentryId) -> bool {
        self.stripe == children_stripe(parent)
    }
}

/// The stripe of a directory's children lock.
pub(crate) fn children_stripe(parent: DentryId) -> usize {
    parent.0 as usize % CHILDREN_LOCKS
}

// Fields of a line. What they return is to be believed only once the count is rechecked, or if nobody writes.

/// Returns whether a dentry was hit since a hand passed.
#[inline(always)]
pub(crate) fn was_hit(line: &Line) -> bool {
    line[HIT].load(Ordering::Relaxed) != 0
}

/// Leaves the one mark of a hit, once; returns whether it was there.
#[inline(always)]
pub(crate) fn mark_hit(line: &Line) -> bool {
    let was_hit = was_hit(line);
    if !was_hit {
        line[HIT].store(1, Ordering::Relaxed);
    }
    was_hit
}

/// Takes the mark back.
pub(crate) fn forget_hit(line: &Line) {
    line[HIT].store(0, Ordering::Relaxed);
}

/// Returns the slot of the mount that covered a dentry last, in whatever mount that is seen. A
/// guess: a mark of a hit may stand there instead. The mount's record tells.
#[inline(always)]
pub(crate) fn guessed_cover(line: &Line) -> u64 {
    line[HIT].load(Ordering::Relaxed)
}

/// Guesses that a mount covers it. It counts as hit, which makes no difference to what is pinned.
pub(crate) fn guess_cover(line: &Line, mount: MountId) {
    line[HIT].store(mount.0.into(), Ordering::Relaxed);
}

#[inline(always)]
pub(crate) fn parent_of(line: &Line) -> DentryId {
    DentryId((line[PARENT_LENGTH].load(Ordering::Relaxed) >> 32) as u32)
}

#[inline(always)]
pub(crate) fn length_of(line: &Line) -> usize {
    line[PARENT_LENGTH].load(Ordering::Relaxed) as u32 as usize
}

/// Whether it has this parent and a name of this length.
#[inline(always)]
pub(crate) fn has_parent_and_length(line: &Line, parent: DentryId, length: usize) -> bool {
    line[PARENT_LENGTH].load(Ordering::Relaxed) == u64::from(parent.0) << 32 | length as u64
}

#[inline(always)]
pub(crate) fn inode_of(line: &Line) -> InodeId {
    InodeId((line[INODE_CHAIN].load(Ordering::Relaxed) >> 32) as u32)
}

#[inline(always)]
pub(crate) fn chain_of(line: &Line) -> Chain {
    line[INODE_CHAIN].load(Ordering::Relaxed) as u32
}

pub(crate) fn set_parent_length(line: &Line, parent: DentryId, length: usize) {
    line[PARENT_LENGTH].store(u64::from(parent.0) << 32 | length as u64, Ordering::Relaxed);
}

pub(crate) fn set_inode_chain(line: &Line, inode: InodeId, chain: Chain) {
    line[INODE_CHAIN].store(u64::from(inode.0) << 32 | u64::from(chain), Ordering::Relaxed);
}

/// Stores the first bytes of a name.
pub(crate) fn set_head(line: &Line, name: &[u8]) {
    let head = &name[..name.len().min(INLINE_NAME)];
    for at in 0..INLINE_NAME / 8 {
        line[NAME + at].store(word_at(head, at * 8), Ordering::Relaxed);
    }
}

/// The flags of a type, without permission.
pub(crate) fn flags_of(kind: FileType) -> u64 {
    match kind {
        FileType::Directory => flags::DIRECTORY,
        FileType::Symlink => flags::LINK,
        _ => 0,
    }
}

/// The flags that say that everyone may do this.
#[inline(always)]
pub(crate) fn everyone(what: Access) -> u64 {
    u64::from(what.bits()) << flags::EVERYONE_SHIFT
}
