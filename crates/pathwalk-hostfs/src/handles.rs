//! File handles: those of the host, which outlive the `Vfs`, this process, and a restart of the
//! host where its file system keeps them.
//!
//! The host opens a handle of any node of the root's file system. So a node is looked for beneath
//! the root before anything about it is reported: at the place where it was found last, and else
//! along the path that `/proc` shows, name by name from the root. That path is a guess: only if it
//! leads to the node, the node is beneath the root, and all directories on the way are known then.
//!
//! The host connects a directory to its path itself, and a file by a handle that has the file's
//! directory in it ([`HandleFor::Connecting`]). A file that is not connected has no path. It is
//! reported only where the root is that of the whole file system, and so nothing is outside.
//!
//! What it does not do: make handles that can be opened of nodes on other mounts than the root's,
//! or search the tree for a node.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use pathwalk::{Errno, FileHandle, FileType, FoundName, HandleFor, Name, Node, NodeKey};
use rustix::fs::{OFlags, readlinkat};
use rustix::io;

use crate::HostFs;
use crate::attributes::from_statx;
use crate::beneath::{PLACE, Reached, errno, open_beneath, own_descriptors};
use crate::calls::{self, HandleUse};
use crate::mountinfo;
use crate::nodes::Whereabouts;
use crate::open_file::host;
use crate::opening::TO_READ;
use crate::watch::coverage::Handing;

/// The flag in the kind of a handle that has the node's directory in it. The kinds of the host are
/// below it.
const CONNECTS: i32 = 0x8000;

/// The attribute `STATX_ATTR_MOUNT_ROOT`.
const IS_MOUNT_ROOT: u64 = 0x2000;

impl HostFs {
    /// Returns the handle of a node.
    pub(crate) fn handle_of(&self, node: NodeKey, what_for: HandleFor) -> Result<FileHandle, Errno> {
        let keys = &self.tree.keys;
        if keys.mount_of(node) != keys.mount_of(self.key) {
            return Err(Errno::EOPNOTSUPP);
        }
        let itself = |what_for| {
            let (reached, _) = self.tree.reach(node)?;
            calls::name_to_handle(reached.fd(), c"", what_for).map_err(host)
        };
        let (handle, flag) = match what_for {
            HandleFor::Opening => (itself(HandleUse::Opening)?, 0),
            HandleFor::Identity => (itself(HandleUse::Identity)?, 0),
            HandleFor::Connecting => (self.connecting(node)?, CONNECTS),
        };
        let kind = handle.kind();
        if kind & !(CONNECTS - 1) == 0 { FileHandle::new(kind | flag, handle.bytes()) } else { Err(Errno::EOPNOTSUPP) }
    }

    /// Returns a handle of a node with its directory. The host gives one for a name alone.
    fn connecting(&self, node: NodeKey) -> Result<calls::HostHandle, Errno> {
        let (place, _) = self.tree.reach_by_name(node)?;
        let name = match place.name() {
            Some(name) => CString::new(name.bytes()).map_err(|_| Errno::EINVAL)?,
            None if node == self.key => c".".to_owned(),
            None => return Err(Errno::ESTALE),
        };
        calls::name_to_handle(place.fd(), &name, HandleUse::Connecting).map_err(host)
    }

    /// Returns the node of a handle: of a connectable one, at a name below `near` if that is a
    /// directory.
    pub(crate) fn node_of(&self, handle: &FileHandle, near: NodeKey) -> Result<Node, Errno> {
        let (kind, connects) = (handle.kind() & !CONNECTS, handle.kind() & CONNECTS != 0);
        let mount = self.directory_of_handles(if connects { near } else { self.key })?;
        let opened = open_settled(|| calls::open_by_handle(mount.as_fd(), (kind, handle.bytes()), connects));
        let reached = Reached::itself(opened.map_err(|error| match error {
            // Not a handle of this file system.
            io::Errno::INVAL | io::Errno::NOENT => Errno::ESTALE,
            other => host(other),
        })?);
        let stat = reached.stat().map_err(host)?;
        let key = reached.key(&self.tree.keys, &stat)?;
        // The host chose one of several names, which need not be the one that is known.
        let is_directory = rustix::fs::FileType::from_raw_mode(stat.stx_mode.into()).is_dir();
        let chosen = connects && !is_directory && stat.stx_nlink > 1;
        self.tree.settled(|| if chosen { self.hold_by_path(key, &reached) } else { self.hold_beneath(key, &reached) })?;
        let node = from_statx(&stat).and_then(|attributes| {
            let loaded = self.load((key, &reached), attributes, Handing::Out)?;
            let node = self.node(key, &reached, &loaded)?;
            if loaded.guard.is_some() {
                self.tree.nodes.write().set_guard(key, loaded.guard);
            }
            Ok(node)
        });
        if node.is_err() {
            pathwalk::FileSystem::forget(self, key);
        }
        node
    }

    /// Opens the directory by which the host finds the file system of a handle, and below which it
    /// looks for a connectable one: the root in the place of a node that cannot be opened as that.
    fn directory_of_handles(&self, near: NodeKey) -> Result<OwnedFd, Errno> {
        let open = |at: BorrowedFd<'_>| open_beneath(at, b".", TO_READ | OFlags::DIRECTORY);
        let is_on_the_mount = self.tree.keys.mount_of(near) == self.tree.keys.mount_of(self.key);
        if near != self.key
            && is_on_the_mount
            && let Ok((reached, attributes)) = self.tree.reach(near)
            && attributes.kind == FileType::Directory
            && let Ok(near) = open(reached.fd())
        {
            return Ok(near);
        }
        open(self.tree.root.as_fd()).map_err(errno)
    }

    /// Counts a node that was reached without a path as handed out once more, if it is beneath the
    /// root. `ESTALE` if it is not. Called with settled paths.
    fn hold_beneath(&self, key: NodeKey, reached: &Reached) -> Result<(), Errno> {
        if self.is_known(key) && self.tree.nodes.write().hold_again(key).is_some() {
            return Ok(());
        }
        self.hold_by_path(key, reached)
    }

    /// Does the same, at the path that the kernel shows for the node, wherever it is known.
    fn hold_by_path(&self, key: NodeKey, reached: &Reached) -> Result<(), Errno> {
        match self.path_of(reached)? {
            Some(path) => self.hold_along(&path, key),
            None if self.has_no_outside()? => {
                let fd = io::fcntl_dupfd_cloexec(reached.fd(), 0).map_err(host)?;
                let mut nodes = self.tree.nodes.write();
                nodes.hold_without_name(key, fd);
                let done_with = nodes.take_done_with();
                drop((nodes, done_with));
                Ok(())
            }
            None => Err(Errno::ESTALE),
        }
    }

    /// Returns whether a node is where it was found last, or is held without a name.
    fn is_known(&self, key: NodeKey) -> bool {
        let whereabouts = self.tree.nodes.read().whereabouts(key);
        match whereabouts {
            Some(Whereabouts::Path(path)) => self.tree.verified(key, self.tree.root.reach(&path)).is_ok(),
            Some(Whereabouts::Kept(_)) => true,
            None => false,
        }
    }

    /// Returns the path from the root that the kernel shows for a node, which may be any path.
    /// `None` for a node that is not connected to one.
    fn path_of(&self, reached: &Reached) -> Result<Option<Vec<u8>>, Errno> {
        let descriptors =
            own_descriptors().map_err(|error| if error == io::Errno::AGAIN { Errno::ESTALE } else { errno(error) })?;
        let shown = |fd: BorrowedFd<'_>| {
            let text = readlinkat(&descriptors, fd.as_raw_fd().to_string(), Vec::new()).map_err(|error| match error {
                // A path that is longer than a page is not shown.
                io::Errno::NAMETOOLONG => Errno::ESTALE,
                other => host(other),
            })?;
            Ok::<_, Errno>(text.into_bytes())
        };
        let (top, path) = (shown(self.tree.root.as_fd())?, shown(reached.fd())?);
        if path == b"/" && top != b"/" {
            return Ok(None);
        }
        let below = path.strip_prefix(&*top).ok_or(Errno::ESTALE)?;
        let below = if top.ends_with(b"/") { Some(below) } else { below.strip_prefix(b"/") };
        below.map(|below| Some(below.to_vec())).ok_or(Errno::ESTALE)
    }

    /// Goes a path name by name, and counts its last node as handed out once more if that is the
    /// one with the key. The directories on the way are known then.
    fn hold_along(&self, path: &[u8], key: NodeKey) -> Result<(), Errno> {
        let (mut way, mut at) = (Vec::new(), None::<OwnedFd>);
        for name in path.split(|byte| *byte == b'/') {
            let name = Name::new(name).map_err(|_| Errno::ESTALE)?;
            let from = at.as_ref().map_or(self.tree.root.as_fd(), AsFd::as_fd);
            let gone = |error| if error == io::Errno::NOENT { Errno::ESTALE } else { errno(error) };
            let here = Reached::itself(open_beneath(from, name.bytes(), PLACE).map_err(gone)?);
            way.push((here.key(&self.tree.keys, &here.stat().map_err(host)?)?, name));
            at = Some(here.into_fd());
        }
        if way.last().is_none_or(|last| last.0 != key) {
            return Err(Errno::ESTALE);
        }
        let mut nodes = self.tree.nodes.write();
        nodes.hold_way(&way);
        let done_with = nodes.take_done_with();
        drop((nodes, done_with));
        Ok(())
    }

    /// Returns whether the root is the root of a whole file system.
    fn has_no_outside(&self) -> Result<bool, Errno> {
        let stat = self.tree.root.reach(b"").and_then(|root| root.stat()).map_err(host)?;
        let is_whole = |line: &mountinfo::Line| line.id == stat.stx_mnt_id && line.root == b"/";
        Ok(stat.stx_attributes.bits() & IS_MOUNT_ROOT != 0 && mountinfo::now().iter().any(is_whole))
    }

    /// Returns the directory and name under which a node was found last, if it is still there.
    pub(crate) fn name_of(&self, node: NodeKey) -> Result<FoundName, Errno> {
        let (dir, name, above, attributes) = self.tree.settled(|| {
            let (dir, name, path) = self.tree.nodes.read().home(node).ok_or(Errno::ESTALE)?;
            let (above, attributes) = self.tree.verified(dir, self.tree.root.reach(&path))?;
            self.tree.verified(node, open_beneath(above.fd(), name.bytes(), PLACE).map(Reached::itself))?;
            Ok((dir, name, above, attributes))
        })?;
        let loaded = self.load((dir, &above), attributes, Handing::Out)?;
        let found = self.node(dir, &above, &loaded)?;
        let mut nodes = self.tree.nodes.write();
        nodes.hold_again(dir).ok_or(Errno::ESTALE)?;
        if loaded.guard.is_some() {
            nodes.set_guard(dir, loaded.guard);
        }
        Ok(FoundName { dir: found, name: name.bytes().into() })
    }
}

/// Opens a node by a handle, again while the kernel gives the inode number to a new file: it then
/// says `ENOMEM` of the old one (`iget_locked`), and `ESTALE` a moment later.
fn open_settled(open: impl Fn() -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    const MOST: u32 = 1000;
    for _ in 0..MOST {
        match open() {
            Err(io::Errno::NOMEM) => std::thread::yield_now(),
            opened => return opened,
        }
    }
    open()
}
