//! The flags of the mounts that nodes are on, and of their file systems.
//!
//! The engine has one mount of all, and would take its flags for those of every mount below. So
//! each node is judged by its own mount here, the root's included: on a read-only or noexec one it
//! gets a permission check of its own. The exception is a root whose whole file system is
//! read-only, that is not noexec, and below which nothing is mounted: that is said of the
//! superblock, so the engine judges all of it.
//!
//! Flags are asked for once for each mount and kept: there are few mounts, and the tree is frozen.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, BorrowedFd};

use parking_lot::RwLock;
use pathwalk::{FileType, MountFlags, NodeKey, PermissionRule, SuperblockFlags};
use rustix::fs::{StatVfsMountFlags, fstatvfs};
use rustix::io;

use crate::key;
use crate::mountinfo::{self, Line, Writing};

/// `ST_NOSYMFOLLOW`, Linux 5.10.
const ST_NOSYMFOLLOW: u64 = 0x2000;

/// What is known of a mount.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct OfMount {
    /// Its flags, as `statvfs(3)` tells them: read-only also where its file system is.
    pub(crate) flags: MountFlags,
    /// Those of its file system.
    pub(crate) superblock: SuperblockFlags,
}

/// What is known, by mount id.
#[derive(Debug)]
pub(crate) struct Mounts {
    known: RwLock<HashMap<u32, OfMount>>,
    /// What the engine judges, of all nodes.
    by_engine: SuperblockFlags,
}

impl Mounts {
    /// With the root's own mount.
    pub(crate) fn new(key: NodeKey, root: BorrowedFd<'_>) -> io::Result<Mounts> {
        let mount = key::mount_of(key);
        let of_root = ask(mount, root)?;
        let is_alone = || has_nothing_below(mount, root, &mountinfo::now());
        // Noexec comes before, and has to be judged here.
        let is_plain = !of_root.flags.contains(MountFlags::NOEXEC);
        let is_read_only = !of_root.superblock.is_empty() && is_plain && is_alone();
        let by_engine = if is_read_only { of_root.superblock } else { SuperblockFlags::empty() };
        Ok(Mounts { known: RwLock::new(HashMap::from([(mount, of_root)])), by_engine })
    }

    /// What holds for the whole tree.
    pub(crate) fn by_engine(&self) -> SuperblockFlags {
        self.by_engine
    }

    /// Who checks a node that was just reached at `fd`: itself, if its mount forbids more than its mode does.
    pub(crate) fn rule(&self, key: NodeKey, kind: FileType, fd: BorrowedFd<'_>) -> io::Result<PermissionRule> {
        let mount = key::mount_of(key);
        let known = self.known.read().get(&mount).copied();
        let of_mount = match known {
            Some(of_mount) => of_mount,
            None => {
                let of_mount = ask(mount, fd)?;
                *self.known.write().entry(mount).or_insert(of_mount)
            }
        };
        Ok(self.rule_under(of_mount, kind))
    }

    /// What is known of the mount of a node that was handed out.
    pub(crate) fn of(&self, key: NodeKey) -> OfMount {
        self.known.read().get(&key::mount_of(key)).copied().unwrap_or_default()
    }

    /// Who checks a node of this type on such a mount.
    pub(crate) fn rule_under(&self, of_mount: OfMount, kind: FileType) -> PermissionRule {
        let mut matters = match kind {
            FileType::Regular => MountFlags::READ_ONLY | MountFlags::NOEXEC,
            FileType::Directory | FileType::Symlink => MountFlags::READ_ONLY,
            _ => MountFlags::empty(),
        };
        if self.by_engine.contains(SuperblockFlags::READ_ONLY) {
            matters -= MountFlags::READ_ONLY;
        }
        // Searching is no writing, so everyone's search bit stays good.
        if of_mount.flags.intersects(matters) { PermissionRule::OwnButGenericSearch } else { PermissionRule::Generic }
    }

    /// Bytes it holds.
    pub(crate) fn memory(&self) -> u64 {
        (self.known.read().capacity() * (size_of::<(u32, OfMount)>() + 1)) as u64
    }
}

/// What holds for the mount of this number, that `fd` is on. Where there is no `/proc`, a file
/// system that is read-only is taken for a mount that is.
pub(crate) fn ask(mount: u32, fd: BorrowedFd<'_>) -> io::Result<OfMount> {
    let flags = flags_of(fd)?;
    let is_it = |line: &Line| line.id == u64::from(mount) && line.writing == Writing::ReadOnly;
    let is_read_only = flags.contains(MountFlags::READ_ONLY) && mountinfo::now().iter().any(is_it);
    Ok(OfMount { flags, superblock: if is_read_only { SuperblockFlags::READ_ONLY } else { SuperblockFlags::empty() } })
}

/// The flags of the mount that `fd` is on.
pub(crate) fn flags_of(fd: BorrowedFd<'_>) -> io::Result<MountFlags> {
    let told = fstatvfs(fd)?.f_flag;
    let mut flags = MountFlags::empty();
    flags.set(MountFlags::READ_ONLY, told.contains(StatVfsMountFlags::RDONLY));
    flags.set(MountFlags::NOEXEC, told.contains(StatVfsMountFlags::NOEXEC));
    flags.set(MountFlags::NOSUID, told.contains(StatVfsMountFlags::NOSUID));
    flags.set(MountFlags::NODEV, told.contains(StatVfsMountFlags::NODEV));
    flags.set(MountFlags::NOSYMFOLLOW, told.bits() & ST_NOSYMFOLLOW != 0);
    Ok(flags)
}

/// Whether nothing is mounted below a directory, which is on the mount of this number. No, where
/// its path is not to be had.
fn has_nothing_below(mount: u32, directory: BorrowedFd<'_>, lines: &[Line]) -> bool {
    let link = format!("/proc/self/fd/{}", directory.as_raw_fd());
    let Ok(path) = rustix::fs::readlink(link, Vec::new()) else { return false };
    let path = path.to_bytes().strip_suffix(b"/").unwrap_or(path.to_bytes());
    let is_below = |point: &[u8]| point.strip_prefix(path).is_some_and(|rest| rest.len() > 1 && rest[0] == b'/');
    !lines.iter().any(|line| line.parent == u64::from(mount) && line.id != u64::from(mount) && is_below(&line.point))
}
