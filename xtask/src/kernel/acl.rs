//! Access control lists, as the extended attributes that they are for the kernel.

use std::os::fd::{AsRawFd, BorrowedFd};

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{AtFlags, XattrFlags};
use rustix::io;

use super::xattr::{self, LARGEST};

/// Sets a list, or removes it. `removexattrat(2)` takes no working directory with an empty path
/// (`EBADF`), but `setxattrat(2)` does: there an empty value is set, which removes the list, too.
pub(super) fn set(at: BorrowedFd<'_>, path: &[u8], kind: AclKind, list: Option<&Acl>, flags: AtFlags) -> io::Result<()> {
    let name = kind.xattr_name().as_bytes();
    let is_cwd = at.as_raw_fd() == libc::AT_FDCWD && path.is_empty();
    if list.is_none() && !is_cwd {
        return xattr::remove(at, path, name, flags);
    }
    let value = list.map(Acl::to_xattr).unwrap_or_default();
    xattr::set(at, path, (name, &value), XattrFlags::empty(), flags)
}

/// Returns the value of a list, which is empty if there is none.
pub(super) fn get(at: BorrowedFd<'_>, path: &[u8], kind: AclKind, flags: AtFlags) -> io::Result<Vec<u8>> {
    match xattr::value(at, path, kind.xattr_name().as_bytes(), LARGEST, flags) {
        Err(io::Errno::NODATA) => Ok(Vec::new()),
        value => value,
    }
}

/// Returns both lists of a node; of a link, empty values.
pub(super) fn both(at: BorrowedFd<'_>, path: &[u8], flags: AtFlags) -> io::Result<[Vec<u8>; 2]> {
    let list = |kind| match get(at, path, kind, flags) {
        Err(io::Errno::OPNOTSUPP) => Ok(Vec::new()),
        value => value,
    };
    Ok([list(AclKind::Access)?, list(AclKind::Default)?])
}
