//! The world of a `Vfs`: its trees, how they are attached, and the switches that hold for all of
//! them.
//!
//! Composition, no behaviour.

use super::MountFlags;
use crate::cache::Caches;
use crate::memory::slot::DentryId;
use crate::permission::Access;
use crate::superblock::Trees;

/// All that a `Vfs` is, shared by its handles. Nothing of it is replaced after construction.
pub(crate) struct World {
    pub(crate) trees: Trees,
    /// The root's dentry, pinned for as long as this lives; its own parent.
    pub(crate) root: DentryId,
    /// The mount's switches. Linux: `mnt_flags`.
    pub(crate) mount: MountFlags,
    /// What everyone may do and still has to ask the mount for.
    pub(crate) asks_mount: Access,
    /// Linux: `sysctl_protected_symlinks`.
    pub(crate) symlinks: SymlinkProtection,
    /// Linux: `sysctl_protected_hardlinks`.
    pub(crate) hardlinks: HardlinkProtection,
    /// The budget in bytes, as it was given.
    pub(crate) budget: u64,
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
    #[inline(always)]
    pub(crate) fn caches(&self) -> &Caches {
        &self.trees.caches
    }

    pub(crate) fn protects_symlinks(&self) -> bool {
        self.symlinks == SymlinkProtection::On
    }

    pub(crate) fn protects_hardlinks(&self) -> bool {
        self.hardlinks == HardlinkProtection::On
    }
}
