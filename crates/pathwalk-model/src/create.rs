//! The calls `mkdir`, `mknod` and `symlink`, which make a new name.
//!
//! Source: `filename_create`, `do_mkdirat`, `do_mknodat`, `may_mknod`, `do_symlinkat`,
//! `vfs_prepare_mode`, `inode_init_owner` of Linux.

use std::collections::BTreeMap;

use crate::errno::{Errno, Result};
use crate::flags::{Capabilities, NodeFlags};
use crate::node::{Body, Id, Node, ROOT, Special, Tmpfile};
use crate::permission::{GROUP_EXECUTE, SGID, in_group_or_capable, may_create};
use crate::process::Process;
use crate::walk::{Last, Parent, child, import_link_body};
use crate::{Call, Model};

/// The type of node to be made. Only a directory's name may have a trailing slash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Making {
    Directory,
    Other,
}

impl Model {
    /// Makes an empty directory, as `mkdirat` does. Uses the permission and sticky bits of `mode`.
    pub fn mkdir(&self, process: &mut Process, at: i32, path: &[u8], mode: u32) -> Result<()> {
        let mut call = self.call(process);
        let (directory, name) = call.free_name(at, path, Making::Directory)?;
        may_create(&call.state, call.who(), directory)?;
        let body = Body::Directory { entries: BTreeMap::new(), parent: directory, removed: false };
        call.make(directory, &name, body, mode & 0o1777).map(drop)
    }

    /// Makes an empty file (type 0 or `S_IFREG`) or a special node, as `mknodat` does. `device` is
    /// used for devices only.
    pub fn mknod(&self, process: &mut Process, at: i32, path: &[u8], mode: u32, device: u32) -> Result<()> {
        let mut call = self.call(process);
        let body = special(mode, device)?;
        let (directory, name) = call.free_name(at, path, Making::Other)?;
        may_create(&call.state, call.who(), directory)?;
        if needs_mknod(&body) && !call.who().has(Capabilities::MKNOD) {
            return Err(Errno::EPERM);
        }
        call.make(directory, &name, body, mode & 0o7777).map(drop)
    }

    /// Makes a link with the body `target`, of 1..=4095 bytes, as `symlinkat` does.
    pub fn symlink(&self, process: &mut Process, target: &[u8], at: i32, path: &[u8]) -> Result<()> {
        let mut call = self.call(process);
        import_link_body(target)?;
        let (directory, name) = call.free_name(at, path, Making::Other)?;
        may_create(&call.state, call.who(), directory)?;
        call.make(directory, &name, Body::Link { body: target.to_vec(), links: 1 }, 0o777).map(drop)
    }
}

/// Returns the body of the node that `mknod` makes for a mode.
fn special(mode: u32, device: u32) -> Result<Body> {
    let special = |kind, device| Ok(Body::Special { kind, device, links: 1 });
    match mode & libc::S_IFMT {
        0 | libc::S_IFREG => Ok(Body::empty_file(1, Tmpfile::No)),
        libc::S_IFCHR => special(Special::CharDevice, device),
        libc::S_IFBLK => special(Special::BlockDevice, device),
        libc::S_IFIFO => special(Special::Fifo, 0),
        libc::S_IFSOCK => special(Special::Socket, 0),
        libc::S_IFDIR => Err(Errno::EPERM),
        _ => Err(Errno::EINVAL),
    }
}

/// Returns whether `mknod` of this node needs the capability: devices do, except the character
/// device 0:0. That is an overlay's whiteout, and there is no device to open.
fn needs_mknod(body: &Body) -> bool {
    match *body {
        Body::Special { kind: Special::CharDevice, device, .. } => device != 0,
        Body::Special { kind, .. } => kind.is_device(),
        _ => false,
    }
}

impl Call<'_> {
    /// Returns the directory and the name that is to be made in it.
    pub(crate) fn free_name(&self, at: i32, path: &[u8], making: Making) -> Result<(Id, Vec<u8>)> {
        let Parent { directory, last } = self.parent(at, path)?;
        let Last::Name { name, slash } = last else { return Err(Errno::EEXIST) };
        match child(&self.state, directory, &name)? {
            Some(_) => Err(Errno::EEXIST),
            None if slash && making == Making::Other => Err(Errno::ENOENT),
            None => Ok((directory, name)),
        }
    }

    /// Makes a node and gives it a name: `ENOSPC`.
    pub(crate) fn make(&mut self, directory: Id, name: &[u8], body: Body, mode: u32) -> Result<Id> {
        let id = self.make_nameless(directory, body, mode)?;
        self.state.set_name(directory, name, id);
        Ok(id)
    }

    /// Makes a node by the rules of its directory: with the group of a sgid directory, with its
    /// default list or else without the umask's bits, and owned by the caller.
    pub(crate) fn make_nameless(&mut self, directory: Id, body: Body, mode: u32) -> Result<Id> {
        self.room_for(&body)?;
        let parent = self.state.node(directory);
        let (sgid, parent_gid) = (parent.mode & SGID != 0, parent.gid);
        let flags = parent.flags & (NodeFlags::NODUMP | NodeFlags::NOATIME);
        let gid = if sgid { parent_gid } else { self.who().fsgid };
        let mut mode = mode;
        match body {
            Body::Link { .. } => {}
            Body::Directory { .. } if sgid => mode |= SGID,
            _ => {
                let runs_as_group = mode & (SGID | GROUP_EXECUTE) == SGID | GROUP_EXECUTE;
                if sgid && runs_as_group && !in_group_or_capable(parent_gid, self.who()) {
                    mode &= !SGID;
                }
            }
        }
        let default = parent.default_acl.clone();
        let is_link = matches!(body, Body::Link { .. });
        let uid = self.who().fsuid;
        let mut node = Node { flags, ..Node::new(body, mode, (uid, gid), self.state.now()) };
        if !is_link && default.is_empty() {
            node.mode &= !self.process.umask;
        } else if !is_link {
            node.inherit(&default, mode);
        }
        let id = self.process.next_id();
        debug_assert_ne!(id, ROOT);
        self.state.add(id, node);
        Ok(id)
    }
}
