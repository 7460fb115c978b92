//! The system calls `getxattrat(2)` and `listxattrat(2)`, Linux 6.13: read an extended attribute,
//! or the names of all, of a name below a descriptor, including `O_PATH` descriptors.
//!
//! These are the only calls here that rustix does not have, and so the only `unsafe`.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};

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

/// Returns the result of a call, or its error.
fn answered(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| {
        let error = std::io::Error::last_os_error();
        io::Errno::from_io_error(&error).unwrap_or(io::Errno::IO)
    })
}
