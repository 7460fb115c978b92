//! A dentry gets another parent or another name.
//!
//! A reader that looks for the new name meanwhile may miss it, which leads to the directory's lock;
//! the name is never seen absent. Moves of directories are counted, one at a time, so that a path
//! that is built meanwhile can tell whether the way changed, or keep it from changing (see
//! [`path`](super::path)).

use super::children::NameIs;
use super::dentry::{
    ChildrenHeld, INLINE_NAME, WORD, chain_of, children_stripe, flags, inode_of, set_head, set_inode_chain, set_parent_length,
};
use super::moves::{MoveGuard, MovesHeld};
use crate::Errno;
use crate::cache::Caches;
use crate::cache::reclaim::Short;
use crate::memory::side::Chain;
use crate::memory::slot::DentryId;
use crate::memory::{dir_lock, seqcount};

/// The children locks of two directories, which may be one.
struct BothChildrenHeld<'a> {
    first: ChildrenHeld<'a>,
    second: Option<ChildrenHeld<'a>>,
}

impl<'a> BothChildrenHeld<'a> {
    /// Returns the lock of one of the two.
    fn of(&self, parent: DentryId) -> &ChildrenHeld<'a> {
        self.second.as_ref().filter(|second| second.covers(parent)).unwrap_or(&self.first)
    }
}

/// A name, with the side lines it takes, ready to be put into a dentry: so that a move cannot fail half-way.
pub(crate) struct NewName<'a> {
    caches: &'a Caches,
    name: &'a [u8],
    chain: Chain,
}

impl Drop for NewName<'_> {
    fn drop(&mut self) {
        self.caches.side.release(self.chain);
    }
}

impl Caches {
    /// Reserves what a name needs. `ENFILE` if the budget is used up.
    pub(crate) fn new_name<'a>(&'a self, name: &'a [u8]) -> Result<NewName<'a>, Errno> {
        let tail = name.get(INLINE_NAME..).unwrap_or(&[]);
        let chain = self.take(Short::SideLines, || self.side.store(tail))?;
        Ok(NewName { caches: self, name, chain })
    }

    /// Moves a dentry, and everything below it, to a name that has no dentry in the table. The caller holds both directories'
    /// locks exclusively, and pins on both and on the dentry.
    pub(crate) fn move_dentry(&self, id: DentryId, to: DentryId, name: NewName<'_>) {
        let from = self.dentries.parent(id);
        {
            let _move = self.begin_move([id]);
            let held = self.both_children_locks(from, to);
            self.unhash(from, id, NameIs::Gone, held.of(from));
            self.write_name(id, to, name);
            self.hash_in(to, id, held.of(to));
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
        let _held = self.both_children_locks(of_a, of_b);
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
    fn both_children_locks(&self, a: DentryId, b: DentryId) -> BothChildrenHeld<'_> {
        let (low, high) = if children_stripe(a) <= children_stripe(b) { (a, b) } else { (b, a) };
        let first = self.dentries.children_lock(low);
        let second = (!first.covers(high)).then(|| self.dentries.children_lock(high));
        BothChildrenHeld { first, second }
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

    /// Returns whether `above` is `below` or one of the directories above it.
    pub(crate) fn is_above(&self, above: DentryId, below: DentryId, _held: &MovesHeld<'_>) -> bool {
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

impl Caches {
    /// Takes the locks of two directories, exclusively: the one above first, else in order of slot. They are one directory if
    /// the caller does not hold the lock for moves between directories.
    pub(crate) fn lock_both(
        &self,
        a: DentryId,
        b: DentryId,
        moves: Option<&MovesHeld<'_>>,
    ) -> (dir_lock::Exclusive<'_>, Option<dir_lock::Exclusive<'_>>) {
        let lock = |id| dir_lock::exclusive(self.dentries.lock(id));
        let Some(moves) = moves.filter(|_| a != b) else {
            debug_assert_eq!(a, b);
            return (lock(a), None);
        };
        let a_first = self.is_above(a, b, moves) || !self.is_above(b, a, moves) && a < b;
        let (first, second) = if a_first { (a, b) } else { (b, a) };
        (lock(first), Some(lock(second)))
    }
}
