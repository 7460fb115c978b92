//! Locks, leases, file handles, opens of what is open, and sockets, as system calls.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;

use pathwalk::{AtFlags, FileType, LockKind};
use rustix::fs::{self, FlockOperation, ResolveFlags};
use rustix::io;

use super::calls::{answered, c_path, done, look, open, open_flags};
use super::{Descriptor, Stage, Told};
use crate::cast::Actor;
use crate::op::Op;
use crate::open_files::{in_the_way, is_for_socket, leased};
use crate::outcome::Answer;
use crate::words::{Family, KEPT, Slot, SocketKind};

/// What a program keeps beside its descriptors.
#[derive(Default)]
pub(super) struct Keeps {
    handles: [Option<Handle>; KEPT],
    bound: [Option<UnixDatagram>; KEPT],
}

/// The longest handle that the kernel makes, in bytes: `MAX_HANDLE_SZ`.
const HANDLE_MAX: usize = 128;

/// The kernel's `struct file_handle`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Handle {
    length: u32,
    kind: i32,
    bytes: [u8; HANDLE_MAX],
}

const KINDS: [(LockKind, libc::c_int); 3] =
    [(LockKind::Shared, libc::F_RDLCK), (LockKind::Exclusive, libc::F_WRLCK), (LockKind::Unlock, libc::F_UNLCK)];

fn number(kind: LockKind) -> libc::c_int {
    KINDS.iter().find(|(ours, _)| *ours == kind).expect("each kind is in the table").1
}

fn kind(number: libc::c_int) -> LockKind {
    KINDS.iter().find(|(_, theirs)| *theirs == number).expect("the kernel has three kinds").0
}

/// Has the signal ignored by which the kernel tells holders of leases of a break: it would end the
/// process.
pub(super) fn ignore_breaks() {
    // SAFETY: to ignore a signal takes no handler.
    unsafe { libc::signal(libc::SIGIO, libc::SIG_IGN) };
}

impl Stage<'_> {
    pub(super) fn of_open_files(&mut self, actor: Actor, op: &Op) -> io::Result<Answer> {
        match *op {
            Op::Flock { slot, kind } => {
                let operation = match kind {
                    LockKind::Shared => FlockOperation::NonBlockingLockShared,
                    LockKind::Exclusive => FlockOperation::NonBlockingLockExclusive,
                    LockKind::Unlock => FlockOperation::NonBlockingUnlock,
                };
                fs::flock(self.fd(slot), operation).map(done)
            }
            Op::SetLock { slot, family, kind, start, length } if self.locks_compare(slot, family)? => {
                let command = if family == Family::Process { libc::F_SETLK } else { libc::F_OFD_SETLK };
                self.lock(slot, command, kind, (start, length)).map(|_| Answer::Done)
            }
            Op::GetLock { slot, family, kind: wanted, start, length } if self.locks_compare(slot, family)? => {
                let command = if family == Family::Process { libc::F_GETLK } else { libc::F_OFD_GETLK };
                let found = self.lock(slot, command, wanted, (start, length))?;
                let found_kind = kind(found.l_type.into());
                let lock = (found_kind, found.l_start as u64, found.l_len as u64);
                Ok(in_the_way((found_kind != LockKind::Unlock).then_some(lock)))
            }
            Op::Lease { slot, kind } => {
                // SAFETY: the descriptor is open, and the call takes numbers.
                answered(unsafe { libc::fcntl(self.fd(slot).as_raw_fd(), libc::F_SETLEASE, number(kind)) }.into()).map(done)
            }
            Op::GetLease { slot } => {
                // SAFETY: the descriptor is open, and the call takes numbers.
                let found = unsafe { libc::fcntl(self.fd(slot).as_raw_fd(), libc::F_GETLEASE) };
                answered(found.into()).map(|()| leased(kind(found)))
            }
            Op::NameToHandle { kept, ref at, flags } => {
                let path = c_path(&at.path.0)?;
                let mut handle = Handle { length: HANDLE_MAX as u32, kind: 0, bytes: [0; HANDLE_MAX] };
                let (mut mount, at, flags) = (0, self.at(at.at).as_raw_fd(), flags.bits() as libc::c_int);
                let (into, mount) = ((&raw mut handle).cast(), &raw mut mount);
                // SAFETY: the path ends with a NUL; it, the number and the structure, which says
                // how long it is, outlive the call.
                let named = unsafe { libc::name_to_handle_at(at, path.as_ptr(), into, mount, flags) };
                answered(named.into())?;
                self.keeps.handles[usize::from(kept.0)] = Some(handle);
                Ok(Answer::Done)
            }
            Op::OpenByHandle { slot, mount, kept, flags } => {
                let Some(mut handle) = self.keeps.handles[usize::from(kept.0)] else { return Ok(Answer::NotCarriedOut) };
                let (at, flags) = (self.fd(mount).as_raw_fd(), open_flags(flags).bits() as libc::c_int);
                // SAFETY: the structure outlives the call, which reads as many bytes as it says.
                let opened = unsafe { libc::open_by_handle_at(at, (&raw mut handle).cast(), flags) };
                answered(opened.into())?;
                // SAFETY: the descriptor was just opened, and nothing else has it.
                self.keep(actor, slot, unsafe { OwnedFd::from_raw_fd(opened) }, Told::IsAny)
            }
            Op::Reopen { slot, from, flags } => {
                use std::os::fd::AsFd;
                let link = format!("self/fd/{}", self.fd(from).as_raw_fd());
                let (fd, _) = open(self.kernel.proc.as_fd(), link.as_bytes(), flags, 0, ResolveFlags::empty())?;
                let path = self.slots[usize::from(from.0)].as_ref().map_or(Told::Compares, |from| from.path);
                self.keep(actor, slot, fd, path)
            }
            Op::BindSocket { kept, ref path } if is_for_socket(&path.0) => {
                let socket = UnixDatagram::bind(as_path(&path.0)).map_err(|error| raw(&error))?;
                self.keeps.bound[usize::from(kept.0)] = Some(socket);
                Ok(Answer::Done)
            }
            Op::Unbind { kept } => {
                self.keeps.bound[usize::from(kept.0)] = None;
                Ok(Answer::Done)
            }
            Op::Connect { ref path, kind } if is_for_socket(&path.0) => {
                let path = as_path(&path.0);
                let connected = match kind {
                    SocketKind::Datagram => UnixDatagram::unbound().and_then(|socket| socket.connect(path)),
                    SocketKind::Stream => UnixStream::connect(path).map(drop),
                };
                connected.map_err(|error| raw(&error)).map(done)
            }
            _ => Ok(Answer::NotCarriedOut),
        }
    }

    fn locks_compare(&self, slot: Slot, family: Family) -> io::Result<bool> {
        Ok(family == Family::File || look(self.fd(slot), b"", AtFlags::EMPTY_PATH)?.kind == FileType::Regular)
    }

    /// Carries out a command on a lock, and returns the lock as it is afterwards.
    fn lock(&self, slot: Slot, command: libc::c_int, kind: LockKind, (start, length): (u64, u64)) -> io::Result<libc::flock> {
        // SAFETY: zeroes are a valid value of this structure of numbers.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        (lock.l_type, lock.l_start, lock.l_len) = (number(kind) as i16, start as i64, length as i64);
        // SAFETY: the descriptor is open, and the structure lives during the call.
        answered(unsafe { libc::fcntl(self.fd(slot).as_raw_fd(), command, &raw mut lock) }.into())?;
        Ok(lock)
    }

    fn keep(&mut self, actor: Actor, slot: Slot, fd: OwnedFd, path: Told) -> io::Result<Answer> {
        let node = look(&fd, b"", AtFlags::EMPTY_PATH)?;
        self.slots[usize::from(slot.0)] = Some(Descriptor { fd, opener: actor, path });
        Ok(Answer::Node(node))
    }
}

fn as_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

fn raw(error: &std::io::Error) -> io::Errno {
    io::Errno::from_io_error(error).unwrap_or(io::Errno::IO)
}
