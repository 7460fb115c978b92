//! Files as the standard library's traits have them: [`Read`], [`Write`], [`Seek`] and [`FileExt`],
//! and with several buffers at once.
//!
//! What is always true: a trait's method does what the method of [`File`] with the same name does,
//! and has its error as an [`io::Error`] with the same number. A vectored write is one write to the
//! file system.
//!
//! What it does not do: there is no descriptor, so there are none of the traits that give one; and
//! nothing is buffered, so to flush does nothing.

use std::borrow::Cow;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
#[cfg(unix)]
use std::os::unix::fs::FileExt;

use super::File;
use crate::Errno;
use crate::fs_api::{OpenFile, Seeking};
use crate::limits::{OFFSET_MAX, RW_MAX};

impl File {
    /// Writes all of the data at its position, or at the end if opened with `APPEND`, in as many
    /// writes as it takes, and moves the position behind what was written. A write that ends with
    /// `EINTR` is made again.
    ///
    /// Errors as [`write`](Self::write): what was written before the error stays. `EIO` if the file
    /// system takes nothing and tells no error.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, OpenFlags, OpenHow, Vfs};
    /// use pathwalk_memfs::{MemFs, Options};
    ///
    /// // There is room for two pages of data.
    /// let vfs = Vfs::builder().build(MemFs::with(Options::default().max_bytes(8192)))?;
    /// let context = vfs.context(Credentials::root());
    /// let create = OpenHow { flags: OpenFlags::WRITE | OpenFlags::CREATE, mode: 0o600, ..OpenHow::default() };
    /// let (one, other) = (context.open("/one", &create)?, context.open("/other", &create)?);
    /// assert_eq!(one.write(&[0; 20_000]), Ok(8192), "as far as there is room");
    /// assert_eq!(other.write_all(&[0; 20_000]), Err(Errno::ENOSPC));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_all(&self, data: &[u8]) -> Result<(), Errno> {
        Ok(Write::write_all(&mut &*self, data)?)
    }

    /// Writes all of the data at an offset in bytes, in as many writes as it takes; if opened with
    /// `APPEND`, at the end. The position stays. Errors as [`write_all`](Self::write_all), and
    /// `EINVAL` past 2⁶³−1.
    pub fn write_all_at(&self, data: &[u8], offset: u64) -> Result<(), Errno> {
        Ok(Write::write_all(&mut Behind { file: self, offset }, data)?)
    }

    /// Reads from its position into one buffer after the other, and moves the position behind what
    /// was read. The buffers are one range of the file, but another thread may write between the
    /// reads. Returns how many bytes there were, over all buffers; an error counts only if it is
    /// that of the first read. Errors as [`read`](Self::read). Source: `readv(2)`.
    pub fn read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> Result<usize, Errno> {
        let file = self.readable()?;
        if self.seeking(file) != Seeking::Offsets {
            let wanted = together(buffers.iter().map(|buffer| buffer.len()));
            return self.fill_stream(file, buffers, wanted, |buffer| file.read_at(buffer, 0));
        }
        let mut position = self.position.lock();
        let length = self.fill(buffers, position.at)?;
        position.at += length as u64;
        Ok(length)
    }

    /// Reads as [`read_vectored`](Self::read_vectored) does, from an offset in bytes. The position
    /// stays. Errors as [`read_at`](Self::read_at). Source: `preadv(2)`.
    pub fn read_vectored_at(&self, buffers: &mut [IoSliceMut<'_>], offset: u64) -> Result<usize, Errno> {
        if offset > OFFSET_MAX {
            return Err(Errno::EINVAL);
        }
        self.has_offsets()?;
        self.fill(buffers, offset)
    }

    /// Writes the buffers, one behind the other, as one [`write`](Self::write) of them all: with
    /// `APPEND` too, no other write comes between. Cost: a copy of the data, unless only one buffer
    /// has any; `ENOMEM` if there is no memory for it. Source: `writev(2)`.
    ///
    /// ```
    /// use std::io::IoSlice;
    ///
    /// use pathwalk::{Credentials, OpenFlags, OpenHow, Vfs};
    /// use pathwalk_memfs::MemFs;
    ///
    /// let context = Vfs::builder().build(MemFs::new())?.context(Credentials::root());
    /// let flags = OpenFlags::WRITE | OpenFlags::APPEND | OpenFlags::CREATE;
    /// let log = context.open("/log", OpenHow { flags, mode: 0o600, ..OpenHow::default() })?;
    /// assert_eq!(log.write_vectored(&[IoSlice::new(b"12:00 "), IoSlice::new(b"noon\n")])?, 11);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_vectored(&self, buffers: &[IoSlice<'_>]) -> Result<usize, Errno> {
        self.write(&joined(buffers)?)
    }

    /// Writes the buffers as one [`write_at`](Self::write_at) of them all. The position stays. Cost
    /// and `ENOMEM` as [`write_vectored`](Self::write_vectored). Source: `pwritev(2)`.
    pub fn write_vectored_at(&self, buffers: &[IoSlice<'_>], offset: u64) -> Result<usize, Errno> {
        self.write_at(&joined(buffers)?, offset)
    }

    /// Returns its position: of a file in bytes, of a directory a cookie. `EBADF` for a place only,
    /// `ESPIPE` for a stream.
    pub fn stream_position(&self) -> Result<u64, Errno> {
        self.has_offsets()?;
        Ok(self.position.lock().at)
    }

    /// Moves its position to the beginning. `EBADF` for a place only.
    pub fn rewind(&self) -> Result<(), Errno> {
        self.seek(SeekFrom::Start(0)).map(|_| ())
    }

    /// Fills the buffers from an offset on until a read is short or fails.
    fn fill(&self, buffers: &mut [IoSliceMut<'_>], offset: u64) -> Result<usize, Errno> {
        self.fill_by(buffers, offset, |file, buffer, at| file.read_at(buffer, at))
    }

    /// Fills the buffers as [`fill`](Self::fill) does, with `read` for each of them.
    pub(super) fn fill_by(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        offset: u64,
        read: impl Fn(&dyn OpenFile, &mut [u8], u64) -> Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        let wanted = together(buffers.iter().map(|buffer| buffer.len()));
        let file = self.data(self.readable()?, offset, wanted)?;
        let mut done = 0;
        for buffer in buffers {
            let most = buffer.len().min(wanted - done);
            if most == 0 {
                continue;
            }
            match super::counted(read(file, &mut buffer[..most], offset + done as u64), most) {
                Ok(length) if length == most => done += length,
                Ok(length) => {
                    done += length;
                    break;
                }
                Err(errno) if done == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        // Linux looks at a vector of empty buffers no further.
        if wanted > 0 {
            self.accessed();
        }
        Ok(done)
    }
}

/// A file whose writes begin at an offset and go on behind each other; its position stays.
struct Behind<'a> {
    file: &'a File,
    offset: u64,
}

impl Write for Behind<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let length = self.file.write_at(data, self.offset)?;
        self.offset += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns how many bytes buffers of these lengths have, at most as many as one call reads or
/// writes.
pub(super) fn together(lengths: impl Iterator<Item = usize>) -> usize {
    lengths.fold(0, |sum: usize, length| sum.saturating_add(length)).min(RW_MAX)
}

/// Returns what the buffers have, one behind the other, at most as many bytes as one call writes.
pub(super) fn joined<'a>(buffers: &'a [IoSlice<'_>]) -> Result<Cow<'a, [u8]>, Errno> {
    let length = together(buffers.iter().map(|buffer| buffer.len()));
    match buffers.iter().find(|buffer| !buffer.is_empty()) {
        None => return Ok(Cow::Borrowed(&[])),
        Some(first) if first.len() >= length => return Ok(Cow::Borrowed(first)),
        Some(_) => {}
    }
    let mut all = Vec::new();
    all.try_reserve_exact(length).map_err(|_| Errno::ENOMEM)?;
    for buffer in buffers {
        let most = buffer.len().min(length - all.len());
        all.extend_from_slice(&buffer[..most]);
    }
    Ok(Cow::Owned(all))
}

macro_rules! as_std_has_it {
    ($($type:ty),*) => {$(
        /// As the methods of [`File`] with these names, which are what `file.read(…)` calls: their
        /// error is an [`Errno`]. Generic code calls these. A shared file is read through `&File`.
        ///
        /// ```
        /// use std::io::{BufRead, BufReader, Write};
        ///
        /// use pathwalk::{Credentials, OpenFlags, OpenHow, Vfs};
        /// use pathwalk_memfs::MemFs;
        ///
        /// let context = Vfs::builder().build(MemFs::new())?.context(Credentials::root());
        /// let flags = OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE;
        /// let file = context.open("/motd", OpenHow { flags, mode: 0o644, ..OpenHow::default() })?;
        /// std::io::copy(&mut &b"first\nsecond\n"[..], &mut &file)?;
        /// writeln!(&file, "third")?;
        /// file.rewind()?;
        /// let lines: Vec<String> = BufReader::new(&file).lines().collect::<Result<_, _>>()?;
        /// assert_eq!(lines, ["first", "second", "third"]);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        impl Read for $type {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                Ok(File::read(self, buffer)?)
            }

            fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                Ok(File::read_vectored(self, buffers)?)
            }
        }

        /// As the methods of [`File`] with these names. `flush` does nothing, since nothing is
        /// buffered; what is to be on stable storage needs [`File::sync`].
        impl Write for $type {
            fn write(&mut self, data: &[u8]) -> io::Result<usize> {
                Ok(File::write(self, data)?)
            }

            fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
                Ok(File::write_vectored(self, buffers)?)
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        /// As the methods of [`File`] with these names.
        impl Seek for $type {
            fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
                Ok(File::seek(self, to)?)
            }

            fn stream_position(&mut self) -> io::Result<u64> {
                Ok(File::stream_position(self)?)
            }
        }
    )*};
}

as_std_has_it!(File, &File);

/// As [`File::read_at`] and [`File::write_at`]; with `APPEND`, what is written goes to the end.
#[cfg(unix)]
impl FileExt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        Ok(File::read_at(self, buffer, offset)?)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<usize> {
        Ok(File::write_at(self, data, offset)?)
    }
}
