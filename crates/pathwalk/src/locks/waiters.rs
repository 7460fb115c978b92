//! The requests that wait, what each of them waits for, and whether one more would be a deadlock.
//!
//! A request waits for a lock, or for a request that waits before it and with which it conflicts as
//! well. So the requests that wait for one lock are trees, and its release wakes those that can all
//! go on beside each other. A request that was woken is tried again by its own thread, and may have
//! to wait once more. It stays listed meanwhile, since others wait for it.
//!
//! Source: `__locks_insert_block`, `__locks_wake_up_blocks` and `posix_locks_deadlock` of Linux.
//!
//! What it does not do: each search looks at all that wait in the `Vfs`. Each of those is a thread,
//! so there are few.

use super::request::{Id, LockOwner, Want};
use super::wait::Signal;
use crate::memory::slot::InodeId;
use crate::sync::Arc;

/// The greatest number of steps in the search for a deadlock. A longer circle is not found. Linux:
/// `MAX_DEADLK_ITERATIONS`, after which it looks once more.
const MOST_STEPS: usize = 11;

/// All requests that wait, the latest last.
#[derive(Debug, Default)]
pub(super) struct Waiters(Vec<Waiting>);

/// A request that waits, or was woken and is about to be tried again.
#[derive(Debug)]
struct Waiting {
    id: Id,
    want: Want,
    signal: Arc<Signal>,
    /// `None` once it was woken.
    blocker: Option<Blocker>,
}

/// The lock or request for which another request waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocker {
    pub(super) id: Id,
    pub(super) owner: LockOwner,
}

/// The request of a thread that may wait.
pub(super) struct Waiter<'a> {
    pub(super) id: Id,
    pub(super) signal: &'a Arc<Signal>,
}

impl Waiters {
    /// Returns the number of requests that wait.
    pub(super) fn count(&self) -> usize {
        self.0.iter().filter(|waiting| waiting.blocker.is_some()).count()
    }

    /// Returns whether a request for a lock on a node waits, or was woken.
    pub(super) fn are_on(&self, node: InodeId) -> bool {
        self.0.iter().any(|waiting| waiting.want.node == node)
    }

    /// Enters a request behind a lock, or behind a request with which it conflicts.
    pub(super) fn block(&mut self, mut blocker: Blocker, want: &Want, waiter: &Waiter<'_>) {
        let next =
            |blocker: Blocker| move |waiting: &&Waiting| waiting.waits_for(blocker.id) && waiting.want.conflicts_with(want);
        while let Some(before) = self.0.iter().find(next(blocker)) {
            blocker = Blocker { id: before.id, owner: before.want.owner };
        }
        self.0.retain(|waiting| waiting.id != waiter.id);
        self.0.push(Waiting { id: waiter.id, want: *want, signal: waiter.signal.clone(), blocker: Some(blocker) });
    }

    /// Wakes the requests that wait for a lock or request: adds their signals to `woken`.
    pub(super) fn wake(&mut self, id: Id, woken: &mut Vec<Arc<Signal>>) {
        for waiting in self.0.iter_mut().filter(|waiting| waiting.waits_for(id)) {
            waiting.blocker = None;
            woken.push(waiting.signal.clone());
        }
    }

    /// Lets the requests that wait for one that succeeded wait for the lock that it got.
    pub(super) fn succeeded(&mut self, request: Id, lock: Id) {
        for waiting in &mut self.0 {
            if let Some(blocker) = waiting.blocker.as_mut().filter(|blocker| blocker.id == request) {
                blocker.id = lock;
            }
        }
    }

    /// Removes a request that waits no more, and wakes those that wait for it.
    pub(super) fn end(&mut self, id: Id, woken: &mut Vec<Arc<Signal>>) {
        self.wake(id, woken);
        self.0.retain(|waiting| waiting.id != id);
    }

    /// Returns whether an owner that waits for another one would wait for itself. An open file does
    /// not wait in this sense, since any thread may release its locks.
    pub(super) fn would_deadlock(&self, owner: LockOwner, mut blocker: LockOwner) -> bool {
        if owner.is_file() {
            return false;
        }
        for _ in 0..MOST_STEPS {
            let Some(next) = self.waits_for(blocker) else { return false };
            if next == owner {
                return true;
            }
            blocker = next;
        }
        false
    }

    /// Returns the owner of the lock for which an owner waits, of the request that came last if
    /// several of its requests wait. Waiting for an open file does not count.
    fn waits_for(&self, owner: LockOwner) -> Option<LockOwner> {
        let counts = |blocker: &Blocker| !blocker.owner.is_file();
        let of_owner = |waiting: &&Waiting| waiting.want.owner == owner && waiting.blocker.as_ref().is_some_and(counts);
        let mut blocker = self.0.iter().rev().find(of_owner)?.blocker?;
        while let Some(next) = self.0.iter().find(|waiting| waiting.id == blocker.id).and_then(|waiting| waiting.blocker) {
            blocker = next;
        }
        Some(blocker.owner)
    }
}

impl Waiting {
    fn waits_for(&self, id: Id) -> bool {
        self.blocker.is_some_and(|blocker| blocker.id == id)
    }
}
