//! The data of one file: pages that were written, pages that are reserved, and holes.
//!
//! Invariants: all bytes behind the file's size are zero, so that a file that grows shows zeroes.
//! Each page in the map is counted as a whole, whatever it takes: a reserved page takes no memory
//! until it is written, and pages that files share take it once. The size itself is stored with the
//! attributes.

mod copy;
mod space;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

pub(crate) use copy::Copied;
use pathwalk::Errno;

use super::ledger::allocation;

/// The size of a page in bytes: the unit of allocation.
pub(crate) const PAGE: u64 = 4096;

/// The most memory of a page: the page itself with the counts of its owners, and its share of the
/// map, whose nodes are two thirds full.
pub(crate) const PAGE_BYTES: u64 = allocation(PAGE as usize + 2 * size_of::<usize>()) + 40;

/// The bytes of a page. Files that share it own it together; it is copied before one of them
/// writes.
type Bytes = Arc<[u8; PAGE as usize]>;

/// The bytes of all pages that were written with nothing but zeroes.
static ZEROES: LazyLock<Bytes> = LazyLock::new(|| Arc::new([0; PAGE as usize]));

/// A page of a file.
#[derive(Clone)]
enum Page {
    /// Room without data, which reads as zeroes and is a hole to `SEEK_HOLE`.
    Reserved,
    Written(Bytes),
}

/// A map from page numbers to pages. A missing page is a hole and reads as zeroes.
#[derive(Default)]
pub(crate) struct Pages(BTreeMap<u64, Page>);

impl Page {
    fn zeroes() -> Page {
        Page::Written(ZEROES.clone())
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Page::Reserved => &ZEROES[..],
            Page::Written(bytes) => &bytes[..],
        }
    }

    /// Returns the bytes for a write, which are this file's alone from now on.
    fn bytes_mut(&mut self) -> &mut [u8] {
        if let Page::Reserved = self {
            *self = Page::zeroes();
        }
        match self {
            Page::Written(bytes) => &mut Arc::make_mut(bytes)[..],
            Page::Reserved => unreachable!("it was replaced above"),
        }
    }

    /// Zeroes a part of the page. A reserved page stays one.
    fn clear(&mut self, within: Range<usize>) {
        if let Page::Written(_) = self
            && self.bytes()[within.clone()].iter().any(|byte| *byte != 0)
        {
            self.bytes_mut()[within].fill(0);
        }
    }

    fn is_written(&self) -> bool {
        matches!(self, Page::Written(_))
    }
}

impl Pages {
    pub(crate) const fn new() -> Pages {
        Pages(BTreeMap::new())
    }

    /// Returns the number of pages without holes.
    pub(crate) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Fills the buffer from `offset` on.
    pub(crate) fn read(&self, buffer: &mut [u8], offset: u64) {
        if buffer.is_empty() {
            return;
        }
        let last = (offset + buffer.len() as u64 - 1) / PAGE;
        let mut filled = 0;
        for (number, page) in self.0.range(offset / PAGE..=last) {
            let begin = number * PAGE;
            let source = &page.bytes()[offset.saturating_sub(begin) as usize..];
            let hole_end = begin.saturating_sub(offset) as usize;
            buffer[filled..hole_end].fill(0);
            let target = &mut buffer[hole_end..];
            let length = source.len().min(target.len());
            target[..length].copy_from_slice(&source[..length]);
            filled = hole_end + length;
        }
        buffer[filled..].fill(0);
    }

    /// Writes from `offset` on until a page finds no room; returns the number of bytes written.
    /// `room` is called once for each page to be made.
    pub(crate) fn write(&mut self, data: &[u8], offset: u64, mut room: impl FnMut() -> Result<(), Errno>) -> usize {
        let mut written = 0;
        while written < data.len() {
            let position = offset + written as u64;
            let within = (position % PAGE) as usize;
            let Some(page) = self.page_mut(position / PAGE, &mut room) else { break };
            let length = (PAGE as usize - within).min(data.len() - written);
            let source = &data[written..written + length];
            match <&[u8; PAGE as usize]>::try_from(source) {
                Ok(whole) if within == 0 => page.fill_whole(whole),
                _ => page.bytes_mut()[within..within + length].copy_from_slice(source),
            }
            written += length;
        }
        written
    }

    /// Returns a page, which is reserved if it is new; `None` if a new one finds no room.
    fn page_mut(&mut self, number: u64, room: &mut impl FnMut() -> Result<(), Errno>) -> Option<&mut Page> {
        match self.0.entry(number) {
            Entry::Occupied(page) => Some(page.into_mut()),
            Entry::Vacant(hole) => room().is_ok().then(|| hole.insert(Page::Reserved)),
        }
    }

    /// Drops the data at and behind `size`.
    pub(crate) fn truncate(&mut self, size: u64) {
        drop(self.0.split_off(&size.div_ceil(PAGE)));
        if let Some(page) = self.0.get_mut(&(size / PAGE)) {
            page.clear((size % PAGE) as usize..PAGE as usize);
        }
    }
}

impl Page {
    /// Writes the whole page, without a copy of what it had.
    fn fill_whole(&mut self, data: &[u8; PAGE as usize]) {
        match self {
            Page::Written(bytes) if Arc::strong_count(bytes) == 1 => self.bytes_mut().copy_from_slice(data),
            _ => *self = Page::Written(Arc::new(*data)),
        }
    }
}

/// Returns the numbers of the pages that a range of bytes touches.
pub(crate) fn touched(range: &Range<u64>) -> Range<u64> {
    if range.is_empty() { 0..0 } else { range.start / PAGE..range.end.div_ceil(PAGE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_cost_nothing_and_read_as_zeroes() {
        let mut pages = Pages::new();
        assert_eq!(pages.write(b"end", i64::MAX as u64 - 3, || Ok(())), 3);
        assert_eq!(pages.write(b"ab", PAGE - 1, || Ok(())), 2);
        assert_eq!(pages.count(), 3);
        let mut buffer = vec![7; 3 * PAGE as usize];
        pages.read(&mut buffer, 5);
        let mut expected = vec![0; 3 * PAGE as usize];
        expected[PAGE as usize - 6..][..2].copy_from_slice(b"ab");
        assert_eq!(buffer, expected);
        pages.truncate(PAGE);
        assert_eq!(pages.count(), 1);
        pages.truncate(PAGE - 1);
        pages.read(&mut buffer[..1], PAGE - 1);
        assert_eq!((pages.count(), buffer[0]), (1, 0));
        pages.truncate(0);
        assert_eq!(pages.count(), 0);
    }

    #[test]
    fn what_finds_no_room_is_left_out() {
        let (mut pages, mut free) = (Pages::new(), 1);
        let mut room = || {
            free -= 1;
            if free >= 0 { Ok(()) } else { Err(Errno::ENOSPC) }
        };
        assert_eq!(pages.write(&[1; 5000], 4000, &mut room), 96);
        assert_eq!(pages.write(&[2; 5000], 4000, &mut room), 96);
        assert_eq!(pages.write(&[2; 5000], 4096, &mut room), 0);
        assert_eq!(pages.count(), 1);
    }
}
