//! The calls that mount, as this crate uses them.
//!
//! What always holds: a mount is made or copied first, with its flags, and attached later.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::CWD;
use rustix::io;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree,
};

/// Whether the mounts below a mount are meant, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Depth {
    Alone,
    All,
}

/// Makes all mounts private to this namespace.
pub(super) fn make_private() -> io::Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
}

/// Returns a copy of what is at a path, with all mounts below it.
pub(super) fn copy(path: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags)
}

/// Returns a copy of what a descriptor has open.
pub(super) fn copy_of(descriptor: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // The descriptor is one of another namespace, of which no copy can be made.
    let path = std::fs::read_link(format!("/proc/self/fd/{}", descriptor.as_raw_fd()));
    let path = path.map_err(|error| io::Errno::from_io_error(&error).unwrap_or(io::Errno::NOENT))?;
    let (of_path, wanted) = (rustix::fs::stat(&path)?, rustix::fs::fstat(descriptor)?);
    if (of_path.st_dev, of_path.st_ino) != (wanted.st_dev, wanted.st_ino) {
        return Err(io::Errno::STALE);
    }
    copy(&path)
}

/// Attaches a mount.
pub(super) fn attach(mount: BorrowedFd<'_>, at: &Path) -> io::Result<()> {
    move_mount(mount, "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Makes a file system with these options, where an empty value is none.
pub(super) fn make(kind: &str, options: &[(&str, &str)]) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        match *value {
            "" => fsconfig_set_flag(&context, *name)?,
            value => fsconfig_set_string(&context, *name, value)?,
        }
    }
    fsconfig_create(&context)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOSUID;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)
}

/// Makes an empty directory in memory with this mode, in octal.
pub(super) fn empty(mode: &str) -> io::Result<OwnedFd> {
    make("tmpfs", &[("source", "try"), ("mode", mode)])
}

/// Makes a mount read-only, without device nodes and suid programs.
pub(super) fn restrict(mount: BorrowedFd<'_>, depth: Depth) -> io::Result<()> {
    let set = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOSUID;
    set_flags(mount, c"", set, depth)
}

/// Makes a mount one without device nodes and suid programs.
pub(super) fn tame(mount: BorrowedFd<'_>, depth: Depth) -> io::Result<()> {
    set_flags(mount, c"", libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOSUID, depth)
}

/// Makes all mounts read-only, without device nodes and suid programs.
pub(super) fn restrict_all() -> io::Result<()> {
    let set = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOSUID;
    set_flags(CWD.as_fd(), c"/", set, Depth::All)
}

#[allow(unsafe_code)]
fn set_flags(mount: BorrowedFd<'_>, path: &CStr, set: u64, depth: Depth) -> io::Result<()> {
    let recursive = if depth == Depth::All { libc::AT_RECURSIVE } else { 0 };
    let empty = if path.is_empty() { libc::AT_EMPTY_PATH } else { 0 };
    let attributes = libc::mount_attr { attr_set: set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let size = size_of::<libc::mount_attr>();
    // SAFETY: the path is a string and the attributes a structure of this size, which both outlive
    // the call, and are read only.
    let done = unsafe {
        let of = &raw const attributes;
        libc::syscall(libc::SYS_mount_setattr, mount.as_raw_fd(), path.as_ptr(), recursive | empty, of, size)
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(io::Errno::PERM)),
    }
}
