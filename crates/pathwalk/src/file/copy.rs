//! Copies from one open file to another: by the file system, or through a buffer; and files that
//! share data.
//!
//! Source: `vfs_copy_file_range`, `generic_copy_file_checks`, `vfs_clone_file_range` and
//! `generic_remap_file_range_prep` of Linux.

use super::{File, FileBy, Position, counted};
use crate::Errno;
use crate::attr::FileType;
use crate::fs_api::{OpenFile, WriteAt};
use crate::limits::{OFFSET_MAX, RW_MAX};
use crate::permission::Subject;

/// The number of bytes that a copy through a buffer moves at once: those of a pipe.
const AT_ONCE: usize = 1 << 16;

/// A range of one file that another range is filled from.
#[derive(Clone, Copy)]
struct Ranges {
    from: u64,
    to: u64,
    length: u64,
}

impl File {
    /// Copies at most `length` bytes to another file of the same file system, and returns their
    /// number: 0 at the end of this file. The file system may share the data. Without an offset in
    /// bytes, a file's position counts, and moves; these positions are not locked meanwhile, as in
    /// Linux. The flags of Linux's call are always 0.
    ///
    /// `EBADF` unless this file is open for reading, and the other for writing and not with
    /// `APPEND`. `EISDIR`, `EXDEV` for another file system, `EPERM` if the other file is immutable.
    /// `EINVAL` for ranges of one file that overlap, or offsets past 2⁶³−1; `EOVERFLOW`, `EFBIG`.
    /// Other errors are those of [`read`](Self::read) and [`write`](Self::write). Source:
    /// `copy_file_range(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, OpenFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/from", "hello world")?;
    /// let from = context.open("/from", OpenFlags::READ)?;
    /// let to = context.open("/to", OpenFlags::WRITE | OpenFlags::CREATE)?;
    /// assert_eq!(from.copy_file_range(Some(6), &to, None, 100), Ok(5));
    /// assert_eq!(from.copy_file_range(None, &to, Some(0), 1), Ok(1));
    /// assert_eq!(context.read("/to")?, b"horld");
    /// assert_eq!((from.stream_position()?, to.stream_position()?), (1, 5));
    /// assert_eq!(to.copy_file_range(None, &from, None, 1), Err(Errno::EBADF));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_file_range(&self, from: Option<u64>, to: &File, at: Option<u64>, length: usize) -> Result<usize, Errno> {
        self.copy_file_range_as(from, (to, at), length, &to.credentials.effective())
    }

    fn copy_file_range_as(
        &self,
        from: Option<u64>,
        (to, at): (&File, Option<u64>),
        length: usize,
        who: &Subject<'_>,
    ) -> Result<usize, Errno> {
        self.opened()?;
        to.opened()?;
        let begin = |file: &File, given: Option<u64>| given.unwrap_or_else(|| file.position.lock().at);
        let asked = Ranges { from: begin(self, from), to: begin(to, at), length: length as u64 };
        let ranges = self.checked_copy(to, asked)?;
        if ranges.length == 0 {
            // The greatest size of the target comes before the length.
            let target = to.writable()?;
            let check = || target.check_write(1, WriteAt::Offset(ranges.to));
            return self.handle.world().trees.caches.with_room(check).map(|()| 0);
        }
        let copied = self.copied(to, ranges, who)?;
        for (file, given, at) in [(self, from, asked.from), (to, at, asked.to)] {
            if given.is_none() && copied > 0 {
                *file.position.lock() = Position { at: at + copied as u64, listing: None };
            }
        }
        Ok(copied)
    }

    /// Returns the ranges that are to be copied: shortened to the end of this file, and to the
    /// greatest offset.
    fn checked_copy(&self, to: &File, asked: Ranges) -> Result<Ranges, Errno> {
        let Ranges { from, to: at, length } = asked;
        self.checked_pair(to)?;
        if !self.is_beside(to) {
            return Err(Errno::EXDEV);
        }
        to.not_immutable()?;
        if from.checked_add(length).is_none() || at.checked_add(length).is_none() {
            return Err(Errno::EOVERFLOW);
        }
        let left = if from > OFFSET_MAX { length } else { self.handle.attributes()?.size.saturating_sub(from) };
        if at == OFFSET_MAX {
            return Err(Errno::EFBIG);
        }
        if from > OFFSET_MAX || at > OFFSET_MAX {
            return Err(Errno::EINVAL);
        }
        let ranges = Ranges { length: length.min(left).min(OFFSET_MAX - at), ..asked };
        self.do_not_overlap(to, ranges, ranges.length)?;
        Ok(Ranges { length: ranges.length.min(RW_MAX as u64), ..ranges })
    }

    /// Copies ranges that were checked, and that are not empty.
    fn copied(&self, to: &File, ranges: Ranges, who: &Subject<'_>) -> Result<usize, Errno> {
        let length = ranges.length as usize;
        let (from, target) = (self.readable()?, to.writable()?);
        let trees = &to.handle.world().trees;
        // Noted before and after, whatever comes of it, as `filemap_splice_read` and
        // `splice_direct_to_actor` of Linux do. Both count where both are one file, whose times the
        // copy changes in between.
        self.accessed();
        let copied = to.about_to_write(target, ranges, who).and_then(|()| {
            let copied = {
                let _under_way = trees.caches.under_way(to.handle.inode());
                trees.caches.with_room(|| from.copy_range(ranges.from, to.handle.key(), ranges.to, length))
            };
            match copied {
                Err(Errno::EOPNOTSUPP) => self.copied_through_buffer(from, to, ranges, who),
                copied => {
                    let bytes = counted(copied, length)?;
                    if bytes > 0 {
                        trees.tell_content(to.handle.dentry());
                    }
                    Ok(bytes)
                }
            }
        });
        self.accessed();
        copied
    }

    /// Copies as `splice_copy_file_range` of Linux does. An error counts only if nothing was copied
    /// before it.
    fn copied_through_buffer(&self, from: &dyn OpenFile, to: &File, ranges: Ranges, who: &Subject<'_>) -> Result<usize, Errno> {
        let length = ranges.length as usize;
        let mut buffer = vec![0; length.min(AT_ONCE)];
        let mut done = 0;
        let mut step = |done: usize| -> Result<(usize, usize), Errno> {
            let most = buffer.len().min(length - done);
            let read = counted(from.read_at(&mut buffer[..most], ranges.from + done as u64), most)?;
            let at = ranges.to + done as u64;
            let (written, _) = to.put_at(&buffer[..read], at, WriteAt::Offset(at), who)?;
            Ok((written, most))
        };
        while done < length {
            match step(done) {
                Ok((written, wanted)) => {
                    done += written;
                    if written < wanted {
                        break;
                    }
                }
                Err(errno) if done == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        Ok(done)
    }

    /// Makes this file share all data of another one of the same file system, from the beginning of
    /// both. What this file has behind the length of the other one stays. Errors are those of
    /// [`clone_range`](Self::clone_range). Source: `ioctl_ficlone(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, OpenFlags, Vfs};
    /// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
    /// context.write("/image", vec![7; 1 << 20])?;
    /// let image = context.open("/image", OpenFlags::READ)?;
    /// let clone = context.open("/clone", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE)?;
    /// clone.clone_from(&image)?;
    /// clone.write_at(b"mine", 4096)?;
    /// assert_eq!(context.read("/image")?, vec![7; 1 << 20], "a page is copied when it is written");
    ///
    /// clone.clone_range(&image, 4096, 4096, 4096)?;
    /// assert_eq!(context.read("/clone")?, context.read("/image")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clone_from(&self, source: &File) -> Result<(), Errno> {
        self.clone_range(source, 0, 0, 0)
    }

    /// Makes a range of this file share the data of `length` bytes at `from` of another file, up to
    /// its end if `length` is 0. A later write to either is not seen in the other.
    ///
    /// `EOPNOTSUPP` where the file system cannot, `EXDEV` for another file system. `EBADF` and
    /// `EISDIR` as for [`copy_file_range`](Self::copy_file_range). `EINVAL` for offsets that are no
    /// multiples of the block size, a length that is none either and does not end with the source,
    /// a range behind the end of the source, and ranges of one file that overlap. `EPERM` if this
    /// file is immutable, `EFBIG`, `ENOSPC`. Source: `ioctl_ficlonerange(2)`.
    ///
    /// [`clone_from`](Self::clone_from) has an example.
    pub fn clone_range(&self, source: &File, from: u64, length: u64, at: u64) -> Result<(), Errno> {
        self.clone_range_as(source, Ranges { from, to: at, length }, &self.credentials.effective())
    }

    fn clone_range_as(&self, source: &File, asked: Ranges, who: &Subject<'_>) -> Result<(), Errno> {
        let (from, target) = (source.opened()?, self.opened()?);
        if !source.is_beside(self) {
            return Err(Errno::EXDEV);
        }
        source.checked_pair(self)?;
        if !from.can_clone() {
            return Err(Errno::EOPNOTSUPP);
        }
        let Some(ranges) = source.checked_clone(self, asked)? else { return Ok(()) };
        self.about_to_write(target, ranges, who)?;
        let trees = &self.handle.world().trees;
        let _under_way = trees.caches.under_way(self.handle.inode());
        trees.caches.with_room(|| from.clone_range(ranges.from, self.handle.key(), ranges.to, ranges.length))?;
        trees.tell_content(self.handle.dentry());
        Ok(())
    }

    /// Returns the ranges that are to be shared, or `None` for nothing.
    fn checked_clone(&self, to: &File, asked: Ranges) -> Result<Option<Ranges>, Errno> {
        let Ranges { from, to: at, length } = asked;
        let ends = |begin: u64| begin.checked_add(length).is_some_and(|end| end <= OFFSET_MAX);
        if !ends(from) || !ends(at) {
            return Err(Errno::EINVAL);
        }
        to.not_immutable()?;
        let (of_source, of_target) = (self.handle.attributes()?, to.handle.attributes()?);
        let (size, block) = (of_source.size, u64::from(of_source.block_size.max(1)));
        if length == 0 && from == size {
            return Ok(None);
        }
        let whole = if length == 0 { size.checked_sub(from).ok_or(Errno::EINVAL)? } else { length };
        if !from.is_multiple_of(block) || !at.is_multiple_of(block) || from >= size {
            return Err(Errno::EINVAL);
        }
        if at == OFFSET_MAX {
            return Err(Errno::EFBIG);
        }
        let ranges = Ranges { length: whole, ..asked };
        let reaches_end = from + whole == size;
        self.do_not_overlap(to, ranges, whole.next_multiple_of(block))?;
        let is_cut = whole > size - from || whole > OFFSET_MAX - at;
        let is_odd = !whole.is_multiple_of(block) && (!reaches_end || at + whole < of_target.size);
        if is_cut || is_odd { Err(Errno::EINVAL) } else { Ok(Some(ranges)) }
    }

    /// Checks that both are regular files, this one open for reading and the other one for writing
    /// at any offset. Linux: `generic_file_rw_checks`.
    fn checked_pair(&self, to: &File) -> Result<(), Errno> {
        let kinds = [self.handle.kind(), to.handle.kind()];
        if kinds.contains(&FileType::Directory) {
            return Err(Errno::EISDIR);
        }
        if kinds != [FileType::Regular; 2] {
            return Err(Errno::EINVAL);
        }
        self.readable()?;
        to.writable()?;
        if to.appends() { Err(Errno::EBADF) } else { Ok(()) }
    }

    /// Returns whether both files are of one file system.
    fn is_beside(&self, other: &File) -> bool {
        let (world, same) = (self.handle.world(), other.handle.world());
        let superblock = |file: &File| world.caches().superblock_of(file.handle.inode());
        std::ptr::eq(world, same) && superblock(self) == superblock(other)
    }

    fn not_immutable(&self) -> Result<(), Errno> {
        let of = self.handle.world().trees.known_snapshot(self.handle.inode())?;
        if of.is_immutable() { Err(Errno::EPERM) } else { Ok(()) }
    }

    /// Checks that so many bytes of both ranges do not overlap in one file: `EINVAL`.
    fn do_not_overlap(&self, to: &File, ranges: Ranges, length: u64) -> Result<(), Errno> {
        let is_one = self.handle.inode() == to.handle.inode();
        let overlap = ranges.from < ranges.to.saturating_add(length) && ranges.to < ranges.from.saturating_add(length);
        if is_one && overlap { Err(Errno::EINVAL) } else { Ok(()) }
    }

    /// Clears suid and sgid bits before a range of this file is filled.
    fn about_to_write(&self, file: &dyn OpenFile, ranges: Ranges, who: &Subject<'_>) -> Result<(), Errno> {
        let trees = &self.handle.world().trees;
        let check = || trees.caches.with_room(|| file.check_write(ranges.length as usize, WriteAt::Offset(ranges.to)));
        trees.drop_privileges(self.handle.dentry(), &self.coming(who), check)
    }
}

impl FileBy<'_> {
    /// Copies from this file to another one as [`File::copy_file_range`] does.
    pub fn copy_file_range(&self, from: Option<u64>, to: &File, at: Option<u64>, length: usize) -> Result<usize, Errno> {
        self.file.copy_file_range_as(from, (to, at), length, &self.who.effective())
    }

    /// Makes a range of this file share the data of another one as [`File::clone_range`] does.
    pub fn clone_range(&self, source: &File, from: u64, length: u64, at: u64) -> Result<(), Errno> {
        self.file.clone_range_as(source, Ranges { from, to: at, length }, &self.who.effective())
    }
}
