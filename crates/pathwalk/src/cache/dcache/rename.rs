//! Changes of a dentry's parent or name.
//!
//! A reader that looks for the new name meanwhile may miss it, and then takes the directory's lock;
//! it never sees the name as absent. Moves of directories are counted, and happen one at a time. So
//! code that builds a path meanwhile can check whether the way changed, or can stop moves (see
//! [`path`](super::path)).

use super::children::NameIs;
use super::dentry::{
    ChildrenHeld, INLINE_NAME, chain_of, children_stripe, flags, inode_of, set_head, set_inode_chain, set_parent_length,
};
use super::doubt::{OfNames, Sweeps};
use super::moves::{MoveGuard, MovesHeld};
use crate::Errno;
use crate::cache::Caches;
use crate::cache::join::revalidate;
use crate::cache::reclaim::Short;
use crate::memory::side::Chain;
use crate::memory::slot::DentryId;
use crate::memory::{dir_lock, pin};
use crate::node::Freshness;

/// The answer of a file system that a name leads to a dentry's node.
pub(crate) struct Answer {
    /// The count of reports about the name's directory before the file system was asked.
    pub(crate) asked: OfNames,
    /// The sweeps before the file system was asked.
    pub(crate) sweeps: Sweeps,
    /// How long the name is valid; `None` if the node is moved and keeps what is known of that.
    pub(crate) freshness: Option<Freshness>,
}

/// The children locks of two directories, which may share one lock.
struct BothChildrenHeld<'a> {
    first: ChildrenHeld<'a>,
    second: Option<ChildrenHeld<'a>>,
}

impl<'a> BothChildrenHeld<'a> {
    /// Returns the lock that covers one of the two directories.
    fn of(&self, parent: DentryId) -> &ChildrenHeld<'a> {
        self.second.as_ref().filter(|second| second.covers(parent)).unwrap_or(&self.first)
    }
}

/// A name and the side lines that it takes, ready to be put into a dentry, so that a move cannot
/// fail half-way.
pub(crate) struct NewName<'a> {
    caches: &'a Caches,
    name: &'a [u8],
    chain: Chain,
}

/// A dentry, and the name that it gets.
type Gets<'a> = (DentryId, NewName<'a>);

impl Drop for NewName<'_> {
    fn drop(&mut self) {
        self.caches.side.release(self.chain);
    }
}

/// Returns the flags of a dentry that gets a name.
fn with_answer(flags: u64, freshness: Option<Freshness>, is_doubtful: bool) -> u64 {
    let flags = flags & !flags::SWEPT;
    let flags = freshness.map_or(flags, |freshness| flags & !flags::REVALIDATE | revalidate(freshness));
    if is_doubtful { flags | flags::DOUBTFUL | flags::REVALIDATE } else { flags }
}

impl Caches {
    /// Reserves the side lines that a name needs. Fails with `ENFILE` if the budget is used up.
    pub(crate) fn new_name<'a>(&'a self, name: &'a [u8]) -> Result<NewName<'a>, Errno> {
        let tail = name.get(INLINE_NAME..).unwrap_or(&[]);
        let chain = self.take(Short::SideLines, || self.side.store(tail))?;
        Ok(NewName { caches: self, name, chain })
    }

    /// Moves a dentry, and everything below it, to a name that has no dentry in the table. The
    /// caller holds both directories' locks exclusively, and pins on both and on the dentry.
    /// `answer` is what the file system said of that name.
    pub(crate) fn move_dentry(&self, id: DentryId, to: DentryId, name: NewName<'_>, answer: Answer) {
        let from = self.dentries.parent(id);
        {
            let lock = || (self.begin_move([id]), self.both_children_locks(from, to));
            let ((_move, held), swept) = self.lock_beside_sweeps(answer.sweeps, &[id], lock);
            // Of a doubtful entry it is not known whether its name is to be revalidated each time,
            // so it stays doubtful.
            let was_doubtful = self.dentries.word(id) & flags::DOUBTFUL != 0 && answer.freshness.is_none();
            let is_doubtful = swept || was_doubtful || self.doubts.of_names(to) != answer.asked;
            // That the node was found under another name does not say what its old one leads to:
            // another process may have exchanged the two.
            let old_name = if answer.freshness.is_some() { NameIs::Unknown } else { NameIs::Gone };
            self.unhash(from, id, old_name, held.of(from));
            self.write_name(id, to, name, |flags| with_answer(flags, answer.freshness, is_doubtful));
            self.hash_in(to, id, held.of(to));
        }
        if from != to {
            self.dentries.pin_again(to);
            self.dentries.unpin(from);
        }
    }

    /// Begins a counted move if one of the dentries is a directory, so that dentries below it may
    /// exist.
    fn begin_move(&self, moved: impl IntoIterator<Item = DentryId>) -> Option<MoveGuard<'_>> {
        let is_directory = |id: DentryId| self.dentries.word(id) & flags::DIRECTORY != 0;
        moved.into_iter().any(is_directory).then(|| self.moves.begin())
    }

    /// Swaps the places of two dentries, both shown. The caller holds what
    /// [`move_dentry`](Self::move_dentry) requires. `a_gets` is the name of `b`, and `b_gets` that
    /// of `a`.
    ///
    /// Both sequence counts are odd until both dentries have their new names, so no thread finds
    /// one name with two dentries.
    pub(crate) fn exchange_dentries(&self, (a, a_gets): Gets<'_>, (b, b_gets): Gets<'_>, sweeps: Sweeps) {
        let lock = || (self.begin_move([a, b]), self.both_children_locks(self.dentries.parent(a), self.dentries.parent(b)));
        let ((_move, _held), swept) = self.lock_beside_sweeps(sweeps, &[a, b], lock);
        self.exchange_locked((a, a_gets), (b, b_gets), swept);
    }

    /// Does the same for a dentry and an absence on which the caller has the only pin, so that the
    /// absence becomes that of the dentry's old name. Gives the names back if another thread has a
    /// pin on the absence, too: that thread may not have checked yet whether it is one.
    pub(crate) fn exchange_with_absence<'a>(
        &'a self,
        (id, gets): Gets<'a>,
        (absence, absence_gets): Gets<'a>,
        sweeps: Sweeps,
    ) -> Result<(), [NewName<'a>; 2]> {
        // A thread that finds the absence dead may hold the lock of moves. It searches under these
        // locks, so it does not find that.
        let lock = || (self.begin_move([id]), self.both_children_locks(self.dentries.parent(id), self.dentries.parent(absence)));
        let ((_move, _held), swept) = self.lock_beside_sweeps(sweeps, &[id], lock);
        let life = self.dentries.life(absence);
        if !pin::kill_held(life) {
            return Err([gets, absence_gets]);
        }
        self.exchange_locked((id, gets), (absence, absence_gets), swept);
        pin::revive(life);
        Ok(())
    }

    /// Swaps the places of two dentries, under both children locks. Both become doubtful if there
    /// was a sweep.
    fn exchange_locked(&self, (a, a_gets): Gets<'_>, (b, b_gets): Gets<'_>, swept: bool) {
        let (of_a, of_b) = (self.dentries.parent(a), self.dentries.parent(b));
        let (writing_a, writing_b) = (self.dentries.write(a), self.dentries.write(b));
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
        // A doubt is about a name, and the dentries exchange their names.
        let is_doubtful = swept || (writing_a.flags() | writing_b.flags()) & flags::DOUBTFUL != 0;
        let doubt = if is_doubtful { flags::DOUBTFUL | flags::REVALIDATE } else { 0 };
        for writing in [writing_a, writing_b] {
            let flags = writing.flags() & !flags::SWEPT | doubt;
            debug_assert_eq!(flags & flags::UNHASHED, 0);
            writing.end(flags);
        }
        // Each parent lost one child and got one, so the numbers of its pins stay the same.
    }

    /// Takes the children locks of two directories in order of number; takes one lock if they share
    /// it.
    fn both_children_locks(&self, a: DentryId, b: DentryId) -> BothChildrenHeld<'_> {
        let (low, high) = if children_stripe(a) <= children_stripe(b) { (a, b) } else { (b, a) };
        let first = self.dentries.children_lock(low);
        let second = (!first.covers(high)).then(|| self.dentries.children_lock(high));
        BothChildrenHeld { first, second }
    }

    /// Stores a new parent and name, and new flags with them: a walk that found the dentry by its
    /// old name may compare it with its new one.
    fn write_name(&self, id: DentryId, parent: DentryId, name: NewName<'_>, change: impl FnOnce(u64) -> u64) {
        let writing = self.dentries.write(id);
        self.set_name(id, parent, name);
        let flags = change(writing.flags());
        writing.end(flags);
    }

    /// Stores a new parent and name. The dentry's sequence count is odd.
    fn set_name(&self, id: DentryId, parent: DentryId, mut name: NewName<'_>) {
        let line = self.dentries.line(id);
        let old = chain_of(line);
        set_parent_length(line, parent, name.name.len());
        set_inode_chain(line, inode_of(line), name.chain);
        set_head(line, name.name);
        // `name` gives the old chain back when it is dropped.
        name.chain = old;
    }

    /// Returns whether `above` is `below` itself or one of the directories above it.
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
    /// Takes the locks of two directories exclusively: first that of a directory above the other,
    /// else in order of slot. If the caller does not hold the lock for moves between directories,
    /// the two must be the same directory.
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
