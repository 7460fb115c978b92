//! Moves of directories: the lock that keeps "is an ancestor of" from changing, and the count by
//! which a path that is built beside moves is checked (see [`path`](super::path)).

use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, fence};

/// The lock for moves between directories, and the count of all moves of directories.
pub(crate) struct Moves {
    /// The lock that keeps "is an ancestor of" from changing. Taken before any directory's lock.
    between_directories: Mutex<()>,
    /// The lock around every move of a directory, within one directory too, while the caches
    /// change. Never held during a call of the file system.
    of_directories: Mutex<()>,
    /// The sequence count of the moves under `of_directories`: odd while one runs. Other moves show
    /// in the dentry's own sequence count.
    count: AtomicU64,
}

impl Moves {
    pub(crate) fn new() -> Moves {
        Moves { between_directories: Mutex::new(()), of_directories: Mutex::new(()), count: AtomicU64::new(0) }
    }

    /// Locks moves between directories: the ancestors of each directory stay its ancestors until
    /// the guard is dropped.
    pub(crate) fn lock(&self) -> MovesHeld<'_> {
        MovesHeld { _guard: self.between_directories.lock() }
    }

    /// Stops all moves of directories: each keeps its parent and its name until the guard is
    /// dropped.
    pub(super) fn stop(&self) -> MutexGuard<'_, ()> {
        self.of_directories.lock()
    }

    /// Returns the count, or `None` while a move is under way.
    pub(crate) fn still(&self) -> Option<u64> {
        Some(self.count.load(Ordering::Acquire)).filter(|count| count.is_multiple_of(2))
    }

    /// Returns whether a directory was moved since the count had this value.
    pub(crate) fn moved_since(&self, then: u64) -> bool {
        fence(Ordering::Acquire);
        self.count.load(Ordering::Relaxed) != then
    }

    /// Returns whether a directory was ever moved, or is about to be. A walk that sees a directory
    /// at its new place sees true here.
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

/// A move of a directory that is under way until this is dropped.
pub(super) struct MoveGuard<'a> {
    count: &'a AtomicU64,
    ended: u64,
    /// The lock that is given back after the count is even again.
    _held: MutexGuard<'a, ()>,
}

impl Drop for MoveGuard<'_> {
    fn drop(&mut self) {
        self.count.store(self.ended, Ordering::Release);
    }
}
