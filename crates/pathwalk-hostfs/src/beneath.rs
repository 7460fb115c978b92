//! Reaches nodes beneath the root, and never anything else.
//!
//! Invariant: every descriptor comes from `openat2(2)` beneath the root's descriptor, with no links
//! followed, or from such a descriptor. Calls without `RESOLVE_BENEATH` may then use one single
//! name below such a descriptor. A single name cannot lead out of the root as long as it is not
//! followed as a link.
//!
//! What it does not do: keep descriptors of nodes that have names. A directory's descriptor stays
//! with the directory when that is moved out of the root, and would keep answering from there. (A
//! file or directory that is open stays open, as with any open file.)

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use pathwalk::limits::{LINK_MAX, PATH_MAX};
use pathwalk::{Errno, Name, NodeKey};
use rustix::fs::{self, AtFlags, CWD, Mode, OFlags, ResolveFlags, Statx, StatxFlags};
use rustix::io::{self, retry_on_intr};
use rustix::path::Arg;

use crate::OpenError;
use crate::attributes;
use crate::key::Keys;
use crate::magic;

const RESOLVE: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// The flags for a place only: the descriptor gives no right to read, the open has no effect on the
/// node, and a link is opened itself.
pub(crate) const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The directory in which the kernel shows the descriptors of the calling thread.
const OWN_DESCRIPTORS: &CStr = c"/proc/thread-self/fd";

/// The directory that every node is beneath.
#[derive(Debug)]
pub(crate) struct Root(OwnedFd);

impl Root {
    /// Opens the directory, following links in `path`, and checks that the kernel can confine
    /// lookups to it.
    pub(crate) fn open(path: &Path) -> Result<Root, OpenError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = fs::openat(CWD, path, flags, Mode::empty()).map_err(|errno| OpenError::open(path, errno))?;
        // Seccomp filters that are older than the call refuse it with EPERM.
        match open_beneath(root.as_fd(), b".", PLACE) {
            Ok(_) => {}
            Err(io::Errno::NOSYS | io::Errno::PERM) => return Err(OpenError::unsupported(path, "there is no openat2(2)")),
            Err(errno) => return Err(OpenError::search(path, errno)),
        }
        let stat = statx(root.as_fd(), "").map_err(|errno| OpenError::open(path, errno))?;
        if stat.stx_mask & StatxFlags::MNT_ID.bits() == 0 {
            return Err(OpenError::unsupported(path, "statx(2) returns no mount id"));
        }
        Ok(Root(root))
    }

    /// Opens the node at `path`, relative to the root, as a place. The path has no slash at either
    /// end, and is empty for the root.
    pub(crate) fn reach(&self, path: &[u8]) -> io::Result<Reached> {
        self.open_below(path, PLACE, ResolveFlags::empty()).map(Reached::itself)
    }

    /// Opens the node at `path` with the given flags. `resolve` is added to the usual restrictions.
    pub(crate) fn open_below(&self, path: &[u8], flags: OFlags, resolve: ResolveFlags) -> io::Result<OwnedFd> {
        if path.is_empty() { open_so(self.as_fd(), b".", flags, resolve) } else { self.descend(path, flags, resolve) }
    }

    /// Reaches `name` in the directory at `dir`, by a descriptor of that directory.
    pub(crate) fn reach_in(&self, dir: &[u8], name: &[u8]) -> io::Result<Reached> {
        Ok(Reached { fd: self.reach(dir)?.fd, name: name.into() })
    }

    /// Opens the node at `path`. Opens a path that is too long for one call in several stretches.
    fn descend(&self, path: &[u8], flags: OFlags, resolve: ResolveFlags) -> io::Result<OwnedFd> {
        let mut rest = path;
        let mut stretch: Option<OwnedFd> = None;
        while rest.len() > PATH_MAX {
            let end = rest[..=PATH_MAX].iter().rposition(|byte| *byte == b'/').ok_or(io::Errno::NAMETOOLONG)?;
            let from = stretch.as_ref().unwrap_or(&self.0).as_fd();
            stretch = Some(open_so(from, &rest[..end], PLACE | OFlags::DIRECTORY, resolve)?);
            rest = &rest[end + 1..];
        }
        open_so(stretch.as_ref().unwrap_or(&self.0).as_fd(), rest, flags, resolve)
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A node that was reached, by a descriptor of its own or by its name below its directory's
/// descriptor.
#[derive(Debug)]
pub(crate) struct Reached {
    fd: OwnedFd,
    /// The name below `fd`, empty where `fd` is the node itself.
    name: Box<[u8]>,
}

impl Reached {
    pub(crate) fn itself(fd: OwnedFd) -> Reached {
        Reached { fd, name: Box::default() }
    }

    pub(crate) fn into_fd(self) -> OwnedFd {
        self.fd
    }

    /// Returns the descriptor that [`name`](Self::name) is below.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns the node's name below the descriptor, or `None` where the descriptor is the node.
    pub(crate) fn name(&self) -> Option<Name<'_>> {
        Name::new(&self.name).ok()
    }

    /// Opens the node of the descriptor, which is not a link, with other flags. The node is found
    /// by the descriptor and not by its name, so it is the same node.
    ///
    /// Fails with `EAGAIN` where no `/proc` is mounted.
    pub(crate) fn open_again(&self, flags: OFlags) -> io::Result<OwnedFd> {
        let descriptors = own_descriptors()?;
        let name = self.fd.as_raw_fd().to_string();
        // The name is a link that leads to the descriptor's node, whatever the path says.
        retry_on_intr(|| fs::openat(&descriptors, name.as_str(), flags.difference(OFlags::NOFOLLOW), Mode::empty()))
    }

    /// Returns the path of the descriptor's node through `/proc`, for calls that take a path and
    /// follow it. Fails with `EOPNOTSUPP` where no `/proc` is mounted.
    pub(crate) fn through_proc(&self) -> Result<String, Errno> {
        own_descriptors().map_err(|error| if error == io::Errno::AGAIN { Errno::EOPNOTSUPP } else { errno(error) })?;
        Ok(format!("/proc/thread-self/fd/{}", self.fd.as_raw_fd()))
    }

    /// Returns the node's `statx` result. Triggers no automount.
    pub(crate) fn stat(&self) -> io::Result<Statx> {
        statx(self.fd(), &*self.name)
    }

    /// Returns the node's `statx` result with these attributes alone.
    pub(crate) fn stat_some(&self, mask: StatxFlags) -> io::Result<Statx> {
        statx_some(self.fd(), &*self.name, mask)
    }

    /// Returns the key of the node that `stat` describes, which was just returned.
    pub(crate) fn key(&self, keys: &Keys, stat: &Statx) -> Result<NodeKey, Errno> {
        if self.name.is_empty() {
            return keys.of(self.fd(), c"", stat);
        }
        let name = CString::new(&*self.name).map_err(|_| Errno::EINVAL)?;
        keys.of(self.fd(), &name, stat)
    }

    /// Returns the body of a link. The buffer is as large as the largest body, so one call suffices
    /// whatever size `stat` reported.
    pub(crate) fn link_body(&self) -> Result<Box<[u8]>, Errno> {
        let mut buffer = [0; LINK_MAX + 1];
        let length = retry_on_intr(|| fs::readlinkat_raw(self.fd(), &*self.name, &mut buffer)).map_err(errno)?;
        if length > LINK_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        Ok(buffer[..length].into())
    }
}

/// Opens the directory of this thread's descriptors. Fails with `EAGAIN` where no `/proc` is
/// mounted.
pub(crate) fn own_descriptors() -> io::Result<OwnedFd> {
    let opened = fs::open(OWN_DESCRIPTORS, PLACE | OFlags::DIRECTORY, Mode::empty());
    let descriptors = opened.map_err(|error| match error {
        io::Errno::MFILE | io::Errno::NFILE | io::Errno::NOMEM => error,
        _ => io::Errno::AGAIN,
    })?;
    if magic::of(&fs::fstatfs(&descriptors)?) == magic::PROC { Ok(descriptors) } else { Err(io::Errno::AGAIN) }
}

/// Opens `path` below `from` with `RESOLVE`. Without `..` in the path, the kernel has no reason for
/// `EAGAIN`.
pub(crate) fn open_beneath(from: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    open_so(from, path, flags, ResolveFlags::empty())
}

fn open_so(from: BorrowedFd<'_>, path: &[u8], flags: OFlags, resolve: ResolveFlags) -> io::Result<OwnedFd> {
    retry_on_intr(|| fs::openat2(from, path, flags, Mode::empty(), RESOLVE | resolve))
}

/// Returns the `statx` result of `name` in the directory `dir`. Triggers no automount.
pub(crate) fn stat_in(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<Statx> {
    statx(dir, name)
}

fn statx(fd: BorrowedFd<'_>, name: impl Arg + Copy) -> io::Result<Statx> {
    statx_some(fd, name, attributes::MASK)
}

fn statx_some(fd: BorrowedFd<'_>, name: impl Arg + Copy, mask: StatxFlags) -> io::Result<Statx> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    retry_on_intr(|| fs::statx(fd, name, flags, mask))
}

/// Converts an error of the kernel to the engine's.
///
/// The path consists of directories that were found before. If it still does, the kernel cannot
/// report a link, a non-directory on the way, or a way out of the root. So these errors mean that
/// the tree has changed, and they become `ESTALE`: the walk starts again.
pub(crate) fn errno(errno: io::Errno) -> Errno {
    match errno {
        io::Errno::LOOP | io::Errno::NOTDIR | io::Errno::XDEV => Errno::ESTALE,
        other => Errno::from_raw(other.raw_os_error()),
    }
}
