//! The space of a file: which ranges are allocated, and where its holes are.
//!
//! Source: `vfs_fallocate`, `generic_file_llseek_size` and `shmem_fallocate` of Linux.

use super::{File, FileBy, Position};
use crate::Errno;
use crate::abi::FallocateFlags;
use crate::attr::FileType;
use crate::limits::OFFSET_MAX;
use crate::permission::Subject;

impl File {
    /// Allocates, zeroes, takes out or puts in `length` bytes at `offset`. Then clears suid and
    /// sgid bits where `CAP_FSETID` is missing, and the file system updates the times. On an error
    /// nothing has changed. Blocks while the file system answers.
    ///
    /// `EINVAL` for a length of 0, or an offset or length past 2⁶³−1. `EOPNOTSUPP` for flags that
    /// do not go together or that the file system does not have. `EBADF` unless opened for writing,
    /// `EPERM` if the file is immutable, or append-only and more is asked for than space. `EFBIG`
    /// for a range that ends past 2⁶³−1. `ENOSPC` if there is no room for all of it. Source:
    /// `fallocate(2)`.
    ///
    /// ```
    /// use pathwalk::{Credentials, Errno, FallocateFlags, OpenFlags, Vfs};
    /// use pathwalk_memfs::{MemFs, Options};
    ///
    /// // There is room for four pages.
    /// let context = Vfs::builder().build(MemFs::with(Options::default().max_bytes(4 * 4096)))?.context(Credentials::root());
    /// let file = context.open("/file", OpenFlags::READ | OpenFlags::WRITE | OpenFlags::CREATE)?;
    /// file.fallocate(FallocateFlags::KEEP_SIZE, 0, 3 * 4096)?;
    /// let found = context.stat("/file")?;
    /// assert_eq!((found.size, found.blocks), (0, 24));
    /// assert_eq!(file.fallocate(FallocateFlags::empty(), 0, 5 * 4096), Err(Errno::ENOSPC));
    ///
    /// file.write_at(&[1; 3 * 4096], 0)?;
    /// file.fallocate(FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 4096, 4096)?;
    /// assert_eq!((file.seek_hole(0)?, file.seek_data(4096)?), (4096, 2 * 4096));
    /// file.fallocate(FallocateFlags::COLLAPSE_RANGE, 4096, 4096)?;
    /// assert_eq!(context.read("/file")?, [1; 2 * 4096]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fallocate(&self, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        self.fallocate_as(mode, offset, length, &self.credentials.effective())
    }

    fn fallocate_as(&self, mode: FallocateFlags, offset: u64, length: u64, who: &Subject<'_>) -> Result<(), Errno> {
        self.opened()?;
        if offset > OFFSET_MAX || length == 0 || length > OFFSET_MAX {
            return Err(Errno::EINVAL);
        }
        mode.check()?;
        let file = self.writable()?;
        let (trees, node) = (&self.handle.world().trees, self.handle.dentry());
        let of = trees.known_snapshot(self.handle.inode())?;
        let only_space = FallocateFlags::KEEP_SIZE.contains(mode);
        if of.is_immutable() || of.is_append_only() && !only_space {
            return Err(Errno::EPERM);
        }
        match self.handle.kind() {
            FileType::Regular => {}
            FileType::Directory => return Err(Errno::EISDIR),
            FileType::Fifo => return Err(Errno::ESPIPE),
            _ => return Err(Errno::ENODEV),
        }
        if offset + length > OFFSET_MAX {
            return Err(Errno::EFBIG);
        }
        {
            let _under_way = trees.caches.under_way(self.handle.inode());
            trees.caches.with_room(|| file.fallocate(mode, offset, length))?;
        }
        trees.tell_content(node);
        // No byte is the caller's: what fails may leave the bits as they were, as on a tmpfs.
        trees.drop_privileges(node, &self.coming(who), || Ok(()))
    }

    /// Moves the position to the least offset from `offset` on at which there is data, and returns
    /// it. `ENXIO` if there is none up to the end, `EBADF` for a place only, `EINVAL` for a
    /// directory. Source: `SEEK_DATA` in `lseek(2)`.
    ///
    /// [`fallocate`](Self::fallocate) has an example.
    pub fn seek_data(&self, offset: u64) -> Result<u64, Errno> {
        self.seek_sparse(offset, |size| self.opened()?.seek_data(offset, size))
    }

    /// Moves the position to the least offset from `offset` on at which there is a hole, and
    /// returns it. A hole begins at the end of every file. Errors are those of
    /// [`seek_data`](Self::seek_data). Source: `SEEK_HOLE` in `lseek(2)`.
    ///
    /// [`fallocate`](Self::fallocate) has an example.
    pub fn seek_hole(&self, offset: u64) -> Result<u64, Errno> {
        self.seek_sparse(offset, |size| self.opened()?.seek_hole(offset, size))
    }

    /// Moves the position to where `find` leads, which is called with the size.
    fn seek_sparse(&self, offset: u64, find: impl FnOnce(u64) -> Result<u64, Errno>) -> Result<u64, Errno> {
        self.has_offsets()?;
        if self.handle.kind() == FileType::Directory {
            return Err(Errno::EINVAL);
        }
        if offset > OFFSET_MAX {
            return Err(Errno::ENXIO);
        }
        let mut position = self.position.lock();
        let at = find(self.handle.attributes()?.size)?;
        if at > OFFSET_MAX {
            return Err(Errno::EINVAL);
        }
        *position = Position { at, listing: None };
        Ok(at)
    }
}

impl FileBy<'_> {
    /// Allocates, zeroes, takes out or puts in a range as [`File::fallocate`] does.
    pub fn fallocate(&self, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        self.file.fallocate_as(mode, offset, length, &self.who.effective())
    }
}
