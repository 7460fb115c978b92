//! What a file system checks of new nodes and attributes whatever it keeps them in.

use super::{NewKind, NewNode, SetAttributes};
use crate::Errno;
use crate::attr::{FileType, Timestamp};
use crate::limits::{LINK_MAX, OFFSET_MAX};
use crate::permission::NO_ID;

/// The nanoseconds of a second.
const SECOND: u32 = 1_000_000_000;

impl NewNode<'_> {
    /// Checks that a file system can make the node, as a tmpfs does. `ENAMETOOLONG` or `EINVAL` for
    /// a link body that cannot be a path, `EINVAL` for an invalid owner or device. An empty body
    /// passes: by a path it is `ENOENT`.
    ///
    /// ```
    /// use pathwalk::permission::NO_ID;
    /// use pathwalk::{Errno, NewKind, NewNode};
    /// let link = |body| NewNode::new(NewKind::Symlink(body), 0o777, 0, 0);
    /// assert_eq!(link(b"to").check(), Ok(()));
    /// assert_eq!(link(b"to\0").check(), Err(Errno::EINVAL));
    /// assert_eq!(link(&[b'x'; 4096]).check(), Err(Errno::ENAMETOOLONG));
    /// assert_eq!(NewNode::new(NewKind::Regular, 0o644, NO_ID, 0).check(), Err(Errno::EINVAL));
    /// ```
    pub fn check(&self) -> Result<(), Errno> {
        match self.kind {
            _ if self.uid == NO_ID || self.gid == NO_ID => Err(Errno::EINVAL),
            NewKind::CharDevice(device) | NewKind::BlockDevice(device) if !device.is_valid() => Err(Errno::EINVAL),
            NewKind::Symlink(body) if body.len() > LINK_MAX => Err(Errno::ENAMETOOLONG),
            NewKind::Symlink(body) if body.contains(&0) => Err(Errno::EINVAL),
            _ => Ok(()),
        }
    }
}

impl SetAttributes {
    /// Checks that a file system can set the attributes of a node of this type, as a tmpfs does.
    /// `EISDIR` or `EINVAL` for the size of a node that is no regular file, `EFBIG` for a size
    /// beyond the greatest offset, `EOPNOTSUPP` for the mode of a link, `EINVAL` for an invalid
    /// owner or time.
    ///
    /// ```
    /// use pathwalk::{Errno, FileType, SetAttributes};
    /// let set = SetAttributes::default();
    /// assert_eq!(set.with_size(5).check(FileType::Regular), Ok(()));
    /// assert_eq!(set.with_size(5).check(FileType::Directory), Err(Errno::EISDIR));
    /// assert_eq!(set.with_size(u64::MAX).check(FileType::Regular), Err(Errno::EFBIG));
    /// assert_eq!(set.with_mode(0o600).check(FileType::Symlink), Err(Errno::EOPNOTSUPP));
    /// ```
    pub fn check(&self, kind: FileType) -> Result<(), Errno> {
        match (self.size, kind) {
            (None, _) => {}
            (Some(size), FileType::Regular) if size > OFFSET_MAX => return Err(Errno::EFBIG),
            (Some(_), FileType::Regular) => {}
            (Some(_), FileType::Directory) => return Err(Errno::EISDIR),
            (Some(_), _) => return Err(Errno::EINVAL),
        }
        if [self.uid, self.gid].contains(&Some(NO_ID)) {
            return Err(Errno::EINVAL);
        }
        if kind == FileType::Symlink && self.mode.is_some() {
            return Err(Errno::EOPNOTSUPP);
        }
        let is_invalid = |time: &Timestamp| time.nanoseconds >= SECOND;
        if [self.atime, self.mtime].iter().flatten().any(is_invalid) { Err(Errno::EINVAL) } else { Ok(()) }
    }
}
