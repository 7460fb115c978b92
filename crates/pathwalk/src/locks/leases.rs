//! All leases of a `Vfs`, by node, and the numbers of files in which each node is open: grants and
//! ends. [`breaks`](super::breaks) has the opens.
//!
//! One lock, `state`, protects the leases. No file system and no holder is called under it, and no
//! other lock is taken.
//!
//! What always holds:
//!
//! - A file is counted before its open looks for leases, and a lease is entered before the counts
//!   are looked at. So either the open finds the lease, or the grant finds the file and takes the
//!   lease back: of an open and a lease that conflict, at least one gives way.
//! - A lease is on a file that is open, which pins the node. So the slot of a node that has one is
//!   not reused.
//! - A thread that waits was entered under the lock under which it looked; each change of a node's
//!   leases wakes those that wait there.
//!
//! What it does not do: it does not see opens past the `Vfs`. A file system where there are such
//! refuses leases, or reports them ([`Vfs::break_leases`](crate::Vfs::break_leases)).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::lease::Lease;
use super::lease_rules::{Held, Leases, Opens};
use super::request::{FileNumber, Id, LockKind};
use super::table::MARKS;
use crate::Errno;
use crate::memory::slot::InodeId;
use crate::sync::{AtomicU32, AtomicU64, Condvar, Mutex, Ordering, fence_after_swap, zeroed};

/// The time that Linux gives holders of leases, unless it is told otherwise: 45 seconds. Source:
/// `/proc/sys/fs/lease-break-time`.
///
/// [`Lease`] has an example.
pub const LEASE_BREAK_TIME: Duration = Duration::from_secs(45);

/// The leases of a `Vfs` that grants some.
pub(crate) struct LeaseTable {
    pub(super) state: Mutex<State>,
    /// For each share of all nodes, those whose slots have equal lowest bits.
    shares: Box<[Share]>,
    /// For each node's slot, the files in which it is open: readers in the lower half, writers in
    /// the upper one. `SeqCst`: partner of [`Share::mark`].
    opens: Box<[AtomicU64]>,
    /// How long a holder may take to give way; `None` for as long as it wants.
    pub(super) break_time: Option<Duration>,
}

#[derive(Default)]
pub(super) struct Share {
    /// The number of nodes with leases. Written under the lock. `SeqCst`: partner of
    /// [`LeaseTable::opens`].
    pub(super) mark: AtomicU32,
    /// The threads sleep on this that wait for a change of leases.
    pub(super) changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) nodes: HashMap<InodeId, Leases>,
    pub(super) ids: Id,
    held: u64,
    /// The opens that sleep and were not woken, each with a number of its own.
    pub(super) asleep: Vec<(Id, InodeId)>,
}

impl LeaseTable {
    /// Creates a table for nodes in this many slots. Returns `None` if there is no memory. Holders
    /// get `break_time` to give way; any time, if that is zero.
    pub(crate) fn new(slots: usize, break_time: Duration) -> Option<Arc<LeaseTable>> {
        let shares = (0..MARKS).map(|_| Share::default()).collect();
        let break_time = (!break_time.is_zero()).then_some(break_time);
        Some(Arc::new(LeaseTable { state: Mutex::default(), shares, opens: zeroed(slots)?, break_time }))
    }

    fn opens(&self, node: InodeId) -> &AtomicU64 {
        &self.opens[node.0 as usize]
    }

    pub(super) fn share(&self, node: InodeId) -> &Share {
        &self.shares[node.0 as usize % MARKS]
    }

    pub(super) fn count(&self, node: InodeId, opener: LockKind) {
        self.opens(node).fetch_add(one(opener), Ordering::SeqCst);
    }

    pub(super) fn uncount(&self, node: InodeId, opener: LockKind) {
        self.opens(node).fetch_sub(one(opener), Ordering::SeqCst);
    }

    /// Ends the lease of a file that is closed, and counts it no more.
    pub(crate) fn closed(&self, node: InodeId, file: FileNumber, opener: LockKind) {
        if self.share(node).mark.load(Ordering::Relaxed) != 0 {
            self.release(node, file, None);
        }
        self.uncount(node, opener);
    }

    /// Grants a file a lease, or changes the one that it has. `writes`: whether it is open for
    /// writing. `EAGAIN` if another file, or another lease, is in the way. Linux:
    /// `generic_add_lease`.
    pub(crate) fn lease(
        self: &Arc<Self>,
        node: InodeId,
        (file, writes): (FileNumber, bool),
        kind: LockKind,
    ) -> Result<Lease, Errno> {
        self.with(node, |state| {
            let id = state.ids.next();
            let leases = state.nodes.entry(node).or_default();
            self.set(leases, node, (file, writes), kind, id)?;
            let Some(held) = leases.0.iter_mut().find(|held| held.file == file) else { return Err(Errno::EAGAIN) };
            if let Some(shared) = held.shared.upgrade() {
                return Ok(Lease(shared));
            }
            // The last value is just being dropped, or there was none.
            held.id = id;
            let lease = Lease::new(self, node, (file, writes), id);
            held.shared = Arc::downgrade(&lease.0);
            Ok(lease)
        })
    }

    /// Changes a lease that a file has. `EAGAIN` also if it has ended.
    pub(super) fn change(&self, node: InodeId, file: (FileNumber, bool), id: Id, kind: LockKind) -> Result<(), Errno> {
        self.with(node, |state| {
            let leases = state.nodes.get_mut(&node).ok_or(Errno::EAGAIN)?;
            if leases.of_file(file.0).is_none_or(|held| held.id != id) {
                return Err(Errno::EAGAIN);
            }
            self.set(leases, node, file, kind, id)
        })
    }

    fn set(
        &self,
        leases: &mut Leases,
        node: InodeId,
        (file, writes): (FileNumber, bool),
        kind: LockKind,
        id: Id,
    ) -> Result<(), Errno> {
        let allowed = || {
            let word = self.opens(node).load(Ordering::SeqCst);
            Opens { readers: word as u32, writers: (word >> 32) as u32 }.allow(kind, writes)
        };
        if !allowed() {
            return Err(Errno::EAGAIN);
        }
        let is_first = leases.0.is_empty();
        if !leases.set(file, kind, id)? {
            return Ok(());
        }
        if is_first {
            self.share(node).mark.fetch_add(1, Ordering::SeqCst);
        }
        fence_after_swap();
        // A file may have been opened meanwhile, and its open have found no lease.
        if allowed() {
            return Ok(());
        }
        leases.0.pop();
        if is_first {
            self.share(node).mark.fetch_sub(1, Ordering::SeqCst);
        }
        Err(Errno::EAGAIN)
    }

    /// Ends the lease of a file; with a number, only the lease of that number. Returns whether
    /// there was one.
    pub(super) fn release(&self, node: InodeId, file: FileNumber, id: Option<Id>) -> bool {
        self.with(node, |state| {
            let Some(leases) = state.nodes.get_mut(&node) else { return false };
            let before = leases.0.len();
            leases.0.retain(|held| held.file != file || id.is_some_and(|id| id != held.id));
            leases.0.len() < before
        })
    }

    /// Returns what `look` sees in the lease that a file has.
    pub(crate) fn kind_to_be(&self, node: InodeId, file: FileNumber) -> LockKind {
        self.look(node, file, Held::target).unwrap_or(LockKind::Unlock)
    }

    pub(super) fn look<T>(&self, node: InodeId, file: FileNumber, look: impl FnOnce(&Held) -> T) -> Option<T> {
        let mut state = self.state.lock();
        self.time_out(&mut state, node);
        state.nodes.get(&node)?.of_file(file).map(look)
    }

    /// Returns the numbers of leases, and of opens that wait.
    pub(super) fn counts(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.held, state.asleep.len() as u64)
    }

    /// Changes what a node has: takes away what is past its time before, counts the leases, and
    /// wakes those that wait.
    pub(super) fn with<T>(&self, node: InodeId, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        self.time_out(&mut state, node);
        let before = state.leases_on(node);
        let result = change(&mut state);
        self.settle(&mut state, node, before);
        result
    }

    pub(super) fn time_out(&self, state: &mut State, node: InodeId) {
        let before = state.leases_on(node);
        if state.nodes.get_mut(&node).is_some_and(|leases| leases.time_out(Instant::now())) {
            self.settle(state, node, before);
        }
    }

    /// Ends a change of a node that had so many leases before it. A lease that was added was marked
    /// by [`set`](Self::set).
    fn settle(&self, state: &mut State, node: InodeId, before: u64) {
        let after = state.leases_on(node);
        state.held = state.held - before + after;
        if after == 0 {
            state.nodes.remove(&node);
        }
        if after == 0 && before > 0 {
            self.share(node).mark.fetch_sub(1, Ordering::SeqCst);
        }
        self.wake(state, node);
    }

    pub(super) fn wake(&self, state: &mut State, node: InodeId) {
        state.asleep.retain(|(_, of)| of.0 as usize % MARKS != node.0 as usize % MARKS);
        self.share(node).changed.notify_all();
    }
}

/// Returns what a file adds to the numbers of files that are open.
fn one(opener: LockKind) -> u64 {
    if opener == LockKind::Exclusive { 1 << 32 } else { 1 }
}

impl State {
    fn leases_on(&self, node: InodeId) -> u64 {
        self.nodes.get(&node).map_or(0, |leases| leases.0.len() as u64)
    }
}
