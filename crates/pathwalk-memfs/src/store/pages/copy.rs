//! Copies of pages from file to file. Whole pages are shared, until one of the files writes.

use std::ops::Range;

use pathwalk::Errno;

use super::{Bytes, PAGE, Page, Pages, ZEROES, touched};

/// The written pages of a range of a file, as they were at one instant.
pub(crate) struct Copied(Vec<(u64, Bytes)>);

impl Pages {
    /// Returns the written pages that a range touches.
    pub(crate) fn copied(&self, range: Range<u64>) -> Copied {
        let written = self.0.range(touched(&range)).filter_map(|(number, page)| match page {
            Page::Written(bytes) => Some((*number, bytes.clone())),
            Page::Reserved => None,
        });
        Copied(written.collect())
    }

    /// Writes a range of another file at `at`, holes as zeroes, until a page finds no room; returns
    /// the number of bytes written. Whole pages are shared.
    pub(crate) fn write_copied(
        &mut self,
        from: &Copied,
        range: Range<u64>,
        at: u64,
        mut room: impl FnMut() -> Result<(), Errno>,
    ) -> u64 {
        let length = range.end - range.start;
        let mut done = 0;
        while done < length {
            let (source, target) = (range.start + done, at + done);
            let (in_source, in_target) = ((source % PAGE) as usize, (target % PAGE) as usize);
            let Some(page) = self.page_mut(target / PAGE, &mut room) else { break };
            let bytes = from.page(source / PAGE);
            let part = (PAGE - source % PAGE).min(PAGE - target % PAGE).min(length - done);
            if part == PAGE {
                *page = Page::Written(bytes.clone());
            } else {
                let part = part as usize;
                page.bytes_mut()[in_target..in_target + part].copy_from_slice(&bytes[in_source..in_source + part]);
            }
            done += part;
        }
        done
    }

    /// Replaces the pages of a range by those of another file that begin at `from`; both are page
    /// numbers.
    pub(crate) fn share(&mut self, source: Copied, from: u64, to: Range<u64>) {
        self.take(to.clone());
        self.0.extend(source.0.into_iter().map(|(number, bytes)| (number - from + to.start, Page::Written(bytes))));
    }

    /// Returns the number of pages in a range of page numbers.
    pub(crate) fn count_in(&self, numbers: Range<u64>) -> u64 {
        self.0.range(numbers).count() as u64
    }
}

impl Copied {
    pub(crate) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    fn page(&self, number: u64) -> &Bytes {
        self.0.binary_search_by_key(&number, |(number, _)| *number).map_or(&*ZEROES, |at| &self.0[at].1)
    }
}
