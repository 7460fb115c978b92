//! Calls that change nothing: `stat`, `access`, `readlink`, `readdir`, `statfs`.
//!
//! Source: `vfs_statx`, `do_faccessat`, `do_readlinkat`, `iterate_dir`, `user_statfs` of Linux.

use crate::errno::{Errno, Result};
use crate::flags::{Access, AtFlags, NodeFlags};
use crate::node::{Body, Id, Stamp, State};
use crate::permission::permission;
use crate::process::Process;
use crate::walk::{Empty, Follow, LONGEST_NAME};
use crate::{AT_FDCWD, Call, Model};

/// What `statx` tells, less what depends on a clock or a device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Status {
    /// Which node it is: the same for all names of one.
    pub node: Id,
    /// Type (`S_IFMT`) and the lower twelve bits.
    pub mode: u32,
    /// Link count.
    pub nlink: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Bytes; of a directory 20 for each name, `.` and `..` among them.
    pub size: u64,
    /// Blocks of 512 bytes.
    pub blocks: u64,
    /// Which device a device node stands for.
    pub device: u32,
    /// Time of access.
    pub accessed: Stamp,
    /// Time of data.
    pub modified: Stamp,
    /// Time of attributes.
    pub changed: Stamp,
    /// Time of birth.
    pub born: Stamp,
    /// Attribute bits.
    pub flags: NodeFlags,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirectoryEntry {
    /// The name.
    pub name: Vec<u8>,
    /// What it leads to.
    pub node: Id,
    /// Type (`S_IFMT`).
    pub file_type: u32,
}

/// What `statfs` tells that does not depend on a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StatFs {
    /// Bytes of the longest name.
    pub longest_name: u64,
}

const STATFS: StatFs = StatFs { longest_name: LONGEST_NAME as u64 };

impl Model {
    /// `statx`. Flags: `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
    pub fn stat(&self, process: &mut Process, at: i32, path: &[u8], flags: AtFlags) -> Result<Status> {
        let call = self.call(process);
        let node = call.lookup_to_ask(at, path, flags, AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH)?;
        Ok(status(&call.state, node))
    }

    /// `fstat`: also of a mere place.
    pub fn fstat(&self, process: &mut Process, descriptor: i32) -> Result<Status> {
        let call = self.call(process);
        let node = call.place(descriptor)?;
        Ok(status(&call.state, node))
    }

    /// `faccessat2`: with the real user's rights, or with `EACCESS` the effective ones. Flags: that, `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
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

    /// `readlinkat`: what a link says, cut to `size` bytes.
    pub fn readlink(&self, process: &mut Process, at: i32, path: &[u8], size: i32) -> Result<Vec<u8>> {
        let call = self.call(process);
        let size = usize::try_from(size).ok().filter(|&size| size > 0).ok_or(Errno::EINVAL)?;
        let node = call.lookup(at, path, Follow::Not, Empty::Start)?;
        match call.state.node(node).link_body() {
            Some(body) => Ok(body[..body.len().min(size)].to_vec()),
            None => Err(if path.is_empty() { Errno::ENOENT } else { Errno::EINVAL }),
        }
    }

    /// `getdents64`, as often as it takes, from the start: all names but `.` and `..`, sorted. The descriptor's offset plays no part.
    pub fn readdir(&self, process: &mut Process, descriptor: i32) -> Result<Vec<DirectoryEntry>> {
        let call = self.call(process);
        let (_, file) = call.file(descriptor)?;
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

    /// `statfs`.
    pub fn statfs(&self, process: &mut Process, path: &[u8]) -> Result<StatFs> {
        self.call(process).lookup(AT_FDCWD, path, Follow::Links, Empty::Refused).map(|_| STATFS)
    }

    /// `fstatfs`: also of a mere place.
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
        accessed: node.accessed,
        modified: node.modified,
        changed: node.changed,
        born: node.born,
        flags: node.flags,
    }
}

impl Call<'_> {
    fn lookup_to_ask(&self, at: i32, path: &[u8], flags: AtFlags, known: AtFlags) -> Result<Id> {
        if !known.contains(flags) {
            return Err(Errno::EINVAL);
        }
        self.lookup(at, path, follow(flags), empty(flags))
    }

    /// What a descriptor stands for, be it only a place.
    pub(crate) fn place(&self, descriptor: i32) -> Result<Id> {
        Ok(self.state.open_file(self.process.open_file(descriptor)?)?.node)
    }
}
