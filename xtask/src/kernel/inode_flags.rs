//! System calls on the flags that users set, which no library has with a starting point and flags.

use std::os::fd::{AsRawFd, BorrowedFd};

use pathwalk::{AtFlags, InodeFlags};
use rustix::io;

use super::calls::{answered, c_path};

/// The kernel's `struct file_attr`.
#[repr(C)]
#[derive(Default)]
struct FileAttr {
    flags: u64,
    extent_size: u32,
    extents: u32,
    project: u32,
    copied_extent_size: u32,
}

const SYS_FILE_GETATTR: libc::c_long = 468;
const SYS_FILE_SETATTR: libc::c_long = 469;

/// The flags that a tmpfs keeps, and their bits in the structure (`FS_XFLAG_*`).
const BITS: [(InodeFlags, u64); 4] =
    [(InodeFlags::IMMUTABLE, 0x8), (InodeFlags::APPEND, 0x10), (InodeFlags::NOATIME, 0x40), (InodeFlags::NODUMP, 0x80)];

/// Returns the flags of a node.
pub(super) fn get(at: BorrowedFd<'_>, path: &[u8], flags: AtFlags) -> io::Result<InodeFlags> {
    let path = c_path(path)?;
    let mut found = FileAttr::default();
    // SAFETY: the path ends with a NUL; it and the structure, which has the length that is passed,
    // outlive the call.
    answered(unsafe {
        let (path, into) = (path.as_ptr(), &raw mut found);
        libc::syscall(SYS_FILE_GETATTR, at.as_raw_fd(), path, into, size_of::<FileAttr>(), flags.bits())
    })?;
    Ok(BITS.iter().filter(|(_, bit)| found.flags & bit != 0).map(|(flag, _)| *flag).collect())
}

/// Sets these flags of a node, and clears all others.
pub(super) fn set(at: BorrowedFd<'_>, path: &[u8], to: InodeFlags, flags: AtFlags) -> io::Result<()> {
    let path = c_path(path)?;
    let bits = BITS.iter().filter(|(flag, _)| to.contains(*flag)).fold(0, |bits, (_, bit)| bits | bit);
    let new = FileAttr { flags: bits, ..FileAttr::default() };
    // SAFETY: the path ends with a NUL; it and the structure, which has the length that is passed,
    // outlive the call, which writes to none of our memory.
    answered(unsafe {
        let (path, new) = (path.as_ptr(), &raw const new);
        libc::syscall(SYS_FILE_SETATTR, at.as_raw_fd(), path, new, size_of::<FileAttr>(), flags.bits())
    })
}
