//! Access control lists as values of extended attributes.
//!
//! Source: `posix_acl_from_xattr`, `posix_acl_to_xattr` of Linux.

use crate::acl::{AclEntry, AclKind, AclTag};
use crate::errno::{Errno, Result};
use crate::flags::Access;
use crate::process::NO_ID;

const VERSION: [u8; 4] = [2, 0, 0, 0];

impl AclKind {
    /// Returns the list that an attribute of this name is.
    pub(crate) fn of_xattr(name: &[u8]) -> Option<AclKind> {
        match name {
            b"system.posix_acl_access" => Some(AclKind::Access),
            b"system.posix_acl_default" => Some(AclKind::Default),
            _ => None,
        }
    }

    /// Returns the name of the attribute.
    pub(crate) fn xattr_name(self) -> &'static [u8] {
        match self {
            AclKind::Access => b"system.posix_acl_access",
            AclKind::Default => b"system.posix_acl_default",
        }
    }
}

/// Returns the entries of a value that is to be set, which may be an invalid list. There are none
/// if the value removes the list.
pub(crate) fn decoded(value: &[u8]) -> Result<Vec<AclEntry>> {
    if value.is_empty() {
        return Ok(Vec::new());
    }
    let (version, entries) = value.split_first_chunk::<4>().ok_or(Errno::EINVAL)?;
    if *version != VERSION {
        return Err(Errno::EOPNOTSUPP);
    }
    let (entries, rest) = entries.as_chunks::<8>();
    if rest.is_empty() { entries.iter().map(entry).collect() } else { Err(Errno::EINVAL) }
}

fn entry(bytes: &[u8; 8]) -> Result<AclEntry> {
    let [tag, more, low, high, id @ ..] = *bytes;
    let id = u32::from_le_bytes(id);
    let tag = match u16::from_le_bytes([tag, more]) {
        0x01 => AclTag::Owner,
        0x02 if id != NO_ID => AclTag::User(id),
        0x04 => AclTag::Group,
        0x08 if id != NO_ID => AclTag::NamedGroup(id),
        0x10 => AclTag::Mask,
        0x20 => AclTag::Other,
        _ => return Err(Errno::EINVAL),
    };
    Ok(AclEntry { tag, grants: Access::from_bits_retain(u16::from_le_bytes([low, high]).into()) })
}

/// Returns the value of a list.
pub(crate) fn encoded(entries: &[AclEntry]) -> Vec<u8> {
    let mut value = VERSION.to_vec();
    for entry in entries {
        let (tag, id): (u16, u32) = match entry.tag {
            AclTag::Owner => (0x01, NO_ID),
            AclTag::User(uid) => (0x02, uid),
            AclTag::Group => (0x04, NO_ID),
            AclTag::NamedGroup(gid) => (0x08, gid),
            AclTag::Mask => (0x10, NO_ID),
            AclTag::Other => (0x20, NO_ID),
        };
        value.extend(tag.to_le_bytes());
        value.extend((entry.grants.bits() as u16).to_le_bytes());
        value.extend(id.to_le_bytes());
    }
    value
}
