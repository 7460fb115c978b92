//! Leases on open files. No open waits: one that is in the way of a lease begins its break, as with
//! `O_NONBLOCK`, and no time passes in which it ends.
//!
//! Source: `generic_setlease`, `check_conflicting_open` and `__break_lease` of Linux.

use crate::errno::{Errno, Result};
use crate::flags::{Capabilities, OpenFlags};
use crate::locks::LockKind;
use crate::node::{Id, State};
use crate::process::Process;
use crate::{Call, Model};

/// The lease of an open file.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Lease {
    file: Id,
    node: Id,
    kind: LockKind,
    /// Whether it is to become shared, or to be released.
    to_shared: bool,
    to_none: bool,
}

impl Model {
    /// Leases a file, or ends its lease, as `F_SETLEASE` does.
    pub fn set_lease(&self, process: &mut Process, descriptor: i32, kind: LockKind) -> Result<()> {
        let mut call = self.call(process);
        let id = call.process.open_file(descriptor)?;
        let file = call.state.open_file(id)?.not_place()?.clone();
        let node = call.state.node(file.node);
        if call.who().fsuid != node.uid && !call.who().has(Capabilities::LEASE) {
            return Err(Errno::EACCES);
        }
        if !node.is_file() {
            return Err(Errno::EINVAL);
        }
        let own = call.state.leases.iter().position(|lease| lease.file == id);
        if kind == LockKind::Unlock {
            let own = own.ok_or(Errno::EAGAIN)?;
            call.state.leases.remove(own);
            return Ok(());
        }
        call.may_lease(file.node, file.flags, kind)?;
        let mut others = call.state.leases.iter().filter(|lease| lease.node == file.node && lease.file != id);
        if others.any(|lease| kind == LockKind::Exclusive || lease.to_none) {
            return Err(Errno::EAGAIN);
        }
        match own {
            Some(own) => {
                let lease = &mut call.state.leases[own];
                lease.kind = kind;
                lease.to_shared &= kind != LockKind::Shared;
            }
            None => call.state.leases.push(Lease { file: id, node: file.node, kind, to_shared: false, to_none: false }),
        }
        Ok(())
    }

    /// Returns what the lease of a file is, or has to become, as `F_GETLEASE` does.
    pub fn lease(&self, process: &mut Process, descriptor: i32) -> Result<LockKind> {
        let call = self.call(process);
        let id = call.process.open_file(descriptor)?;
        call.state.open_file(id)?.not_place()?;
        let lease = call.state.leases.iter().find(|lease| lease.file == id);
        Ok(match lease {
            None => LockKind::Unlock,
            Some(lease) if lease.to_none => LockKind::Unlock,
            Some(lease) if lease.to_shared => LockKind::Shared,
            Some(lease) => lease.kind,
        })
    }
}

impl Call<'_> {
    /// Checks that the files that are open allow a lease to a file with these flags.
    fn may_lease(&self, node: Id, flags: OpenFlags, kind: LockKind) -> Result<()> {
        let open = self.state.open_files().filter(|file| file.node == node && !file.flags.contains(OpenFlags::PATH));
        let (writers, readers): (Vec<_>, Vec<_>) = open.partition(|file| file.flags.writable());
        let own = if flags.writable() { (1, 0) } else { (0, 1) };
        let allowed = if kind == LockKind::Exclusive { (writers.len(), readers.len()) == own } else { writers.is_empty() };
        if allowed { Ok(()) } else { Err(Errno::EAGAIN) }
    }
}

impl State {
    /// Begins the breaks of the leases that an open with these flags is in the way of.
    pub(crate) fn break_leases(&mut self, node: Id, flags: OpenFlags) -> Result<()> {
        let mut conflicts = false;
        for lease in self.leases.iter_mut().filter(|lease| lease.node == node) {
            if flags.writable() {
                lease.to_none = true;
            } else if lease.kind == LockKind::Exclusive {
                lease.to_shared |= !lease.to_none;
            } else {
                continue;
            }
            conflicts = true;
        }
        if conflicts { Err(Errno::EAGAIN) } else { Ok(()) }
    }

    pub(crate) fn end_lease(&mut self, file: Id) {
        self.leases.retain(|lease| lease.file != file);
    }
}
