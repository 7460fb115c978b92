//! The data in a pipe: sixteen pages, each of which one write began.
//!
//! What always holds: no page is empty, so the number of pages says whether there is data and
//! whether there is room. A write of up to a page goes into one page, or behind the data of the
//! last one if it fits there as a whole. So it is never mixed with other writes.
//!
//! Source: `pipe_read` and `anon_pipe_write` of Linux. The pages show in what fits: sixteen writes
//! of 4,095 bytes fill a pipe.

use std::collections::VecDeque;

use crate::limits::PIPE_BUF;

/// The number of pages.
const PAGES: usize = 16;

#[derive(Default)]
pub(super) struct Buffer {
    pages: VecDeque<Page>,
}

/// Data that was written: at most a page, and at least a byte that was not read yet.
struct Page {
    bytes: Vec<u8>,
    /// The number of bytes that were read. Their place is not used again.
    read: usize,
}

impl Buffer {
    /// Takes data out. Returns the number of bytes.
    pub(super) fn read(&mut self, mut buffer: &mut [u8]) -> usize {
        let wanted = buffer.len();
        while let Some(page) = self.pages.front_mut()
            && !buffer.is_empty()
        {
            let rest = &page.bytes[page.read..];
            let length = rest.len().min(buffer.len());
            let (filled, more) = buffer.split_at_mut(length);
            filled.copy_from_slice(&rest[..length]);
            (buffer, page.read) = (more, page.read + length);
            if page.read == page.bytes.len() {
                self.pages.pop_front();
            }
        }
        wanted - buffer.len()
    }

    /// Puts what a write has beyond whole pages behind the data of the last page, if it fits there.
    /// Returns the number of bytes. A write begins with this, once.
    pub(super) fn merge(&mut self, data: &[u8]) -> usize {
        let length = data.len() % PIPE_BUF;
        match self.pages.back_mut() {
            Some(last) if last.bytes.len() + length <= PIPE_BUF => {
                last.bytes.extend_from_slice(&data[..length]);
                length
            }
            _ => 0,
        }
    }

    /// Puts data into new pages, as far as there are any. Returns the number of bytes.
    pub(super) fn write(&mut self, data: &[u8]) -> usize {
        let room = PAGES - self.pages.len();
        let pages = data.chunks(PIPE_BUF).take(room).map(|bytes| Page { bytes: bytes.to_vec(), read: 0 });
        self.pages.extend(pages);
        data.len().min(room * PIPE_BUF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes as a pipe does; returns how much was taken.
    fn put(buffer: &mut Buffer, data: &[u8]) -> usize {
        let merged = buffer.merge(data);
        merged + buffer.write(&data[merged..])
    }

    #[test]
    fn data_comes_out_as_it_went_in() {
        let mut buffer = Buffer::default();
        let data: Vec<u8> = (0..70_000_u32).map(|at| at as u8).collect();
        assert_eq!(put(&mut buffer, &data[..5000]), 5000);
        assert_eq!(put(&mut buffer, &data[5000..]), 14 * PIPE_BUF, "as many pages as are left");
        assert_eq!(buffer.pages.len(), PAGES);
        let mut out = vec![0; 70_000];
        let mut length = buffer.read(&mut out[..7]);
        length += buffer.read(&mut out[7..]);
        assert_eq!((&out[..length], buffer.pages.is_empty()), (&data[..length], true));
    }

    #[test]
    fn short_writes_share_a_page_and_others_begin_one() {
        let mut buffer = Buffer::default();
        (0..10).for_each(|_| assert_eq!(put(&mut buffer, &[1; 400]), 400));
        assert_eq!(buffer.pages.len(), 1);
        assert_eq!(put(&mut buffer, &[2; 97]), 97, "it does not fit behind the 4,000 bytes");
        assert_eq!(buffer.pages.len(), 2);
        // What was read leaves no room in its page.
        assert_eq!(buffer.read(&mut [0; 4050]), 4050);
        assert_eq!(put(&mut buffer, &[3; 4000]), 4000);
        assert_eq!(buffer.pages.len(), 2);
    }

    #[test]
    fn a_full_pipe_takes_what_fits_behind_its_last_byte() {
        let mut buffer = Buffer::default();
        (0..16).for_each(|_| assert_eq!(put(&mut buffer, &[1; 4095]), 4095));
        assert_eq!((put(&mut buffer, &[2; 2]), put(&mut buffer, &[2; 1]), put(&mut buffer, &[2; 1])), (0, 1, 0));
    }
}
