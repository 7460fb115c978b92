//! What is in files and directories: reading, writing, cutting off, listing; and how much room there is.
//!
//! A write holds the file's pages exclusively from end to end, a read shares them: nobody sees half of a write. Pages for which there
//! is no room are not made: a write ends before the first of them.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;

use pathwalk::limits::NAME_MAX;
use pathwalk::{
    Attributes, Entry, Errno, FileType, MountFlags, NodeKey, OpenFor, SetAttributes, StatFs, StatxFlags, WriteAt, Written,
};

use super::Store;
use super::inode::SIZE_MAX;
use super::locked::Locked;
use super::pages::{PAGE, PAGE_BYTES};
use super::record::KEPT_FLAGS;

/// `f_type` of tmpfs, whose ways this file system has.
const TMPFS_MAGIC: u64 = 0x0102_1994;

impl Store {
    /// Holds a node for as long as it is open: `EISDIR` for a directory to be written, `EINVAL` for what is neither file nor directory.
    pub(crate) fn open(&self, node: NodeKey, what_for: OpenFor) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        match inode.kind() {
            FileType::Directory if what_for.contains(OpenFor::WRITE) => return Err(Errno::EISDIR),
            FileType::Directory | FileType::Regular => {}
            _ => return Err(Errno::EINVAL),
        }
        inode.slot.life.hold()?;
        // Whoever does not hold it may have come too late, and to the slot's next node.
        self.inode(node).map(drop).inspect_err(|_| self.release(inode).unwrap_or_default())
    }

    /// Gives back what `open` took.
    pub(crate) fn close(&self, node: NodeKey) {
        // It cannot fail: the hold is the caller's own.
        let _ = self.inode(node).and_then(|inode| self.release(inode));
    }

    /// Fills the buffer from `offset` on, as far as the file goes. Does not move `atime`.
    pub(crate) fn read(&self, node: NodeKey, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let inode = self.inode(node)?;
        let pages = inode.pages()?;
        let left = inode.slot.record.size().saturating_sub(offset);
        let length = buffer.len().min(left.try_into().unwrap_or(usize::MAX));
        pages.read(&mut buffer[..length], offset);
        Ok(length)
    }

    /// The whole file: `ENOMEM` if memory does not hold it.
    pub(crate) fn read_all(&self, node: NodeKey) -> Result<Vec<u8>, Errno> {
        let inode = self.inode(node)?;
        let pages = inode.pages()?;
        let size = inode.slot.record.size().try_into().map_err(|_| Errno::ENOMEM)?;
        let mut all = Vec::new();
        all.try_reserve_exact(size).map_err(|_| Errno::ENOMEM)?;
        all.resize(size, 0);
        pages.read(&mut all, 0);
        Ok(all)
    }

    /// Writes as far as there is room: `ENOSPC` where there is none for the first byte, `EFBIG` at
    /// and behind the greatest size. Moves `mtime` and `ctime` if there was something to write,
    /// also where it found no room, as a tmpfs does.
    pub(crate) fn write(&self, node: NodeKey, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        let inode = self.inode(node)?;
        inode.check_data()?;
        let mut file = inode.lock();
        let offset = inode.offset_of(at);
        if data.is_empty() {
            return Ok(Written { bytes: 0, end: offset });
        }
        let reach = reach(offset)?;
        let data = &data[..data.len().min(reach.try_into().unwrap_or(usize::MAX))];
        let pages = file.pages_mut(&self.ledger)?;
        let before = pages.count();
        let bytes = pages.write(data, offset, || self.space.pages.take(1));
        let after = pages.count();
        if bytes == 0 {
            file.tidy(&self.ledger);
            file.change(|record| record.touch(self.now()));
            return Err(Errno::ENOSPC);
        }
        self.ledger.charge((after - before) * PAGE_BYTES);
        let end = offset + bytes as u64;
        file.change(|record| {
            record.size.store(record.size().max(end), Relaxed);
            record.extent.store(after, Relaxed);
            record.touch(self.now());
        });
        Ok(Written { bytes, end })
    }

    /// Says what a write fails with before it changes anything: `EFBIG`, and not `ENOSPC`, as on a
    /// tmpfs.
    pub(crate) fn check_write(&self, node: NodeKey, length: usize, at: WriteAt) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        inode.check_data()?;
        let _file = inode.lock_shared();
        let offset = inode.offset_of(at);
        if length == 0 { Ok(()) } else { reach(offset).map(drop) }
    }

    /// Sets attributes, all or none. A smaller size lets go of the pages behind it, a greater one makes a hole.
    pub(crate) fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        let inode = self.inode(node)?;
        inode.check(set)?;
        let mut locked = inode.lock();
        let pages = match set.size {
            Some(size) if size < inode.slot.record.size() => self.cut_off(&mut locked, size)?,
            _ => inode.slot.record.extent(),
        };
        if let (Some(mode), Some(list)) = (set.mode, &mut locked.guarded.acl) {
            list.follow(mode);
        }
        locked.change(|record| {
            record.set(set, self.now());
            record.extent.store(pages, Relaxed);
        });
        Ok(self.attributes_of(inode))
    }

    /// Sets the attribute bits of a file or directory: `EOPNOTSUPP` for bits that are not kept, and
    /// for what is neither.
    pub(crate) fn set_flags(&self, node: NodeKey, flags: StatxFlags) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        if !KEPT_FLAGS.contains(flags) || !matches!(inode.kind(), FileType::Regular | FileType::Directory) {
            return Err(Errno::EOPNOTSUPP);
        }
        inode.lock().change(|record| {
            record.set_flags(flags);
            record.touch_ctime(self.now());
        });
        Ok(())
    }

    /// Lets go of a file's pages at and behind `size`; returns how many are left.
    fn cut_off(&self, file: &mut Locked<'_>, size: u64) -> Result<u64, Errno> {
        let pages = file.pages_mut(&self.ledger)?;
        let before = pages.count();
        pages.truncate(size);
        let left = pages.count();
        self.space.pages.give(before - left);
        self.ledger.credit((before - left) * PAGE_BYTES);
        file.tidy(&self.ledger);
        Ok(left)
    }

    /// Gives the entries of a directory behind a cookie.
    pub(crate) fn read_dir(
        &self,
        node: NodeKey,
        from: u64,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<(), Errno> {
        self.inode(node)?.names()?.list(from, each);
        Ok(())
    }

    /// Limits and what is free; zeroes where there are none.
    pub(crate) fn statfs(&self) -> StatFs {
        let (blocks, blocks_free) = self.space.pages.limit_and_free();
        let (files, files_free) = self.space.nodes.limit_and_free();
        let name_max = NAME_MAX as u64;
        StatFs {
            kind: TMPFS_MAGIC,
            block_size: PAGE,
            blocks,
            blocks_free,
            blocks_available: blocks_free,
            files,
            files_free,
            name_max,
            flags: MountFlags::empty(),
        }
    }
}

/// How many bytes there are from an offset up to the greatest size of a file: `EFBIG` if none.
fn reach(offset: u64) -> Result<u64, Errno> {
    SIZE_MAX.checked_sub(offset).filter(|reach| *reach > 0).ok_or(Errno::EFBIG)
}
