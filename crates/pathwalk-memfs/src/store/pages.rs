//! The data of one file: pages that were written, and holes.
//!
//! Invariant: all bytes behind the file's size are zero, so that a file that grows shows zeroes.
//! The size itself is stored with the attributes.

use std::collections::BTreeMap;

use pathwalk::Errno;

use super::ledger::allocation;

/// The size of a page in bytes: the unit of allocation.
pub(crate) const PAGE: u64 = 4096;

/// The memory of a page: the page itself, and its share of the map, whose nodes are two thirds
/// full.
pub(crate) const PAGE_BYTES: u64 = allocation(PAGE as usize) + 40;

/// A map from page numbers to pages. A missing page is a hole and reads as zeroes.
#[derive(Default)]
pub(crate) struct Pages(BTreeMap<u64, Box<[u8]>>);

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
            let source = &page[offset.saturating_sub(begin) as usize..];
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
        use std::collections::btree_map::Entry;
        let mut written = 0;
        while written < data.len() {
            let position = offset + written as u64;
            let within = (position % PAGE) as usize;
            let page = match self.0.entry(position / PAGE) {
                Entry::Occupied(page) => page.into_mut(),
                Entry::Vacant(hole) => {
                    if room().is_err() {
                        break;
                    }
                    hole.insert(vec![0; PAGE as usize].into_boxed_slice())
                }
            };
            let target = &mut page[within..];
            let length = target.len().min(data.len() - written);
            target[..length].copy_from_slice(&data[written..written + length]);
            written += length;
        }
        written
    }

    /// Drops the data at and behind `size`.
    pub(crate) fn truncate(&mut self, size: u64) {
        drop(self.0.split_off(&size.div_ceil(PAGE)));
        if let Some(page) = self.0.get_mut(&(size / PAGE)) {
            page[(size % PAGE) as usize..].fill(0);
        }
    }
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
