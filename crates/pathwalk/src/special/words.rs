//! The names of nodes, and what an open does that would have to wait.

use crate::memory::slot::SuperblockId;
use crate::node::NodeKey;

/// A node that may have a pipe or an endpoint: its file system and its key.
pub(crate) type SpecialNode = (SuperblockId, NodeKey);

/// The behaviour of an open that would have to wait for another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Patience {
    /// It waits.
    Waits,
    /// It does as with `O_NONBLOCK`, and so do reads and writes.
    Nonblocking,
    /// It fails with `EAGAIN`. Reads and writes wait.
    OpensAtOnce,
}
