//! Reserving, zeroing, taking out and putting in ranges of a file, and finding its holes.

use std::collections::btree_map::Entry;
use std::ops::Range;

use pathwalk::Errno;

use super::{PAGE, Page, Pages, touched};

impl Pages {
    /// Reserves each page that the range touches, or none of those that are missing: the error of
    /// `room`. A page that was reserved before counts as written from now on, even then: a tmpfs
    /// fills it with zeroes. `room` is called once for each missing page, and `undo` with the
    /// number of those that are given back.
    pub(crate) fn reserve(
        &mut self,
        range: Range<u64>,
        mut room: impl FnMut() -> Result<(), Errno>,
        undo: impl FnOnce(u64),
    ) -> Result<(), Errno> {
        let mut made = Vec::new();
        for number in touched(&range) {
            match self.0.entry(number) {
                Entry::Occupied(mut page) if !page.get().is_written() => _ = page.insert(Page::zeroes()),
                Entry::Occupied(_) => {}
                Entry::Vacant(hole) => {
                    if let Err(errno) = room() {
                        made.iter().for_each(|number| _ = self.0.remove(number));
                        undo(made.len() as u64);
                        return Err(errno);
                    }
                    hole.insert(Page::Reserved);
                    made.push(number);
                }
            }
        }
        Ok(())
    }

    /// Gives each written page of the range bytes of its own.
    pub(crate) fn unshare(&mut self, range: Range<u64>) {
        for (_, page) in self.0.range_mut(touched(&range)) {
            if page.is_written() {
                page.bytes_mut();
            }
        }
    }

    /// Drops the whole pages of the range, and zeroes the rest of it.
    pub(crate) fn punch(&mut self, range: Range<u64>) {
        let whole = self.clear_edges(&range);
        self.take(whole);
    }

    /// Makes the whole pages of the range reserved ones, if they are there, and zeroes the rest of
    /// it.
    pub(crate) fn zero(&mut self, range: Range<u64>) {
        let whole = self.clear_edges(&range);
        for (_, page) in self.0.range_mut(whole) {
            *page = Page::Reserved;
        }
    }

    /// Takes out a range of whole pages. What is behind it moves to its begin.
    pub(crate) fn collapse(&mut self, range: Range<u64>) {
        let (begin, end) = (range.start / PAGE, range.end / PAGE);
        let behind = self.0.split_off(&end);
        self.take(begin..end);
        self.0.extend(behind.into_iter().map(|(number, page)| (number - (end - begin), page)));
    }

    /// Puts in a hole of whole pages. What is behind its begin moves behind it.
    pub(crate) fn insert(&mut self, range: Range<u64>) {
        let (begin, end) = (range.start / PAGE, range.end / PAGE);
        let behind = self.0.split_off(&begin);
        self.0.extend(behind.into_iter().map(|(number, page)| (number + (end - begin), page)));
    }

    /// Returns the least offset in a range at which there is data.
    pub(crate) fn data_in(&self, range: Range<u64>) -> Option<u64> {
        let mut pages = self.0.range(touched(&range));
        let (number, _) = pages.find(|(_, page)| page.is_written())?;
        Some(range.start.max(number * PAGE))
    }

    /// Returns the least offset in a range at which there is a hole, or the range's end.
    pub(crate) fn hole_in(&self, range: Range<u64>) -> u64 {
        let written = self.0.range(touched(&range)).filter(|(_, page)| page.is_written()).map(|(number, _)| *number);
        let mut next = range.start / PAGE;
        for number in written {
            if number != next {
                break;
            }
            next += 1;
        }
        (next * PAGE).clamp(range.start, range.end)
    }

    /// Zeroes the parts of a range that are no whole pages. Returns the numbers of the whole ones.
    fn clear_edges(&mut self, range: &Range<u64>) -> Range<u64> {
        let whole = range.start.div_ceil(PAGE)..range.end / PAGE;
        let (first, last) = (range.start / PAGE, range.end / PAGE);
        for number in [first, last] {
            let begin = number * PAGE;
            let within = range.start.max(begin) - begin..range.end.min(begin + PAGE) - begin;
            if !whole.contains(&number)
                && !within.is_empty()
                && let Some(page) = self.0.get_mut(&number)
            {
                page.clear(within.start as usize..within.end as usize);
            }
            if first == last {
                break;
            }
        }
        whole.start..whole.end.max(whole.start)
    }

    /// Takes pages out by their numbers.
    pub(super) fn take(&mut self, numbers: Range<u64>) {
        let mut behind = self.0.split_off(&numbers.start);
        self.0.append(&mut behind.split_off(&numbers.end));
    }
}
