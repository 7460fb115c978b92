//! System calls on extended attributes, which no library has with a starting point and flags.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, BorrowedFd};

use pathwalk::{AtFlags, XattrFlags};
use rustix::io;

use super::calls::{answered, c_path};
use crate::outcome::{Answer, Xattrs};

/// The kernel's `struct xattr_args`.
#[repr(C)]
struct XattrArgs {
    value: u64,
    size: u32,
    flags: u32,
}

const SYS_SETXATTRAT: libc::c_long = 463;
const SYS_GETXATTRAT: libc::c_long = 464;
const SYS_LISTXATTRAT: libc::c_long = 465;
const SYS_REMOVEXATTRAT: libc::c_long = 466;

/// The size of a buffer that holds any value and any list, in bytes.
pub(super) const LARGEST: usize = 1 << 16;

fn args(buffer: *const u8, length: usize, flags: XattrFlags) -> XattrArgs {
    XattrArgs { value: buffer.expose_provenance() as u64, size: length as u32, flags: flags.bits() }
}

/// Gets an attribute as by a buffer of this size. The size 0 asks for the length.
pub(super) fn get(at: BorrowedFd<'_>, path: &[u8], name: &[u8], size: u64, flags: AtFlags) -> io::Result<Answer> {
    match size {
        0 => read(at, path, name, &mut [], flags).map(|length| Answer::Number(length as u64)),
        _ => value(at, path, name, size as usize, flags).map(Answer::Bytes),
    }
}

/// Returns the value of an attribute, which may have this size.
pub(super) fn value(at: BorrowedFd<'_>, path: &[u8], name: &[u8], most: usize, flags: AtFlags) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0_u8; most];
    let length = read(at, path, name, &mut buffer, flags)?;
    buffer.truncate(length);
    Ok(buffer)
}

fn read(at: BorrowedFd<'_>, path: &[u8], name: &[u8], buffer: &mut [u8], flags: AtFlags) -> io::Result<usize> {
    let (path, name) = (c_path(path)?, c_path(name)?);
    let args = args(buffer.as_mut_ptr(), buffer.len(), XattrFlags::empty());
    // SAFETY: path and name end with a NUL; they, the buffer and the arguments outlive the call,
    // which writes to no more than the buffer.
    let length = unsafe {
        let (path, name, how) = (path.as_ptr(), name.as_ptr(), flags.bits());
        libc::syscall(SYS_GETXATTRAT, at.as_raw_fd(), path, how, name, &raw const args, size_of::<XattrArgs>())
    };
    answered(length).map(|()| length as usize)
}

/// Sets an attribute.
pub(super) fn set(
    at: BorrowedFd<'_>,
    path: &[u8],
    (name, value): (&[u8], &[u8]),
    how: XattrFlags,
    flags: AtFlags,
) -> io::Result<()> {
    let (path, name) = (c_path(path)?, c_path(name)?);
    let args = args(value.as_ptr(), value.len(), how);
    // SAFETY: path and name end with a NUL; they, the value and the arguments outlive the call,
    // which writes to none of our memory.
    answered(unsafe {
        let (path, name, flags) = (path.as_ptr(), name.as_ptr(), flags.bits());
        libc::syscall(SYS_SETXATTRAT, at.as_raw_fd(), path, flags, name, &raw const args, size_of::<XattrArgs>())
    })
}

/// Lists the names of attributes, with a NUL behind each.
pub(super) fn list(at: BorrowedFd<'_>, path: &[u8], flags: AtFlags) -> io::Result<Vec<u8>> {
    let path = c_path(path)?;
    let mut list = vec![0_u8; LARGEST];
    // SAFETY: the path ends with a NUL; it and the list outlive the call, which writes to no more
    // than the list.
    let length = unsafe {
        let (path, flags) = (path.as_ptr(), flags.bits());
        libc::syscall(SYS_LISTXATTRAT, at.as_raw_fd(), path, flags, list.as_mut_ptr(), list.len())
    };
    answered(length)?;
    list.truncate(length as usize);
    Ok(list)
}

/// Removes an attribute.
pub(super) fn remove(at: BorrowedFd<'_>, path: &[u8], name: &[u8], flags: AtFlags) -> io::Result<()> {
    let (path, name) = (c_path(path)?, c_path(name)?);
    // SAFETY: path and name end with a NUL and outlive the call, which writes to none of our
    // memory.
    answered(unsafe { libc::syscall(SYS_REMOVEXATTRAT, at.as_raw_fd(), path.as_ptr(), flags.bits(), name.as_ptr()) })
}

/// Returns all attributes of a name in a directory, without its access control lists. One that
/// cannot be read has an empty value.
pub(super) fn all(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<Xattrs> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let list = list(dir, name, flags)?;
    let mut all = BTreeMap::new();
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    for attribute in names.filter(|name| !name.starts_with(b"system.posix_acl_")) {
        all.insert(attribute.to_vec(), value(dir, name, attribute, LARGEST, flags).unwrap_or_default());
    }
    Ok(all)
}
