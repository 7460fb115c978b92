//! Operations on locks, leases, file handles, opens of what is open, and sockets: what of their
//! results is compared.
//!
//! All actors are threads of one process, so they own record locks together, and only those of open
//! files are in the way. A lease is held within one sequence of steps, since an open that does not
//! say that it must not wait would wait for it: those of other steps, such as `truncate(2)`.
//!
//! # What is not compared
//!
//! - Record locks of the process on other nodes than regular files: looking at a directory opens
//!   and closes it, which releases them.
//! - The path of a descriptor that was opened by a handle: of a node with several names, any may be
//!   told.
//! - A handle that was not kept before; a socket's path that is empty, or too long for the kernel.
//! - The opener of a handle that has no right to all nodes but administers the system, whom Linux
//!   lets open directories.

use pathwalk::LockKind;

use crate::op::Op;
use crate::outcome::Answer;

/// The length of the longest path of a socket, in bytes.
const SOCKET_PATH_MAX: usize = 107;

/// Returns whether the kernel takes a path for a socket.
pub(crate) fn is_for_socket(path: &[u8]) -> bool {
    (1..=SOCKET_PATH_MAX).contains(&path.len()) && !path.contains(&0)
}

/// Returns the lock in the way of a request, as it is compared: its kind, first byte and length.
pub(crate) fn in_the_way(found: Option<(LockKind, u64, u64)>) -> Answer {
    Answer::Bytes(found.map_or_else(String::new, |(kind, start, length)| format!("{kind:?} {start} {length}")).into_bytes())
}

/// Returns the kind of a lease, as it is compared.
pub(crate) fn leased(kind: LockKind) -> Answer {
    Answer::Bytes(format!("{kind:?}").into_bytes())
}

impl Op {
    /// Returns whether this module is about the operation.
    pub(crate) fn is_on_open_files(&self) -> bool {
        let locks = matches!(self, Op::Flock { .. } | Op::SetLock { .. } | Op::GetLock { .. });
        let leases = matches!(self, Op::Lease { .. } | Op::GetLease { .. });
        let handles = matches!(self, Op::NameToHandle { .. } | Op::OpenByHandle { .. } | Op::Reopen { .. });
        locks || leases || handles || matches!(self, Op::BindSocket { .. } | Op::Unbind { .. } | Op::Connect { .. })
    }
}
