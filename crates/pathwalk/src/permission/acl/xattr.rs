//! The value of the extended attributes `system.posix_acl_access` and `system.posix_acl_default`.
//!
//! The version, 2, in 32 bits; then of each entry the tag and the rights in 16 bits each, and the
//! id in 32 bits; all of them with the lowest byte first.
//!
//! Source: `linux/posix_acl_xattr.h`; `posix_acl_from_xattr` and `posix_acl_to_xattr` of Linux.

use super::{Acl, AclEntry, AclTag};
use crate::Errno;
use crate::permission::{Access, NO_ID};

const VERSION: u32 = 2;
const ENTRY_BYTES: usize = 8;

/// The tags of an entry.
mod tag {
    pub(super) const OWNER: u16 = 0x01;
    pub(super) const USER: u16 = 0x02;
    pub(super) const GROUP: u16 = 0x04;
    pub(super) const NAMED_GROUP: u16 = 0x08;
    pub(super) const MASK: u16 = 0x10;
    pub(super) const OTHER: u16 = 0x20;
}

impl Acl {
    /// Parses the value of the extended attribute `system.posix_acl_access` or
    /// `system.posix_acl_default`.
    ///
    /// `EOPNOTSUPP` for another version. `EINVAL` for another length, unknown tags or rights, and a
    /// list that no node may have: see [`is_valid`](Self::is_valid). The id of a named user or group
    /// may be [`NO_ID`], which Linux writes for an id that it cannot show.
    ///
    /// [`to_xattr`](Self::to_xattr) has an example.
    pub fn from_xattr(value: &[u8]) -> Result<Acl, Errno> {
        decoded(value)?.filter(Acl::is_well_formed).ok_or(Errno::EINVAL)
    }

    /// Parses a value that is to be set, which may be a list that no node may have. Returns `None`
    /// for a value without entries, which removes the list. Fails with `EINVAL` also for an entry
    /// that names [`NO_ID`].
    pub(crate) fn to_be_set(value: &[u8]) -> Result<Option<Acl>, Errno> {
        if value.is_empty() {
            return Ok(None);
        }
        let is_named = |entry: &AclEntry| !matches!(entry.tag, AclTag::User(NO_ID) | AclTag::NamedGroup(NO_ID));
        let list = decoded(value)?;
        if list.iter().flat_map(|list| &list.0).all(is_named) { Ok(list) } else { Err(Errno::EINVAL) }
    }

    /// Returns the value of the extended attribute.
    ///
    /// ```
    /// use pathwalk::Errno;
    /// use pathwalk::permission::Acl;
    /// let value = Acl::from_mode(0o640).to_xattr();
    /// assert_eq!(value.len(), 4 + 3 * 8);
    /// assert_eq!(Acl::from_xattr(&value), Ok(Acl::from_mode(0o640)));
    /// assert_eq!(Acl::from_xattr(&value[..20]), Err(Errno::EINVAL), "other users have no entry");
    /// ```
    pub fn to_xattr(&self) -> Vec<u8> {
        let mut value = VERSION.to_le_bytes().to_vec();
        for AclEntry { tag, grants } in &self.0 {
            let (tag, id) = match *tag {
                AclTag::Owner => (tag::OWNER, NO_ID),
                AclTag::User(uid) => (tag::USER, uid),
                AclTag::Group => (tag::GROUP, NO_ID),
                AclTag::NamedGroup(gid) => (tag::NAMED_GROUP, gid),
                AclTag::Mask => (tag::MASK, NO_ID),
                AclTag::Other => (tag::OTHER, NO_ID),
            };
            value.extend(tag.to_le_bytes());
            value.extend(u16::from(grants.bits()).to_le_bytes());
            value.extend(id.to_le_bytes());
        }
        value
    }
}

/// Returns the entries of a value, in any order; `None` if there are none.
fn decoded(value: &[u8]) -> Result<Option<Acl>, Errno> {
    let (version, entries) = value.split_first_chunk::<4>().ok_or(Errno::EINVAL)?;
    if u32::from_le_bytes(*version) != VERSION {
        return Err(Errno::EOPNOTSUPP);
    }
    let (entries, rest) = entries.as_chunks::<ENTRY_BYTES>();
    if !rest.is_empty() {
        return Err(Errno::EINVAL);
    }
    let list = entries.iter().map(entry).collect::<Result<_, _>>().map(Acl)?;
    Ok((!entries.is_empty()).then_some(list))
}

fn entry(bytes: &[u8; ENTRY_BYTES]) -> Result<AclEntry, Errno> {
    let [t0, t1, p0, p1, id @ ..] = *bytes;
    let id = u32::from_le_bytes(id);
    let tag = match u16::from_le_bytes([t0, t1]) {
        tag::OWNER => AclTag::Owner,
        tag::USER => AclTag::User(id),
        tag::GROUP => AclTag::Group,
        tag::NAMED_GROUP => AclTag::NamedGroup(id),
        tag::MASK => AclTag::Mask,
        tag::OTHER => AclTag::Other,
        _ => return Err(Errno::EINVAL),
    };
    // Rights that there are not make a list invalid, as a wrong order does.
    let grants = Access::from_bits_retain(u8::try_from(u16::from_le_bytes([p0, p1])).unwrap_or(u8::MAX));
    Ok(AclEntry { tag, grants })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: (u16, u16, u32) = (1, 7, NO_ID);
    const USER: (u16, u16, u32) = (2, 5, 11);
    const GROUP: (u16, u16, u32) = (4, 5, NO_ID);
    const MASK: (u16, u16, u32) = (16, 7, NO_ID);
    const OTHER: (u16, u16, u32) = (32, 0, NO_ID);

    fn value(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let mut value = vec![2, 0, 0, 0];
        for (tag, rights, id) in entries {
            value.extend(tag.to_le_bytes());
            value.extend(rights.to_le_bytes());
            value.extend(id.to_le_bytes());
        }
        value
    }

    /// The values that Linux stores, as it returns them again.
    #[test]
    fn a_value_becomes_a_list_and_a_value() {
        for entries in [
            &[OWNER, GROUP, OTHER][..],
            &[OWNER, USER, GROUP, MASK, OTHER],
            &[OWNER, USER, (2, 1, 11), (2, 7, 5), GROUP, (8, 1, 9), (8, 1, 3), MASK, OTHER],
            &[OWNER, GROUP, MASK, OTHER],
            &[OWNER, (2, 7, NO_ID), GROUP, MASK, OTHER],
        ] {
            let list = Acl::from_xattr(&value(entries)).unwrap();
            assert_eq!((list.entries().len(), list.to_xattr()), (entries.len(), value(entries)));
        }
        let with_ids = Acl::from_xattr(&value(&[(1, 7, 77), (4, 5, 3), (32, 0, 2)])).unwrap();
        assert_eq!(with_ids, Acl::from_mode(0o750), "ids without a meaning are dropped");
    }

    #[test]
    fn a_value_that_linux_refuses_is_refused() {
        for entries in [
            &[OWNER, USER, GROUP, OTHER][..],
            &[OWNER, GROUP, USER, MASK, OTHER],
            &[OWNER, MASK, GROUP, OTHER],
            &[OWNER, GROUP],
            &[OWNER, OWNER, GROUP, OTHER],
            &[OWNER, GROUP, OTHER, OTHER],
            &[OWNER, GROUP, MASK, MASK, OTHER],
            &[GROUP, OTHER],
            &[(1, 8, NO_ID), GROUP, OTHER],
            &[(1, 256, NO_ID), GROUP, OTHER],
            &[(3, 1, NO_ID), GROUP, OTHER],
            &[],
        ] {
            assert_eq!(Acl::from_xattr(&value(entries)), Err(Errno::EINVAL), "{entries:?}");
        }
        let good = value(&[OWNER, GROUP, OTHER]);
        assert_eq!(Acl::from_xattr(&good[..9]), Err(Errno::EINVAL));
        assert_eq!(Acl::from_xattr(&[1, 0, 0, 0]), Err(Errno::EOPNOTSUPP));
        assert_eq!(Acl::from_xattr(&[]), Err(Errno::EINVAL));
    }

    #[test]
    fn a_value_without_entries_removes() {
        assert_eq!((Acl::to_be_set(&[]), Acl::to_be_set(&value(&[]))), (Ok(None), Ok(None)));
        assert_eq!(Acl::to_be_set(&[2, 0, 0]), Err(Errno::EINVAL));
        assert_eq!(Acl::to_be_set(&value(&[OWNER, (2, 7, NO_ID), GROUP, MASK, OTHER])), Err(Errno::EINVAL));
        let reversed = Acl::to_be_set(&value(&[OTHER, (1, 256, NO_ID)])).unwrap().unwrap();
        assert!(!reversed.is_valid(), "the owner's right to set it is checked first");
    }
}
