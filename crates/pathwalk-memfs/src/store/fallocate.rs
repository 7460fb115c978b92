//! The space of files: `fallocate`, and the holes that `lseek` finds.
//!
//! Reserving answers as tmpfs does, and the modes that tmpfs does not have answer as ext4 does.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use pathwalk::limits::OFFSET_MAX;
use pathwalk::{Errno, FallocateFlags, NodeKey};

use super::Store;
use super::locked::Locked;
use super::pages::{PAGE, PAGE_BYTES, touched};

/// The most pages that one call reserves: 16 GiB. Without a limit on the file system, nothing else
/// would bound the time of a call.
const RESERVED_AT_ONCE: u64 = 1 << 22;

impl Store {
    /// Changes the space of a range: see [`FallocateFlags`]. `EOPNOTSUPP` for `WRITE_ZEROES`,
    /// `ENOSPC` or `EDQUOT` if there is no room for all of it; `EINVAL` for a range to be taken out
    /// or put in that is not of whole pages, or not within the file.
    pub(crate) fn fallocate(&self, node: NodeKey, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        let inode = self.inode(node)?;
        inode.check_data()?;
        let mut file = inode.lock();
        let (range, size) = (offset..offset + length, inode.slot.record.size());
        let done = self.change_space(&mut file, mode, range.clone(), size);
        let pages = file.guarded.content.pages().count();
        file.tidy(&self.ledger);
        let size = match (&done, mode) {
            (Err(_), _) => size,
            (Ok(()), FallocateFlags::COLLAPSE_RANGE) => size - length,
            (Ok(()), FallocateFlags::INSERT_RANGE) => size + length,
            (Ok(()), mode) if mode.contains(FallocateFlags::KEEP_SIZE) => size,
            (Ok(()), _) => size.max(range.end),
        };
        file.change(|record| {
            record.extent.store(pages, Relaxed);
            record.size.store(size, Relaxed);
            if done.is_ok() {
                record.touch(self.now());
            }
        });
        done
    }

    fn change_space(&self, file: &mut Locked<'_>, mode: FallocateFlags, range: Range<u64>, size: u64) -> Result<(), Errno> {
        let is_of_pages = range.start.is_multiple_of(PAGE) && range.end.is_multiple_of(PAGE);
        match mode - FallocateFlags::KEEP_SIZE {
            FallocateFlags::PUNCH_HOLE => self.free(file, |pages| pages.punch(range)),
            FallocateFlags::COLLAPSE_RANGE if !is_of_pages || range.end >= size => Err(Errno::EINVAL),
            FallocateFlags::COLLAPSE_RANGE => self.free(file, |pages| pages.collapse(range)),
            FallocateFlags::INSERT_RANGE if !is_of_pages || range.start >= size => Err(Errno::EINVAL),
            FallocateFlags::INSERT_RANGE if range.end - range.start > OFFSET_MAX - size => Err(Errno::EFBIG),
            FallocateFlags::INSERT_RANGE => self.free(file, |pages| pages.insert(range)),
            FallocateFlags::ZERO_RANGE => {
                self.reserve(file, range.clone())?;
                file.pages_mut(&self.ledger)?.zero(range);
                Ok(())
            }
            FallocateFlags::UNSHARE_RANGE => {
                self.reserve(file, range.clone())?;
                file.pages_mut(&self.ledger)?.unshare(range);
                Ok(())
            }
            mode if mode.is_empty() => self.reserve(file, range),
            _ => Err(Errno::EOPNOTSUPP),
        }
    }

    /// Reserves the pages of a range, or none: `ENOSPC`, `EDQUOT`.
    fn reserve(&self, file: &mut Locked<'_>, range: Range<u64>) -> Result<(), Errno> {
        let wanted = touched(&range);
        if wanted.end - wanted.start > self.space.pages.limit().unwrap_or(RESERVED_AT_ONCE) {
            return Err(Errno::ENOSPC);
        }
        let inode = file.inode;
        let pages = file.pages_mut(&self.ledger)?;
        let before = pages.count();
        let reserved = pages.reserve(range, || self.take_pages(inode, 1), |count| self.give_pages(inode, count));
        self.ledger.charge((pages.count() - before) * PAGE_BYTES);
        reserved
    }

    /// Changes pages in a way that may free some of them.
    pub(super) fn free(&self, file: &mut Locked<'_>, change: impl FnOnce(&mut super::pages::Pages)) -> Result<(), Errno> {
        let inode = file.inode;
        let pages = file.pages_mut(&self.ledger)?;
        let before = pages.count();
        change(pages);
        let freed = before - pages.count();
        self.give_pages(inode, freed);
        self.ledger.credit(freed * PAGE_BYTES);
        Ok(())
    }

    /// Returns where the next data is: `ENXIO` if there is none up to the end.
    pub(crate) fn seek_data(&self, node: NodeKey, offset: u64) -> Result<u64, Errno> {
        let inode = self.inode(node)?;
        let pages = inode.pages()?;
        pages.data_in(offset..inode.slot.record.size()).ok_or(Errno::ENXIO)
    }

    /// Returns where the next hole is, the one at the end included: `ENXIO` at and behind the end.
    pub(crate) fn seek_hole(&self, node: NodeKey, offset: u64) -> Result<u64, Errno> {
        let inode = self.inode(node)?;
        let pages = inode.pages()?;
        let size = inode.slot.record.size();
        if offset >= size { Err(Errno::ENXIO) } else { Ok(pages.hole_in(offset..size)) }
    }
}
