//! Flags of operations on the data of open files.

use bitflags::bitflags;

use crate::Errno;

bitflags! {
    /// What [`File::fallocate`](crate::File::fallocate) does with a range: none of these flags
    /// allocates it. At most one flag beside `KEEP_SIZE`. Source: `fallocate(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, FallocateFlags, OpenFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/file", "one two three")?;
    /// let file = context.open("/file", OpenFlags::WRITE)?;
    /// file.fallocate(FallocateFlags::ZERO_RANGE, 3, 5)?;
    /// assert_eq!(context.read("/file")?, b"one\0\0\0\0\0three");
    /// assert_eq!(file.fallocate(FallocateFlags::PUNCH_HOLE, 0, 1), Err(Errno::EOPNOTSUPP), "without KEEP_SIZE");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct FallocateFlags: u32 {
        /// `FALLOC_FL_KEEP_SIZE`: a range behind the end does not make the file longer.
        const KEEP_SIZE = 0x01;
        /// `FALLOC_FL_PUNCH_HOLE`: the range becomes a hole, and reads as zeroes. Only with
        /// `KEEP_SIZE`.
        const PUNCH_HOLE = 0x02;
        /// `FALLOC_FL_COLLAPSE_RANGE`: the range is taken out, and what is behind it moves to its
        /// begin. Not with `KEEP_SIZE`.
        const COLLAPSE_RANGE = 0x08;
        /// `FALLOC_FL_ZERO_RANGE`: the range is allocated, and reads as zeroes.
        const ZERO_RANGE = 0x10;
        /// `FALLOC_FL_INSERT_RANGE`: a hole is put in, and what is behind its begin moves behind
        /// it. Not with `KEEP_SIZE`.
        const INSERT_RANGE = 0x20;
        /// `FALLOC_FL_UNSHARE_RANGE`: the range is allocated, and shared with no other file.
        const UNSHARE_RANGE = 0x40;
        /// `FALLOC_FL_WRITE_ZEROES`: zeroes are written. Not with `KEEP_SIZE`. No file system here
        /// does that.
        const WRITE_ZEROES = 0x80;
    }
}

impl FallocateFlags {
    /// Checks that the flags are consistent: `EOPNOTSUPP`.
    pub(crate) fn check(self) -> Result<(), Errno> {
        let keeps_size = self.contains(FallocateFlags::KEEP_SIZE);
        let possible = match self - FallocateFlags::KEEP_SIZE {
            FallocateFlags::PUNCH_HOLE => keeps_size,
            FallocateFlags::COLLAPSE_RANGE | FallocateFlags::INSERT_RANGE | FallocateFlags::WRITE_ZEROES => !keeps_size,
            mode => mode.is_empty() || matches!(mode, FallocateFlags::ZERO_RANGE | FallocateFlags::UNSHARE_RANGE),
        };
        if possible { Ok(()) } else { Err(Errno::EOPNOTSUPP) }
    }
}

bitflags! {
    /// The properties of one read or write. Source: `RWF_*` of `preadv2(2)`.
    ///
    /// ```
    /// use std::io::IoSlice;
    /// use pathwalk::{Credentials, Errno, OpenFlags, RwFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/log", "one\n")?;
    /// let log = context.open("/log", OpenFlags::WRITE)?;
    /// log.pwritev2(&[IoSlice::new(b"two\n")], None, RwFlags::APPEND | RwFlags::DSYNC)?;
    /// assert_eq!(context.read("/log")?, b"one\ntwo\n");
    /// assert_eq!(log.pwritev2(&[IoSlice::new(b"x")], Some(0), RwFlags::ATOMIC), Err(Errno::EOPNOTSUPP));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct RwFlags: u32 {
        /// `RWF_HIPRI`: to be done before other requests. Has no effect.
        const HIPRI = 0x01;
        /// `RWF_DSYNC`: what is written, and what is needed to read it again, is on stable storage
        /// when the write returns.
        const DSYNC = 0x02;
        /// `RWF_SYNC`: so is the rest of the file's data and attributes.
        const SYNC = 0x04;
        /// `RWF_NOWAIT`: a read does not block (`EAGAIN`), as
        /// [`File::try_read_at`](crate::File::try_read_at). `EOPNOTSUPP` for a write.
        const NOWAIT = 0x08;
        /// `RWF_APPEND`: a write goes to the end, wherever it was to begin.
        const APPEND = 0x10;
        /// `RWF_NOAPPEND`: a write goes where it was to begin, although the file was opened with
        /// `APPEND`. `EINVAL` with `APPEND`; `EPERM` if the file is append-only.
        const NOAPPEND = 0x20;
        /// `RWF_ATOMIC`: never half done, not even after a crash: `EOPNOTSUPP`.
        const ATOMIC = 0x40;
        /// `RWF_DONTCACHE`: not kept in the kernel's caches: `EOPNOTSUPP`, as on a tmpfs.
        const DONTCACHE = 0x80;
        /// `RWF_NOSIGNAL`: no `SIGPIPE`. Has no effect on files.
        const NOSIGNAL = 0x100;
    }
}

bitflags! {
    /// The steps of [`File::sync_file_range`](crate::File::sync_file_range). Source:
    /// `sync_file_range(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, OpenFlags, SyncFileRange, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// let file = context.open("/file", OpenFlags::WRITE | OpenFlags::CREATE)?;
    /// file.sync_file_range(0, 0, SyncFileRange::WRITE | SyncFileRange::WAIT_AFTER)?;
    /// assert_eq!(file.sync_file_range(1 << 63, 0, SyncFileRange::WRITE), Err(Errno::EINVAL));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct SyncFileRange: u32 {
        /// `SYNC_FILE_RANGE_WAIT_BEFORE`: a wait for writes to storage that are under way.
        const WAIT_BEFORE = 1;
        /// `SYNC_FILE_RANGE_WRITE`: writes to storage of what is not there yet.
        const WRITE = 2;
        /// `SYNC_FILE_RANGE_WAIT_AFTER`: a wait for those writes.
        const WAIT_AFTER = 4;
    }
}
