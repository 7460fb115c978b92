//! The space of files: `fallocate`.
//!
//! Reserving answers as tmpfs does, and the modes that tmpfs does not have answer as ext4 does. A
//! range is never larger than the file system of the base. Beside that, no space is limited but
//! that of the store.

use pathwalk::limits::OFFSET_MAX;
use pathwalk::{Errno, FallocateFlags};

use super::Inner;
use super::data::check_data;
use crate::extents::PAGE;

impl Inner {
    /// Changes the space of a range: see [`FallocateFlags`]. `EOPNOTSUPP` for `WRITE_ZEROES`;
    /// `EINVAL` for a range to be taken out or put in that is not of whole pages, or not within the
    /// file.
    pub(crate) fn fallocate(&self, number: u64, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        let tree = &mut *self.lock();
        check_data(self.kind(tree, number)?)?;
        let size = self.attributes(tree, number)?.size;
        let range = offset..offset + length;
        let is_of_pages = range.start.is_multiple_of(PAGE) && range.end.is_multiple_of(PAGE);
        let what = mode - FallocateFlags::KEEP_SIZE;
        match what {
            FallocateFlags::COLLAPSE_RANGE if !is_of_pages || range.end >= size => return Err(Errno::EINVAL),
            FallocateFlags::INSERT_RANGE if !is_of_pages || range.start >= size => return Err(Errno::EINVAL),
            FallocateFlags::INSERT_RANGE if length > OFFSET_MAX - size => return Err(Errno::EFBIG),
            FallocateFlags::COLLAPSE_RANGE | FallocateFlags::INSERT_RANGE => {}
            FallocateFlags::PUNCH_HOLE | FallocateFlags::ZERO_RANGE | FallocateFlags::UNSHARE_RANGE => {}
            other if other.is_empty() => {}
            _ => return Err(Errno::EOPNOTSUPP),
        }
        let reserves = what.is_empty() || what.intersects(FallocateFlags::ZERO_RANGE | FallocateFlags::UNSHARE_RANGE);
        if reserves && length > self.shared.base.size()? {
            return Err(Errno::ENOSPC);
        }
        self.copy_up(tree, number)?;
        self.keep_text(tree, number)?;
        let moves = FallocateFlags::COLLAPSE_RANGE | FallocateFlags::INSERT_RANGE;
        let touched = if what.intersects(moves) { 0..u64::MAX } else { range.clone() };
        self.change_extents(tree, number, touched, |extents| match what {
            FallocateFlags::PUNCH_HOLE => extents.punch(range.clone()),
            FallocateFlags::COLLAPSE_RANGE => extents.collapse(range.clone()),
            FallocateFlags::INSERT_RANGE => extents.insert(range.clone()),
            FallocateFlags::ZERO_RANGE => extents.zero(range.clone()),
            // Data is shared until it is written, and a write finds room in the store or does not.
            _ => extents.reserve(range.clone()),
        })?;
        let now = self.shared.now();
        let record = self.copy_up(tree, number)?;
        record.attributes.size = match mode {
            FallocateFlags::COLLAPSE_RANGE => size - length,
            FallocateFlags::INSERT_RANGE => size + length,
            mode if mode.contains(FallocateFlags::KEEP_SIZE) => size,
            _ => size.max(range.end),
        };
        record.touch(now);
        Ok(())
    }
}
