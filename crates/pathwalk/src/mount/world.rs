//! The world of a `Vfs`: its trees, how they are attached, and the switches that hold for all of
//! them.
//!
//! This is composition without behaviour. The functions on it are in the other files of this room,
//! and in the rooms above.

use super::place::Place;
use super::records::MountRecords;
use super::tree::{NamespaceId, Tree};
use std::sync::Arc;

use crate::cache::Caches;
use crate::locks::table::LockTable;
use crate::memo::Memo;
use crate::memory::alone::Alone;
use crate::security::SecurityHook;
use crate::special::Specials;
use crate::superblock::Trees;
use crate::sync::Mutex;

/// The parts of a `Vfs`, which its handles share. None is replaced after construction.
pub(crate) struct World {
    pub(crate) trees: Trees,
    /// Mounts as walks read them.
    pub(crate) mounts: MountRecords,
    /// Mounts as they are changed. Linux: the data that `namespace_sem` protects.
    pub(crate) tree: Alone<Mutex<Tree>>,
    /// The place where contexts start, which is pinned for as long as this lives.
    pub(crate) root: Place,
    /// The namespace that contexts start in, which lives as long as this.
    pub(crate) namespace: NamespaceId,
    /// What is refused although permissions allow it.
    pub(crate) policy: Policy,
    /// The memo of whole paths.
    pub(crate) memo: Memo,
    /// The locks on files.
    pub(crate) locks: LockTable,
    /// Pipes, endpoints of sockets, and drivers.
    pub(crate) special: Specials,
    /// The budget in bytes, as the caller gave it.
    pub(crate) budget: u64,
}

/// What is refused although permissions allow it. Fixed when the `Vfs` is built.
pub(crate) struct Policy {
    /// The switch of protected links. Linux: `sysctl_protected_symlinks`.
    pub(crate) symlinks: SymlinkProtection,
    /// The switch of protected hard links. Linux: `sysctl_protected_hardlinks`.
    pub(crate) hardlinks: HardlinkProtection,
    /// The security hook.
    pub(crate) security: Option<Arc<dyn SecurityHook>>,
}

/// The `protected_symlinks` switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SymlinkProtection {
    Off,
    On,
}

/// The `protected_hardlinks` switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HardlinkProtection {
    Off,
    On,
}

impl World {
    /// Creates a world without a root.
    pub(crate) fn new(
        trees: Trees,
        mounts: MountRecords,
        policy: Policy,
        memo: Memo,
        locks: LockTable,
        special: Specials,
        budget: u64,
    ) -> World {
        let tree = Alone(Mutex::new(Tree::new(Tree::LIMIT)));
        let (root, namespace) = (Place::NONE, NamespaceId::NONE);
        World { trees, mounts, tree, root, namespace, policy, memo, locks, special, budget }
    }

    #[inline(always)]
    pub(crate) fn caches(&self) -> &Caches {
        &self.trees.caches
    }

    pub(crate) fn protects_symlinks(&self) -> bool {
        self.policy.symlinks == SymlinkProtection::On
    }

    pub(crate) fn protects_hardlinks(&self) -> bool {
        self.policy.hardlinks == HardlinkProtection::On
    }
}

impl Drop for World {
    fn drop(&mut self) {
        drop(self.trees.dropped.take(&self.trees.caches));
        // File systems that are still mounted are synced, as on unmounting. An error is dropped.
        for superblock in self.trees.superblocks.all() {
            _ = superblock.fs.sync_at_end();
        }
    }
}
