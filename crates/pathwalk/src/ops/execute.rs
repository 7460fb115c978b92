//! `execveat(2)` with `AT_EXECVE_CHECK`: the check whether a file may be executed.
//!
//! What it does not do: it reads no file, so a file of any format passes.

use super::leases;
use super::lookup;
use super::security;
use crate::Errno;
use crate::abi::{AtFlags, MountFlags, OpenFlags};
use crate::attr::FileType;
use crate::locks::breaks::Breaks;
use crate::permission::Access;
use crate::security::Rights;
use crate::walk::asker::{Asker, Begin};
use crate::walk::{Env, Whose};

pub(crate) fn may_execute(asker: &Asker, at: Begin, path: &[u8], how: AtFlags) -> Result<(), Errno> {
    let env = Env::of(asker, Whose::Effective, at);
    let node = lookup::pinned_at(&env, at, path, how)?;
    let inode = env.caches().dentries.inode(node.id());
    match env.trees().known_snapshot(inode)?.kind() {
        FileType::Regular => {}
        FileType::Symlink => return Err(Errno::ELOOP),
        _ => return Err(Errno::EACCES),
    }
    if env.world.mounts.switches(node.mount.id()).contains(MountFlags::NOEXEC) {
        return Err(Errno::EACCES);
    }
    env.trees().may(inode, &env.who_in(node.mount.id()), Access::EXECUTE)?;
    // The kernel opens the file in order to read it.
    let counted = leases::count(&env, (inode, FileType::Regular), OpenFlags::READ);
    security::may(&env, node.place(), Rights::EXECUTE | Rights::READ_FILE)?;
    counted.map_or(Ok(()), |counted| counted.break_leases(Breaks::Waits))
}
