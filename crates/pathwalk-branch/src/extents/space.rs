//! Reserving, zeroing, taking out and putting in ranges of a file, its end, and its holes.
//!
//! The modes of `fallocate` go by pages as those of memfs and of the kernel's file systems do.

use std::ops::Range;
use std::sync::Arc;

use pathwalk::Errno;

use super::{Extents, ExtentsMut, PAGE, pages};
use crate::origin::Origin;
use crate::rows::{Row, What};
use crate::{rows, rows::Tag};

/// The finder of data in a file of the base: the part of a range, in the base's offsets, that is
/// data and comes first.
pub(crate) trait Segments {
    /// Returns the first range of data within the range; `None` if all of it is a hole.
    fn first_in(&mut self, origin: &Arc<Origin>, range: Range<u64>) -> Result<Option<Range<u64>>, Errno>;
}

impl Extents<'_> {
    /// Returns the least offset from `offset` on, below `size`, at which there is data: `ENXIO`.
    pub(crate) fn seek_data(self, offset: u64, size: u64, base: &mut dyn Segments) -> Result<u64, Errno> {
        let found = if offset < size { self.data_from(floor(offset), size, base)? } else { None };
        let at = found.map(|data| floor(data.start).max(offset)).filter(|at| *at < size);
        at.ok_or(Errno::ENXIO)
    }

    /// Returns the least offset from `offset` on at which there is a hole, `size` at the latest:
    /// `ENXIO` at and behind the end.
    pub(crate) fn seek_hole(self, offset: u64, size: u64, base: &mut dyn Segments) -> Result<u64, Errno> {
        if offset >= size {
            return Err(Errno::ENXIO);
        }
        let mut at = floor(offset);
        while at < size {
            match self.data_from(at, size, base)? {
                Some(data) if floor(data.start) <= at => at = data.end.next_multiple_of(PAGE),
                _ => break,
            }
        }
        Ok(at.max(offset).min(size))
    }

    /// Returns the first range of data from an offset on, if one begins in a page below `size`. A
    /// page has data if there is some in its part behind the end.
    fn data_from(self, from: u64, size: u64, base: &mut dyn Segments) -> Result<Option<Range<u64>>, Errno> {
        for (part, what) in self.within(from..size.next_multiple_of(PAGE)) {
            match &what {
                What::Reserved => {}
                What::Blob(..) | What::Zeroes => return Ok(Some(part)),
                What::Base(origin, start) => {
                    let length = part.end - part.start;
                    if let Some(data) = base.first_in(origin, *start..start + length)? {
                        return Ok(Some(data.start - start + part.start..data.end - start + part.start));
                    }
                }
            }
        }
        Ok(None)
    }
}

impl ExtentsMut<'_> {
    /// Drops what is behind the end.
    pub(crate) fn truncate(&mut self, size: u64) {
        let end = size.next_multiple_of(PAGE);
        self.clear_within_page(size..end);
        self.replace(end..u64::MAX, None);
    }

    /// Reserves the pages that a range touches. Space that was reserved before is written from now
    /// on, as a tmpfs has it.
    pub(crate) fn reserve(&mut self, range: Range<u64>) {
        let touched = pages(&range);
        let range = touched.start * PAGE..touched.end * PAGE;
        let (mut next, mut gaps, mut reserved) = (range.start, Vec::new(), Vec::new());
        for (part, what) in self.shared().within(range.clone()) {
            gaps.push(next..part.start);
            next = part.end;
            if what == What::Reserved {
                reserved.push(part);
            }
        }
        gaps.push(next..range.end);
        for part in reserved {
            self.replace(part, Some(What::Zeroes));
        }
        // A page that an extent touches is allocated as a whole.
        for gap in gaps {
            self.replace(gap.start.next_multiple_of(PAGE)..floor(gap.end), Some(What::Reserved));
        }
    }

    /// Makes a hole of the whole pages of a range, and zeroes the rest of it.
    pub(crate) fn punch(&mut self, range: Range<u64>) {
        let whole = self.clear_edges(&range);
        self.replace(whole, None);
    }

    /// Reserves the pages of a range, and zeroes all of it.
    pub(crate) fn zero(&mut self, range: Range<u64>) {
        self.reserve(range.clone());
        let whole = self.clear_edges(&range);
        self.replace(whole, Some(What::Reserved));
    }

    /// Takes out a range of whole pages. What is behind it moves to its begin.
    pub(crate) fn collapse(&mut self, range: Range<u64>) {
        self.replace(range.clone(), None);
        self.shift(range.end, |offset| offset - (range.end - range.start));
    }

    /// Puts in a hole of whole pages. What is behind its begin moves behind it.
    pub(crate) fn insert(&mut self, range: Range<u64>) {
        self.cut(range.start);
        self.shift(range.start, |offset| offset + (range.end - range.start));
    }

    /// Moves all extents from an offset on.
    fn shift(&mut self, from: u64, to: impl Fn(u64) -> u64) {
        let from = rows::extent(self.number, from);
        let mut moved = Vec::new();
        for (key, row) in self.tree.range(&from) {
            match (rows::parts(key), row) {
                (Some((number, Tag::Extent, rest)), Row::Extent(extent)) if number == self.number => {
                    moved.extend(rows::offset(rest).map(|offset| (offset, extent.clone())));
                }
                _ => break,
            }
        }
        for (offset, _) in &moved {
            self.tree.remove(&rows::extent(self.number, *offset));
        }
        for (offset, extent) in moved {
            let offset = to(offset);
            self.join(offset..offset + extent.length, extent.what);
        }
    }

    /// Zeroes the parts of a range that are no whole pages. Returns the whole ones.
    fn clear_edges(&mut self, range: &Range<u64>) -> Range<u64> {
        let whole = range.start.next_multiple_of(PAGE)..floor(range.end);
        if whole.start > whole.end {
            // All of it lies in one page.
            self.clear_within_page(range.clone());
            return whole.start..whole.start;
        }
        self.clear_within_page(range.start..whole.start);
        self.clear_within_page(whole.end..range.end);
        whole
    }

    /// Zeroes a part of a page. If the page has data, it stays allocated. A page of the base is
    /// data if it is in the base; if no part of it is left, the base's file decides as a whole.
    fn clear_within_page(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let page = floor(range.start)..floor(range.start) + PAGE;
        let (mut has_data, mut base_has_data, mut is_left) = (false, false, false);
        for (part, what) in self.shared().within(page) {
            match what {
                What::Blob(..) | What::Zeroes => has_data = true,
                What::Base(origin, _) => {
                    base_has_data |= origin.attributes.blocks > 0;
                    is_left |= part.start < range.start || part.end > range.end;
                }
                What::Reserved => {}
            }
        }
        if has_data || base_has_data && !is_left {
            return self.replace(range, Some(What::Zeroes));
        }
        let of_base: Vec<_> = self.shared().within(range).filter(|(_, what)| *what != What::Reserved).collect();
        of_base.into_iter().for_each(|(part, _)| self.replace(part, None));
    }
}

/// Returns the begin of the page of an offset.
fn floor(offset: u64) -> u64 {
    offset - offset % PAGE
}
