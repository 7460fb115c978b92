//! The opens that break leases, and all waits for leases.
//!
//! What always holds: a thread looks, and is entered among those that sleep, under the lock of the
//! table. Each change of a node's leases wakes the threads that sleep at the node. So no wake-up is
//! lost. Holders and observers of waits are called without that lock.
//!
//! Source: `break_lease` and `__break_lease` of Linux.

use std::sync::Arc;
use std::time::Instant;

use super::lease::Lease;
use super::lease_rules::Leases;
use super::leases::LeaseTable;
use super::request::{FileNumber, Id, LockKind};
use crate::Errno;
use crate::cancellation::{Sleeper, Wake};
use crate::memory::slot::InodeId;
use crate::sync::{Ordering, fence_after_swap, wait_until};

/// The behaviour of an opener that is in the way of a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Breaks {
    /// It begins the break, and waits.
    Waits,
    /// It begins the break, and fails. Source: `O_NONBLOCK`.
    Begins,
    /// It fails, and the holder is not told.
    Not,
}

/// A file that is counted as open. Dropped if the open fails after all.
pub(crate) struct Counted<'a> {
    table: &'a Arc<LeaseTable>,
    node: InodeId,
    opener: LockKind,
}

impl<'a> Counted<'a> {
    /// Counts a file that is about to be opened, or truncated: [`LockKind::Exclusive`] for writing.
    #[inline]
    pub(crate) fn new(table: &'a Arc<LeaseTable>, node: InodeId, opener: LockKind) -> Counted<'a> {
        table.count(node, opener);
        fence_after_swap();
        Counted { table, node, opener }
    }

    /// Breaks the leases with which the open conflicts. `EAGAIN` if it may not wait; `ECANCELED`.
    #[inline]
    pub(crate) fn break_leases(&self, breaks: Breaks) -> Result<(), Errno> {
        if self.table.share(self.node).mark.load(Ordering::SeqCst) == 0 {
            return Ok(());
        }
        self.table.break_leases(self.node, self.opener, breaks)
    }

    /// Leaves the file counted. The caller calls [`LeaseTable::closed`] at last.
    pub(crate) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.table.uncount(self.node, self.opener);
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    ToOpen,
    AsHolder,
}

impl LeaseTable {
    /// Breaks the leases with which an open conflicts, and waits for their holders if it may.
    /// Linux: `__break_lease`.
    #[cold]
    pub(crate) fn break_leases(self: &Arc<Self>, node: InodeId, opener: LockKind, breaks: Breaks) -> Result<(), Errno> {
        // Dropped, as what it calls, without the lock.
        let mut tell: Vec<(Lease, u64, LockKind)> = Vec::new();
        let conflicts = self.with(node, |state| {
            let Some(leases) = state.nodes.get_mut(&node).filter(|leases| leases.conflict_with(opener)) else { return false };
            if breaks != Breaks::Not {
                let until = self.break_time.and_then(|time| Instant::now().checked_add(time));
                let news = leases.begin_breaks(opener, until).into_iter();
                tell.extend(news.filter_map(|held| Some((Lease(held.shared.upgrade()?), held.breaks, held.target()))));
            }
            true
        });
        for (lease, number, to) in tell {
            lease.tell(number, to);
        }
        match breaks {
            _ if !conflicts => Ok(()),
            Breaks::Waits => {
                self.sleep(node, Waits::ToOpen, |leases| leases.is_none_or(|leases| !leases.conflict_with(opener)).then_some(()))
            }
            Breaks::Begins | Breaks::Not => Err(Errno::EAGAIN),
        }
    }

    /// Waits until the lease of this number has to become another, or has ended.
    pub(super) fn wait_for_break(self: &Arc<Self>, node: InodeId, file: FileNumber, id: Id) -> Result<LockKind, Errno> {
        self.sleep(node, Waits::AsHolder, |leases| match leases.and_then(|leases| leases.of_file(file)) {
            Some(held) if held.id == id => held.broken(),
            _ => Some(LockKind::Unlock),
        })
    }

    /// Sleeps until `done` returns something.
    fn sleep<T>(self: &Arc<Self>, node: InodeId, waits: Waits, done: impl Fn(Option<&Leases>) -> Option<T>) -> Result<T, Errno> {
        let mut sleeper = Sleeper::default();
        let mut state = self.state.lock();
        loop {
            self.time_out(&mut state, node);
            let leases = state.nodes.get(&node);
            if let Some(result) = done(leases) {
                return Ok(result);
            }
            let until = leases.and_then(Leases::due);
            if !sleeper.has_begun() {
                // An observer is called without the lock, so this has to look again.
                drop(state);
                sleeper.begin(Sleeping { table: self.clone(), node })?;
                state = self.state.lock();
                continue;
            }
            sleeper.go_on()?;
            let number = state.ids.next();
            if waits == Waits::ToOpen {
                state.asleep.push((number, node));
            }
            state = wait_until(&self.share(node).changed, state, until);
            state.asleep.retain(|(of, _)| *of != number);
        }
    }
}

/// A thread that sleeps at a node.
struct Sleeping {
    table: Arc<LeaseTable>,
    node: InodeId,
}

impl Wake for Sleeping {
    /// Wakes all that sleep there, to look whether they are cancelled.
    fn wake(&self) {
        // A thread that has looked, and does not sleep yet, holds the lock.
        let mut state = self.table.state.lock();
        self.table.wake(&mut state, self.node);
    }
}
