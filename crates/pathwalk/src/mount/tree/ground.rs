//! What a tree of mounts stands on: the slots that walks read, and the directories.
//!
//! The tree decides; the ground shows walks what was decided. All calls of an operation come in a
//! row, under the writers' mutex. Between two of them walks may see neither the old place nor the
//! new one, so the ground makes walks try again that overlapped an operation. The tree calls
//! nothing of itself from inside a call, and holds nothing that the ground could wait for.

use super::Attributes;
use super::attributes::IdMapNumber;
use crate::Errno;
use crate::abi::SuperblockFlags;
use crate::memory::slot::{DentryId, MountId, SuperblockId};
use crate::permission::IdMap;

/// The slots of mounts and the directories below them.
pub(crate) trait Ground {
    /// Takes a number for a mount. The number, the superblock and the root dentry are held until
    /// the tree gives the number back. `ENOSPC` or `ENOMEM` if there is none.
    fn new_mount(&self, superblock: SuperblockId, root: DentryId, attributes: &Attributes) -> Result<MountId, Errno>;

    /// Lets walks find the mount on dentry `point` of mount `parent`, which is held as a place.
    fn show(&self, mount: MountId, parent: MountId, point: DentryId);

    /// Lets walks find the mount nowhere; its place is not held any more.
    fn hide(&self, mount: MountId);

    /// Changes the attributes of a mount. Ends what [`bar_writers`](Self::bar_writers) began.
    fn set(&self, mount: MountId, attributes: &Attributes);

    /// Whether mounts of this file system may have id maps. Linux: `FS_ALLOW_IDMAP`.
    fn allows_id_maps(&self, superblock: SuperblockId) -> bool;

    /// Returns the number by which walks find an id map. `ENOSPC` if there are too many.
    fn enter_id_map(&self, map: &IdMap) -> Result<IdMapNumber, Errno>;

    /// Keeps writers out of a mount that becomes read-only or id-mapped, until `set` or `admit_writers`. False
    /// if there is a writer inside; then nothing happened. Linux: `mnt_hold_writers`.
    fn bar_writers(&self, mount: MountId) -> bool;

    /// Lets writers in again: the change did not come about. Linux: `mnt_unhold_writers`.
    fn admit_writers(&self, mount: MountId);

    /// Returns the switches of a superblock of which something is mounted.
    fn superblock_flags(&self, superblock: SuperblockId) -> SuperblockFlags;

    /// Sets them, and has all its mounts tell of them. What the file system says of itself stays.
    /// `EBUSY` if it would become read-only while one of its mounts has a writer, or a node that
    /// has no name is held; or another error of the file system: then nothing happened. Linux:
    /// `reconfigure_super`.
    fn set_superblock(&self, superblock: SuperblockId, to: SuperblockFlags) -> Result<(), Errno>;

    /// Whether a holder beside the tree has the mount. A guess: another thread may take a hold or
    /// give one back meanwhile.
    fn is_busy(&self, mount: MountId) -> bool;

    /// Gives the tree's hold back if it is the only one. False if there is another; then nothing
    /// happened. Exact: after true no walk takes a hold. A mount that is shown is hidden after
    /// that, and only then its number is free.
    fn close(&self, mount: MountId) -> bool;

    /// Gives the tree's hold back, whatever other holders there are.
    fn release(&self, mount: MountId);

    /// Marks a mount to go with the next request to let it expire; returns whether it was marked
    /// already. The mark goes when the mount is used.
    fn expire(&self, mount: MountId) -> bool;

    /// Tells that the tree keeps this unmounted mount, since mounts are still reachable through
    /// it. The ground calls [`Change::collect`](super::Change::collect) when the tree's hold is
    /// the last one.
    fn linger(&self, mount: MountId);

    /// Returns the root of a mount that the caller holds, which may be the tree's no longer.
    fn root(&self, mount: MountId) -> DentryId;

    /// Whether `top` is `dentry` or above it. Linux: `is_subdir`.
    fn is_below(&self, dentry: DentryId, top: DentryId) -> bool;

    /// Whether this is a directory.
    fn is_directory(&self, dentry: DentryId) -> bool;

    /// Whether the file was removed, or a directory above it was, or it never had a name.
    fn is_removed(&self, dentry: DentryId) -> bool;
}
