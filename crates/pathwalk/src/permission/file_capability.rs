//! The value of `security.capability`: the capabilities that a program gets. Source:
//! `capabilities(7)`, `cap_convert_nscap` and `cap_inode_getsecurity` of Linux.
//!
//! A value of revision 2 is valid for the user 0 of the whole system. One of revision 3 names the
//! user that is 0 in a user namespace. An id-mapped mount shows that user as it shows owners, so
//! values change their revision on the way through such a mount.
//!
//! What it does not do: the capabilities themselves mean nothing here.

use std::borrow::Cow;

use super::{Capabilities, NO_ID, Owners, Subject};
use crate::Errno;

const REVISION_2: u32 = 0x0200_0000;
const REVISION_3: u32 = 0x0300_0000;
/// The flag beside the revision.
const EFFECTIVE: u32 = 1;

/// The length of the sets of capabilities, in bytes.
const SETS: usize = 16;

/// A value, taken apart.
struct FileCapability<'a> {
    effective: u32,
    sets: &'a [u8; SETS],
    /// The user of revision 3; `None` in revision 2.
    root: Option<u32>,
}

impl<'a> FileCapability<'a> {
    /// Parses a value: `EINVAL` for another length or revision.
    fn of(value: &'a [u8]) -> Result<FileCapability<'a>, Errno> {
        let (magic, rest) = value.split_first_chunk::<4>().ok_or(Errno::EINVAL)?;
        let (sets, root) = rest.split_first_chunk::<SETS>().ok_or(Errno::EINVAL)?;
        let magic = u32::from_le_bytes(*magic);
        let root = match (magic & !EFFECTIVE, <[u8; 4]>::try_from(root)) {
            (REVISION_2, _) if root.is_empty() => None,
            (REVISION_3, Ok(root)) => Some(u32::from_le_bytes(root)),
            _ => return Err(Errno::EINVAL),
        };
        Ok(FileCapability { effective: magic & EFFECTIVE, sets, root })
    }

    /// Returns the value for the user 0 of the whole system.
    fn revision_2(&self) -> Vec<u8> {
        [&(REVISION_2 | self.effective).to_le_bytes()[..], self.sets].concat()
    }

    /// Returns the value for a user namespace whose user 0 is this user.
    fn revision_3(&self, root: u32) -> Vec<u8> {
        [&(REVISION_3 | self.effective).to_le_bytes()[..], self.sets, &root.to_le_bytes()].concat()
    }
}

/// Returns a value as it is stored for a node of these owners. `EINVAL` for one that is no file
/// capability or whose user is unmapped, `EPERM` without `CAP_SETFCAP`.
pub(crate) fn stored<'a>(value: &'a [u8], of: Owners, who: &Subject<'_>) -> Result<Cow<'a, [u8]>, Errno> {
    let given = FileCapability::of(value)?;
    if !who.has_for(Capabilities::SETFCAP, of.uid, of.gid) {
        return Err(Errno::EPERM);
    }
    if given.root.is_none() && !who.is_mapped() {
        return Ok(Cow::Borrowed(value));
    }
    let root = given.root.unwrap_or(0);
    let root = who.stored_uid(root).filter(|root| *root != NO_ID).ok_or(Errno::EINVAL)?;
    Ok(Cow::Owned(given.revision_3(root)))
}

/// Returns a stored value as a subject sees it. `EINVAL` for one that is no file capability,
/// `EOVERFLOW` for one whose user is unmapped.
pub(crate) fn shown(value: &[u8], who: &Subject<'_>) -> Result<Vec<u8>, Errno> {
    let kept = FileCapability::of(value)?;
    match who.seen_uid(kept.root.unwrap_or(0)) {
        Some(NO_ID) | None => Err(Errno::EOVERFLOW),
        Some(0) => Ok(kept.revision_2()),
        Some(root) => Ok(kept.revision_3(root)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::{Credentials, IdExtent, IdMap};

    const OF: Owners = Owners { uid: 0, gid: 0 };

    fn value(magic: u32, root: Option<u32>) -> Vec<u8> {
        let sets: [u8; SETS] = std::array::from_fn(|at| at as u8);
        let root = root.map(u32::to_le_bytes);
        [&magic.to_le_bytes()[..], &sets, root.as_ref().map_or(&[][..], |root| root)].concat()
    }

    #[test]
    fn a_value_is_a_revision_with_its_length() {
        let root = Credentials::root();
        let set = |value: &[u8]| stored(value, OF, &root.effective()).map(Cow::into_owned);
        let valid = [value(REVISION_2, None), value(REVISION_2 | 1, None), value(REVISION_3, Some(1000))];
        for value in &valid {
            assert_eq!(set(value).as_ref(), Ok(value));
            assert_eq!(shown(value, &root.effective()).as_ref(), Ok(value));
        }
        let user = Credentials::user(1000, 1000, &[]);
        assert_eq!(stored(&valid[0], OF, &user.effective()), Err(Errno::EPERM));
        let wrong = [value(REVISION_2, Some(0)), value(REVISION_3, None), value(REVISION_2 | 2, None), b"x".to_vec(), Vec::new()];
        for value in wrong {
            assert_eq!(set(&value), Err(Errno::EINVAL));
            assert_eq!(stored(&value, OF, &user.effective()), Err(Errno::EINVAL), "before the right to it");
            assert_eq!(shown(&value, &root.effective()), Err(Errno::EINVAL));
        }
        assert_eq!(set(&value(REVISION_3, Some(NO_ID))), Err(Errno::EINVAL));
    }

    #[test]
    fn the_user_0_of_the_system_needs_no_name() {
        let root = Credentials::root();
        assert_eq!(shown(&value(REVISION_3 | 1, Some(0)), &root.effective()), Ok(value(REVISION_2 | 1, None)));
    }

    #[test]
    fn a_mount_with_a_map_shows_the_user_as_it_shows_owners() {
        let extent = |inside, outside| IdExtent { inside, outside, length: 1 };
        let map = IdMap::new(&[extent(100_000, 0), extent(100_007, 7)], &[extent(100_000, 0)]).unwrap();
        let root = Credentials::root();
        let who = root.effective().through(Some(&map));
        let of = Owners { uid: 100_000, gid: 100_000 };
        let kept = stored(&value(REVISION_2 | 1, None), of, &who).unwrap().into_owned();
        assert_eq!(kept, value(REVISION_3 | 1, Some(100_000)));
        assert_eq!(shown(&kept, &who), Ok(value(REVISION_2 | 1, None)));
        assert_eq!(shown(&value(REVISION_3, Some(100_007)), &who), Ok(value(REVISION_3, Some(7))));
        assert_eq!(shown(&value(REVISION_2, None), &who), Err(Errno::EOVERFLOW));
        assert_eq!(stored(&value(REVISION_3, Some(8)), of, &who), Err(Errno::EINVAL));
        assert_eq!(stored(&value(REVISION_2, None), OF, &who), Err(Errno::EPERM), "its owner is unmapped");
    }
}
