//! The calls that change nothing: `stat`, `access`, `readlink`, `readdir`, `statfs`.
//!
//! Source: `vfs_statx`, `do_faccessat`, `do_readlinkat`, `iterate_dir`, `user_statfs` of Linux.

use crate::errno::{Errno, Result};
use crate::flags::{Access, AtFlags, NodeFlags};
use crate::node::{Body, Id, Stamp, State};
use crate::permission::permission;
use crate::process::Process;
use crate::walk::{Empty, Follow, LONGEST_NAME};
use crate::{AT_FDCWD, Call, Model};

/// The answer of `statx`, without what depends on the device of the file system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Status {
    /// The node: the same for all its names.
    pub node: Id,
    /// The type (`S_IFMT`) and the lower twelve bits of the mode.
    pub mode: u32,
    /// The link count.
    pub nlink: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The size in bytes; of a directory 20 for each name, including `.` and `..`.
    pub size: u64,
    /// The number of blocks of 512 bytes.
    pub blocks: u64,
    /// The number of the device, for a device node.
    pub device: u32,
    /// The attribute bits.
    pub flags: NodeFlags,
    /// The time of access.
    pub accessed: Stamp,
    /// The time of the last change of data.
    pub modified: Stamp,
    /// The time of the last change of attributes.
    pub changed: Stamp,
    /// The time of birth.
    pub born: Stamp,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirectoryEntry {
    /// The name.
    pub name: Vec<u8>,
    /// The node of the name.
    pub node: Id,
    /// The type (`S_IFMT`).
    pub file_type: u32,
}

/// The part of the answer of `statfs` that does not depend on a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StatFs {
    /// The length of the longest name in bytes.
    pub longest_name: u64,
}

const STATFS: StatFs = StatFs { longest_name: LONGEST_NAME as u64 };

impl Model {
    /// Returns the attributes of a node, as `statx` does: `EINVAL` for the highest bit of the mask,
    /// and for both flags about the age of attributes.
    pub fn statx(&self, process: &mut Process, at: i32, path: &[u8], flags: AtFlags, mask: u32) -> Result<Status> {
        if mask >> 31 != 0 || flags.contains(AtFlags::FORCE_SYNC | AtFlags::DONT_SYNC) {
            return Err(Errno::EINVAL);
        }
        self.stat(process, at, path, flags)
    }

    /// Returns the attributes of a node, as `fstatat` does. Flags: `SYMLINK_NOFOLLOW`,
    /// `EMPTY_PATH`, `NO_AUTOMOUNT`, `FORCE_SYNC`, `DONT_SYNC`.
    pub fn stat(&self, process: &mut Process, at: i32, path: &[u8], flags: AtFlags) -> Result<Status> {
        let mut call = self.call(process);
        let age = AtFlags::FORCE_SYNC | AtFlags::DONT_SYNC | AtFlags::NO_AUTOMOUNT;
        let node = call.lookup_to_ask(at, path, flags, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH | age)?;
        // A link that was followed may be the node itself.
        call.store_accesses();
        Ok(status(&call.state, node))
    }

    /// Returns the attributes of an open file or a mere place, as `fstat` does.
    pub fn fstat(&self, process: &mut Process, descriptor: i32) -> Result<Status> {
        let call = self.call(process);
        let node = call.place(descriptor)?;
        Ok(status(&call.state, node))
    }

    /// Checks the access to a node, as `faccessat2` does: with the real user's rights, or with
    /// `EACCESS` the effective ones. Flags: `EACCESS`, `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
    pub fn access(&self, process: &mut Process, at: i32, path: &[u8], wanted: Access, flags: AtFlags) -> Result<()> {
        let call = self.call(process);
        let known = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH | AtFlags::EACCESS;
        if !Access::all().contains(wanted) || !known.contains(flags) {
            return Err(Errno::EINVAL);
        }
        let who = if flags.contains(AtFlags::EACCESS) { call.who().clone() } else { call.who().real() };
        let node = call.lookup_as(&who, at, path, follow(flags), empty(flags))?;
        permission(call.state.node(node), &who, wanted)
    }

    /// Returns the body of a link, cut to `size` bytes, as `readlinkat` does.
    pub fn readlink(&self, process: &mut Process, at: i32, path: &[u8], size: i32) -> Result<Vec<u8>> {
        let call = self.call(process);
        let size = usize::try_from(size).ok().filter(|&size| size > 0).ok_or(Errno::EINVAL)?;
        let node = call.lookup(at, path, Follow::Not, Empty::Start)?;
        if call.state.node(node).link_body().is_some() {
            call.access(node);
        }
        match call.state.node(node).link_body() {
            Some(body) => Ok(body[..body.len().min(size)].to_vec()),
            None => Err(if path.is_empty() { Errno::ENOENT } else { Errno::EINVAL }),
        }
    }

    /// Returns all names but `.` and `..`, sorted, as repeated calls of `getdents64` from the start
    /// would. The descriptor's offset is not used.
    pub fn readdir(&self, process: &mut Process, descriptor: i32) -> Result<Vec<DirectoryEntry>> {
        let call = self.call(process);
        let (_, file) = call.file(descriptor)?;
        if matches!(call.state.node(file.node).body, Body::Directory { removed: false, .. }) {
            call.access_by(&file);
        }
        let state = &call.state;
        match state.node(file.node).body {
            Body::Directory { removed: false, .. } => Ok(state
                .entries(file.node)
                .map(|(name, node)| DirectoryEntry { name: name.to_vec(), node, file_type: state.node(node).file_type() })
                .collect()),
            Body::Directory { .. } => Err(Errno::ENOENT),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// Returns the limits of the file system of a path, as `statfs` does.
    pub fn statfs(&self, process: &mut Process, path: &[u8]) -> Result<StatFs> {
        self.call(process).lookup(AT_FDCWD, path, Follow::Links, Empty::Refused).map(|_| STATFS)
    }

    /// Returns the limits of the file system of an open file or a mere place, as `fstatfs` does.
    pub fn fstatfs(&self, process: &mut Process, descriptor: i32) -> Result<StatFs> {
        self.call(process).place(descriptor).map(|_| STATFS)
    }
}

fn follow(flags: AtFlags) -> Follow {
    Follow::unless(flags.contains(AtFlags::SYMLINK_NOFOLLOW))
}

fn empty(flags: AtFlags) -> Empty {
    if flags.contains(AtFlags::EMPTY_PATH) { Empty::Start } else { Empty::Refused }
}

fn status(state: &State, id: Id) -> Status {
    let node = state.node(id);
    let device = match node.body {
        Body::Special { device, .. } => device,
        _ => 0,
    };
    Status {
        node: id,
        mode: node.file_type() | node.mode,
        nlink: state.links(id),
        uid: node.uid,
        gid: node.gid,
        size: node.size(),
        blocks: node.blocks(),
        device,
        flags: node.flags,
        accessed: node.accessed,
        modified: node.modified,
        changed: node.changed,
        born: node.born,
    }
}

impl Call<'_> {
    fn lookup_to_ask(&self, at: i32, path: &[u8], flags: AtFlags, known: AtFlags) -> Result<Id> {
        if !known.contains(flags) {
            return Err(Errno::EINVAL);
        }
        self.lookup(at, path, follow(flags), empty(flags))
    }

    /// Returns the node of a descriptor, which may be a mere place.
    pub(crate) fn place(&self, descriptor: i32) -> Result<Id> {
        Ok(self.state.open_file(self.process.open_file(descriptor)?)?.node)
    }
}
