//! Copies of data from file to file, which share it: no byte is copied.

use std::ops::Range;
use std::sync::Arc;

use pathwalk::Errno;
use pathwalk::limits::OFFSET_MAX;

use super::data::{BaseFiles, OfBase, check_data};
use super::{Inner, record, record_mut};
use crate::extents::{Extents, ExtentsMut, Segments};
use crate::rows::{Row, What};
use crate::tree::Tree;

/// What becomes of holes, and of space that is reserved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holes {
    /// Zeroes, as in a copy on a tmpfs.
    AreWritten,
    /// Holes, as in a clone.
    Stay,
}

impl Inner {
    /// Copies as many bytes as there are. Holes become zeroes, as on a tmpfs.
    pub(crate) fn copy_range(&self, from: u64, offset: u64, to: u64, at: u64, length: u64) -> Result<u64, Errno> {
        let tree = &mut *self.lock();
        check_data(self.kind(tree, from)?)?;
        check_data(self.kind(tree, to)?)?;
        if at >= OFFSET_MAX {
            return Err(Errno::EFBIG);
        }
        let size = self.attributes(tree, from)?.size;
        let length = size.saturating_sub(offset).min(length).min(OFFSET_MAX - at);
        if length > 0 {
            self.share(tree, (from, offset..offset + length), (to, at), Holes::AreWritten)?;
        }
        Ok(length)
    }

    /// Shares a range, whose holes and reserved space become holes.
    pub(crate) fn clone_range(&self, from: u64, offset: u64, to: u64, at: u64, length: u64) -> Result<(), Errno> {
        let tree = &mut *self.lock();
        self.share(tree, (from, offset..offset + length), (to, at), Holes::Stay)
    }

    fn share(&self, tree: &mut Tree<Row>, from: (u64, Range<u64>), to: (u64, u64), holes: Holes) -> Result<(), Errno> {
        let ((from, range), (to, at)) = (from, to);
        let parts = self.parts(tree, from, range.clone())?;
        let parts = if holes == Holes::AreWritten { self.without_holes_of_base(parts)? } else { parts };
        self.copy_up(tree, to)?;
        self.keep_text(tree, to)?;
        let (moved, length) = (|offset: u64| offset - range.start + at, range.end - range.start);
        self.change_extents(tree, to, at..at + length, |extents: &mut ExtentsMut<'_>| {
            extents.replace(at..at + length, (holes == Holes::AreWritten).then_some(What::Zeroes));
            for (part, what) in parts {
                if what != What::Reserved {
                    extents.replace(moved(part.start)..moved(part.end), Some(what));
                }
            }
        })?;
        let now = self.shared.now();
        let record = record_mut(tree, to)?;
        record.attributes.size = record.attributes.size.max(at + length);
        record.touch(now);
        Ok(())
    }

    /// Returns the content of a range, which may end behind the file.
    fn parts(&self, tree: &Tree<Row>, number: u64, range: Range<u64>) -> Result<Vec<(Range<u64>, What)>, Errno> {
        if let Some(record) = record(tree, number) {
            let range = range.start..range.end.min(record.attributes.size);
            return Ok(Extents::new(tree, number).within(range).collect());
        }
        let origin = self.shared.base.origin(&self.base_of(number)?)?;
        let range = range.start..range.end.min(origin.attributes.size);
        let what = What::Base(Arc::new(origin), range.start);
        Ok(if range.is_empty() { Vec::new() } else { vec![(range, what)] })
    }

    /// Leaves out the holes that files of the base have in these parts.
    fn without_holes_of_base(&self, parts: Vec<(Range<u64>, What)>) -> Result<Vec<(Range<u64>, What)>, Errno> {
        let (files, mut left) = (BaseFiles::default(), Vec::new());
        for (part, what) in parts {
            let What::Base(origin, from) = &what else {
                left.push((part, what));
                continue;
            };
            let (mut at, end) = (*from, from + (part.end - part.start));
            while at < end
                && let Some(data) = OfBase(&files, &self.shared.base).first_in(origin, at..end)?
            {
                at = data.end;
                let part = data.start - from + part.start..data.end - from + part.start;
                left.push((part, What::Base(Arc::clone(origin), data.start)));
            }
        }
        Ok(left)
    }
}
