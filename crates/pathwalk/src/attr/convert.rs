//! Times, types and attributes of the standard library as those of the engine, and times back.
//!
//! What is always true: every value of the one side becomes one of the other, and a [`SystemTime`]
//! is the same when it comes back. What it does not do: it asks no file system.

use std::time::{SystemTime, UNIX_EPOCH};

use super::Timestamp;

/// The same moment. It may be earlier than [`MIN`](Timestamp::MIN) or later than
/// [`MAX`](Timestamp::MAX).
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
///
/// use pathwalk::Timestamp;
///
/// let before = UNIX_EPOCH - Duration::from_millis(250);
/// assert_eq!(Timestamp::from(before), Timestamp { seconds: -1, nanoseconds: 750_000_000 });
/// ```
impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Timestamp {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => {
                let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
                Timestamp { seconds, nanoseconds: since.subsec_nanos() }
            }
            Err(error) => {
                // Of a moment before the Epoch the seconds are rounded down.
                let until = error.duration();
                let rest = until.subsec_nanos();
                let seconds = 0i64.saturating_sub_unsigned(until.as_secs());
                let (down, nanoseconds) = if rest == 0 { (0, 0) } else { (1, 1_000_000_000 - rest) };
                Timestamp { seconds: seconds.saturating_sub(down), nanoseconds }
            }
        }
    }
}

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use super::Timestamp;
    use crate::attr::{AclState, Attributes, Device, FileType};

    /// The same moment. Nanoseconds beyond 999,999,999 are taken for so many.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime, UNIX_EPOCH};
    ///
    /// use pathwalk::Timestamp;
    ///
    /// let time = Timestamp { seconds: -1, nanoseconds: 750_000_000 };
    /// assert_eq!(SystemTime::from(time), UNIX_EPOCH - Duration::from_millis(250));
    /// ```
    impl From<Timestamp> for SystemTime {
        fn from(time: Timestamp) -> SystemTime {
            let seconds = Duration::from_secs(time.seconds.unsigned_abs());
            let second = if time.seconds < 0 { UNIX_EPOCH.checked_sub(seconds) } else { UNIX_EPOCH.checked_add(seconds) };
            let within = Duration::from_nanos(time.nanoseconds.min(999_999_999).into());
            // On Unix there is a `SystemTime` for each number of seconds in an `i64`.
            second.and_then(|second| second.checked_add(within)).unwrap_or(UNIX_EPOCH)
        }
    }

    /// The same type. A node of none, such as what `epoll_create(2)` makes, is a regular file, as
    /// it is inside Linux.
    impl From<fs::FileType> for FileType {
        fn from(of: fs::FileType) -> FileType {
            match of {
                of if of.is_dir() => FileType::Directory,
                of if of.is_symlink() => FileType::Symlink,
                of if of.is_fifo() => FileType::Fifo,
                of if of.is_socket() => FileType::Socket,
                of if of.is_char_device() => FileType::CharDevice,
                of if of.is_block_device() => FileType::BlockDevice,
                _ => FileType::Regular,
            }
        }
    }

    /// The attributes of a file of the host, for file systems that stand on some. What metadata do
    /// not tell is left open: of the attribute bits none is kept, and an access control list is
    /// [`Unknown`](AclState::Unknown), but absent from a link. A time of creation is there if the
    /// host tells it. Devices are told on Linux; elsewhere they are 0.
    ///
    /// ```
    /// use pathwalk::{Attributes, FileType};
    ///
    /// let attributes = Attributes::from(&std::fs::metadata("/")?);
    /// assert_eq!(attributes.kind, FileType::Directory);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    impl From<&fs::Metadata> for Attributes {
        fn from(of: &fs::Metadata) -> Attributes {
            let kind = FileType::from(of.file_type());
            Attributes {
                nlink: u32::try_from(of.nlink()).unwrap_or(u32::MAX),
                uid: of.uid(),
                gid: of.gid(),
                ino: of.ino(),
                size: of.size(),
                blocks: of.blocks(),
                block_size: u32::try_from(of.blksize()).unwrap_or(u32::MAX),
                device: device(of.dev()),
                device_node: device(of.rdev()),
                atime: timestamp(of.atime(), of.atime_nsec()),
                mtime: timestamp(of.mtime(), of.mtime_nsec()),
                ctime: timestamp(of.ctime(), of.ctime_nsec()),
                btime: of.created().ok().map(Timestamp::from),
                acl: if kind == FileType::Symlink { AclState::Absent } else { AclState::Unknown },
                ..Attributes::new(kind, (of.mode() & 0o7777) as u16)
            }
        }
    }

    fn timestamp(seconds: i64, nanoseconds: i64) -> Timestamp {
        Timestamp { seconds, nanoseconds: u32::try_from(nanoseconds).unwrap_or_default() }
    }

    /// Returns the two numbers of a `dev_t`. Source: `makedev(3)`.
    fn device(number: u64) -> Device {
        if !cfg!(any(target_os = "linux", target_os = "android")) {
            return Device::default();
        }
        let major = (number >> 8) & 0xfff | (number >> 32) & 0xffff_f000;
        let minor = number & 0xff | (number >> 12) & 0xffff_ff00;
        Device { major: major as u32, minor: minor as u32 }
    }
    #[cfg(all(test, target_os = "linux"))]
    mod tests {
        use super::*;

        #[test]
        fn devices_are_as_libc_packs_them() {
            for bit in 0..32 {
                let (major, minor) = (1 << bit | 0x8000_0001, 1 << (31 - bit) | 0x8000_0002);
                assert_eq!(device(libc::makedev(major, minor)), Device { major, minor });
            }
        }
    }
}
