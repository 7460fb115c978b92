//! The nodes of a layer, read by the host's calls: a layer may have many, so each takes few.
//!
//! What always holds: no link is followed, and nothing else changes the layer. One directory is
//! open at a time, however deep it is.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use pathwalk::{Attributes, Device, Errno, FileType, InodeFlags, Timestamp};
use rustix::fs::{
    self as host, AtFlags, CWD, Mode, OFlags, SeekFrom, Statx, StatxFlags, StatxTimestamp, openat, readlinkat, seek, statx,
};
use rustix::io;

use crate::tree::if_supported;

/// The length of most lists of names of extended attributes, and of most values.
const SHORT: usize = 256;

/// A directory of a layer.
pub(crate) struct Dir(OwnedFd);

/// A name in a directory, with what it leads to.
pub(crate) struct Named {
    pub(crate) name: Box<[u8]>,
    pub(crate) kind: FileType,
}

/// A node of a layer.
pub(crate) struct Node {
    fd: OwnedFd,
    opened: Opened,
    of: Attributes,
}

/// How a node was opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opened {
    ToRead,
    /// As a place alone, since it is no file or directory, or may not be read.
    AsPlace,
}

impl Dir {
    pub(crate) fn open(path: &Path) -> Result<Dir, Errno> {
        read(|flags| openat(CWD, path, flags | OFlags::DIRECTORY, Mode::empty())).map(Dir).map_err(errno)
    }

    /// Returns the directory above.
    pub(crate) fn above(&self) -> Result<Dir, Errno> {
        read(|flags| openat(&self.0, "..", flags | OFlags::DIRECTORY, Mode::empty())).map(Dir).map_err(errno)
    }

    /// Returns the names in it, sorted.
    pub(crate) fn names(&self) -> Result<Vec<Named>, Errno> {
        let mut all = Vec::new();
        for entry in host::Dir::read_from(&self.0).map_err(errno)? {
            let entry = entry.map_err(errno)?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                let kind = match FileType::from_mode(entry.file_type().as_raw_mode()) {
                    Some(kind) => kind,
                    // A file system that does not tell.
                    None => attributes(&stat(&self.0, name)?)?.kind,
                };
                all.push(Named { name: name.into(), kind });
            }
        }
        all.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// Opens what a name leads to, which is of this type.
    pub(crate) fn node(&self, name: &[u8], kind: FileType) -> Result<Node, Errno> {
        let place = || openat(&self.0, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
        let opened = match kind {
            FileType::Regular => open_to_read(&self.0, name),
            FileType::Directory => read(|flags| openat(&self.0, name, flags | OFlags::DIRECTORY, Mode::empty())),
            _ => return Node::of(place().map_err(errno)?, Opened::AsPlace),
        };
        match opened {
            Err(io::Errno::ACCESS) => Node::of(place().map_err(errno)?, Opened::AsPlace),
            opened => Node::of(opened.map_err(errno)?, Opened::ToRead),
        }
    }

    /// Returns the directory as a node.
    pub(crate) fn as_node(&self) -> Result<Node, Errno> {
        Node::of(io::fcntl_dupfd_cloexec(&self.0, 0).map_err(errno)?, Opened::ToRead)
    }
}

impl Node {
    fn of(fd: OwnedFd, opened: Opened) -> Result<Node, Errno> {
        let of = attributes(&stat(&fd, b"")?)?;
        Ok(Node { fd, opened, of })
    }

    /// Returns the attributes that it had when it was opened.
    pub(crate) fn attributes(&self) -> &Attributes {
        &self.of
    }

    /// Returns it as a directory. `EACCES` for one that may not be read.
    pub(crate) fn into_dir(self) -> Result<Dir, Errno> {
        if self.opened == Opened::ToRead { Ok(Dir(self.fd)) } else { Err(Errno::EACCES) }
    }

    /// Returns the names of its extended attributes.
    pub(crate) fn xattr_names(&self) -> Result<Vec<Vec<u8>>, Errno> {
        let names = if_supported(match self.path() {
            None => sized(|buffer| host::flistxattr(&self.fd, buffer)),
            Some(path) => sized(|buffer| host::listxattr(&path, buffer)),
        })?;
        Ok(names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
    }

    /// Returns the value of an extended attribute: `ENODATA`, `EOPNOTSUPP`.
    pub(crate) fn xattr(&self, name: &[u8]) -> Result<Vec<u8>, Errno> {
        match self.path() {
            None => sized(|buffer| host::fgetxattr(&self.fd, name, buffer)),
            Some(path) => sized(|buffer| host::getxattr(&path, name, buffer)),
        }
    }

    /// Returns the flags of a file or directory that users set. `EACCES` for one that may not be
    /// read.
    pub(crate) fn flags(&self) -> Result<InodeFlags, Errno> {
        if !matches!(self.of.kind, FileType::Regular | FileType::Directory) {
            return Ok(InodeFlags::empty());
        }
        self.may_be_read()?;
        let flags = host::ioctl_getflags(&self.fd).map_err(errno);
        if_supported(flags.map(|flags| InodeFlags::from_bits_retain(flags.bits())))
    }

    /// Returns the body of a link.
    pub(crate) fn body(&self) -> Result<Vec<u8>, Errno> {
        Ok(readlinkat(&self.fd, "", Vec::new()).map_err(errno)?.into_bytes())
    }

    /// Fills a buffer from an offset on: with zeros behind the end.
    pub(crate) fn read(&self, buffer: &mut [u8], offset: u64) -> Result<(), Errno> {
        self.may_be_read()?;
        let read = read_to(&self.fd, buffer, offset).map_err(errno)?;
        buffer[read..].fill(0);
        Ok(())
    }

    /// Returns whether a file may have holes: it has fewer blocks than bytes.
    pub(crate) fn may_have_holes(&self) -> bool {
        self.of.blocks.saturating_mul(512) < self.of.size
    }

    pub(crate) fn seek_data(&self, offset: u64) -> Result<u64, Errno> {
        self.may_be_read()?;
        seek(&self.fd, SeekFrom::Data(offset)).map_err(errno)
    }

    pub(crate) fn seek_hole(&self, offset: u64) -> Result<u64, Errno> {
        seek(&self.fd, SeekFrom::Hole(offset)).map_err(errno)
    }

    /// Returns whether a regular file stays as it is, since no process can write to it.
    pub(crate) fn is_settled(&self) -> bool {
        self.opened == Opened::ToRead && pathwalk_hostfs::has_no_writer(self.fd.as_fd())
    }

    /// Checks that it was opened to be read: `EACCES`.
    pub(crate) fn may_be_read(&self) -> Result<(), Errno> {
        if self.opened == Opened::ToRead { Ok(()) } else { Err(Errno::EACCES) }
    }

    /// Returns the path that leads to it, if its descriptor is a place alone.
    fn path(&self) -> Option<String> {
        (self.opened == Opened::AsPlace).then(|| format!("/proc/self/fd/{}", self.fd.as_raw_fd()))
    }
}

/// Opens a file to be read.
pub(crate) fn open_to_read(dir: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
    read(|flags| openat(dir, name, flags, Mode::empty()))
}

/// Fills a buffer from an offset of a file on. Returns the number of bytes, which are fewer at the
/// end.
pub(crate) fn read_to(file: &OwnedFd, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match io::retry_on_intr(|| io::pread(file, &mut buffer[done..], offset + done as u64))? {
            0 => break,
            length => done += length,
        }
    }
    Ok(done)
}

/// Opens for reading, without a trace in the time of access where that is allowed.
fn read(open: impl Fn(OFlags) -> io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match open(flags | OFlags::NOATIME) {
        Err(io::Errno::PERM) => open(flags),
        opened => opened,
    }
}

/// Asks for a value with a buffer that is large enough.
fn sized(ask: impl Fn(&mut [u8]) -> io::Result<usize>) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; SHORT];
    loop {
        match ask(&mut buffer) {
            Err(io::Errno::RANGE) => buffer.resize(ask(&mut []).map_err(errno)?.max(buffer.len() + 1), 0),
            length => {
                buffer.truncate(length.map_err(errno)?);
                return Ok(buffer);
            }
        }
    }
}

/// Checks that a name leads to a node with these attributes, but for the number and the time of
/// change: `ESTALE`.
pub(crate) fn check_still(dir: &OwnedFd, name: &[u8], wanted: &Attributes) -> Result<(), Errno> {
    let of = |of: &Attributes| (of.kind, of.mode, (of.uid, of.gid), of.nlink, of.size, (of.atime, of.mtime));
    let now = attributes(&stat(dir, name)?)?;
    if of(&now) == of(wanted) { Ok(()) } else { Err(Errno::ESTALE) }
}

fn stat(at: &OwnedFd, name: &[u8]) -> Result<Statx, Errno> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    statx(at.as_fd(), name, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME).map_err(errno)
}

/// Returns what is used of the attributes of a node.
fn attributes(of: &Statx) -> Result<Attributes, Errno> {
    let time = |time: &StatxTimestamp| Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec };
    let kind = FileType::from_mode(of.stx_mode.into()).ok_or(Errno::EIO)?;
    let mut found = Attributes::new(kind, of.stx_mode).with_owner(of.stx_uid, of.stx_gid).with_ino(of.stx_ino);
    (found.nlink, found.size, found.blocks) = (of.stx_nlink, of.stx_size, of.stx_blocks);
    found.device_node = Device { major: of.stx_rdev_major, minor: of.stx_rdev_minor };
    (found.atime, found.mtime, found.ctime) = (time(&of.stx_atime), time(&of.stx_mtime), time(&of.stx_ctime));
    Ok(found)
}

pub(crate) fn errno(error: io::Errno) -> Errno {
    Errno::from(&std::io::Error::from(error))
}
