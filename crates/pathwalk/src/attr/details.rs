//! What a file system has of a node beside its attributes, and the caches never keep.

use super::{Attributes, Statx};

/// The number by which a client of a server sees that a node has changed. Two that are equal say
/// that neither data nor attributes have changed in between; a read that moves the time of the last
/// access is no change. Source: `STATX_CHANGE_COOKIE` of Linux, `i_version`.
///
/// [`Details`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChangeCookie {
    /// A number that only grows. Source: `STATX_ATTR_CHANGE_MONOTONIC`.
    Monotonic(u64),
    /// A number of which only equality means something.
    Unordered(u64),
}

impl ChangeCookie {
    /// Returns the number.
    ///
    /// [`Details`] has an example.
    pub fn number(self) -> u64 {
        match self {
            ChangeCookie::Monotonic(number) | ChangeCookie::Unordered(number) => number,
        }
    }
}

/// What a file system has of a node beside its attributes. The caches keep none of it: each request
/// asks the file system. Returned by [`Context::details`](crate::Context::details) and
/// [`FileSystem::details`](crate::FileSystem::details).
///
/// ```
/// use pathwalk::{ChangeCookie, Credentials, StatxMask, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.write("/file", "data")?;
/// let (before, first) = context.details("/file", StatxMask::BASIC_STATS | StatxMask::CHANGE_COOKIE)?;
/// assert!(before.mask.contains(StatxMask::CHANGE_COOKIE) && before.attributes.size == 4);
/// context.chmod("/file", 0o600)?;
/// let (after, then) = context.details("/file", StatxMask::CHANGE_COOKIE)?;
/// let (Some(ChangeCookie::Monotonic(first)), Some(ChangeCookie::Monotonic(then))) = (first.change, then.change) else {
///     unreachable!("a `MemFs` has them")
/// };
/// assert!(first < then);
/// // The `change` of an NFS server, which each file system has.
/// assert_eq!(after.change_attribute(None), after.attributes.change_attribute());
/// assert_eq!(after.change_attribute(Some(ChangeCookie::Monotonic(then))), then);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Details {
    /// The change cookie, where the file system has one. For `STATX_CHANGE_COOKIE`.
    pub change: Option<ChangeCookie>,
    /// The number of the subvolume that the node is in, where the file system has subvolumes. For
    /// `STATX_SUBVOL`.
    pub subvolume: Option<u64>,
    /// The attributes that came with them, which the engine takes.
    pub(crate) attributes: Option<Attributes>,
}

/// # For file systems
///
/// ```
/// use pathwalk::{ChangeCookie, Details};
/// let details = Details::default().with_change(ChangeCookie::Monotonic(7)).with_subvolume(256);
/// assert_eq!((details.change.map(ChangeCookie::number), details.subvolume), (Some(7), Some(256)));
/// ```
impl Details {
    /// Returns the details with a change cookie.
    #[must_use]
    pub const fn with_change(mut self, change: ChangeCookie) -> Details {
        self.change = Some(change);
        self
    }

    /// Returns the details with the attributes of the node, as they were when the change cookie was
    /// read or later, where the file system reads both at once. The engine does not ask for them
    /// again.
    ///
    /// ```
    /// use pathwalk::{Attributes, ChangeCookie, Details, FileType};
    /// let found = Attributes::new(FileType::Regular, 0o644).with_size(7);
    /// let cookie = ChangeCookie::Unordered(found.change_attribute());
    /// let details = Details::default().with_change(cookie).with_attributes(found);
    /// assert_eq!(details.change, Some(cookie));
    /// ```
    #[must_use]
    pub const fn with_attributes(mut self, attributes: Attributes) -> Details {
        self.attributes = Some(attributes);
        self
    }

    /// Returns the details with the number of a subvolume.
    #[must_use]
    pub const fn with_subvolume(mut self, subvolume: u64) -> Details {
        self.subvolume = Some(subvolume);
        self
    }
}

/// # For servers
impl Attributes {
    /// Returns the time of the last change of the attributes in one number. A file system whose
    /// clock does not go on between two changes gives both the same. Source: `time_to_chattr` of
    /// Linux.
    ///
    /// [`Details`] has an example.
    pub fn change_attribute(&self) -> u64 {
        ((self.ctime.seconds as u64) << 30).wrapping_add(self.ctime.nanoseconds.into())
    }
}

/// # For servers
impl Statx {
    /// Returns the `change` attribute of NFS: the cookie if there is one, mixed with the time where
    /// the cookie of a file may go back after a crash; else the time of the last change of the
    /// attributes. Source: `nfsd4_change_attribute` of Linux.
    ///
    /// [`Details`] has an example.
    pub fn change_attribute(&self, cookie: Option<ChangeCookie>) -> u64 {
        match cookie {
            None => self.attributes.change_attribute(),
            Some(ChangeCookie::Unordered(number)) if self.attributes.kind.is_file() => {
                number.wrapping_add(self.attributes.change_attribute())
            }
            Some(cookie) => cookie.number(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attr::{FileType, Seen, StatxMask, Timestamp};

    #[test]
    fn a_change_attribute_is_the_one_of_nfsd() {
        let of = |kind| {
            let mut attributes = Attributes::new(kind, 0);
            attributes.ctime = Timestamp { seconds: 3, nanoseconds: 5 };
            Statx::new(attributes, StatxMask::CTIME, Seen { mount: 1, is_root: false })
        };
        let (file, directory) = (of(FileType::Regular), of(FileType::Directory));
        let time = (3 << 30) + 5;
        assert_eq!((file.change_attribute(None), directory.change_attribute(None)), (time, time));
        let unordered = Some(ChangeCookie::Unordered(100));
        assert_eq!((file.change_attribute(unordered), directory.change_attribute(unordered)), (time + 100, 100));
        assert_eq!(file.change_attribute(Some(ChangeCookie::Monotonic(7))), 7);
    }
}
