//! The access control lists of a node on the host.
//!
//! Invariant: "no list" is reported only if the kernel said so. If the kernel's answer cannot be
//! obtained, the result is an error. The ways to obtain it are in [`xattr`](crate::xattr).

use std::ffi::CStr;

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{Errno, FileType};
use rustix::io;

use crate::beneath::{Reached, errno};
use crate::xattr::{Question, Source};

/// Returns the name of a list's attribute.
pub(crate) const fn attribute(kind: AclKind) -> &'static CStr {
    match kind {
        AclKind::Access => c"system.posix_acl_access",
        AclKind::Default => c"system.posix_acl_default",
    }
}

impl Source {
    /// Returns the value of the access list's attribute. Returns `None` where there is no list, or
    /// where none is possible.
    pub(crate) fn read(self, node: &Reached, kind: FileType) -> Result<Option<Vec<u8>>, Errno> {
        if kind == FileType::Symlink {
            return Ok(None);
        }
        match self.read_list(node, kind, AclKind::Access) {
            Err(Errno::EOPNOTSUPP) => Ok(None),
            value => value,
        }
    }

    /// Returns the value of the attribute of either list of a node of this type, which is no link.
    /// Returns `None` where there is no list. `EOPNOTSUPP` where none is possible.
    pub(crate) fn read_list(self, node: &Reached, kind: FileType, list: AclKind) -> Result<Option<Vec<u8>>, Errno> {
        match self.ask(node, kind, Question::Value(attribute(list))) {
            Ok(value) => Ok(Some(value)),
            Err(io::Errno::NODATA) => Ok(None),
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
