//! The caller of an operation, as the tree sees it.

use crate::mount::place::Place;

/// The number of a namespace, never used again; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct NamespaceId(pub(crate) u64);

impl NamespaceId {
    pub(crate) const NONE: NamespaceId = NamespaceId(0);
}

/// The caller of an operation: its namespace, and its root directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) namespace: NamespaceId,
    pub(crate) root: Place,
}
