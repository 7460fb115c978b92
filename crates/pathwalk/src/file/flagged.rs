//! Reads and writes with properties of their own, and what is put on stable storage by ranges and
//! for whole file systems.
//!
//! Source: `vfs_readv`, `vfs_writev`, `kiocb_set_rw_flags`, `sync_file_range` and `syncfs` of
//! Linux.

use std::io::{IoSlice, IoSliceMut};

use super::io::{joined, together};
use super::{File, FileBy, within_range};
use crate::Errno;
use crate::abi::{OpenFlags, RwFlags, SyncFileRange};
use crate::attr::FileType;
use crate::fs_api::{Seeking, SyncWhat, WriteAt};
use crate::limits::OFFSET_MAX;
use crate::permission::Subject;

/// The direction of a call with flags.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

impl File {
    /// Reads into one buffer after the other, from an offset in bytes or, without one, from the
    /// position, which then moves behind what was read.
    ///
    /// Errors as [`read_vectored_at`](Self::read_vectored_at). `EOPNOTSUPP` and `EINVAL` for flags,
    /// as [`RwFlags`] say; with `NOWAIT` also `EAGAIN`. Flags do not matter where nothing is to be
    /// read. Source: `preadv2(2)`, in which −1 is the position.
    ///
    /// ```
    /// use std::io::IoSliceMut;
    /// use pathwalk::{Credentials, OpenFlags, RwFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/file", "hello")?;
    /// let file = context.open("/file", OpenFlags::READ)?;
    /// let mut buffer = [0; 3];
    /// assert_eq!(file.preadv2(&mut [IoSliceMut::new(&mut buffer)], None, RwFlags::empty())?, 3);
    /// assert_eq!(file.stream_position()?, 3);
    /// assert_eq!(file.preadv2(&mut [IoSliceMut::new(&mut buffer)], Some(1), RwFlags::NOWAIT)?, 3);
    /// assert_eq!(&buffer, b"ell");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn preadv2(&self, buffers: &mut [IoSliceMut<'_>], offset: Option<u64>, flags: RwFlags) -> Result<usize, Errno> {
        if offset.is_some_and(|offset| offset > OFFSET_MAX) {
            return Err(Errno::EINVAL);
        }
        if offset.is_some() {
            self.has_offsets()?;
        }
        let file = self.readable()?;
        let wanted = together(buffers.iter().map(|buffer| buffer.len()));
        if wanted == 0 {
            return Ok(0);
        }
        if self.seeking(file) == Seeking::Stream {
            self.checked(flags, Direction::Read)?;
            let nowait = flags.contains(RwFlags::NOWAIT);
            let first = |buffer: &mut [u8]| if nowait { file.try_read_at(buffer, 0) } else { file.read_at(buffer, 0) };
            return self.fill_stream(file, buffers, wanted, first);
        }
        match offset {
            Some(offset) => self.read_flagged(buffers, offset, flags),
            None => {
                let mut position = self.position.lock();
                let length = self.read_flagged(buffers, position.at, flags)?;
                position.at += length as u64;
                Ok(length)
            }
        }
    }

    fn read_flagged(&self, buffers: &mut [IoSliceMut<'_>], offset: u64, flags: RwFlags) -> Result<usize, Errno> {
        within_range(offset, together(buffers.iter().map(|buffer| buffer.len())))?;
        if self.handle.kind() == FileType::Directory {
            return Err(if RwFlags::HIPRI.contains(flags) { Errno::EISDIR } else { Errno::EOPNOTSUPP });
        }
        self.checked(flags, Direction::Read)?;
        if flags.contains(RwFlags::NOWAIT) {
            self.without_questions()?;
            return self.fill_by(buffers, offset, |file, buffer, at| file.try_read_at(buffer, at));
        }
        self.fill_by(buffers, offset, |file, buffer, at| file.read_at(buffer, at))
    }

    /// Writes the buffers, one behind the other, as one write at an offset in bytes or, without
    /// one, at the position, which then moves behind the data.
    ///
    /// Errors and cost as [`write_vectored_at`](Self::write_vectored_at); `EOPNOTSUPP`, `EINVAL`
    /// and `EPERM` for flags, as [`RwFlags`] say. Flags do not matter where nothing is to be
    /// written. With `SYNC` or `DSYNC` an error may be that of [`sync`](Self::sync), after the data
    /// was written. Source: `pwritev2(2)`, in which −1 is the position.
    ///
    /// [`RwFlags`] has an example.
    pub fn pwritev2(&self, buffers: &[IoSlice<'_>], offset: Option<u64>, flags: RwFlags) -> Result<usize, Errno> {
        self.pwritev2_as(buffers, offset, flags, &self.credentials.effective())
    }

    fn pwritev2_as(
        &self,
        buffers: &[IoSlice<'_>],
        offset: Option<u64>,
        flags: RwFlags,
        who: &Subject<'_>,
    ) -> Result<usize, Errno> {
        if offset.is_some_and(|offset| offset > OFFSET_MAX) {
            return Err(Errno::EINVAL);
        }
        if offset.is_some() {
            self.has_offsets()?;
        }
        let file = self.writable()?;
        let data = joined(buffers)?;
        if data.is_empty() {
            return Ok(0);
        }
        if self.seeking(file) == Seeking::Stream {
            self.checked(flags, Direction::Write)?;
            return self.write_stream(file, &data);
        }
        let Some(offset) = offset else {
            let mut position = self.position.lock();
            let (bytes, end) = self.write_flagged(&data, position.at, flags, who)?;
            if bytes > 0 {
                position.at = end;
            }
            return Ok(bytes);
        };
        self.write_flagged(&data, offset, flags, who).map(|(bytes, _)| bytes)
    }

    fn write_flagged(&self, data: &[u8], offset: u64, flags: RwFlags, who: &Subject<'_>) -> Result<(usize, u64), Errno> {
        within_range(offset, data.len())?;
        self.checked(flags, Direction::Write)?;
        let appends = flags.contains(RwFlags::APPEND) || self.appends() && !flags.contains(RwFlags::NOAPPEND);
        let at = if appends { WriteAt::End } else { WriteAt::Offset(offset) };
        let written = self.put_at(data, offset, at, who)?;
        if flags.contains(RwFlags::SYNC) {
            self.sync(SyncWhat::All)?;
        } else if flags.contains(RwFlags::DSYNC) {
            self.sync(SyncWhat::Data)?;
        }
        Ok(written)
    }

    /// Checks flags as `kiocb_set_rw_flags` of Linux does.
    fn checked(&self, flags: RwFlags, direction: Direction) -> Result<(), Errno> {
        let never = RwFlags::ATOMIC | RwFlags::DONTCACHE;
        if !RwFlags::all().contains(flags) {
            return Err(Errno::EOPNOTSUPP);
        }
        if flags.contains(RwFlags::APPEND | RwFlags::NOAPPEND) {
            return Err(Errno::EINVAL);
        }
        if flags.intersects(never) || flags.contains(RwFlags::NOWAIT) && direction == Direction::Write {
            return Err(Errno::EOPNOTSUPP);
        }
        if flags.contains(RwFlags::NOAPPEND) && self.appends() {
            self.handle.world().trees.not_append_only(self.handle.dentry())?;
        }
        Ok(())
    }

    /// Returns whether the file was opened with `APPEND`.
    pub(super) fn appends(&self) -> bool {
        self.flags.contains(OpenFlags::APPEND)
    }

    /// Puts `length` bytes from `offset` on on stable storage, or all behind `offset` if `length`
    /// is 0. File systems are asked for whole files, so that with any flag the data of the whole
    /// file is there when this returns, as after [`sync`](Self::sync) with [`SyncWhat::Data`]. `EBADF`
    /// for a place only; `EINVAL` for unknown flags and a range that ends past 2⁶³−1; `ESPIPE` for
    /// a pipe and a character device. Source:
    /// `sync_file_range(2)`.
    ///
    /// [`SyncFileRange`] has an example.
    pub fn sync_file_range(&self, offset: u64, length: u64, flags: SyncFileRange) -> Result<(), Errno> {
        let file = self.opened()?;
        let ends = offset.checked_add(length).is_some_and(|end| end <= OFFSET_MAX);
        if !SyncFileRange::all().contains(flags) || !ends {
            return Err(Errno::EINVAL);
        }
        if matches!(self.handle.kind(), FileType::Fifo | FileType::CharDevice | FileType::Socket) {
            return Err(Errno::ESPIPE);
        }
        if flags.is_empty() { Ok(()) } else { file.sync(SyncWhat::Data) }
    }

    /// Puts all that was written to its file system on stable storage; does nothing if that is
    /// read-only. `EBADF` for a place only. Source: `syncfs(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, OpenFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.open("/", OpenFlags::READ)?.syncfs()?;
    /// context.syncfs("/")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn syncfs(&self) -> Result<(), Errno> {
        self.opened()?;
        crate::ops::sync::syncfs_at(self.handle.world(), self.handle.place())
    }
}

impl FileBy<'_> {
    /// Writes as [`File::pwritev2`] does.
    pub fn pwritev2(&self, buffers: &[IoSlice<'_>], offset: Option<u64>, flags: RwFlags) -> Result<usize, Errno> {
        self.file.pwritev2_as(buffers, offset, flags, &self.who.effective())
    }
}
