//! The record of a name: a hot line that readers see, and cold words that they do not see.
//!
//! Hot, eight words:
//!
//! | word | what | written by |
//! |---|---|---|
//! | 0 | sequence count (32), flags (32) | the thread that holds the count odd |
//! | 1 | parent (32), length of the name (32) | with the count odd |
//! | 2 | inode (32), chain of the name's bytes from the 33rd (32) | with the count odd |
//! | 3 | 0: not hit since a hand passed; else hit. If covered: the last mount on it | any; a guess |
//! | 4–7 | the first 32 bytes of the name, padded with zeros | with the count odd |
//!
//! Parent and length are one word, so one compare checks both. Names contain no NUL, so padded
//! words of the same number are equal exactly if the names are equal.
//!
//! Cold, three words:
//!
//! 1. life (see `memory/pin.rs`);
//! 2. next and previous sibling (under the parent's children lock), or the link of the free list
//!    while the slot is free;
//! 3. first child, and what is known of the children as a whole (under the dentry's own children
//!    lock; see `dcache/complete.rs`).
//!
//! The directory's lock is cold, too.
//!
//! These threads may hold the count odd: one that fills the slot before it shows the dentry; one
//! that holds the parent's directory lock exclusively, or has to finish the dentry's lookup; one
//! that holds the inode's lock, for the permission flags; one that killed the slot; one that
//! remembers the dentry for the memo, if the word is still the one that it sampled.

use super::remembered::{Changes, Writing};
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
    /// The dentry of a directory.
    pub(crate) const DIRECTORY: u64 = 1 << 1;
    /// The dentry of a symbolic link.
    pub(crate) const LINK: u64 = 1 << 2;
    /// A negative dentry: the name is known to be absent.
    pub(crate) const NEGATIVE: u64 = 1 << 3;
    /// The position of the first of three bits: execute (search), write, read are granted to all
    /// users by the generic rule, with no ACL. The bits are in the order of
    /// [`Access`](crate::Access)'s bits.
    pub(crate) const EVERYONE_SHIFT: u32 = 4;
    pub(crate) const EVERYONE_SEARCH: u64 = 1 << EVERYONE_SHIFT;
    pub(crate) const EVERYONE: u64 = 7 << EVERYONE_SHIFT;
    /// A dentry that the file system requires to be revalidated before each use.
    pub(crate) const REVALIDATE: u64 = 1 << 7;
    /// A dentry whose name a thread is asking the file system about.
    pub(crate) const IN_LOOKUP: u64 = 1 << 8;
    /// A dentry that is not in the table, or no longer.
    pub(crate) const UNHASHED: u64 = 1 << 9;
    /// With `IN_LOOKUP`: no thread is asking yet. A listing said that the name is there, and
    /// nothing else is known of it.
    pub(crate) const LISTED: u64 = 1 << 11;
    /// A dentry that was removed: a directory that takes no more names, or a file without this
    /// name.
    pub(crate) const REMOVED: u64 = 1 << 10;

    /// A dentry on which something is mounted, in whatever mount it is seen. Linux:
    /// `DCACHE_MOUNTED`.
    pub(crate) const MOUNTED: u64 = 1 << 12;
    /// A dentry that is or was the root of a mount: `..` may lead to the place where that mount is
    /// attached.
    pub(crate) const ROOTED: u64 = 1 << 13;

    /// With `REVALIDATE`: the file system reported that the name, or what it leads to, changed
    /// without the engine. What is known of the name is not used before the file system was asked.
    pub(crate) const DOUBTFUL: u64 = 1 << 14;

    /// With `DOUBTFUL`: the doubt is that of one sweep by kind alone, so the file system answered
    /// after the sweep before it, and may confirm the answer.
    pub(crate) const SWEPT: u64 = 1 << 16;

    /// A dentry through which a remembered path leads: see [`remembered`](super::super::remembered).
    pub(crate) const REMEMBERED: u64 = 1 << 15;

    /// The flags that depend on the inode.
    pub(crate) const OF_INODE: u64 = DIRECTORY | LINK | NEGATIVE | EVERYONE | REVALIDATE;
}

pub(crate) const WORD: usize = 0;
const PARENT_LENGTH: usize = 1;
const INODE_CHAIN: usize = 2;
const HIT: usize = 3;
pub(crate) const NAME: usize = 4;

/// The number of bytes of a name that are in its line.
pub(crate) const INLINE_NAME: usize = 32;

const LIFE: usize = 0;
const SIBLINGS: usize = 1;
const FIRST_CHILD: usize = 2;

const _: () = assert!(cfg!(any(loom, shuttle)) || size_of::<Line>() == LINE);

/// The number of stripes of children locks.
const CHILDREN_LOCKS: usize = stripes(256);

/// The pool of dentries, and the table that finds them.
pub(crate) struct Dentries {
    hot: Records<8>,
    cold: Box<[[AtomicU64; 3]]>,
    locks: Box<[AtomicU32]>,
    free: FreeList,
    /// The set of dentries that the hands skip.
    parked: Parked,
    table: Table,
    /// The children locks. Each one protects the lists of children, and with them the table's
    /// entries, of the directories whose slot number maps to it.
    children: Box<[Alone<Mutex<()>>]>,
    /// Added to by each thread that writes a remembered dentry.
    changes: Changes,
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
            changes: Changes::default(),
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

    /// Returns the count of changes of remembered dentries.
    #[inline(always)]
    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Makes the count of a dentry odd, after any other writer has finished.
    pub(crate) fn write(&self, id: DentryId) -> Writing<'_> {
        self.changes.write(&self.line(id)[WORD])
    }

    fn cold(&self, id: DentryId) -> &[AtomicU64; 3] {
        &self.cold[id.0 as usize]
    }

    /// Returns the directory lock of this dentry.
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

    /// Fetches the table's line for a hash: see [`Table::fetch`].
    pub(crate) fn fetch_place(&self, hash: u64) -> u64 {
        self.table.fetch(hash)
    }

    pub(crate) fn table_bytes(&self) -> u64 {
        let (start, end) = self.table.range();
        (end - start) as u64
    }

    /// Returns the word of a live dentry, once no writer holds its count odd.
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

    /// Reads the life of a dentry, if the slot exists, to bring it into the processor's cache.
    #[inline(always)]
    pub(crate) fn peek_life(&self, id: DentryId) -> u64 {
        self.cold.get(id.0 as usize).map_or(0, |cold| cold[LIFE].load(Ordering::Relaxed))
    }

    /// Takes one more pin on a dentry that the caller has a pin on.
    pub(crate) fn pin_again(&self, id: DentryId) {
        pin::pin_again(self.life(id));
    }

    /// Gives a pin back. Never blocks; a dentry that is left without pins is evicted by the hands.
    pub(crate) fn unpin(&self, id: DentryId) {
        if pin::unpin(self.life(id)).leaves_parked() {
            self.parked.unpark(id.0, self.life(id));
        }
    }

    pub(crate) fn parked(&self) -> &Parked {
        &self.parked
    }

    /// Parks a dentry if it is pinned, so that the hands skip it.
    pub(crate) fn park(&self, id: DentryId) {
        if pin::is_held(self.life(id)) {
            self.parked.park(id.0, self.life(id));
        }
    }

    /// Pins the dentry whose word was sampled as `word`. Returns false if it changed since.
    pub(crate) fn pin_sampled(&self, id: DentryId, word: u64) -> bool {
        let Some(life) = pin::read(self.life(id)) else { return false };
        let line = self.line(id);
        // The word is unchanged after `life` was read, so `life` is of this dentry. If it is
        // unchanged after the pin as well, the dentry still has its name.
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

    /// Takes the lock of the list of children of `parent`. No other lock is taken under it, but for
    /// the stripe of a second parent, which is taken in order of number.
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

    /// Takes an unused slot: it is dead, and belongs to the caller. Returns `None` if there is
    /// none.
    pub(crate) fn take(&self) -> Option<DentryId> {
        self.free.take(|slot| self.siblings(DentryId(slot))).map(DentryId)
    }

    /// Writes to the words of a slot that belongs to the caller, to bring them into the processor's
    /// cache before the slot is filled.
    pub(crate) fn write_ahead(&self, id: DentryId) {
        forget_hit(self.line(id));
        self.siblings(id).store(0, Ordering::Relaxed);
        self.first_child(id).store(0, Ordering::Relaxed);
    }

    /// Returns the number of slots in use.
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

/// Returns the stripe of a directory's children lock.
pub(crate) fn children_stripe(parent: DentryId) -> usize {
    parent.0 as usize % CHILDREN_LOCKS
}

// Fields of a line. What these functions return is valid only once the count is rechecked, or if
// there is no writer.

/// Returns whether a dentry was hit since a hand passed.
#[inline(always)]
pub(crate) fn was_hit(line: &Line) -> bool {
    line[HIT].load(Ordering::Relaxed) != 0
}

/// Sets the mark of a hit if it is not set; returns whether it was set.
#[inline(always)]
pub(crate) fn mark_hit(line: &Line) -> bool {
    let was_hit = was_hit(line);
    if !was_hit {
        line[HIT].store(1, Ordering::Relaxed);
    }
    was_hit
}

/// Clears the mark of a hit.
pub(crate) fn forget_hit(line: &Line) {
    line[HIT].store(0, Ordering::Relaxed);
}

/// Returns the slot of the mount that covered a dentry last, in whatever mount the dentry is seen.
/// The result is a guess, since the word may hold a mark of a hit instead. The caller checks it
/// against the mount's record.
#[inline(always)]
pub(crate) fn guessed_cover(line: &Line) -> u64 {
    line[HIT].load(Ordering::Relaxed)
}

/// Records the guess that a mount covers a dentry. This also marks the dentry as hit, which makes
/// no difference to a pinned dentry.
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

/// Returns whether a dentry has this parent and a name of this length.
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

/// Returns the flags of a type, without permissions.
pub(crate) fn flags_of(kind: FileType) -> u64 {
    match kind {
        FileType::Directory => flags::DIRECTORY,
        FileType::Symlink => flags::LINK,
        _ => 0,
    }
}

/// Returns the flags that say that all users may access a node in this way.
#[inline(always)]
pub(crate) fn everyone(what: Access) -> u64 {
    u64::from(what.bits()) << flags::EVERYONE_SHIFT
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_children_lock_covers_the_directories_of_its_stripe() {
        let dentries = Dentries::new(9).expect("room for nine");
        let held = dentries.children_lock(DentryId(1));
        let same = 1 + CHILDREN_LOCKS as u32;
        assert_eq!([1, 2, same].map(|slot| held.covers(DentryId(slot))), [true, false, true]);
    }

    /// Checks that no pin is taken by a word of a change that is under way, or of one before it.
    #[test]
    fn a_word_that_is_odd_or_old_gives_no_pin() {
        let dentries = Dentries::new(2).expect("room for two");
        let id = dentries.take().expect("it is the first");
        pin::revive(dentries.life(id));
        let before = dentries.word(id);
        let writing = dentries.write(id);
        let odd = dentries.line(id)[WORD].load(Ordering::Relaxed);
        assert!(odd & seqcount::ODD != 0 && !dentries.pin_sampled(id, odd) && !dentries.pin_sampled(id, before));
        writing.end(0);
        assert!(!dentries.pin_sampled(id, before) && dentries.pin_sampled(id, dentries.word(id)));
    }
}
