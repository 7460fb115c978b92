//! The rules of what is open: locks, leases, handles, opens without a path, and sockets.

use pathwalk::{Errno, HandleFlags, OpenFlags};

use super::{Rule, drawn, open_flags};
use crate::op::Op;
use crate::outcome::Answer;
use crate::words::Family;

fn answers(answer: &Answer, begin: &[u8]) -> bool {
    matches!(answer, Answer::Bytes(bytes) if bytes.starts_with(begin))
}

pub(super) const RULES: &[Rule] = &[
    drawn("flock", "of another open file is in the way: EAGAIN", |m| m.is(&["flock"]) && m.fails(Errno::EAGAIN)),
    drawn("flock", "a place has none: EBADF", |m| m.is(&["flock"]) && m.fails(Errno::EBADF)),
    drawn("fcntl", "a lock of an open file is in the way of another: EAGAIN", |m| {
        matches!(m.op(), Op::SetLock { family: Family::File, .. }) && m.fails(Errno::EAGAIN)
    }),
    drawn("fcntl", "and of the process: EAGAIN", |m| {
        matches!(m.op(), Op::SetLock { family: Family::Process, .. }) && m.fails(Errno::EAGAIN)
    }),
    drawn("fcntl", "the kind of lock needs the right: EBADF", |m| m.is(&["setlk"]) && m.fails(Errno::EBADF)),
    drawn("fcntl", "a range ends before 2⁶³: EOVERFLOW", |m| m.is(&["setlk"]) && m.fails(Errno::EOVERFLOW)),
    drawn("fcntl", "a lock in the way is found", |m| m.is(&["getlk"]) && answers(&m.outcome.answer, b"Exclusive")),
    drawn("leases", "are granted", |m| m.is(&["lease"]) && m.succeeds()),
    drawn("leases", "are refused beside other files that are open: EAGAIN", |m| m.is(&["lease"]) && m.fails(Errno::EAGAIN)),
    drawn("leases", "are the owner's: EACCES", |m| m.is(&["lease"]) && m.fails(Errno::EACCES)),
    drawn("leases", "are on regular files: EINVAL", |m| m.is(&["lease"]) && m.fails(Errno::EINVAL)),
    drawn("leases", "are broken by an open: EAGAIN", |m| m.is(&["open", "reopen"]) && m.fails(Errno::EAGAIN)),
    drawn("leases", "an exclusive one becomes shared", |m| m.is(&["getlease"]) && answers(&m.outcome.answer, b"Shared")),
    drawn("handles", "need no right to the way, but to all nodes: EPERM", |m| m.is(&["open_by_handle"]) && m.fails(Errno::EPERM)),
    drawn("handles", "lead to their node", |m| m.is(&["open_by_handle"]) && m.succeeds()),
    drawn("handles", "are stale when it is gone: ESTALE", |m| m.is(&["open_by_handle"]) && m.fails(Errno::ESTALE)),
    drawn("handles", "are connectable, or identities, or of no path: EINVAL", |m| {
        m.is(&["name_to_handle"]) && m.fails(Errno::EINVAL)
    }),
    drawn("handles", "identify", |m| {
        matches!(m.op(), Op::NameToHandle { flags, .. } if flags.contains(HandleFlags::FID)) && m.succeeds()
    }),
    drawn("handles", "are not told apart by a place: EBADF", |m| m.is(&["open_by_handle"]) && m.fails(Errno::EBADF)),
    drawn("reopening", "asks for the rights to the node: EACCES", |m| m.is(&["reopen"]) && m.fails(Errno::EACCES)),
    drawn("reopening", "opens what was a place", |m| {
        matches!(m.op(), Op::Reopen { flags, .. } if !flags.contains(OpenFlags::PATH)) && m.succeeds()
    }),
    drawn("sockets", "are bound", |m| m.is(&["bindsocket"]) && m.succeeds()),
    drawn("sockets", "a name that is taken: EADDRINUSE", |m| m.is(&["bindsocket"]) && m.fails(Errno::EADDRINUSE)),
    drawn("sockets", "are found", |m| m.is(&["connect"]) && m.succeeds()),
    drawn("sockets", "nothing is bound: ECONNREFUSED", |m| m.is(&["connect"]) && m.fails(Errno::ECONNREFUSED)),
    drawn("sockets", "of another type: EPROTOTYPE", |m| m.is(&["connect"]) && m.fails(Errno::EPROTOTYPE)),
    drawn("sockets", "need the right to write: EACCES", |m| m.is(&["connect"]) && m.fails(Errno::EACCES)),
    drawn("sockets", "cannot be opened: ENXIO", |m| {
        m.names_a(pathwalk::FileType::Socket) && !open_flags(m).is_empty() && m.fails(Errno::ENXIO)
    }),
];
