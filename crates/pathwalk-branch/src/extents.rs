//! The extents of one file: what each range of it shows.
//!
//! Extents end at any byte. What lies between them is a hole and reads as zeroes. A page of 4,096
//! bytes is allocated if an extent touches it, as on a tmpfs: `lseek` and `st_blocks` go by pages.
//!
//! What always holds: extents of a file do not overlap, and none is empty. What lies behind the end
//! of the file is zeroes or reserved, so that a file which grows shows zeroes.
//!
//! What it does not do: it reads no data, and stores neither the size nor the times.

mod space;

use std::ops::Range;
use std::sync::Arc;

use pathwalk::Errno;

use crate::blobs::{Blob, BlobStore};
use crate::rows::{self, Extent, Pages, Row, Tag, What};
use crate::tree::Tree;

pub(crate) use space::Segments;

/// The size of a page in bytes.
pub(crate) const PAGE: u64 = 4096;

/// The extents of a file, for reading.
#[derive(Clone, Copy)]
pub(crate) struct Extents<'a> {
    tree: &'a Tree<Row>,
    number: u64,
}

/// The extents of a file, for changes.
pub(crate) struct ExtentsMut<'a> {
    tree: &'a mut Tree<Row>,
    number: u64,
}

impl<'a> Extents<'a> {
    pub(crate) fn new(tree: &'a Tree<Row>, number: u64) -> Extents<'a> {
        Extents { tree, number }
    }

    /// Returns the extents that touch a range, with their offsets.
    pub(crate) fn touching(self, range: Range<u64>) -> impl Iterator<Item = (u64, &'a Extent)> {
        let first = self.tree.before(&rows::extent(self.number, range.start)).into_iter();
        let rest = self.tree.range(&rows::extent(self.number, range.start));
        first
            .chain(rest)
            .map_while(move |(key, row)| match (rows::parts(key)?, row) {
                ((number, Tag::Extent, rest), Row::Extent(extent)) if number == self.number => {
                    Some(Some((rows::offset(rest)?, extent)))
                }
                // The row before may be of another kind.
                _ if **key < *rows::extent(self.number, range.start) => Some(None),
                _ => None,
            })
            .flatten()
            .skip_while(move |(offset, extent)| offset + extent.length <= range.start)
            .take_while(move |(offset, _)| *offset < range.end)
    }

    /// Stores data that is to be shown from an offset on. It joins the blob of the last write if it
    /// follows that.
    pub(crate) fn store(self, data: &[u8], offset: u64, store: &Arc<dyn BlobStore>) -> Result<What, Errno> {
        let last = self.touching(offset.saturating_sub(1)..offset).next();
        if let Some((from, Extent { length, what: What::Blob(blob, start) })) = last
            && from + length == offset
            && blob.append(start + length, data)?
        {
            return Ok(What::Blob(blob.clone(), start + length));
        }
        Ok(What::Blob(Blob::new(store, data)?, 0))
    }

    /// Returns the parts of a range that are no holes, with their contents.
    pub(crate) fn within(self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, What)> {
        let bounds = range.clone();
        self.touching(range).map(move |(offset, extent)| {
            let part = offset.max(bounds.start)..(offset + extent.length).min(bounds.end);
            let what = extent.what.from(part.start - offset);
            (part, what)
        })
    }

    /// Returns the pages that a range touches, which is one of whole pages.
    pub(crate) fn pages_in(self, range: Range<u64>) -> Pages {
        let (mut all, mut own) = (Count::default(), Count::default());
        for (part, what) in self.within(range) {
            all.add(&part);
            if !matches!(what, What::Base(..)) {
                own.add(&part);
            }
        }
        Pages { own: own.pages, of_base: all.pages - own.pages }
    }
}

/// A count of pages, each of which counts once.
#[derive(Default)]
struct Count {
    pages: u64,
    counted_to: u64,
}

impl Count {
    /// Adds the pages of a part that lies behind those before.
    fn add(&mut self, part: &Range<u64>) {
        let pages = pages(part);
        let first = pages.start.max(self.counted_to);
        self.pages += pages.end.saturating_sub(first);
        self.counted_to = self.counted_to.max(pages.end);
    }
}

impl<'a> ExtentsMut<'a> {
    pub(crate) fn new(tree: &'a mut Tree<Row>, number: u64) -> ExtentsMut<'a> {
        ExtentsMut { tree, number }
    }

    pub(crate) fn shared(&self) -> Extents<'_> {
        Extents { tree: self.tree, number: self.number }
    }

    /// Shows data in a range that begins at an offset. Data that follows the last that was written
    /// joins its extent.
    pub(crate) fn write(&mut self, data: &[u8], offset: u64, store: &Arc<dyn BlobStore>) -> Result<(), Errno> {
        let what = self.shared().store(data, offset, store)?;
        self.replace(offset..offset + data.len() as u64, Some(what));
        Ok(())
    }

    /// Replaces what is in a range; `None` makes a hole.
    pub(crate) fn replace(&mut self, range: Range<u64>, what: Option<What>) {
        if range.is_empty() {
            return;
        }
        let touched: Vec<_> = self.shared().touching(range.clone()).map(|(offset, extent)| (offset, extent.clone())).collect();
        for (offset, Extent { length, what }) in touched {
            self.tree.remove(&rows::extent(self.number, offset));
            let end = offset + length;
            if offset < range.start {
                self.put(offset..range.start, what.clone());
            }
            if end > range.end {
                self.put(range.end..end, what.from(range.end - offset));
            }
        }
        if let Some(what) = what {
            self.join(range, what);
        }
    }

    /// Adds an extent where there is a hole, together with its neighbours if they go on in it.
    fn join(&mut self, mut range: Range<u64>, mut what: What) {
        let before = self.shared().touching(range.start.saturating_sub(1)..range.start).next();
        if let Some((offset, extent)) = before
            && extent.what.goes_on(range.start - offset, &what)
        {
            (range.start, what) = (offset, extent.what.clone());
        }
        let behind = self.shared().touching(range.end..range.end + 1).next();
        if let Some((offset, extent)) = behind
            && what.goes_on(offset - range.start, &extent.what)
        {
            let end = offset + extent.length;
            self.tree.remove(&rows::extent(self.number, offset));
            range.end = end;
        }
        self.put(range, what);
    }

    fn put(&mut self, range: Range<u64>, what: What) {
        let extent = Extent { length: range.end - range.start, what };
        self.tree.insert(&rows::extent(self.number, range.start), Row::Extent(extent));
    }

    /// Cuts the extent in which an offset lies in two.
    fn cut(&mut self, at: u64) {
        let touched = self.shared().touching(at..at + 1).next();
        if let Some((offset, extent)) = touched
            && offset < at
        {
            let (end, what) = (offset + extent.length, extent.what.clone());
            self.put(offset..at, what.clone());
            self.put(at..end, what.from(at - offset));
        }
    }
}

impl What {
    /// Returns the content from an offset within it on.
    pub(crate) fn from(&self, offset: u64) -> What {
        match self {
            What::Blob(blob, start) => What::Blob(blob.clone(), start + offset),
            What::Base(origin, start) => What::Base(Arc::clone(origin), start + offset),
            other => other.clone(),
        }
    }

    /// Returns whether another content goes on at this offset within it.
    fn goes_on(&self, offset: u64, other: &What) -> bool {
        match (self, other) {
            (What::Blob(one, start), What::Blob(two, from)) => one == two && start + offset == *from,
            (What::Base(one, start), What::Base(two, from)) => one == two && start + offset == *from,
            (What::Zeroes, What::Zeroes) | (What::Reserved, What::Reserved) => true,
            _ => false,
        }
    }
}

/// Returns the numbers of the pages that a range touches.
pub(crate) fn pages(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() { 0..0 } else { range.start / PAGE..range.end.div_ceil(PAGE) }
}

#[cfg(test)]
mod tests;
