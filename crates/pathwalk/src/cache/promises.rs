//! The version of a security hook's promises about the search of directories: see
//! [`search`](super::search).

use crate::sync::{AtomicU64, Ordering};

/// Whether a hook cares about search, and the version of its promises.
pub(crate) struct SearchRules {
    /// Fixed when the `Vfs` is built.
    asks: bool,
    /// The number of withdrawals. It is compared under the lock of the inode of which a promise is
    /// noted, and is incremented before that lock is taken to withdraw the promise; `Relaxed`.
    withdrawals: AtomicU64,
}

/// The number of withdrawals before a hook was asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PromiseVersion(u64);

impl SearchRules {
    pub(crate) fn new(asks: bool) -> SearchRules {
        SearchRules { asks, withdrawals: AtomicU64::new(0) }
    }

    /// Returns whether a hook may have to be asked when a directory is searched.
    pub(crate) fn asks(&self) -> bool {
        self.asks
    }

    /// Returns the version, for a promise that is about to be asked for.
    pub(crate) fn version(&self) -> PromiseVersion {
        PromiseVersion(self.withdrawals.load(Ordering::Relaxed))
    }

    /// Counts a withdrawal, before the locks of the inodes are taken of which promises are
    /// withdrawn.
    pub(super) fn withdraw(&self) {
        self.withdrawals.fetch_add(1, Ordering::Relaxed);
    }
}
