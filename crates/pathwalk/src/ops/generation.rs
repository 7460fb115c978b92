//! `FS_IOC_GETVERSION`, `FS_IOC_SETVERSION`: the generation of a node.
//!
//! The checks of a change come in the order of ext4: whether the node has a generation (`ENOTTY`),
//! its owner (`EPERM`), the mount (`EROFS`). That a file system has generations and sets none is
//! its own answer, and comes last (`ENOTTY`); ext4 gives it before the mount's.
//!
//! Source: `ext4_ioctl_setversion` of Linux.

use super::inode_flags::FlagsOf;
use super::lookup;
use super::may_change::owner;
use crate::Errno;
use crate::abi::AtFlags;
use crate::walk::asker::{Asker, Begin};
use crate::walk::{Env, Whose};

/// Returns the generation of the node that a path leads to.
pub(crate) fn get_at(asker: &Asker, at: Begin, path: &[u8], how: AtFlags) -> Result<u32, Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let node = lookup::pinned_at(&env, at, path, how)?;
    env.trees().generation(env.caches().dentries.inode(node.id()))
}

impl FlagsOf<'_> {
    /// Returns the generation. No right to the node is required.
    pub(crate) fn generation(&self) -> Result<u32, Errno> {
        self.world.trees.generation(self.inode())
    }

    /// Sets the generation. It does not matter whether the node is immutable.
    pub(crate) fn set_generation(&self, to: u32) -> Result<(), Errno> {
        self.generation()?;
        let (id, trees) = (self.inode(), &self.world.trees);
        owner(&trees.known_snapshot(id)?, &self.who)?;
        let _writing = self.writing()?;
        let changing = trees.changing(self.place.dentry());
        owner(&trees.known_snapshot(id)?, &self.who)?;
        trees.set_generation(id, to, &changing)
    }
}
