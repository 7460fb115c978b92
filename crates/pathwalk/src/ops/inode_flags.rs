//! `FS_IOC_GETFLAGS`, `FS_IOC_SETFLAGS`: the flags of nodes that users set, by a path or an open
//! file.
//!
//! The checks of a change come in Linux's order:
//!
//! 1. for a path, its flags (`EINVAL`), and the mount (`EROFS`); for an open file, the mount comes
//!    after the next step;
//! 2. whether the node has flags (`ENOTTY`, by a path `EOPNOTSUPP`);
//! 3. its owner (`EPERM`);
//! 4. the capability to change the flags that protect a node (`EPERM`), only if they change;
//! 5. whether the file system keeps all of the flags (`EOPNOTSUPP`).
//!
//! The check and the change belong together, so both are done under the lock for changes of the
//! node's attributes.
//!
//! Source: `fs/file_attr.c` of Linux.

use super::lookup;
use super::may_change::owner;
use crate::Errno;
use crate::abi::AtFlags;
use crate::attr::InodeFlags;
use crate::memory::slot::InodeId;
use crate::mount::{MountWriter, Place, World};
use crate::permission::{Capabilities, Subject};
use crate::walk::asker::{Asker, Begin};
use crate::walk::{Env, Whose};

/// The flags that protect a node.
const PROTECTING: InodeFlags = InodeFlags::IMMUTABLE.union(InodeFlags::APPEND);

/// Returns the flags of the node that a path leads to.
pub(crate) fn get_at(asker: &Asker, at: Begin, path: &[u8], how: AtFlags) -> Result<InodeFlags, Errno> {
    on_path(asker, at, path, how, |node| node.get())
}

/// Sets the flags of the node that a path leads to.
pub(crate) fn set_at(asker: &Asker, at: Begin, path: &[u8], to: InodeFlags, how: AtFlags) -> Result<(), Errno> {
    on_path(asker, at, path, how, |node| {
        let _writing = node.writing()?;
        node.set(to)
    })
}

fn on_path<T>(
    asker: &Asker,
    at: Begin,
    path: &[u8],
    how: AtFlags,
    act: impl FnOnce(FlagsOf<'_>) -> Result<T, Errno>,
) -> Result<T, Errno> {
    if !(AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH).contains(how) {
        return Err(Errno::EINVAL);
    }
    let env = Env::of(asker, Whose::Effective, at);
    let node = lookup::pinned_at(&env, at, path, how)?;
    let acted = act(FlagsOf { world: env.world, place: node.place(), who: env.who_in(node.mount.id()) });
    acted.map_err(|errno| if errno == Errno::ENOTTY { Errno::EOPNOTSUPP } else { errno })
}

/// The flags of a pinned node, and the subject that asks for them, as it comes through the node's
/// mount.
pub(crate) struct FlagsOf<'a> {
    pub(crate) world: &'a World,
    pub(crate) place: Place,
    pub(crate) who: Subject<'a>,
}

impl FlagsOf<'_> {
    /// Returns the flags. No right to the node is required.
    pub(crate) fn get(&self) -> Result<InodeFlags, Errno> {
        self.world.trees.inode_flags(self.inode())
    }

    /// Sets the flags of an open file's node.
    pub(crate) fn set_open(&self, to: InodeFlags) -> Result<(), Errno> {
        self.get()?;
        let _writing = self.writing()?;
        self.set(to)
    }

    /// Sets the flags. The caller writes to the mount.
    fn set(&self, to: InodeFlags) -> Result<(), Errno> {
        let (id, trees) = (self.inode(), &self.world.trees);
        let changing = trees.changing(self.place.dentry());
        let before = trees.inode_flags(id)?;
        owner(&trees.known_snapshot(id)?, &self.who)?;
        if (before ^ to).intersects(PROTECTING) && !self.who.has(Capabilities::LINUX_IMMUTABLE) {
            return Err(Errno::EPERM);
        }
        trees.set_inode_flags(id, to, &changing)?;
        trees.tell_attributes(self.place.dentry());
        Ok(())
    }

    pub(super) fn inode(&self) -> InodeId {
        self.world.caches().dentries.inode(self.place.dentry())
    }

    pub(super) fn writing(&self) -> Result<MountWriter<'_>, Errno> {
        MountWriter::new(self.world, self.place.mount()).ok_or(Errno::EROFS)
    }
}
