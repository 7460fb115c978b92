//! A dentry gets another parent or another name.
//!
//! A reader that looks for the new name meanwhile may miss it, which leads to the directory's lock;
//! the name is never seen absent. Moves of directories are counted, one at a time, so that a path
//! that is built meanwhile can tell whether the way changed, or keep it from changing (see
//! [`path`](super::path)).

use super::children::NameIs;
use super::dentry::{
    DentryId, INLINE_NAME, WORD, chain_of, children_stripe, flags, inode_of, set_head, set_inode_chain, set_parent_length,
};
use crate::Errno;
use crate::memory::dir_lock;
use crate::memory::reclaim::Short;
use crate::memory::seqcount;
use crate::memory::side::Chain;
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, fence};
use crate::vfs::Core;

/// The lock for moves between directories, and the count of all moves.
pub(crate) struct Moves {
    /// Taken before any directory's lock; makes "is an ancestor of" hold still.
    between_directories: Mutex<()>,
    /// Held around every move of a directory, within one directory too, while the caches change;
    /// never over a call of the file system.
    of_directories: Mutex<()>,
    /// A sequence count of the moves under that lock: odd while there is one. Other moves show in
    /// the dentry's own count.
    count: AtomicU64,
}

impl Moves {
    pub(crate) fn new() -> Moves {
        Moves { between_directories: Mutex::new(()), of_directories: Mutex::new(()), count: AtomicU64::new(0) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ()> {
        self.between_directories.lock()
    }

    /// Keeps all directories where they are, and their names.
    pub(super) fn stop(&self) -> MutexGuard<'_, ()> {
        self.of_directories.lock()
    }

    /// Returns the count, or `None` while a move is under way.
    pub(super) fn still(&self) -> Option<u64> {
        Some(self.count.load(Ordering::Acquire)).filter(|count| count.is_multiple_of(2))
    }

    pub(super) fn moved_since(&self, then: u64) -> bool {
        fence(Ordering::Acquire);
        self.count.load(Ordering::Relaxed) != then
    }

    fn begin(&self) -> MoveGuard<'_> {
        let held = self.of_directories.lock();
        let odd = self.count.load(Ordering::Relaxed).wrapping_add(1);
        self.count.store(odd, Ordering::Relaxed);
        fence(Ordering::Release);
        MoveGuard { count: &self.count, ended: odd.wrapping_add(1), _held: held }
    }
}

struct MoveGuard<'a> {
    count: &'a AtomicU64,
    ended: u64,
    /// Given back after the count is even again.
    _held: MutexGuard<'a, ()>,
}

impl Drop for MoveGuard<'_> {
    fn drop(&mut self) {
        self.count.store(self.ended, Ordering::Release);
    }
}

/// A name, with the side lines it takes, ready to be put into a dentry: so that a move cannot fail half-way.
pub(crate) struct NewName<'a> {
    core: &'a Core,
    name: &'a [u8],
    chain: Chain,
}

impl Drop for NewName<'_> {
    fn drop(&mut self) {
        self.core.side.release(self.chain);
    }
}

impl Core {
    /// Reserves what a name needs. `ENFILE` if the budget is used up.
    pub(crate) fn new_name<'a>(&'a self, name: &'a [u8]) -> Result<NewName<'a>, Errno> {
        let tail = name.get(INLINE_NAME..).unwrap_or(&[]);
        let chain = self.take(Short::SideLines, || self.side.store(tail))?;
        Ok(NewName { core: self, name, chain })
    }

    /// Moves a dentry, and everything below it, to a name that has no dentry in the table. The caller holds both directories'
    /// locks exclusively, and pins on both and on the dentry.
    pub(crate) fn move_dentry(&self, id: DentryId, to: DentryId, name: NewName<'_>) {
        let from = self.dentries.parent(id);
        {
            let _move = self.begin_move([id]);
            let (first, _second) = self.both_children_locks(from, to);
            self.unhash(from, id, NameIs::Gone, &first);
            self.write_name(id, to, name);
            self.hash_in(to, id, &first);
        }
        if from != to {
            self.dentries.pin_again(to);
            self.dentries.unpin(from);
        }
    }

    /// Counts a move, if anything below could see it.
    fn begin_move(&self, moved: impl IntoIterator<Item = DentryId>) -> Option<MoveGuard<'_>> {
        let is_directory = |id: DentryId| self.dentries.word(id) & flags::DIRECTORY != 0;
        moved.into_iter().any(is_directory).then(|| self.moves.begin())
    }

    /// Swaps the places of two dentries, both shown. As [`move_dentry`](Self::move_dentry); `a_gets` is the name of `b` and the other way round.
    ///
    /// Both counts are odd until both have their new names: nobody finds one name with two dentries.
    pub(crate) fn exchange_dentries(&self, a: DentryId, a_gets: NewName<'_>, b: DentryId, b_gets: NewName<'_>) {
        let (of_a, of_b) = (self.dentries.parent(a), self.dentries.parent(b));
        let _move = self.begin_move([a, b]);
        let (_first, _second) = self.both_children_locks(of_a, of_b);
        let (writing_a, writing_b) =
            (seqcount::write(&self.dentries.line(a)[WORD]), seqcount::write(&self.dentries.line(b)[WORD]));
        let (hash_of_a, hash_of_b) = (self.hash_of(of_a, a), self.hash_of(of_b, b));
        self.set_name(a, of_b, a_gets);
        self.set_name(b, of_a, b_gets);
        self.dentries.table().replace(hash_of_a, a.0, b.0);
        self.dentries.table().replace(hash_of_b, b.0, a.0);
        if of_a != of_b {
            self.list_remove(of_a, a);
            self.list_remove(of_b, b);
            self.list_push(of_b, a);
            self.list_push(of_a, b);
        }
        for writing in [writing_a, writing_b] {
            let flags = writing.flags();
            debug_assert_eq!(flags & flags::UNHASHED, 0);
            writing.end(flags);
        }
        // Each parent lost one child and got one: the pins are the same.
    }

    /// The children locks of two directories, in order; one if they share it.
    fn both_children_locks(&self, a: DentryId, b: DentryId) -> (MutexGuard<'_, ()>, Option<MutexGuard<'_, ()>>) {
        let (low, high) = if children_stripe(a) <= children_stripe(b) { (a, b) } else { (b, a) };
        let first = self.dentries.children_lock(low);
        let second = (children_stripe(low) != children_stripe(high)).then(|| self.dentries.children_lock(high));
        (first, second)
    }

    fn write_name(&self, id: DentryId, parent: DentryId, name: NewName<'_>) {
        let writing = seqcount::write(&self.dentries.line(id)[WORD]);
        self.set_name(id, parent, name);
        let flags = writing.flags();
        writing.end(flags);
    }

    /// The count is odd.
    fn set_name(&self, id: DentryId, parent: DentryId, mut name: NewName<'_>) {
        let line = self.dentries.line(id);
        let old = chain_of(line);
        set_parent_length(line, parent, name.name.len());
        set_inode_chain(line, inode_of(line), name.chain);
        set_head(line, name.name);
        // The old chain is given back when `name` is dropped.
        name.chain = old;
    }

    /// Whether `above` is `below` or one of the directories above it. The caller holds the lock for moves between directories.
    pub(crate) fn is_above(&self, above: DentryId, below: DentryId) -> bool {
        let mut at = below;
        loop {
            if at == above {
                return true;
            }
            let parent = self.dentries.parent(at);
            if parent == at {
                return false;
            }
            at = parent;
        }
    }
}

impl Core {
    /// The locks of two directories, exclusively: the one above first, else in order of slot. The caller holds the lock for moves
    /// between directories if they are two.
    pub(crate) fn lock_both(&self, a: DentryId, b: DentryId) -> (dir_lock::Exclusive<'_>, Option<dir_lock::Exclusive<'_>>) {
        let a_first = self.is_above(a, b) || !self.is_above(b, a) && a < b;
        let (first, second) = if a_first { (a, b) } else { (b, a) };
        let held = dir_lock::exclusive(self.dentries.lock(first));
        (held, (first != second).then(|| dir_lock::exclusive(self.dentries.lock(second))))
    }
}
