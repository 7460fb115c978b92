//! Moves: the lock that makes "is above" hold still, and the count by which a path that is built
//! beside moves of directories tells whether the way changed (see [`path`](super::path)).

use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, fence};

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

    /// Keeps each directory below those that it is below, until what is returned is dropped.
    pub(crate) fn lock(&self) -> MovesHeld<'_> {
        MovesHeld { _guard: self.between_directories.lock() }
    }

    /// Keeps all directories where they are, and their names.
    pub(super) fn stop(&self) -> MutexGuard<'_, ()> {
        self.of_directories.lock()
    }

    /// Returns the count, or `None` while a move is under way.
    pub(crate) fn still(&self) -> Option<u64> {
        Some(self.count.load(Ordering::Acquire)).filter(|count| count.is_multiple_of(2))
    }

    /// Returns whether a directory was moved since the count was this.
    pub(crate) fn moved_since(&self, then: u64) -> bool {
        fence(Ordering::Acquire);
        self.count.load(Ordering::Relaxed) != then
    }

    /// Returns whether a directory was ever moved, or is about to be. A walk that sees one where it
    /// was moved to sees this.
    #[inline(always)]
    pub(crate) fn were_any(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    pub(super) fn begin(&self) -> MoveGuard<'_> {
        let held = self.of_directories.lock();
        let odd = self.count.load(Ordering::Relaxed).wrapping_add(1);
        self.count.store(odd, Ordering::Relaxed);
        fence(Ordering::Release);
        MoveGuard { count: &self.count, ended: odd.wrapping_add(1), _held: held }
    }
}

/// The lock for moves between directories, held until dropped. Linux: `s_vfs_rename_mutex`.
pub(crate) struct MovesHeld<'a> {
    _guard: MutexGuard<'a, ()>,
}

/// A move of a directory under way, until dropped.
pub(super) struct MoveGuard<'a> {
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
