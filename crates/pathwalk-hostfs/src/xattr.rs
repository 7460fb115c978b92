//! Reads extended attributes of a node from the host.
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
//! Beside that, the host checks the rights of this process, as for any of its calls.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use pathwalk::{Errno, FileType, NodeKey, XattrName};
use rustix::fs::{self, OFlags};
use rustix::io::{self, retry_on_intr};

use crate::HostFs;
use crate::beneath::{Reached, errno, open_beneath};
use crate::calls::{getxattrat, listxattrat};

/// The size of the first buffer, in bytes: that of an access control list of 32 entries. Longer
/// values take a second read.
const USUAL_BYTES: usize = 4 + 32 * 8;

/// The largest value that Linux stores in one attribute, and the largest list of names.
const MOST_BYTES: usize = 1 << 16;

/// The way in which attributes are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    GetxattrAt,
    ProcFd,
    Open,
}

/// A question about a node.
#[derive(Clone, Copy)]
pub(crate) enum Question<'a> {
    /// The value of the attribute of this name.
    Value(&'a CStr),
    /// The names of all attributes, with a NUL behind each.
    Names,
}

impl Source {
    /// Returns the best way that works in this process.
    pub(crate) fn probe(root: BorrowedFd<'_>) -> Source {
        // Seccomp filters that are older than the call refuse it with EPERM.
        let tried = getxattrat(root, c".", c"system.posix_acl_access", &mut [0; 8]);
        if !matches!(tried, Err(io::Errno::NOSYS | io::Errno::PERM)) {
            return Source::GetxattrAt;
        }
        let is_proc = fs::statfs("/proc/thread-self/fd").is_ok_and(|stat| stat.f_type == fs::PROC_SUPER_MAGIC);
        if is_proc { Source::ProcFd } else { Source::Open }
    }

    /// Returns the host's answer about a node.
    pub(crate) fn ask(self, node: &Reached, kind: FileType, question: Question<'_>) -> io::Result<Vec<u8>> {
        match self {
            // A node that has no name, and is no directory.
            Source::GetxattrAt if node.name().is_none() && kind != FileType::Directory => ask_through_proc(node, question),
            Source::GetxattrAt => ask_at(node, question),
            Source::ProcFd => ask_through_proc(node, question),
            Source::Open => ask_opened(node, kind, question),
        }
    }
}

fn ask_at(node: &Reached, question: Question<'_>) -> io::Result<Vec<u8>> {
    let path = node.name().map_or(Ok(c".".into()), |name| CString::new(name.bytes())).map_err(|_| io::Errno::INVAL)?;
    whole(|buffer| match question {
        Question::Value(name) => getxattrat(node.fd(), &path, name, buffer),
        Question::Names => listxattrat(node.fd(), &path, buffer),
    })
}

fn ask_through_proc(node: &Reached, question: Question<'_>) -> io::Result<Vec<u8>> {
    let mut path = format!("/proc/thread-self/fd/{}", node.fd().as_raw_fd()).into_bytes();
    let Some(name_below) = node.name() else {
        return whole(|buffer| match question {
            Question::Value(name) => fs::getxattr(&*path, name, buffer),
            Question::Names => fs::listxattr(&*path, buffer),
        });
    };
    path.push(b'/');
    path.extend(name_below.bytes());
    whole(|buffer| match question {
        Question::Value(name) => fs::lgetxattr(&*path, name, buffer),
        Question::Names => fs::llistxattr(&*path, buffer),
    })
}

fn ask_opened(node: &Reached, kind: FileType, question: Question<'_>) -> io::Result<Vec<u8>> {
    if !matches!(kind, FileType::Directory | FileType::Regular) {
        return Err(io::Errno::ACCESS);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = node.name().map_or(&b"."[..], |name| name.bytes());
    let opened = open_beneath(node.fd(), path, flags)?;
    whole(|buffer| match question {
        Question::Value(name) => fs::fgetxattr(opened.as_fd(), name, buffer),
        Question::Names => fs::flistxattr(opened.as_fd(), buffer),
    })
}

/// Reads the whole answer: one call for usual lengths, and a second one for longer answers.
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

impl HostFs {
    /// Returns the value of an attribute; `None` if the node does not have it.
    pub(crate) fn xattr(&self, key: NodeKey, name: XattrName<'_>) -> Result<Option<Box<[u8]>>, Errno> {
        let name = CString::new(name.bytes()).map_err(|_| Errno::EINVAL)?;
        let (node, attributes) = self.tree.reach_by_name(key)?;
        match self.source.ask(&node, attributes.kind, Question::Value(&name)) {
            Ok(value) => Ok(Some(value.into())),
            Err(io::Errno::NODATA) => Ok(None),
            Err(other) => Err(errno(other)),
        }
    }

    /// Passes the names of all attributes to `each`.
    pub(crate) fn each_xattr(&self, key: NodeKey, each: &mut dyn FnMut(&[u8])) -> Result<(), Errno> {
        let (node, attributes) = self.tree.reach_by_name(key)?;
        let names = self.source.ask(&node, attributes.kind, Question::Names).map_err(errno)?;
        names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).for_each(each);
        Ok(())
    }
}
