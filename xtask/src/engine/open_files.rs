//! Locks, leases, file handles, opens of what is open, and sockets.

use std::sync::Arc;

use pathwalk::{Bound, Errno, FileHandle, FileType, Lease, LockKind, LockRange, LockWait, OpenFlags, OpenHow};

use super::convert::{at_once, node};
use super::data::Descriptor;
use super::{Process, Stage, done};
use crate::cast::Actor;
use crate::op::Op;
use crate::open_files::{in_the_way, is_for_socket, leased};
use crate::outcome::Answer;
use crate::words::{Family, KEPT, SLOTS, Slot, SocketKind};

/// What a program keeps beside its descriptors.
#[derive(Default)]
pub(super) struct Keeps {
    /// The leases of descriptors. Each ends when its file is closed.
    leases: [Option<Lease>; SLOTS],
    handles: [Option<FileHandle>; KEPT],
    bound: [Option<Bound>; KEPT],
}

/// The value that is bound to a socket: its type.
struct Datagram;

impl Stage {
    pub(super) fn of_open_files(&mut self, actor: Actor, op: &Op) -> Result<Answer, Errno> {
        match *op {
            Op::Flock { slot, kind } => self.slots.file(slot).flock(kind, LockWait::No).map(done),
            Op::SetLock { slot, family, kind, start, length } if self.locks_compare(slot, family) => {
                let (file, range) = (self.slots.file(slot), LockRange::new(start, length));
                match family {
                    Family::Process => file.locks_of(self.overview.lock_owner()).setlk(kind, range, LockWait::No).map(done),
                    Family::File => file.ofd_setlk(kind, range, LockWait::No).map(done),
                }
            }
            Op::GetLock { slot, family, kind, start, length } if self.locks_compare(slot, family) => {
                let (file, range) = (self.slots.file(slot), LockRange::new(start, length));
                let found = match family {
                    Family::Process => file.locks_of(self.overview.lock_owner()).getlk(kind, range)?,
                    Family::File => file.ofd_getlk(kind, range)?,
                };
                Ok(in_the_way(found.map(|lock| (lock.kind, lock.range.start, lock.range.len))))
            }
            Op::Lease { slot, kind } => self.lease(actor, slot, kind).map(done),
            Op::GetLease { slot } => self.slots.file(slot).getlease().map(leased),
            Op::NameToHandle { kept, ref at, flags } => {
                let found = self.processes[actor.index()].face.name_to_handle(self.slots.at(at.at), &at.path.0, flags)?;
                self.keeps.handles[usize::from(kept.0)] = Some(found.0);
                Ok(Answer::Done)
            }
            Op::OpenByHandle { slot, mount, kept, flags } => {
                let Some(handle) = self.keeps.handles[usize::from(kept.0)].clone() else { return Ok(Answer::NotCarriedOut) };
                let mount = self.slots.file(mount);
                if mount.flags().contains(OpenFlags::PATH) {
                    return Err(Errno::EBADF);
                }
                let how = OpenHow { flags: at_once(flags), ..OpenHow::default() };
                let file = self.processes[actor.index()].face.open_by_handle(mount.handle(), &handle, &how)?;
                self.keep(actor, slot, file)
            }
            Op::Reopen { slot, from, flags } => {
                let how = OpenHow { flags: at_once(flags), ..OpenHow::default() };
                let file = self.processes[actor.index()].face.reopen(self.slots.file(from).handle(), how)?;
                self.keep(actor, slot, Arc::new(file))
            }
            Op::BindSocket { kept, ref path } if is_for_socket(&path.0) => {
                let bound = self.processes[actor.index()].face.bind_socket(&path.0, Arc::new(Datagram))?;
                self.keeps.bound[usize::from(kept.0)] = Some(bound);
                Ok(Answer::Done)
            }
            Op::Unbind { kept } => {
                self.keeps.bound[usize::from(kept.0)] = None;
                Ok(Answer::Done)
            }
            Op::Connect { ref path, kind } if is_for_socket(&path.0) => {
                let face = &self.processes[actor.index()].face;
                match kind {
                    SocketKind::Datagram => face.connect_socket::<Datagram>(&path.0).map(drop).map(done),
                    SocketKind::Stream => face.connect_socket::<()>(&path.0).map(drop).map(done),
                }
            }
            _ => Ok(Answer::NotCarriedOut),
        }
    }

    fn locks_compare(&self, slot: Slot, family: Family) -> bool {
        family == Family::File || self.slots.file(slot).handle().kind() == FileType::Regular
    }

    fn lease(&mut self, actor: Actor, slot: Slot, kind: LockKind) -> Result<(), Errno> {
        let file = self.slots.file(slot);
        let is_own = self.slots.opener(slot) == Some(actor);
        let Process { own, face, .. } = &mut self.processes[actor.index()];
        let kept = &mut self.keeps.leases[usize::from(slot.0)];
        if kind != LockKind::Unlock {
            let leased = if is_own { face.lease(file, kind) } else { file.by(own).lease(kind) };
            *kept = Some(leased?);
            return Ok(());
        }
        // A request that changes nothing shows whether this actor may lease the file at all.
        match file.by(own).lease(kind).map(drop) {
            Err(Errno::EINVAL) if file.handle().kind() == FileType::Regular => {}
            refused => return refused,
        }
        let lease = kept.take().ok_or(Errno::EAGAIN)?;
        face.set_lease(&lease, kind)
    }

    fn keep(&mut self, actor: Actor, slot: Slot, file: Arc<pathwalk::File>) -> Result<Answer, Errno> {
        let node = node(&file.handle().attributes()?);
        self.slots.set(slot, Some(Descriptor { file, opener: actor }));
        Ok(Answer::Node(node))
    }
}
