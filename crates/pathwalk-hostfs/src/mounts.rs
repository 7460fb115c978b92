//! The flags of the mounts that nodes are on.
//!
//! The engine knows one mount and would take its flags for those of every mount below. So each node is judged by its own mount
//! here, the root's included: on a read-only or noexec one it gets a permission check of its own.
//! Flags are asked for once for each mount and kept: there are few mounts, and the tree is frozen.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;

use parking_lot::RwLock;
use pathwalk::{FileType, MountFlags, NodeKey, PermissionRule};
use rustix::fs::{StatVfsMountFlags, fstatvfs};
use rustix::io;

use crate::key;

/// `ST_NOSYMFOLLOW`, Linux 5.10.
const ST_NOSYMFOLLOW: u64 = 0x2000;

/// Flags by mount id.
#[derive(Debug)]
pub(crate) struct Mounts(RwLock<HashMap<u32, MountFlags>>);

impl Mounts {
    /// With the root's own mount.
    pub(crate) fn new(key: NodeKey, root: BorrowedFd<'_>) -> io::Result<Mounts> {
        Ok(Mounts(RwLock::new(HashMap::from([(key::mount_of(key), ask(root)?)]))))
    }

    /// Who checks a node that was just reached at `fd`: itself, if its mount forbids more than its mode does.
    pub(crate) fn rule(&self, key: NodeKey, kind: FileType, fd: BorrowedFd<'_>) -> io::Result<PermissionRule> {
        let mount = key::mount_of(key);
        let known = self.0.read().get(&mount).copied();
        let flags = match known {
            Some(flags) => flags,
            None => {
                let flags = ask(fd)?;
                *self.0.write().entry(mount).or_insert(flags)
            }
        };
        Ok(rule_under(flags, kind))
    }

    /// The flags of the mount of a node that was handed out.
    pub(crate) fn of(&self, key: NodeKey) -> MountFlags {
        self.0.read().get(&key::mount_of(key)).copied().unwrap_or_default()
    }

    /// Bytes it holds.
    pub(crate) fn memory(&self) -> u64 {
        (self.0.read().capacity() * (size_of::<(u32, MountFlags)>() + 1)) as u64
    }
}

/// Who checks a node of this type on a mount with these flags.
pub(crate) fn rule_under(flags: MountFlags, kind: FileType) -> PermissionRule {
    let matters = match kind {
        FileType::Regular => MountFlags::READ_ONLY | MountFlags::NOEXEC,
        FileType::Directory | FileType::Symlink => MountFlags::READ_ONLY,
        _ => MountFlags::empty(),
    };
    // Searching is no writing, so everyone's search bit stays good.
    if flags.intersects(matters) { PermissionRule::OwnButGenericSearch } else { PermissionRule::Generic }
}

/// The flags of the mount that `fd` is on.
pub(crate) fn ask(fd: BorrowedFd<'_>) -> io::Result<MountFlags> {
    let told = fstatvfs(fd)?.f_flag;
    let mut flags = MountFlags::empty();
    flags.set(MountFlags::READ_ONLY, told.contains(StatVfsMountFlags::RDONLY));
    flags.set(MountFlags::NOEXEC, told.contains(StatVfsMountFlags::NOEXEC));
    flags.set(MountFlags::NOSUID, told.contains(StatVfsMountFlags::NOSUID));
    flags.set(MountFlags::NODEV, told.contains(StatVfsMountFlags::NODEV));
    flags.set(MountFlags::NOSYMFOLLOW, told.bits() & ST_NOSYMFOLLOW != 0);
    Ok(flags)
}
