//! A tree with a `RwLock<HashMap>` for each directory, as usually written by hand.
//!
//! Its answers are right: links, `..`, absent names, permissions by mode bits and capabilities. It
//! has every advantage that the design allows. Nodes live forever, so a walk counts no references.
//! Names are looked up without an allocation. A link is entered by recursion, without copying the
//! rest of the path. What remains is the lock: two stores to shared memory for every component.

use std::collections::HashMap;
use std::ffi::CString;
use std::path::{Path, PathBuf};

use parking_lot::RwLock;
use pathwalk::limits::{LINK_MAX, MAX_LINKS, PATH_MAX};
use pathwalk::permission::generic;
use pathwalk::{Access, Credentials, Errno, FileType};
use rustix::fs::{AtFlags, CWD, Stat, statat};

use super::{Hash, Peer, copy};
use crate::kernel;

type Children = RwLock<HashMap<Box<[u8]>, Option<&'static Node>, Hash>>;

/// The tree.
pub struct LockedTree {
    root: &'static Node,
    who: Credentials,
}

struct Node {
    kind: FileType,
    mode: u16,
    uid: u32,
    gid: u32,
    /// The path on the machine.
    path: PathBuf,
    /// The parent, `None` for the root.
    parent: Option<&'static Node>,
    /// The children, empty except for directories.
    children: Children,
    /// The body, empty except for links.
    body: Box<[u8]>,
}

/// The treatment of a link in the last component.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastLink {
    Follow,
    Keep,
}

impl LockedTree {
    /// Creates a tree over all of the machine's files, with the credentials `who`.
    pub fn new(who: Credentials) -> Result<LockedTree, Errno> {
        Ok(LockedTree { root: load(None, Path::new("/"))?, who })
    }

    fn walk(&self, path: &[u8], last: LastLink) -> Result<&'static Node, Errno> {
        match path.len() {
            0 => Err(Errno::ENOENT),
            1..=PATH_MAX => self.walk_from(self.root, path, last, &mut 0),
            _ => Err(Errno::ENAMETOOLONG),
        }
    }

    /// Walks a path that is not empty, or the body of a link.
    fn walk_from(&self, start: &'static Node, path: &[u8], last: LastLink, links: &mut usize) -> Result<&'static Node, Errno> {
        let mut at = if path[0] == b'/' { self.root } else { start };
        let mut rest = path;
        loop {
            let slashes = rest.iter().take_while(|byte| **byte == b'/').count();
            rest = &rest[slashes..];
            if slashes > 0 && at.kind != FileType::Directory {
                return Err(Errno::ENOTDIR);
            }
            if rest.is_empty() {
                return Ok(at);
            }
            let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
            let (name, tail) = rest.split_at(end);
            rest = tail;
            self.may(at, Access::EXECUTE)?;
            let next = match name {
                b"." => at,
                b".." => at.parent.unwrap_or(at),
                _ => child(at, name)?,
            };
            let follow = !tail.is_empty() || last == LastLink::Follow;
            at = if next.kind == FileType::Symlink && follow { self.enter(at, next, links)? } else { next };
        }
    }

    fn enter(&self, dir: &'static Node, link: &'static Node, links: &mut usize) -> Result<&'static Node, Errno> {
        *links += 1;
        if *links > MAX_LINKS {
            return Err(Errno::ELOOP);
        }
        self.walk_from(dir, &link.body, LastLink::Follow, links)
    }

    fn may(&self, node: &Node, want: Access) -> Result<(), Errno> {
        let wanted = u16::from(want.bits());
        if node.mode & (wanted * 0o111) == wanted * 0o111 {
            return Ok(());
        }
        generic(&self.who.real(), node.kind, node.mode, node.uid, node.gid, want)
    }
}

fn child(dir: &'static Node, name: &[u8]) -> Result<&'static Node, Errno> {
    let cached = dir.children.read().get(name).copied();
    match cached {
        Some(node) => node.ok_or(Errno::ENOENT),
        None => fill(dir, name),
    }
}

#[cold]
fn fill(dir: &'static Node, name: &[u8]) -> Result<&'static Node, Errno> {
    use std::os::unix::ffi::OsStrExt;
    let mut children = dir.children.write();
    let node = match load(Some(dir), &dir.path.join(std::ffi::OsStr::from_bytes(name))) {
        Ok(node) => Some(node),
        Err(Errno::ENOENT) => None,
        Err(errno) => return Err(errno),
    };
    children.entry(name.into()).or_insert(node).ok_or(Errno::ENOENT)
}

/// Loads a node from the machine. It stays loaded until the process ends.
fn load(parent: Option<&'static Node>, path: &Path) -> Result<&'static Node, Errno> {
    let Stat { st_mode, st_uid, st_gid, .. } = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).map_err(kernel::errno)?;
    let kind = FileType::from_mode(st_mode).ok_or(Errno::EIO)?;
    let body = if kind == FileType::Symlink { read_body(path)? } else { Box::default() };
    let (mode, path) = ((st_mode & 0o7777) as u16, path.to_owned());
    Ok(Box::leak(Box::new(Node { kind, mode, uid: st_uid, gid: st_gid, path, parent, children: Children::default(), body })))
}

fn read_body(path: &Path) -> Result<Box<[u8]>, Errno> {
    let path = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| Errno::EINVAL)?;
    let mut buffer = vec![0; LINK_MAX];
    let length = kernel::readlink(&path, &mut buffer)?;
    buffer.truncate(length);
    if buffer.is_empty() { Err(Errno::ENOENT) } else { Ok(buffer.into()) }
}

impl Peer for LockedTree {
    const WHAT: &'static str = "RwLock<HashMap> per directory";
    const GETS_WRONG: &'static str = "nothing is ever freed or invalidated; no ACLs; writes shared memory for every component";

    #[inline]
    fn access(&self, path: &[u8], want: Access) -> Result<(), Errno> {
        self.may(self.walk(path, LastLink::Follow)?, want)
    }

    #[inline]
    fn readlink(&self, path: &[u8], buffer: &mut [u8]) -> Result<usize, Errno> {
        let node = self.walk(path, LastLink::Keep)?;
        if node.kind == FileType::Symlink { Ok(copy(&node.body, buffer)) } else { Err(Errno::EINVAL) }
    }
}
