//! Locks, leases, file handles, opens of what is open, and sockets.

use pathwalk::{FileType, LockKind};
use pathwalk_model::{
    AT_FDCWD, Family as ModelFamily, HandleFlags as ModelHandleFlags, Id, LockKind as ModelLockKind,
    SocketKind as ModelSocketKind,
};

use super::convert::{node, open_flags};
use super::{Answered, World, done, number};
use crate::op::Op;
use crate::open_files::{in_the_way, is_for_socket, leased};
use crate::outcome::Answer;
use crate::words::{Family, KEPT, Slot, SocketKind};

/// What a program keeps beside its descriptors: handles, and the nodes of sockets that are bound.
#[derive(Clone, Hash, Default)]
pub(super) struct Keeps {
    handles: [Option<Id>; KEPT],
    bound: [Option<Id>; KEPT],
}

fn theirs(kind: LockKind) -> ModelLockKind {
    match kind {
        LockKind::Shared => ModelLockKind::Shared,
        LockKind::Exclusive => ModelLockKind::Exclusive,
        LockKind::Unlock => ModelLockKind::Unlock,
    }
}

fn ours(kind: ModelLockKind) -> LockKind {
    match kind {
        ModelLockKind::Shared => LockKind::Shared,
        ModelLockKind::Exclusive => LockKind::Exclusive,
        ModelLockKind::Unlock => LockKind::Unlock,
    }
}

fn family_of(family: Family) -> ModelFamily {
    if family == Family::Process { ModelFamily::Process } else { ModelFamily::File }
}

impl World {
    pub(super) fn of_open_files(&mut self, op: &Op) -> Answered<Answer> {
        let compare = match *op {
            Op::SetLock { slot, family, .. } | Op::GetLock { slot, family, .. } => self.locks_compare(slot, family)?,
            _ => true,
        };
        if !compare {
            return Ok(Answer::NotCarriedOut);
        }
        let Self { model, process, keeps, .. } = self;
        match *op {
            Op::Flock { slot, kind } => model.flock(process, number(slot), theirs(kind)).map(done),
            Op::SetLock { slot, family, kind, start, length } => {
                let range = (start as i64, length as i64);
                model.set_lock(process, number(slot), family_of(family), theirs(kind), range).map(done)
            }
            Op::GetLock { slot, family, kind, start, length } => {
                let range = (start as i64, length as i64);
                let found = model.lock_in_the_way(process, number(slot), family_of(family), theirs(kind), range)?;
                Ok(in_the_way(found.map(|(kind, start, length)| (ours(kind), start as u64, length as u64))))
            }
            Op::Lease { slot, kind } => model.set_lease(process, number(slot), theirs(kind)).map(done),
            Op::GetLease { slot } => model.lease(process, number(slot)).map(|kind| leased(ours(kind))),
            Op::NameToHandle { kept, ref at, flags } => {
                let how = ModelHandleFlags::from_bits_truncate(flags.bits());
                let start = at.at.map_or(AT_FDCWD, number);
                keeps.handles[usize::from(kept.0)] = Some(model.name_to_handle(process, start, &at.path.0, how)?);
                Ok(Answer::Done)
            }
            Op::OpenByHandle { slot, mount, kept, flags } => {
                let Some(handle) = keeps.handles[usize::from(kept.0)] else { return Ok(Answer::NotCarriedOut) };
                let new = model.open_by_handle(process, number(mount), handle, open_flags(flags))?;
                self.fill(slot, new)
            }
            Op::Reopen { slot, from, flags } => {
                let new = model.reopen(process, number(from), open_flags(flags))?;
                self.fill(slot, new)
            }
            Op::BindSocket { kept, ref path } if is_for_socket(&path.0) => {
                let bound = model.bind(process, &path.0)?;
                if let Some(before) = keeps.bound[usize::from(kept.0)].replace(bound) {
                    model.unbind(before);
                }
                Ok(Answer::Done)
            }
            Op::Unbind { kept } => {
                if let Some(before) = keeps.bound[usize::from(kept.0)].take() {
                    model.unbind(before);
                }
                Ok(Answer::Done)
            }
            Op::Connect { ref path, kind } if is_for_socket(&path.0) => {
                let kind = if kind == SocketKind::Datagram { ModelSocketKind::Datagram } else { ModelSocketKind::Stream };
                model.connect(process, &path.0, kind).map(done)
            }
            _ => Ok(Answer::NotCarriedOut),
        }
    }

    fn locks_compare(&mut self, slot: Slot, family: Family) -> Answered<bool> {
        let kind = node(&self.model.fstat(&mut self.process, number(slot))?).kind;
        Ok(family == Family::File || kind == FileType::Regular)
    }
}
