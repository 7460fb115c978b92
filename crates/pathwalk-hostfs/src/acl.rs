//! Asking the host for the access control list of a node.
//!
//! `O_PATH` descriptors, all that is held here, do not take `fgetxattr(2)`. Three ways around that, of which the first that
//! works is chosen once:
//!
//! 1. `getxattrat(2)` (Linux 6.13): a name below a directory, or `.` in it. Needs nothing else; but `.` needs search
//!    permission on that very directory.
//! 2. `getxattr(2)` on `/proc/thread-self/fd/N`, or on a name below that. Needs `/proc` where it usually is.
//! 3. Opening the node for reading. Needs read permission, and is not done to devices, pipes and sockets, whose drivers and
//!    peers would notice.
//!
//! Invariant: "there is none" is said only if the kernel said so. What cannot be known is an error.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use pathwalk::permission::Acl;
use pathwalk::{Errno, FileType};
use rustix::fs::{self, OFlags};
use rustix::io::{self, retry_on_intr};

use crate::beneath::{Reached, errno, open_beneath};
use crate::getxattrat::getxattrat;

const ATTRIBUTE: &CStr = c"system.posix_acl_access";

/// A list of 32 entries. Longer ones are read a second time.
const USUAL_BYTES: usize = 4 + 32 * 8;

/// The most that Linux stores in one attribute.
const MOST_BYTES: usize = 1 << 16;

/// How lists are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    GetxattrAt,
    ProcFd,
    Open,
}

impl Source {
    /// The best way that works in this process.
    pub(crate) fn probe(root: BorrowedFd<'_>) -> Source {
        // Seccomp filters older than the call refuse it with EPERM.
        if !matches!(getxattrat(root, c".", ATTRIBUTE, &mut [0; 8]), Err(io::Errno::NOSYS | io::Errno::PERM)) {
            return Source::GetxattrAt;
        }
        let is_proc = fs::statfs("/proc/thread-self/fd").is_ok_and(|stat| stat.f_type == fs::PROC_SUPER_MAGIC);
        if is_proc { Source::ProcFd } else { Source::Open }
    }

    /// The value of the list's attribute, or `None` where there is no list, or none can be.
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

/// A list, and what it takes in memory.
pub(crate) fn parse(value: &[u8]) -> Result<(Acl, u64), Errno> {
    let entries = (value.len() / 8).next_power_of_two().max(4);
    let bytes = entries * size_of::<pathwalk::permission::AclEntry>() + 16;
    // A list that the kernel itself cannot make sense of refuses everything there as well.
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

/// The whole value: one call for usual lists, another where that does not hold it.
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
