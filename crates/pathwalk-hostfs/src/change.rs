//! Changes of names on the host: nodes are made, linked, removed and moved.
//!
//! Each directory is reached beneath the root and verified, and each call takes one name below its
//! descriptor, which is not followed as a link. So no change leads out of the root: a directory
//! that another process moves away at that moment is changed where it is then, since it was in the
//! root when the call began. Before a name is removed, or moved, the node behind it is reached. The
//! kernel has no call that removes a name only if it leads to a certain node, so in the moment
//! between, another process may put another node there, which is then removed.
//!
//! A new node gets its owner when it is made ([`As`]), and never more rights than it is to have:
//! the umask of this process may take some, which are added afterwards.

use std::os::fd::{BorrowedFd, OwnedFd};

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{AclState, Device, Errno, FileType, Name, NewKind, NewNode, Node, NodeKey, RenameFlags};
use rustix::fs::{self, AtFlags, CWD, Mode, OFlags};
use rustix::io::{self, retry_on_intr};

use crate::HostFs;
use crate::acl;
use crate::attributes::from_statx;
use crate::beneath::{PLACE, Reached, errno, open_beneath};
use crate::host_fs::Loaded;
use crate::ids::As;
use crate::key;
use crate::open_file::host;
use crate::set::{set_mode, set_owner};
use crate::watch::coverage::Handing;

/// The default list of the directory in which a node is made.
enum DefaultList {
    /// It matters only if the node turns out to have other bits than expected.
    NotAsked,
    Known(Option<Acl>),
}

impl HostFs {
    /// Makes a node under a name.
    pub(crate) fn make(&self, dir: NodeKey, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        let begun = self.tree.begun();
        let above = self.tree.reach_directory(dir)?;
        let default = self.default_list(&above, new)?;
        let fd = {
            let _as = As::owner(new.uid, new.gid)?;
            make_in(above.fd(), name.bytes(), new.kind, made_with(new, &default)).map_err(errno)?
        };
        let remove = || {
            let flags = if new.kind == NewKind::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            // The reason why the node is removed again is reported, and not what comes of that.
            _ = fs::unlinkat(above.fd(), name.bytes(), flags);
        };
        let fd = match fd {
            Some(fd) => fd,
            None => open_beneath(above.fd(), name.bytes(), PLACE).map_err(errno).inspect_err(|_| remove())?,
        };
        let reached = Reached::itself(fd);
        let (key, loaded) = self.finished((&above, &reached), new, default).inspect_err(|_| remove())?;
        let node = self.node(key, &reached, &loaded)?;
        let mut nodes = self.tree.nodes.write();
        nodes.hold(key, dir, name.bytes()).ok_or(Errno::ESTALE)?;
        nodes.refresh_guard(key, loaded.guard);
        let done_with = nodes.take_done_with();
        drop((nodes, done_with));
        self.tree.handed_out(begun.as_ref(), [key]);
        if new.kind == NewKind::Regular {
            self.tree.open.keep_made(key, reached.into_fd());
        }
        Ok(node)
    }

    /// Makes a regular file without a name.
    pub(crate) fn make_unnamed(&self, dir: NodeKey, new: &NewNode<'_>) -> Result<Node, Errno> {
        let begun = self.tree.begun();
        let above = self.tree.reach_directory(dir)?;
        let default = self.default_list(&above, new)?;
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let fd = {
            let _as = As::owner(new.uid, new.gid)?;
            let mode = Mode::from_raw_mode(made_with(new, &default).into());
            retry_on_intr(|| fs::openat(above.fd(), ".", flags, mode)).map_err(|error| match error {
                // A file system, or a kernel, that makes no such files.
                io::Errno::ISDIR => Errno::EOPNOTSUPP,
                other => errno(other),
            })?
        };
        let reached = Reached::itself(fd);
        let (key, loaded) = self.finished((&above, &reached), new, default)?;
        let node = self.node(key, &reached, &loaded)?;
        let fd = reached.into_fd();
        let kept = fd.try_clone().map_err(|error| Errno::from(&error))?;
        self.tree.nodes.write().hold_without_name(key, kept);
        self.tree.handed_out(begun.as_ref(), [key]);
        self.tree.open.keep_made(key, fd);
        Ok(node)
    }

    /// Returns the default list of a directory in which a node is made, if it decides about the
    /// bits that the node is made with: it replaces the umask.
    fn default_list(&self, above: &Reached, new: &NewNode<'_>) -> Result<DefaultList, Errno> {
        if new.mode & new.umask == 0 { Ok(DefaultList::NotAsked) } else { self.ask_default_list(above) }
    }

    fn ask_default_list(&self, above: &Reached) -> Result<DefaultList, Errno> {
        let value = match self.source.read_list(above, FileType::Directory, AclKind::Default) {
            Err(Errno::EOPNOTSUPP) => None,
            value => value?,
        };
        let list = value.map(|value| acl::parse(&value)).transpose()?;
        Ok(DefaultList::Known(list.map(|(list, _)| list)))
    }

    /// Gives a node that was just made the owner and the bits that it is to have, where the host
    /// gave it others. Returns its key and attributes.
    fn finished(
        &self,
        (above, made): (&Reached, &Reached),
        new: &NewNode<'_>,
        mut default: DefaultList,
    ) -> Result<(NodeKey, Loaded<'_>), Errno> {
        let mut stat = made.stat().map_err(host)?;
        let mut attributes = from_statx(&stat)?;
        if attributes.kind != new.kind.file_type() {
            // Another process has replaced the node.
            return Err(Errno::ESTALE);
        }
        let is_link = attributes.kind == FileType::Symlink;
        if !is_link && attributes.mode != new.mode & !new.umask && matches!(default, DefaultList::NotAsked) {
            default = self.ask_default_list(above)?;
        }
        let wanted = match &default {
            DefaultList::NotAsked => new.mode & !new.umask,
            DefaultList::Known(list) => new.inherit(list.as_ref()).mode,
        };
        let has_owner = (attributes.uid, attributes.gid) == (new.uid, new.gid);
        if !has_owner {
            set_owner(made, (new.uid, new.gid), &attributes)?;
        }
        // A change of owner may clear bits.
        let has_bits = is_link || attributes.mode == wanted && (has_owner || wanted & 0o7000 == 0);
        if !has_bits {
            set_mode(made, wanted)?;
        }
        if !has_owner || !has_bits {
            stat = made.stat().map_err(host)?;
            attributes = from_statx(&stat)?;
        }
        let key = made.key(&self.tree.keys, &stat)?;
        if !is_link && matches!(default, DefaultList::Known(None)) {
            attributes.acl = AclState::Absent;
            let covering = self.tree.cover((key, made, &attributes), Handing::Out);
            return Ok((key, Loaded { attributes, covering, guard: None }));
        }
        Ok((key, self.load((key, made), attributes, Handing::Out)?))
    }

    /// Gives a node another name.
    pub(crate) fn link_in(&self, node: NodeKey, dir: NodeKey, name: Name<'_>) -> Result<Node, Errno> {
        let above = self.tree.reach_directory(dir)?;
        let (reached, _) = self.tree.reach(node)?;
        self.link_reached(node, &reached, &above, name)?;
        let stat = reached.stat().map_err(host)?;
        let loaded = self.load((node, &reached), from_statx(&stat)?, Handing::Out)?;
        let linked = self.node(node, &reached, &loaded)?;
        let mut nodes = self.tree.nodes.write();
        nodes.hold(node, dir, name.bytes()).ok_or(Errno::ESTALE)?;
        let done_with = nodes.take_done_with();
        drop((nodes, done_with));
        Ok(linked)
    }

    /// Links the node of a descriptor. Without `CAP_DAC_READ_SEARCH`, the kernel takes one only
    /// through `/proc`, or since Linux 6.10 from the process that opened it.
    fn link_reached(&self, node: NodeKey, reached: &Reached, above: &Reached, name: Name<'_>) -> Result<(), Errno> {
        let to = (above.fd(), name.bytes());
        match fs::linkat(reached.fd(), "", to.0, to.1, AtFlags::EMPTY_PATH) {
            Err(io::Errno::NOENT | io::Errno::PERM) => {}
            linked => return linked.map_err(without_walk),
        }
        if let Ok(path) = reached.through_proc() {
            return fs::linkat(CWD, path, to.0, to.1, AtFlags::SYMLINK_FOLLOW).map_err(without_walk);
        }
        let (place, _) = self.tree.reach_by_name(node)?;
        let old = place.name().ok_or(Errno::ENOENT)?;
        fs::linkat(place.fd(), old.bytes(), to.0, to.1, AtFlags::empty()).map_err(without_walk)
    }

    /// Removes a name of a node.
    pub(crate) fn unlink_in(&self, dir: NodeKey, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        let above = self.tree.reach_directory(dir)?;
        let (victim, attributes) = self.tree.verified(node, place_in(&above, name))?;
        let flags = if attributes.kind == FileType::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        let done_with = {
            let _changing = self.tree.changes.read();
            fs::unlinkat(above.fd(), name.bytes(), flags).map_err(|error| match error {
                // The engine has checked the kinds, so another process has replaced the node.
                io::Errno::ISDIR | io::Errno::NOENT => Errno::ESTALE,
                other => errno(other),
            })?;
            let mut nodes = self.tree.nodes.write();
            nodes.lost(node, dir, name.bytes(), victim.into_fd());
            nodes.take_done_with()
        };
        drop(done_with);
        self.tree.open.drop_made(node);
        Ok(())
    }

    /// Moves `from` to `to`.
    pub(crate) fn rename_in(
        &self,
        (from_dir, from): (NodeKey, Name<'_>),
        (to_dir, to): (NodeKey, Name<'_>),
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        let old = self.tree.reach_directory(from_dir)?;
        let new = if to_dir == from_dir { None } else { Some(self.tree.reach_directory(to_dir)?) };
        let new = new.as_ref().unwrap_or(&old);
        let source = self.known(place_in(&old, from))?.ok_or(Errno::ESTALE)?;
        let target = self.known(place_in(new, to))?;
        let is_directory = |of: &Known| key::kind_of(of.key) == Some(FileType::Directory);
        let replaced = target.as_ref().filter(|_| !flags.contains(RenameFlags::EXCHANGE)).map(|target| target.key);
        let moves_directory = is_directory(&source) || target.as_ref().is_some_and(is_directory);
        let done_with = {
            let _changing = self.tree.changes.read();
            let _moving = moves_directory.then(|| self.tree.moves.write());
            let how = fs::RenameFlags::from_bits_retain(flags.bits());
            fs::renameat_with(old.fd(), from.bytes(), new.fd(), to.bytes(), how).map_err(|error| match error {
                // Kinds that do not match are reported as they are.
                io::Errno::NOTDIR => Errno::ENOTDIR,
                other => without_walk(other),
            })?;
            let (from, to) = ((from_dir, from.bytes()), (to_dir, to.bytes()));
            let mut nodes = self.tree.nodes.write();
            match target {
                // Both names are of one node: nothing was done.
                Some(target) if target.key == source.key => {}
                Some(target) if flags.contains(RenameFlags::EXCHANGE) => {
                    nodes.moved(source.key, from, to);
                    nodes.moved(target.key, to, from);
                }
                target => {
                    if let Some(target) = target {
                        nodes.lost(target.key, to.0, to.1, target.fd);
                    }
                    nodes.moved(source.key, from, to);
                }
            }
            nodes.take_done_with()
        };
        drop(done_with);
        replaced.into_iter().for_each(|node| self.tree.open.drop_made(node));
        Ok(())
    }

    /// Returns the node of a place, or `None` where there is none.
    fn known(&self, place: io::Result<Reached>) -> Result<Option<Known>, Errno> {
        let reached = match place {
            Err(io::Errno::NOENT) => return Ok(None),
            place => place.map_err(errno)?,
        };
        let stat = reached.stat().map_err(host)?;
        Ok(Some(Known { key: reached.key(&self.tree.keys, &stat)?, fd: reached.into_fd() }))
    }
}

/// A node that is about to lose a name, or to be moved.
struct Known {
    key: NodeKey,
    fd: OwnedFd,
}

/// Reaches a name in a directory, by a descriptor of the node.
/// Converts an error of a call on names in directories that are held: no path is walked, so `EXDEV`
/// says that there are two mounts, or that this file system moves no such node. So do overlayfs for
/// a directory of a lower layer, and ext4 for one of another project.
fn without_walk(error: io::Errno) -> Errno {
    if error == io::Errno::XDEV { Errno::EXDEV } else { errno(error) }
}

fn place_in(above: &Reached, name: Name<'_>) -> io::Result<Reached> {
    open_beneath(above.fd(), name.bytes(), PLACE).map(Reached::itself)
}

/// Returns the bits that a node is made with. A default list takes its place among them itself.
fn made_with(new: &NewNode<'_>, default: &DefaultList) -> u16 {
    if matches!(default, DefaultList::Known(Some(_))) { new.mode } else { new.mode & !new.umask }
}

/// Makes a node under a name. Returns the descriptor if the node was opened thereby.
fn make_in(above: BorrowedFd<'_>, name: &[u8], kind: NewKind<'_>, mode: u16) -> io::Result<Option<OwnedFd>> {
    let bits = Mode::from_raw_mode(mode.into());
    let node =
        |kind, device: Device| fs::mknodat(above, name, kind, bits, fs::makedev(device.major, device.minor)).map(|()| None);
    match kind {
        NewKind::Regular => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            retry_on_intr(|| fs::openat(above, name, flags, bits)).map(Some)
        }
        NewKind::Directory => fs::mkdirat(above, name, bits).map(|()| None),
        NewKind::Symlink(body) => fs::symlinkat(body, above, name).map(|()| None),
        NewKind::Fifo => node(fs::FileType::Fifo, Device::default()),
        NewKind::Socket => node(fs::FileType::Socket, Device::default()),
        NewKind::CharDevice(device) => node(fs::FileType::CharacterDevice, device),
        NewKind::BlockDevice(device) => node(fs::FileType::BlockDevice, device),
    }
}
