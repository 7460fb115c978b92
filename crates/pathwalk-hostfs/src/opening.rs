//! Opens nodes of the host for their data or their names.
//!
//! Where changes are carried out, a node is reached as a place first, verified, and then opened
//! through `/proc`: so nothing but the right regular file or directory is ever opened, and a
//! special file never. Without `/proc`, and in a frozen tree, it is opened along its path, which
//! takes fewer calls, and verified then. In case the place has a special file by now, that open
//! waits for nothing.

use std::os::fd::OwnedFd;

use pathwalk::{Errno, FileType, NodeKey};
use rustix::fs::{OFlags, ResolveFlags};
use rustix::io;

use crate::beneath::{Reached, errno, own_descriptors};
use crate::descriptors::For;
use crate::key;
use crate::open_file::{Wait, host};
use crate::tree::{Changes, Tree};

/// The flags for reading. In case the place has another node by now, an open with them neither
/// waits for the other end of a pipe nor makes a terminal the controlling terminal of this process.
/// It also does not wait for the holder of a lease: see [`Tree::after_lease`].
pub(crate) const TO_READ: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

fn flags(purpose: For) -> OFlags {
    match purpose {
        For::Reading => TO_READ,
        For::Writing => TO_READ.union(OFlags::WRONLY),
        For::Both => TO_READ.union(OFlags::RDWR),
    }
}

impl Tree {
    /// Opens a regular file or a directory that was handed out. `EAGAIN` where that would wait and
    /// must not.
    pub(crate) fn open_node(&self, node: NodeKey, purpose: For, wait: Wait) -> Result<OwnedFd, Errno> {
        if !matches!(key::kind_of(node), Some(FileType::Regular | FileType::Directory)) {
            return Err(Errno::EINVAL);
        }
        if let Some(made) = self.open.made(node) {
            return Ok(made);
        }
        let (resolve, unsure) = (resolve(wait), |errno| unsure(errno, wait));
        if self.mode == Changes::Refused {
            return self.open_by_path(node, flags(purpose), resolve, wait).map_err(unsure);
        }
        let (place, _) = self.reach_how(node, resolve).map_err(unsure)?;
        let opened = match open_place(&place, flags(purpose), wait) {
            // The file may only grow.
            Err(io::Errno::PERM) if purpose != For::Reading => open_place(&place, flags(purpose) | OFlags::APPEND, wait),
            opened => opened,
        };
        match opened {
            Err(io::Errno::AGAIN) if own_descriptors().err() == Some(io::Errno::AGAIN) => {
                self.open_by_path(node, flags(purpose), resolve, wait).map_err(unsure)
            }
            opened => opened.map_err(host),
        }
    }

    /// Verifies that a node is at the place where it was last found: `ESTALE` if it is not.
    pub(crate) fn is_there(&self, node: NodeKey, wait: Wait) -> Result<(), Errno> {
        self.reach_how(node, resolve(wait)).map(drop).map_err(|errno| unsure(errno, wait))
    }

    /// Returns whether the host lets a regular file be opened so that data goes by its caches.
    pub(crate) fn allows_direct(&self, node: NodeKey) -> bool {
        key::kind_of(node) == Some(FileType::Regular)
            && self.reach(node).is_ok_and(|(place, _)| place.open_again(TO_READ | OFlags::DIRECT).is_ok())
    }

    fn open_by_path(&self, node: NodeKey, flags: OFlags, resolve: ResolveFlags, wait: Wait) -> Result<OwnedFd, Errno> {
        self.settled(|| {
            let path = self.nodes.read().path_in(node, b"").ok_or(Errno::ESTALE)?;
            let opened = match self.root.open_below(&path, flags, resolve) {
                Err(io::Errno::AGAIN) if wait == Wait::ForHost => self.after_lease(&path, flags),
                opened => opened,
            };
            let reached = Reached::itself(opened.map_err(errno)?);
            let stat = reached.stat().map_err(host)?;
            if reached.key(&self.keys, &stat)? == node { Ok(reached.into_fd()) } else { Err(Errno::ESTALE) }
        })
    }

    /// Opens a file on which another process has a lease: waits until the holder gives the lease
    /// back. If the node at this path is no regular file, fails with `EAGAIN` instead of waiting.
    fn after_lease(&self, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
        let place = self.root.reach(path)?;
        match FileType::from_mode(place.stat()?.stx_mode.into()) {
            Some(FileType::Regular) => place.open_again(flags.difference(OFlags::NONBLOCK)),
            _ => Err(io::Errno::AGAIN),
        }
    }
}

fn resolve(wait: Wait) -> ResolveFlags {
    if wait == Wait::Never { ResolveFlags::CACHED } else { ResolveFlags::empty() }
}

/// Returns the error of an open.
fn unsure(errno: Errno, wait: Wait) -> Errno {
    match errno {
        // A kernel that does not support `RESOLVE_CACHED` reports it as `EINVAL`.
        Errno::EINVAL if wait == Wait::Never => Errno::EAGAIN,
        Errno::ENOENT => Errno::ESTALE,
        other => other,
    }
}

/// Opens a node that was verified, and waits for the holder of a lease if that is allowed.
fn open_place(place: &Reached, flags: OFlags, wait: Wait) -> io::Result<OwnedFd> {
    match place.open_again(flags) {
        Err(io::Errno::AGAIN) if wait == Wait::ForHost => place.open_again(flags.difference(OFlags::NONBLOCK)),
        opened => opened,
    }
}
