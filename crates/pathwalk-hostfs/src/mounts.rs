//! The flags of the mounts that nodes are on, and of their file systems.
//!
//! The engine sees one mount for the whole tree, and would apply its flags to every mount below. So
//! this module applies to each node the flags of its own mount, the root's mount included: a node
//! on a read-only or noexec mount gets a permission check of its own. The exception is a root whose
//! whole file system is read-only, whose mount is not noexec, and below which nothing is mounted.
//! The superblock then has the read-only flag, so the engine checks all of it.
//!
//! Flags are read once for each mount and kept: there are few mounts, and the tree is frozen.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, BorrowedFd};

use parking_lot::RwLock;
use pathwalk::{FileType, MountFlags, NodeKey, PermissionRule, SuperblockFlags};
use rustix::fs::{StatVfsMountFlags, fstatfs, fstatvfs};
use rustix::io;

use crate::key;
use crate::listing::keeps_names;
use crate::magic;
use crate::mountinfo::{self, Line, Writing};

/// The flag `ST_NOSYMFOLLOW`, Linux 5.10.
const ST_NOSYMFOLLOW: u64 = 0x2000;

/// The flags of one mount.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct OfMount {
    /// The mount's flags, as `statvfs(3)` reports them: read-only also where the file system is.
    pub(crate) flags: MountFlags,
    /// The flags of the mount's file system.
    pub(crate) superblock: SuperblockFlags,
    /// Whether the removal of an access list clears the sgid bit as the setting of one does.
    pub(crate) has_simple_acls: bool,
    /// Whether every name that can be looked up is listed, but in directories that fold case.
    pub(crate) keeps_names: bool,
}

/// The known mounts, by the numbers of their places.
#[derive(Debug)]
pub(crate) struct Mounts {
    known: RwLock<HashMap<u32, OfMount>>,
    /// The flags that the engine applies to all nodes.
    by_engine: SuperblockFlags,
}

impl Mounts {
    /// Creates the table with the root's own mount.
    pub(crate) fn new(key: NodeKey, mount: u64, root: BorrowedFd<'_>) -> io::Result<Mounts> {
        let of_root = ask(mount, root)?;
        let is_alone = || has_nothing_below(mount, root, &mountinfo::now());
        // A noexec check comes before the read-only check and has to be done here.
        let is_plain = !of_root.flags.contains(MountFlags::NOEXEC);
        let is_read_only = !of_root.superblock.is_empty() && is_plain && is_alone();
        let by_engine = if is_read_only { of_root.superblock } else { SuperblockFlags::empty() };
        Ok(Mounts { known: RwLock::new(HashMap::from([(key::place_of(key), of_root)])), by_engine })
    }

    /// Returns the flags that hold for the whole tree.
    pub(crate) fn by_engine(&self) -> SuperblockFlags {
        self.by_engine
    }

    /// Returns the permission rule of a node that was just reached at `fd`, on the mount with this
    /// id. It is the file system's own rule if the mount forbids something that the mode allows.
    pub(crate) fn rule(&self, (key, mount): (NodeKey, u64), kind: FileType, fd: BorrowedFd<'_>) -> io::Result<PermissionRule> {
        let place = key::place_of(key);
        let known = self.known.read().get(&place).copied();
        let of_mount = match known {
            Some(of_mount) => of_mount,
            None => {
                let of_mount = ask(mount, fd)?;
                *self.known.write().entry(place).or_insert(of_mount)
            }
        };
        Ok(self.rule_under(of_mount, kind))
    }

    /// Returns the flags of the mount of a node that was handed out.
    pub(crate) fn of(&self, key: NodeKey) -> OfMount {
        self.known.read().get(&key::place_of(key)).copied().unwrap_or_default()
    }

    /// Returns the permission rule of a node of this type on a mount with these flags.
    pub(crate) fn rule_under(&self, of_mount: OfMount, kind: FileType) -> PermissionRule {
        let mut matters = match kind {
            FileType::Regular => MountFlags::READ_ONLY | MountFlags::NOEXEC,
            FileType::Directory | FileType::Symlink => MountFlags::READ_ONLY,
            _ => MountFlags::empty(),
        };
        if self.by_engine.contains(SuperblockFlags::READ_ONLY) {
            matters -= MountFlags::READ_ONLY;
        }
        // Searching is not writing, so a search bit for all users remains valid.
        if of_mount.flags.intersects(matters) { PermissionRule::OwnButGenericSearch } else { PermissionRule::Generic }
    }

    /// Returns the number of bytes that the table holds.
    pub(crate) fn memory(&self) -> u64 {
        (self.known.read().capacity() * (size_of::<(u32, OfMount)>() + 1)) as u64
    }
}

/// Returns the flags of the mount with this id, which `fd` is on. Where there is no `/proc`, a
/// read-only file system is treated as a read-only mount.
pub(crate) fn ask(mount: u64, fd: BorrowedFd<'_>) -> io::Result<OfMount> {
    let flags = flags_of(fd)?;
    let is_it = |line: &Line| line.id == mount && line.writing == Writing::ReadOnly;
    let is_read_only = flags.contains(MountFlags::READ_ONLY) && mountinfo::now().iter().any(is_it);
    let superblock = if is_read_only { SuperblockFlags::READ_ONLY } else { SuperblockFlags::empty() };
    let of = fstatfs(fd)?;
    Ok(OfMount { flags, superblock, has_simple_acls: magic::of(&of) == magic::TMPFS, keeps_names: keeps_names(&of) })
}

/// Returns the flags of the mount that `fd` is on.
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

/// Returns whether nothing is mounted below a directory that is on the mount with this id. Returns
/// false where the directory's path cannot be read.
fn has_nothing_below(mount: u64, directory: BorrowedFd<'_>, lines: &[Line]) -> bool {
    let link = format!("/proc/self/fd/{}", directory.as_raw_fd());
    let Ok(path) = rustix::fs::readlink(link, Vec::new()) else { return false };
    let path = path.to_bytes().strip_suffix(b"/").unwrap_or(path.to_bytes());
    let is_below = |point: &[u8]| point.strip_prefix(path).is_some_and(|rest| rest.len() > 1 && rest[0] == b'/');
    !lines.iter().any(|line| line.parent == mount && line.id != mount && is_below(&line.point))
}
