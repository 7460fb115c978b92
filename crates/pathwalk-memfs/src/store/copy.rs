//! Copies of data from file to file. Whole pages are shared, and copied when one of the files
//! writes.
//!
//! The source's pages are taken as they are at one instant, and the target's lock is taken after
//! that: a thread holds one file's lock at a time. So a write to the source in between is in no
//! copy.

use std::sync::atomic::Ordering::Relaxed;

use pathwalk::limits::OFFSET_MAX;
use pathwalk::{Errno, NodeKey};

use super::Store;
use super::pages::{Copied, PAGE, PAGE_BYTES};

impl Store {
    /// Copies as many bytes as there are, and as there is room for: holes become pages of zeroes,
    /// as on a tmpfs. `ENOSPC` or `EDQUOT` if there is no room for the first byte; updates the
    /// times even then.
    pub(crate) fn copy_range(&self, from: NodeKey, offset: u64, to: NodeKey, at: u64, length: u64) -> Result<u64, Errno> {
        let (source, size) = self.copied(from, offset, length)?;
        let range = offset..size.min(offset.saturating_add(length));
        let inode = self.inode(to)?;
        inode.check_data()?;
        if at >= OFFSET_MAX {
            return Err(Errno::EFBIG);
        }
        if range.is_empty() {
            return Ok(0);
        }
        let mut file = inode.lock();
        let pages = file.pages_mut(&self.ledger)?;
        let before = pages.count();
        let mut refusal = Errno::ENOSPC;
        let room = || self.take_pages(inode, 1).inspect_err(|errno| refusal = *errno);
        let copied = pages.write_copied(&source, range, at, room);
        let after = pages.count();
        self.ledger.charge((after - before) * PAGE_BYTES);
        file.tidy(&self.ledger);
        file.change(|record| {
            if copied > 0 {
                record.size.store(record.size().max(at + copied), Relaxed);
            }
            record.extent.store(after, Relaxed);
            record.touch(self.now());
        });
        if copied == 0 { Err(refusal) } else { Ok(copied) }
    }

    /// Shares a range, whose holes and reserved pages become holes: `ENOSPC` or `EDQUOT` if the
    /// target would have more pages than there is room for. A shared page counts once for each
    /// file.
    pub(crate) fn clone_range(&self, from: NodeKey, offset: u64, to: NodeKey, at: u64, length: u64) -> Result<(), Errno> {
        let (source, _) = self.copied(from, offset, length)?;
        let inode = self.inode(to)?;
        let mut file = inode.lock();
        let pages = file.pages_mut(&self.ledger)?;
        let target = at / PAGE..(at + length).div_ceil(PAGE);
        let (gone, new) = (pages.count_in(target.clone()), source.count());
        let more = new.saturating_sub(gone);
        let shared = if more > 0 { self.take_pages(inode, more) } else { Ok(()) };
        if shared.is_ok() {
            self.give_pages(inode, gone.saturating_sub(new));
            self.ledger.resize(gone * PAGE_BYTES, new * PAGE_BYTES);
            pages.share(source, offset / PAGE, target);
        }
        let left = pages.count();
        file.tidy(&self.ledger);
        shared?;
        file.change(|record| {
            record.size.store(record.size().max(at + length), Relaxed);
            record.extent.store(left, Relaxed);
            record.touch(self.now());
        });
        Ok(())
    }

    /// Returns the written pages of a range, and the file's size.
    fn copied(&self, node: NodeKey, offset: u64, length: u64) -> Result<(Copied, u64), Errno> {
        let inode = self.inode(node)?;
        let pages = inode.pages()?;
        let size = inode.slot.record.size();
        Ok((pages.copied(offset..size.min(offset.saturating_add(length))), size))
    }
}
