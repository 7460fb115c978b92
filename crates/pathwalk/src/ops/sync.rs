//! `syncfs(2)`.

use super::lookup;
use crate::Errno;
use crate::abi::{AtFlags, SuperblockFlags};
use crate::mount::{Place, World};
use crate::walk::asker::{Asker, Begin};
use crate::walk::{Env, Whose};

pub(crate) fn syncfs(asker: &Asker, at: Begin, path: &[u8]) -> Result<(), Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let node = lookup::pinned_at(&env, at, path, AtFlags::empty())?;
    syncfs_at(&asker.world, node.place())
}

/// Puts the file system of a pinned place on stable storage, unless it is read-only. Linux:
/// `sync_filesystem`.
pub(crate) fn syncfs_at(world: &World, place: Place) -> Result<(), Errno> {
    let superblock = world.trees.superblock_at(place.dentry());
    if superblock.flags().contains(SuperblockFlags::READ_ONLY) { Ok(()) } else { superblock.fs.sync() }
}
