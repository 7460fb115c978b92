//! Locks on open files: `flock(2)`, and record locks of `fcntl(2)` by the process and by the open
//! file. No request waits.
//!
//! Source: `flock_lock_inode`, `posix_lock_inode` and `posix_test_lock` of Linux.

use crate::Model;
use crate::errno::{Errno, Result};
use crate::node::{Id, State};
use crate::process::Process;

/// The kind of a lock, or its removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// `F_RDLCK`, `LOCK_SH`.
    Shared,
    /// `F_WRLCK`, `LOCK_EX`.
    Exclusive,
    /// `F_UNLCK`, `LOCK_UN`.
    Unlock,
}

/// The owner of record locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// The process: `F_SETLK`.
    Process,
    /// The open file: `F_OFD_SETLK`.
    File,
}

/// The owner of a lock. Open files have numbers that processes do not have.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    Process(u32),
    File(Id),
}

/// A lock on the bytes `first..=last` of a node.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Lock {
    node: Id,
    owner: Owner,
    kind: LockKind,
    first: i64,
    last: i64,
}

/// All locks: those on whole files, and those on ranges, in the order in which their owners came.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Locks {
    whole: Vec<Lock>,
    ranges: Vec<Lock>,
}

impl Lock {
    fn excludes(&self, other: &Lock) -> bool {
        self.node == other.node
            && self.owner != other.owner
            && [self.kind, other.kind].contains(&LockKind::Exclusive)
            && self.first <= other.last
            && other.first <= self.last
    }
}

/// Returns the first and last byte of `length` bytes from `start` on; 0 bytes reach to the end.
fn range(start: i64, length: i64) -> Result<(i64, i64)> {
    if start < 0 || length < 0 {
        return Err(Errno::EINVAL);
    }
    if length == 0 {
        return Ok((start, i64::MAX));
    }
    Ok((start, start.checked_add(length - 1).ok_or(Errno::EOVERFLOW)?))
}

impl Model {
    /// Locks a file as a whole, as `flock` does with `LOCK_NB`.
    pub fn flock(&self, process: &mut Process, descriptor: i32, kind: LockKind) -> Result<()> {
        let mut call = self.call(process);
        let id = call.process.open_file(descriptor)?;
        let node = call.state.open_file(id)?.not_place()?.node;
        let lock = Lock { node, owner: Owner::File(id), kind, first: 0, last: i64::MAX };
        let whole = &mut call.state.locks.whole;
        if whole.iter().any(|held| held.owner == lock.owner && held.kind == kind) {
            return Ok(());
        }
        // A lock of the other kind is given up before a conflict is looked for.
        whole.retain(|held| held.owner != lock.owner);
        if kind == LockKind::Unlock {
            return Ok(());
        }
        if whole.iter().any(|held| held.excludes(&lock)) {
            return Err(Errno::EAGAIN);
        }
        whole.push(lock);
        Ok(())
    }

    /// Locks a range, as `F_SETLK` and `F_OFD_SETLK` do.
    pub fn set_lock(
        &self,
        process: &mut Process,
        descriptor: i32,
        family: Family,
        kind: LockKind,
        (start, length): (i64, i64),
    ) -> Result<()> {
        let mut call = self.call(process);
        let id = call.process.open_file(descriptor)?;
        let file = call.state.open_file(id)?.not_place()?;
        let (first, last) = range(start, length)?;
        let may = match kind {
            LockKind::Shared => file.flags.readable(),
            LockKind::Exclusive => file.flags.writable(),
            LockKind::Unlock => true,
        };
        if !may {
            return Err(Errno::EBADF);
        }
        let owner = if family == Family::File { Owner::File(id) } else { Owner::Process(call.process.number()) };
        let lock = Lock { node: file.node, owner, kind, first, last };
        call.state.locks.set(lock)
    }

    /// Returns the first lock in the way of one on a range: its kind, first byte and length. As
    /// `F_GETLK` and `F_OFD_GETLK` do.
    pub fn lock_in_the_way(
        &self,
        process: &mut Process,
        descriptor: i32,
        family: Family,
        kind: LockKind,
        (start, length): (i64, i64),
    ) -> Result<Option<(LockKind, i64, i64)>> {
        let call = self.call(process);
        let id = call.process.open_file(descriptor)?;
        let node = call.state.open_file(id)?.not_place()?.node;
        if family == Family::Process && kind == LockKind::Unlock {
            return Err(Errno::EINVAL);
        }
        let (first, last) = range(start, length)?;
        let owner = if family == Family::File { Owner::File(id) } else { Owner::Process(call.process.number()) };
        let wanted = Lock { node, owner, kind, first, last };
        // One that is to be released is looked for among the own ones.
        let is_own = |held: &Lock| held.node == node && held.owner == owner && held.first <= last && first <= held.last;
        let is_found = |held: &&Lock| if kind == LockKind::Unlock { is_own(held) } else { held.excludes(&wanted) };
        let found = call.state.locks.ranges.iter().find(is_found);
        let length = |held: &Lock| if held.last == i64::MAX { 0 } else { held.last - held.first + 1 };
        Ok(found.map(|held| (held.kind, held.first, length(held))))
    }
}

impl Locks {
    fn set(&mut self, lock: Lock) -> Result<()> {
        if lock.kind != LockKind::Unlock && self.ranges.iter().any(|held| held.excludes(&lock)) {
            return Err(Errno::EAGAIN);
        }
        let is_own = |held: &Lock| held.node == lock.node && held.owner == lock.owner;
        let at = self.ranges.iter().position(is_own).unwrap_or(self.ranges.len());
        let own: Vec<Lock> = self.ranges.extract_if(.., |held| is_own(held)).collect();
        let mut rest = Vec::new();
        for held in own {
            if held.last < lock.first || lock.last < held.first {
                rest.push(held);
                continue;
            }
            if held.first < lock.first {
                rest.push(Lock { last: lock.first - 1, ..held.clone() });
            }
            if held.last > lock.last {
                rest.push(Lock { first: lock.last + 1, ..held });
            }
        }
        if lock.kind != LockKind::Unlock {
            rest.push(lock);
        }
        rest.sort_by_key(|held| held.first);
        let mut merged: Vec<Lock> = Vec::new();
        for held in rest {
            match merged.last_mut() {
                Some(last) if last.kind == held.kind && last.last + 1 == held.first => last.last = held.last,
                _ => merged.push(held),
            }
        }
        self.ranges.splice(at..at, merged);
        Ok(())
    }
}

impl State {
    /// Releases what a process loses when it closes a descriptor on a node.
    pub(crate) fn release_locks(&mut self, node: Id, process: u32) {
        self.locks.ranges.retain(|held| held.node != node || held.owner != Owner::Process(process));
    }

    /// Releases the locks of an open file that is closed.
    pub(crate) fn release_locks_of(&mut self, file: Id) {
        let is_of = |held: &Lock| held.owner == Owner::File(file);
        self.locks.whole.retain(|held| !is_of(held));
        self.locks.ranges.retain(|held| !is_of(held));
    }
}
