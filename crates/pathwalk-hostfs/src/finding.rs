//! Finds a name in a directory: as a place, or opened for reading at once.
//!
//! A node that is to be read or listed is opened by the same call that finds it where that has no
//! effect on the node that a caller without the right to read it could be refused. That is so for a
//! directory. It is also so for a regular file that all users may read: others may have a lease on
//! a file, which an open breaks. Where changes are carried out, a file is opened as
//! [`opening`](crate::opening) says, and not here.
//!
//! What always holds: the directory is that which was handed out, and the name is found in it.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use pathwalk::{Directory, Errno, FileType, FoundToRead, Name, NodeKey, OpenFile, OpenFor};
use rustix::fs::{OFlags, ResolveFlags, Statx};
use rustix::io;

use crate::beneath::{PLACE, Reached, errno, open_beneath, stat_in};
use crate::host_fs::HostFs;
use crate::open_file::{Descriptors, Open};
use crate::opening::TO_READ;
use crate::tree::{Changes, Tree};

/// How a node is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// As a place.
    Place,
    /// For reading, if that is possible. The type is the one that the caller insists on.
    ToRead(Option<FileType>),
}

/// A node that was found.
pub(crate) struct Found {
    pub(crate) reached: Reached,
    pub(crate) stat: Statx,
    /// Whether its descriptor is one for reading.
    pub(crate) is_to_read: bool,
}

impl Tree {
    /// Finds a name in a directory that was handed out. `None` if there is no such name.
    pub(crate) fn find(&self, dir: NodeKey, name: Name<'_>, how: Reach) -> Result<Option<Found>, Errno> {
        if self.is_changed_by_others() {
            let above = self.reach_alive(dir)?;
            let open = |flags| open_beneath(above.fd(), name.bytes(), flags);
            let kind = || self.kind_to_read(&above, name);
            return found(how, open, kind);
        }
        let _still = (self.mode == Changes::CarriedOut).then(|| self.moves.read());
        let path = self.nodes.read().path_in(dir, name.bytes()).ok_or(Errno::ESTALE)?;
        found(how, |flags| self.root.open_below(&path, flags, ResolveFlags::empty()), || None)
    }

    /// Returns the type of a name, if it is opened at once.
    fn kind_to_read(&self, above: &Reached, name: Name<'_>) -> Option<FileType> {
        const READABLE_BY_ALL: u16 = 0o444;
        let stat = stat_in(above.fd(), &CString::new(name.bytes()).ok()?).ok()?;
        let is_open_to_all = self.mode == Changes::Refused && stat.stx_mode & READABLE_BY_ALL == READABLE_BY_ALL;
        let kind = FileType::from_mode(stat.stx_mode.into())?;
        (kind == FileType::Directory || kind == FileType::Regular && is_open_to_all).then_some(kind)
    }
}

/// Reaches a node by `open`. `kind` returns the type of a node that may be opened at once.
fn found(
    how: Reach,
    open: impl Fn(OFlags) -> io::Result<OwnedFd>,
    kind: impl Fn() -> Option<FileType>,
) -> Result<Option<Found>, Errno> {
    let kind = match how {
        Reach::Place => None,
        Reach::ToRead(Some(FileType::Directory)) => Some(FileType::Directory),
        Reach::ToRead(_) => kind(),
    };
    if let Some((reached, stat)) = kind.and_then(|kind| opened_as(kind, &open)) {
        return Ok(Some(Found { reached, stat, is_to_read: true }));
    }
    let reached = match open(PLACE) {
        Ok(fd) => Reached::itself(fd),
        Err(io::Errno::NOENT) => return Ok(None),
        Err(other) => return Err(errno(other)),
    };
    let stat = reached.stat().map_err(errno)?;
    Ok(Some(Found { reached, stat, is_to_read: false }))
}

/// Opens a node that is of this type.
fn opened_as(kind: FileType, open: impl Fn(OFlags) -> io::Result<OwnedFd>) -> Option<(Reached, Statx)> {
    let only = if kind == FileType::Directory { OFlags::DIRECTORY } else { OFlags::empty() };
    let reached = Reached::itself(open(TO_READ | only).ok()?);
    let stat = reached.stat().ok()?;
    (FileType::from_mode(stat.stx_mode.into()) == Some(kind)).then_some((reached, stat))
}

impl HostFs {
    /// Looks up a name that is to be read or listed.
    pub(crate) fn find_to_read(
        &self,
        dir: &Directory<'_>,
        name: Name<'_>,
        expected: Option<FileType>,
    ) -> Result<Option<FoundToRead>, Errno> {
        let how = if self.descriptors == Descriptors::AtOpen { Reach::ToRead(expected) } else { Reach::Place };
        let Some((node, found)) = self.find_by(dir.key(), name, how)? else { return Ok(None) };
        let file = found.is_to_read.then(|| Open::by(&self.tree, node.key, OpenFor::READ, found.reached.into_fd()));
        Ok(Some(FoundToRead { node, file: file.map(|file| Box::new(file) as Box<dyn OpenFile>) }))
    }
}
