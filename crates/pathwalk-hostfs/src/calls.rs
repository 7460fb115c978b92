//! The system calls that rustix does not have, and so the only `unsafe` of this crate.
//!
//! - `getxattrat(2)` and `listxattrat(2)`, Linux 6.13: read an extended attribute, or the names of
//!   all, of a name below a descriptor, including `O_PATH` descriptors.
//! - `name_to_handle_at(2)`, `open_by_handle_at(2)`.
//! - `truncate(2)`, `ioctl_ficlonerange(2)`, `FS_IOC_GETVERSION`.
//! - `fchmodat2(2)`, Linux 6.6: sets the mode of a node by an `O_PATH` descriptor.
//! - `setfsuid(2)` and `setfsgid(2)`, of the calling thread alone.
//! - `fanotify_init(2)`, `fanotify_mark(2)`.
//! - `F_SETSIG` and `F_SETLEASE` of `fcntl(2)`.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io;

/// The number of `getxattrat`; that of `listxattrat` is the next. They are the same on every
/// architecture that numbers calls as the generic table does.
const NUMBER: Option<libc::c_long> = if cfg!(any(
    all(target_arch = "x86_64", target_pointer_width = "64"),
    target_arch = "aarch64",
    target_arch = "arm",
    target_arch = "loongarch64",
    target_arch = "powerpc64",
    target_arch = "riscv64",
    target_arch = "s390x",
    target_arch = "x86",
)) {
    Some(464)
} else {
    None
};

/// The `struct xattr_args` of `linux/xattr.h`.
#[repr(C, align(8))]
struct Args {
    value: u64,
    size: u32,
    flags: u32,
}

/// The number of the command. Source: `asm-generic/fcntl.h`.
const F_SETSIG: libc::c_int = 10;

/// Sets the signal that the holder of a lease gets.
pub(crate) fn set_signal(file: BorrowedFd<'_>, signal: libc::c_int) -> io::Result<()> {
    control(file, F_SETSIG, signal)
}

/// Takes a lease of a kind, or ends it.
pub(crate) fn set_lease(file: BorrowedFd<'_>, kind: libc::c_int) -> io::Result<()> {
    control(file, libc::F_SETLEASE, kind)
}

#[allow(unsafe_code)]
fn control(file: BorrowedFd<'_>, command: libc::c_int, argument: libc::c_int) -> io::Result<()> {
    // SAFETY: the commands of the two callers take a number, no pointer, and the descriptor is
    // open.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    answered(result.into()).map(drop)
}

/// Reads the attribute `name` of `path` below `dir` into `value` and returns its length. Does not
/// follow a link at the end. Fails with `ENOSYS` where the kernel has no such call.
#[allow(unsafe_code)]
pub(crate) fn getxattrat(dir: BorrowedFd<'_>, path: &CStr, name: &CStr, value: &mut [u8]) -> io::Result<usize> {
    let number = NUMBER.ok_or(io::Errno::NOSYS)?;
    let size = u32::try_from(value.len()).unwrap_or(u32::MAX);
    let args = Args { value: value.as_mut_ptr() as u64, size, flags: 0 };
    // SAFETY: the strings end in NUL and live through the call, as do `args` and the `size`
    // writable bytes that it points to; the kernel keeps none of these pointers.
    let result = unsafe {
        libc::syscall(
            number,
            dir.as_raw_fd(),
            path.as_ptr(),
            libc::AT_SYMLINK_NOFOLLOW,
            name.as_ptr(),
            &raw const args,
            size_of::<Args>(),
        )
    };
    answered(result)
}

/// Reads the names of all attributes of `path` below `dir` into `list`, with a NUL behind each, and
/// returns their length. Does not follow a link at the end. Fails with `ENOSYS` where the kernel
/// has no such call.
#[allow(unsafe_code)]
pub(crate) fn listxattrat(dir: BorrowedFd<'_>, path: &CStr, list: &mut [u8]) -> io::Result<usize> {
    let number = NUMBER.ok_or(io::Errno::NOSYS)? + 1;
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: the path ends in NUL and lives through the call, as does `list`, of which the kernel
    // is told the length; the kernel keeps none of these pointers.
    let result = unsafe { libc::syscall(number, dir.as_raw_fd(), path.as_ptr(), flags, list.as_mut_ptr(), list.len()) };
    answered(result)
}

/// The purpose of a handle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandleUse {
    /// The identity of the node alone: more file systems give such a handle, since Linux 6.5.
    Identity,
    /// A handle that can be opened.
    Opening,
    /// A handle that can be opened and has the node's directory in it, since Linux 6.13. Only of a
    /// name.
    Connecting,
}

/// The greatest number of bytes of a handle. Source: `MAX_HANDLE_SZ`.
const MAX_HANDLE: usize = 128;

/// The flag for a handle that is never opened. Source: `linux/fcntl.h`.
const AT_HANDLE_FID: libc::c_int = 0x200;

/// The flag for a handle with the node's directory in it. Source: `linux/fcntl.h`.
const AT_HANDLE_CONNECTABLE: libc::c_int = 0x2;

/// The flag in the kind of a handle with the node's directory in it. Source: `linux/exportfs.h`.
const FILEID_IS_CONNECTABLE: i32 = 0x1_0000;

/// The bits of a kind that are a file system's own. Source: `linux/exportfs.h`.
const KINDS: i32 = 0xffff;

/// A file handle of the host. Source: `struct file_handle` in `open_by_handle_at(2)`.
#[repr(C)]
pub(crate) struct HostHandle {
    size: u32,
    kind: i32,
    bytes: [u8; MAX_HANDLE],
}

impl HostHandle {
    /// Returns the kind, without flags.
    pub(crate) fn kind(&self) -> i32 {
        self.kind & KINDS
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.size as usize]
    }
}

/// Returns the handle of the node that `name` below `fd` leads to, or of `fd` itself if the name is
/// empty. Does not follow a link at the end.
pub(crate) fn name_to_handle(fd: BorrowedFd<'_>, name: &CStr, what_for: HandleUse) -> io::Result<HostHandle> {
    match what_for {
        HandleUse::Opening => handle_of(fd, name, 0),
        // Linux before 6.5 does not have the flag.
        HandleUse::Identity => match handle_of(fd, name, AT_HANDLE_FID) {
            Err(io::Errno::INVAL) => handle_of(fd, name, 0),
            handle => handle,
        },
        HandleUse::Connecting => match handle_of(fd, name, AT_HANDLE_CONNECTABLE) {
            Err(io::Errno::INVAL) => Err(io::Errno::OPNOTSUPP),
            handle => handle,
        },
    }
}

/// Opens the node of a handle as a place only. `mount` is open on the handle's file system. If the
/// handle has the node's directory in it, the node gets its path, and is below `mount`.
#[allow(unsafe_code)]
pub(crate) fn open_by_handle(mount: BorrowedFd<'_>, (kind, bytes): (i32, &[u8]), connects: bool) -> io::Result<OwnedFd> {
    let kind = if connects { kind | FILEID_IS_CONNECTABLE } else { kind };
    let mut handle = HostHandle { size: bytes.len() as u32, kind, bytes: [0; MAX_HANDLE] };
    handle.bytes.get_mut(..bytes.len()).ok_or(io::Errno::INVAL)?.copy_from_slice(bytes);
    let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: `handle` lives through the call and has the `size` bytes that it says; the kernel
    // keeps no pointer to it.
    let opened = unsafe { libc::syscall(libc::SYS_open_by_handle_at, mount.as_raw_fd(), &raw mut handle, flags) };
    let opened = answered(opened)? as RawFd;
    // SAFETY: the descriptor was just opened, and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

#[allow(unsafe_code)]
fn handle_of(fd: BorrowedFd<'_>, name: &CStr, flags: libc::c_int) -> io::Result<HostHandle> {
    let flags = flags | if name.is_empty() { libc::AT_EMPTY_PATH } else { 0 };
    let mut handle = HostHandle { size: MAX_HANDLE as u32, kind: 0, bytes: [0; MAX_HANDLE] };
    let mut mount: libc::c_int = 0;
    // SAFETY: the name ends in NUL and lives through the call, as do `handle`, which has room for
    // the `size` bytes that it says, and `mount`; the kernel keeps none of these pointers.
    let result = unsafe {
        libc::syscall(libc::SYS_name_to_handle_at, fd.as_raw_fd(), name.as_ptr(), &raw mut handle, &raw mut mount, flags)
    };
    answered(result)?;
    handle.size = handle.size.min(MAX_HANDLE as u32);
    Ok(handle)
}

/// The number of `fchmodat2`, the same on every architecture.
const FCHMODAT2: libc::c_long = 452;

/// Sets the mode of the node of a descriptor. Fails with `ENOSYS` where the kernel has no such
/// call.
#[allow(unsafe_code)]
pub(crate) fn chmod(fd: BorrowedFd<'_>, mode: u16) -> io::Result<()> {
    let (mode, flags) = (libc::c_uint::from(mode), libc::AT_EMPTY_PATH);
    // SAFETY: the empty path ends in NUL and is static.
    let result = unsafe { libc::syscall(FCHMODAT2, fd.as_raw_fd(), c"".as_ptr(), mode, flags) };
    answered(result).map(drop)
}

/// Sets the size of the file that a path leads to.
#[allow(unsafe_code)]
pub(crate) fn truncate(path: &str, size: u64) -> io::Result<()> {
    let path = std::ffi::CString::new(path).map_err(|_| io::Errno::INVAL)?;
    let size = i64::try_from(size).map_err(|_| io::Errno::INVAL)?;
    // SAFETY: the path ends in NUL and lives through the call.
    answered(unsafe { libc::truncate64(path.as_ptr(), size) }.into()).map(drop)
}

/// The argument of `FICLONERANGE`. Source: `struct file_clone_range` in `linux/fs.h`.
#[repr(C)]
struct CloneRange {
    from: i64,
    offset: u64,
    length: u64,
    at: u64,
}

/// The request `FICLONERANGE`: `_IOW(0x94, 13, struct file_clone_range)`.
const FICLONERANGE: rustix::ioctl::Opcode = rustix::ioctl::opcode::write::<CloneRange>(0x94, 13);

/// Makes a range of `to` share the data of a range of `from`.
#[allow(unsafe_code)]
pub(crate) fn clone_range(from: (BorrowedFd<'_>, u64), to: (BorrowedFd<'_>, u64), length: u64) -> io::Result<()> {
    let range = CloneRange { from: from.0.as_raw_fd().into(), offset: from.1, length, at: to.1 };
    // SAFETY: the request reads a `CloneRange`, whose descriptor is open during the call.
    unsafe { rustix::ioctl::ioctl(to.0, rustix::ioctl::Setter::<FICLONERANGE, CloneRange>::new(range)) }
}

/// The request `FS_IOC_GETVERSION`, `_IOR('v', 1, long)`. The kernel writes an `int`.
const GETVERSION: rustix::ioctl::Opcode = rustix::ioctl::opcode::read::<libc::c_long>(b'v', 1);

/// Returns the generation of the node of a descriptor.
#[allow(unsafe_code)]
pub(crate) fn generation(of: BorrowedFd<'_>) -> io::Result<u32> {
    // SAFETY: the request writes at most a `long`, whose other bytes stay 0. On a big-endian
    // machine too the kernel writes an `int` at the begin, so four bytes are read.
    let word = unsafe { rustix::ioctl::ioctl(of, rustix::ioctl::Getter::<GETVERSION, [u32; 2]>::new()) }?;
    Ok(word[0])
}

/// Sets the user as which this thread asks file systems, and returns the user before. Does nothing
/// where that is not allowed, and for `u32::MAX`.
#[allow(unsafe_code)]
pub(crate) fn set_fs_user(uid: u32) -> u32 {
    // SAFETY: the call takes numbers alone.
    unsafe { libc::setfsuid(uid) as u32 }
}

/// Sets the group as which this thread asks file systems, and returns the group before. Does
/// nothing where that is not allowed, and for `u32::MAX`.
#[allow(unsafe_code)]
pub(crate) fn set_fs_group(gid: u32) -> u32 {
    // SAFETY: the call takes numbers alone.
    unsafe { libc::setfsgid(gid) as u32 }
}

/// The flags of a group whose events have handles of the directory and of the node, and the name.
/// `FAN_REPORT_DFID_NAME_TARGET` is Linux 5.17.
const FANOTIFY: libc::c_uint = libc::FAN_CLASS_NOTIF | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK | libc::FAN_REPORT_DFID_NAME_TARGET;

/// The events of a file system that is watched as a whole.
const FANOTIFY_MASK: u64 = libc::FAN_CREATE
    | libc::FAN_DELETE
    | libc::FAN_MOVED_FROM
    | libc::FAN_MOVED_TO
    | libc::FAN_ATTRIB
    | libc::FAN_MODIFY
    | libc::FAN_CLOSE_WRITE
    | libc::FAN_DELETE_SELF
    | libc::FAN_MOVE_SELF
    | libc::FAN_ONDIR;

/// Makes a group of fanotify, whose reads do not block.
#[allow(unsafe_code)]
pub(crate) fn fanotify() -> io::Result<OwnedFd> {
    let flags = libc::O_RDONLY | libc::O_LARGEFILE | libc::O_CLOEXEC;
    // SAFETY: the call takes numbers alone.
    let opened = answered(unsafe { libc::fanotify_init(FANOTIFY, flags as libc::c_uint) }.into())? as RawFd;
    // SAFETY: the descriptor was just opened, and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

/// Has a group report what changes in the whole file system that a path is on.
#[allow(unsafe_code)]
pub(crate) fn fanotify_mark(group: BorrowedFd<'_>, path: &str) -> io::Result<()> {
    let path = std::ffi::CString::new(path).map_err(|_| io::Errno::INVAL)?;
    let flags = libc::FAN_MARK_ADD | libc::FAN_MARK_FILESYSTEM;
    // SAFETY: the path ends in NUL and lives through the call.
    let marked = unsafe { libc::fanotify_mark(group.as_raw_fd(), flags, FANOTIFY_MASK, libc::AT_FDCWD, path.as_ptr()) };
    answered(marked.into()).map(drop)
}

/// Returns the result of a call, or its error.
fn answered(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| {
        let error = std::io::Error::last_os_error();
        io::Errno::from_io_error(&error).unwrap_or(io::Errno::IO)
    })
}
