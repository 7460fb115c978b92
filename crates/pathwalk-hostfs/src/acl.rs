//! Reads the access control list of a node from the host.
//!
//! The descriptors used here are `O_PATH` descriptors, which `fgetxattr(2)` does not accept. There
//! are three ways around that. The first that works is chosen once, when the file system is opened:
//!
//! 1. `getxattrat(2)` (Linux 6.13), on a name below a directory, or on `.` in it. Needs nothing
//!    else, but `.` needs search permission on that very directory.
//! 2. `getxattr(2)` on `/proc/thread-self/fd/N`, or on a name below that. Needs `/proc` at its
//!    usual place.
//! 3. Opening the node for reading. Needs read permission. It is not done for devices, pipes and
//!    sockets, because their drivers and peers would notice.
//!
//! Invariant: "no list" is reported only if the kernel said so. If the kernel's answer cannot be
//! obtained, the result is an error.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use pathwalk::permission::Acl;
use pathwalk::{Errno, FileType};
use rustix::fs::{self, OFlags};
use rustix::io::{self, retry_on_intr};

use crate::beneath::{Reached, errno, open_beneath};
use crate::getxattrat::getxattrat;

const ATTRIBUTE: &CStr = c"system.posix_acl_access";

/// The size of a list of 32 entries. Longer lists take a second read.
const USUAL_BYTES: usize = 4 + 32 * 8;

/// The largest value that Linux stores in one attribute.
const MOST_BYTES: usize = 1 << 16;

/// The way in which lists are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    GetxattrAt,
    ProcFd,
    Open,
}

impl Source {
    /// Returns the best way that works in this process.
    pub(crate) fn probe(root: BorrowedFd<'_>) -> Source {
        // Seccomp filters that are older than the call refuse it with EPERM.
        if !matches!(getxattrat(root, c".", ATTRIBUTE, &mut [0; 8]), Err(io::Errno::NOSYS | io::Errno::PERM)) {
            return Source::GetxattrAt;
        }
        let is_proc = fs::statfs("/proc/thread-self/fd").is_ok_and(|stat| stat.f_type == fs::PROC_SUPER_MAGIC);
        if is_proc { Source::ProcFd } else { Source::Open }
    }

    /// Returns the value of the list's attribute. Returns `None` where there is no list, or where
    /// none is possible.
    pub(crate) fn read(self, node: &Reached, kind: FileType) -> Result<Option<Vec<u8>>, Errno> {
        if kind == FileType::Symlink {
            return Ok(None);
        }
        let value = match self {
            Source::GetxattrAt => read_at(node),
            Source::ProcFd => read_through_proc(node),
            Source::Open => read_opened(node, kind),
        };
        match value {
            Ok(value) => Ok(Some(value)),
            Err(io::Errno::NODATA | io::Errno::OPNOTSUPP) => Ok(None),
            Err(other) => Err(errno(other)),
        }
    }
}

/// Parses a list and returns it with the memory that it takes, in bytes.
pub(crate) fn parse(value: &[u8]) -> Result<(Acl, u64), Errno> {
    let entries = (value.len() / 8).next_power_of_two().max(4);
    let bytes = entries * size_of::<pathwalk::permission::AclEntry>() + 16;
    // The kernel refuses everything on a node whose list it cannot parse, so this is an error too.
    Ok((Acl::from_xattr(value).map_err(|_| Errno::EIO)?, bytes as u64))
}

fn read_at(node: &Reached) -> io::Result<Vec<u8>> {
    let path = node.name().map_or(Ok(c".".into()), |name| CString::new(name.bytes())).map_err(|_| io::Errno::INVAL)?;
    whole(|buffer| getxattrat(node.fd(), &path, ATTRIBUTE, buffer))
}

fn read_through_proc(node: &Reached) -> io::Result<Vec<u8>> {
    let mut path = format!("/proc/thread-self/fd/{}", node.fd().as_raw_fd()).into_bytes();
    match node.name() {
        None => whole(|buffer| fs::getxattr(&*path, ATTRIBUTE, buffer)),
        Some(name) => {
            path.push(b'/');
            path.extend(name.bytes());
            whole(|buffer| fs::lgetxattr(&*path, ATTRIBUTE, buffer))
        }
    }
}

fn read_opened(node: &Reached, kind: FileType) -> io::Result<Vec<u8>> {
    if !matches!(kind, FileType::Directory | FileType::Regular) {
        return Err(io::Errno::ACCESS);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = node.name().map_or(&b"."[..], |name| name.bytes());
    let opened = open_beneath(node.fd(), path, flags)?;
    whole(|buffer| fs::fgetxattr(opened.as_fd(), ATTRIBUTE, buffer))
}

/// Reads the whole value: one call for usual lists, and a second one for longer lists.
fn whole(mut read: impl FnMut(&mut [u8]) -> io::Result<usize>) -> io::Result<Vec<u8>> {
    let mut usual = [0; USUAL_BYTES];
    match retry_on_intr(|| read(&mut usual)) {
        Ok(length) => Ok(usual[..length].to_vec()),
        Err(io::Errno::RANGE) => {
            let mut most = vec![0; MOST_BYTES];
            let length = retry_on_intr(|| read(&mut most))?;
            most.truncate(length);
            Ok(most)
        }
        Err(errno) => Err(errno),
    }
}
