//! The ground that a tree of mounts stands on: the slots that walks read, and the directories.
//!
//! The tree decides, and the ground shows the decisions to walks. The calls of one operation follow
//! each other under the writers' mutex. Between two of them a walk may see neither the old place
//! nor the new one, so the ground makes walks that overlapped an operation try again. During a call
//! the tree does not call its own operations, and holds nothing that the ground could wait for.

use super::Attributes;
use super::attributes::IdMapNumber;
use crate::Errno;
use crate::abi::SuperblockFlags;
use crate::memory::slot::{DentryId, MountId, SuperblockId};
use crate::permission::IdMap;

/// The slots of mounts and the directories below them.
pub(crate) trait Ground {
    /// Takes a number for a mount. The number, the superblock and the root dentry are held until
    /// the tree gives the number back. Fails with `ENOSPC` or `ENOMEM` if there is none.
    fn new_mount(&self, superblock: SuperblockId, root: DentryId, attributes: &Attributes) -> Result<MountId, Errno>;

    /// Shows the mount to walks on dentry `point` of mount `parent`. That place is held.
    fn show(&self, mount: MountId, parent: MountId, point: DentryId);

    /// Hides the mount from walks; its place is no longer held.
    fn hide(&self, mount: MountId);

    /// Changes the attributes of a mount. Ends the effect of [`bar_writers`](Self::bar_writers).
    fn set(&self, mount: MountId, attributes: &Attributes);

    /// Returns whether mounts of this file system may have id maps. Linux: `FS_ALLOW_IDMAP`.
    fn allows_id_maps(&self, superblock: SuperblockId) -> bool;

    /// Returns the number by which walks find an id map. Fails with `ENOSPC` if there are too many.
    fn enter_id_map(&self, map: &IdMap) -> Result<IdMapNumber, Errno>;

    /// Keeps writers out of a mount that becomes read-only or id-mapped, until `set` or
    /// `admit_writers`. Returns false, and changes nothing, if the mount has a writer. Linux:
    /// `mnt_hold_writers`.
    fn bar_writers(&self, mount: MountId) -> bool;

    /// Lets writers in again, since the change failed. Linux: `mnt_unhold_writers`.
    fn admit_writers(&self, mount: MountId);

    /// Returns the switches of a superblock that has a mount.
    fn superblock_flags(&self, superblock: SuperblockId) -> SuperblockFlags;

    /// Sets the switches of a superblock, and copies them to all its mounts. The file system's own
    /// switches stay. Fails with `EBUSY` if the superblock would become read-only while one of its
    /// mounts has a writer, or a node that has no name is held; or with another error of the file
    /// system. On failure nothing changes. Linux: `reconfigure_super`.
    fn set_superblock(&self, superblock: SuperblockId, to: SuperblockFlags) -> Result<(), Errno>;

    /// Returns whether a holder besides the tree has the mount. The result is a guess: another
    /// thread may take or give back a hold meanwhile.
    fn is_busy(&self, mount: MountId) -> bool;

    /// Gives the tree's hold back if it is the only one. Returns false, and changes nothing, if
    /// there is another. The result is exact: after true no walk takes a hold. If the mount is
    /// shown, the tree hides it afterwards, and only then is its number free.
    fn close(&self, mount: MountId) -> bool;

    /// Gives the tree's hold back, whatever other holders there are.
    fn release(&self, mount: MountId);

    /// Marks a mount to expire at the next request; returns whether it was marked already. A use of
    /// the mount clears the mark.
    fn expire(&self, mount: MountId) -> bool;

    /// Records that the tree keeps this unmounted mount, since mounts are still reachable through
    /// it. The ground calls [`Change::collect`](super::Change::collect) when the tree's hold is the
    /// last one.
    fn linger(&self, mount: MountId);

    /// Returns the root of a mount that the caller holds. The mount may have left the tree.
    fn root(&self, mount: MountId) -> DentryId;

    /// Returns whether `top` is `dentry` or above it. Linux: `is_subdir`.
    fn is_below(&self, dentry: DentryId, top: DentryId) -> bool;

    /// Returns whether this is a directory.
    fn is_directory(&self, dentry: DentryId) -> bool;

    /// Returns whether the file, or a directory above it, was removed, or the file never had a
    /// name.
    fn is_removed(&self, dentry: DentryId) -> bool;
}
