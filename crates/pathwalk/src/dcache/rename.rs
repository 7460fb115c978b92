//! A dentry gets another parent or another name.
//!
//! A reader who looks for the new name meanwhile may miss it, which sends him to the directory's lock; he never sees it
//! absent. Moves of directories are counted, so that whoever walks up (a path, an ancestor test) can tell whether the way changed under
//! him.

use super::children::NameIs;
use super::dentry::{
    DentryId, INLINE_NAME, WORD, chain_of, children_stripe, flags, inode_of, length_of, set_head, set_inode_chain,
    set_parent_length,
};
use crate::Errno;
use crate::memory::dir_lock;
use crate::memory::reclaim::Short;
use crate::memory::seqcount;
use crate::memory::side::Chain;
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, yield_now};
use crate::vfs::Core;

/// The lock for moves between directories, and the count of all moves.
pub(crate) struct Moves {
    /// Taken before any directory's lock; makes "is an ancestor of" hold still.
    between_directories: Mutex<()>,
    /// A sequence count around every move of a directory; of moves in one directory too, and those may run at once in two, so it counts
    /// those begun (high half) and those ended (low half). Other moves show in the dentry's own count.
    count: AtomicU64,
}

const BEGUN: u64 = 1 << 32;

impl Moves {
    pub(crate) fn new() -> Moves {
        Moves { between_directories: Mutex::new(()), count: AtomicU64::new(0) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ()> {
        self.between_directories.lock()
    }

    /// The count, once no move is under way.
    fn still(&self) -> u64 {
        loop {
            let now = self.count.load(Ordering::Acquire);
            if (now >> 32) as u32 == now as u32 {
                return now;
            }
            yield_now();
        }
    }

    fn moved_since(&self, then: u64) -> bool {
        crate::sync::fence(Ordering::Acquire);
        self.count.load(Ordering::Relaxed) != then
    }

    fn begin(&self) -> MoveGuard<'_> {
        self.count.fetch_add(BEGUN, Ordering::Relaxed);
        crate::sync::fence(Ordering::Release);
        MoveGuard(&self.count)
    }
}

struct MoveGuard<'a>(&'a AtomicU64);

impl Drop for MoveGuard<'_> {
    fn drop(&mut self) {
        // The low half must not carry into the high one.
        let ended = |now: u64| Some(now & !(BEGUN - 1) | u64::from((now as u32).wrapping_add(1)));
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, ended);
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

    /// The path of a dentry that the caller has a pin on, from the root of the `Vfs`. `ENOENT` if it, or a directory above, was removed.
    pub(crate) fn path_of(&self, id: DentryId) -> Result<Vec<u8>, Errno> {
        loop {
            let (before, word) = (self.moves.still(), seqcount::sample_even(&self.dentries.line(id)[WORD]));
            let path = self.path_once(id);
            // The dentry's own name, or that it has been removed; and those of the directories above.
            if seqcount::unchanged(&self.dentries.line(id)[WORD], word) && !self.moves.moved_since(before) {
                return path;
            }
        }
    }

    /// Whether it never had a name: a file made by `O_TMPFILE`.
    pub(crate) fn is_unnamed(&self, id: DentryId) -> bool {
        id != self.root && length_of(self.dentries.line(id)) == 0
    }

    fn path_once(&self, id: DentryId) -> Result<Vec<u8>, Errno> {
        let mut names = Vec::new();
        let mut at = id;
        while at != self.root {
            if self.dentries.word(at) & flags::REMOVED != 0 {
                return Err(Errno::ENOENT);
            }
            if self.is_unnamed(at) {
                return Err(Errno::ENOENT);
            }
            names.push(self.name_of(self.dentries.line(at)));
            let parent = self.dentries.parent(at);
            if parent == at {
                // Torn by a move: the caller looks again.
                break;
            }
            at = parent;
        }
        if names.is_empty() {
            return Ok(b"/".to_vec());
        }
        Ok(names.iter().rev().flat_map(|name| [b"/", name.as_slice()].concat()).collect())
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
