//! All locks of a `Vfs`, by node.
//!
//! One lock, `state`, protects them. It is held for one step of one request: no file system is
//! called under it, no other lock is taken, and sleepers are woken behind it. Deadlocks go from
//! node to node and from file system to file system, so there is one table and not one for each of
//! them.
//!
//! What always holds:
//!
//! - A node has an entry exactly if it has a lock, or a request waits for one.
//! - A lock was set through a file that is open, which pins the node. So the slot of a node that
//!   has an entry is not reused.
//!
//! What it does not do: locks that a file system keeps itself are not in it. It has their owners,
//! which are released when a file is closed.

use std::collections::HashMap;

use super::flock::{self, Begun};
use super::leases::LeaseTable;
use super::record;
use super::request::{Family, FileNumber, Held, Id, LockKind, LockOwner, LockWait, RecordLock, Want};
use super::wait::Signal;
use super::waiters::{Blocker, Waiter, Waiters};
use crate::Errno;
use crate::cancellation::Sleeper;
use crate::memory::slot::InodeId;
use crate::sync::{Arc, AtomicU32, Mutex, Ordering};

/// The number of counters of nodes with locks. A node has that of its slot's lowest bits.
pub(crate) const MARKS: usize = 256;

/// The locks of a `Vfs`.
pub(crate) struct LockTable {
    state: Mutex<State>,
    /// The numbers of nodes with an entry, each for a share of all nodes: so that closing a file
    /// need not take the lock. Written under it; `Relaxed`, because a close that has to release
    /// something comes after the request in any case.
    marks: [AtomicU32; MARKS],
    /// The greatest number of locks at once.
    most: u64,
    /// The leases, if the `Vfs` grants some.
    pub(crate) leases: Option<std::sync::Arc<LeaseTable>>,
}

#[derive(Default)]
struct State {
    nodes: HashMap<InodeId, Node>,
    waiters: Waiters,
    /// The last number that was given.
    ids: Id,
    /// The number of locks.
    held: u64,
    /// The signals of requests that are woken once the lock is given back.
    woken: Vec<Arc<Signal>>,
}

/// The locks on one node.
#[derive(Default)]
struct Node {
    flocks: Vec<Held>,
    records: Vec<Held>,
    /// The owners of locks that its file system keeps, each with the file through which it got one.
    elsewhere: Vec<(LockOwner, FileNumber)>,
}

/// The counts of locks. In [`Vfs::locks`](crate::Vfs::locks), which has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LockCounts {
    /// The number of locks: of ranges, and of files as a whole.
    pub held: u64,
    /// The number of requests that wait, and of opens that wait for holders of leases.
    pub waiting: u64,
    /// The number of leases.
    pub leases: u64,
}

/// The end of one step of a request.
enum Step {
    Done,
    Blocked,
}

impl LockTable {
    /// Creates a table for at most so many locks.
    pub(crate) fn new(most: u64) -> LockTable {
        LockTable { state: Mutex::default(), marks: std::array::from_fn(|_| AtomicU32::new(0)), most, leases: None }
    }

    /// Returns it with leases.
    pub(crate) fn with_leases(self, leases: Option<std::sync::Arc<LeaseTable>>) -> LockTable {
        LockTable { leases, ..self }
    }

    /// Carries out a request. `EAGAIN` if it conflicts and does not wait, `EDEADLK` if waiting
    /// would never end, `ECANCELED` if it was cancelled, `ENOLCK` if there are too many locks.
    pub(crate) fn set(&self, want: &Want, wait: LockWait) -> Result<(), Errno> {
        match wait {
            LockWait::No => self.step(want, None).map(|_| ()),
            LockWait::Yes => self.wait_for(want),
        }
    }

    fn wait_for(&self, want: &Want) -> Result<(), Errno> {
        let signal = Arc::<Signal>::default();
        let waiter = Waiter { id: self.state.lock().ids.next(), signal: &signal };
        let mut sleeper = Sleeper::default();
        loop {
            signal.reset();
            if let Step::Done = self.step(want, Some(&waiter))? {
                return Ok(());
            }
            let begun = if sleeper.has_begun() { Ok(()) } else { sleeper.begin(signal.clone()) };
            let slept = begun.and_then(|()| sleeper.go_on()).map(|()| signal.sleep());
            if let Err(errno) = slept.and_then(|()| sleeper.go_on()) {
                self.with(want.node, |state| state.end(waiter.id));
                return Err(errno);
            }
        }
    }

    fn step(&self, want: &Want, waiter: Option<&Waiter<'_>>) -> Result<Step, Errno> {
        self.with(want.node, |state| {
            let step = match want.family {
                Family::Flock => state.flock(want, waiter, self.most),
                Family::Record => state.record(want, waiter, self.most),
            };
            if let (Some(waiter), Ok(Step::Done) | Err(_)) = (waiter, &step) {
                state.end(waiter.id);
            }
            step
        })
    }

    /// Returns the first lock that conflicts with a request. One for [`LockKind::Unlock`] conflicts
    /// with the locks of its own owner. Source: `posix_test_lock` of Linux.
    pub(crate) fn get(&self, want: &Want) -> Option<RecordLock> {
        let is_found = |held: &&Held| match want.kind {
            LockKind::Unlock => held.owner == want.owner && held.span.overlaps(want.span),
            LockKind::Shared | LockKind::Exclusive => held.conflicts_with(want),
        };
        let state = self.state.lock();
        state.nodes.get(&want.node)?.records.iter().find(is_found).map(Held::lock)
    }

    /// Records that a file system gave an owner a lock that it keeps itself.
    pub(crate) fn given_elsewhere(&self, want: &Want) {
        self.with(want.node, |state| {
            let elsewhere = &mut state.nodes.entry(want.node).or_default().elsewhere;
            if !elsewhere.contains(&(want.owner, want.file)) {
                elsewhere.push((want.owner, want.file));
            }
        });
    }

    /// Returns whether a node may have locks. Cost: a load.
    #[inline]
    pub(crate) fn may_have(&self, node: InodeId) -> bool {
        self.mark(node).load(Ordering::Relaxed) != 0
    }

    /// Releases what goes with a file that a context has opened and that is closed: all locks of
    /// that context on the node, and of each owner that got one through this file. Returns the
    /// owners whose locks the file system keeps.
    pub(crate) fn close(&self, node: InodeId, opener: LockOwner, file: FileNumber) -> Vec<LockOwner> {
        self.with(node, |state| {
            let Some(of) = state.nodes.get_mut(&node) else { return Vec::new() };
            let goes = |owner: LockOwner, through: FileNumber| owner == opener || through == file;
            let elsewhere = of.elsewhere.extract_if(.., |(owner, through)| goes(*owner, *through));
            let mut released: Vec<LockOwner> = elsewhere.map(|(owner, _)| owner).collect();
            let held = of.records.iter().chain(&of.flocks).filter(|held| goes(held.owner, held.file));
            let owners: Vec<LockOwner> = held.map(|held| held.owner).collect();
            owners.into_iter().for_each(|owner| state.release(node, owner));
            released.dedup();
            released
        })
    }

    /// Releases all locks of an owner on a node. Returns whether the file system keeps some.
    pub(crate) fn release(&self, node: InodeId, owner: LockOwner) -> bool {
        self.with(node, |state| {
            state.release(node, owner);
            let Some(of) = state.nodes.get_mut(&node) else { return false };
            of.elsewhere.extract_if(.., |(of, _)| *of == owner).count() > 0
        })
    }

    pub(crate) fn counts(&self) -> LockCounts {
        let (leases, opens) = self.leases.as_ref().map_or((0, 0), |leases| leases.counts());
        let state = self.state.lock();
        LockCounts { held: state.held, waiting: state.waiters.count() as u64 + opens, leases }
    }

    /// Changes what a node has: drops its entry if nothing is left, counts the locks, and wakes
    /// requests behind the lock.
    fn with<T>(&self, node: InodeId, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let before = state.nodes.get(&node).map(Node::held);
        let result = change(&mut state);
        if state.nodes.get(&node).is_some_and(Node::is_empty) && !state.waiters.are_on(node) {
            state.nodes.remove(&node);
        }
        let after = state.nodes.get(&node).map(Node::held);
        state.held = state.held - before.unwrap_or(0) + after.unwrap_or(0);
        match (before, after) {
            (None, Some(_)) => _ = self.mark(node).fetch_add(1, Ordering::Relaxed),
            (Some(_), None) => _ = self.mark(node).fetch_sub(1, Ordering::Relaxed),
            _ => {}
        }
        let woken = std::mem::take(&mut state.woken);
        drop(state);
        woken.iter().for_each(|signal| signal.wake());
        result
    }

    fn mark(&self, node: InodeId) -> &AtomicU32 {
        &self.marks[node.0 as usize % MARKS]
    }
}

impl State {
    /// Sets or releases locks on a range. Source: `posix_lock_inode` of Linux.
    fn record(&mut self, want: &Want, waiter: Option<&Waiter<'_>>, most: u64) -> Result<Step, Errno> {
        let Some(node) = self.node(want) else { return Ok(Step::Done) };
        let conflict = node.records.iter().find(|held| want.kind != LockKind::Unlock && held.conflicts_with(want));
        if let Some(held) = conflict {
            let blocker = Blocker { id: held.id, owner: held.owner };
            return self.block(blocker, want, waiter);
        }
        let growth = record::growth(&node.records, want);
        if growth > 0 && self.held + growth > most {
            return Err(Errno::ENOLCK);
        }
        let records = &mut self.nodes.entry(want.node).or_default().records;
        let change = record::set(records, want, &mut self.ids);
        if let (Some(new), Some(waiter)) = (change.new, waiter) {
            self.waiters.succeeded(waiter.id, new);
        }
        change.smaller.into_iter().for_each(|id| self.waiters.wake(id, &mut self.woken));
        Ok(Step::Done)
    }

    /// Sets or releases the lock on the node as a whole. Source: `flock_lock_inode` of Linux.
    fn flock(&mut self, want: &Want, waiter: Option<&Waiter<'_>>, most: u64) -> Result<Step, Errno> {
        let Some(node) = self.node(want) else { return Ok(Step::Done) };
        let (begun, released) = flock::begin(&mut node.flocks, want);
        let conflict = node.flocks.iter().find(|held| held.conflicts_with(want));
        let blocker = conflict.map(|held| Blocker { id: held.id, owner: held.owner });
        if let Some(released) = released {
            self.waiters.wake(released, &mut self.woken);
        }
        match (begun, blocker) {
            (Begun::Done, _) => return Ok(Step::Done),
            (Begun::Adds, Some(blocker)) => return self.block(blocker, want, waiter),
            (Begun::Adds, None) if self.held >= most && released.is_none() => return Err(Errno::ENOLCK),
            (Begun::Adds, None) => {}
        }
        let new = self.ids.next();
        self.nodes.entry(want.node).or_default().flocks.push(Held::new(new, want));
        if let Some(waiter) = waiter {
            self.waiters.succeeded(waiter.id, new);
        }
        Ok(Step::Done)
    }

    /// Returns the node of a request, which is entered if the request may add a lock.
    fn node(&mut self, want: &Want) -> Option<&mut Node> {
        if want.kind == LockKind::Unlock {
            return self.nodes.get_mut(&want.node);
        }
        Some(self.nodes.entry(want.node).or_default())
    }

    /// Lets a request that conflicts wait, if it may.
    fn block(&mut self, blocker: Blocker, want: &Want, waiter: Option<&Waiter<'_>>) -> Result<Step, Errno> {
        let waiter = waiter.ok_or(Errno::EAGAIN)?;
        // Requests that wait for this one are no part of a circle.
        self.waiters.wake(waiter.id, &mut self.woken);
        if want.family == Family::Record && self.waiters.would_deadlock(want.owner, blocker.owner) {
            return Err(Errno::EDEADLK);
        }
        self.waiters.block(blocker, want, waiter);
        Ok(Step::Blocked)
    }

    /// Ends a request: it waits no more.
    fn end(&mut self, request: Id) {
        self.waiters.end(request, &mut self.woken);
    }

    fn release(&mut self, node: InodeId, owner: LockOwner) {
        let Some(of) = self.nodes.get_mut(&node) else { return };
        let kept = |held: &Held| held.owner != owner;
        for held in of.records.iter().chain(&of.flocks).filter(|held| !kept(held)) {
            self.waiters.wake(held.id, &mut self.woken);
        }
        of.records.retain(kept);
        of.flocks.retain(kept);
    }
}

impl Node {
    fn held(&self) -> u64 {
        (self.flocks.len() + self.records.len()) as u64
    }

    fn is_empty(&self) -> bool {
        self.held() == 0 && self.elsewhere.is_empty()
    }
}
