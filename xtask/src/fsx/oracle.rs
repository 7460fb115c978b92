//! The plain buffers, with the state of each page, and what they say about an operation.

use std::fmt;
use std::ops::Range;

use pathwalk::{Errno, FallocateFlags};

use super::op::{Op, PAGE, bytes};
use super::sides::Kind;

/// The result of an operation.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Failed(Errno),
    Done,
    Number(u64),
    Bytes(Vec<u8>),
}

/// The state of a page of a file in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Page {
    #[default]
    Hole,
    Reserved,
    Written,
    /// A page that is written here, or a hole, while the kernel's may be either.
    WrittenHere,
    HoleHere,
}

/// A file as it has to be.
#[derive(Clone, Default)]
pub(super) struct Expected {
    pub(super) data: Vec<u8>,
    /// The pages, also those behind the end. Missing ones are holes.
    pages: Vec<Page>,
}

/// The two files.
#[derive(Default)]
pub(super) struct Oracle(pub(super) [Expected; 2]);

impl Page {
    fn is_data(self) -> bool {
        matches!(self, Page::Written | Page::WrittenHere)
    }

    /// Returns whether the page takes room.
    fn is_there(self) -> bool {
        self.is_data() || self == Page::Reserved
    }
}

impl Expected {
    fn size(&self) -> u64 {
        self.data.len() as u64
    }

    fn page(&self, number: u64) -> Page {
        self.pages.get(number as usize).copied().unwrap_or_default()
    }

    fn set(&mut self, numbers: Range<u64>, to: impl Fn(Page) -> Page) {
        if self.pages.len() < numbers.end as usize {
            self.pages.resize(numbers.end as usize, Page::Hole);
        }
        for number in numbers {
            let page = &mut self.pages[number as usize];
            *page = to(*page);
        }
    }

    /// Returns the number of pages that take room.
    pub(super) fn count(&self) -> u64 {
        self.pages.iter().filter(|page| page.is_there()).count() as u64
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        let end = offset + data.len() as u64;
        self.data.resize(self.data.len().max(end as usize), 0);
        self.data[offset as usize..end as usize].copy_from_slice(data);
        self.set(touched(&(offset..end)), |_| Page::Written);
    }

    fn read(&self, offset: u64, length: u64) -> Vec<u8> {
        let within = |at: u64| self.data.len().min(at as usize);
        self.data[within(offset)..within(offset + length)].to_vec()
    }

    fn truncate(&mut self, size: u64) {
        if size <= self.size() {
            self.pages.truncate(size.div_ceil(PAGE) as usize);
        }
        self.data.resize(size as usize, 0);
    }

    fn fallocate(&mut self, mode: FallocateFlags, offset: u64, length: u64) -> Result<(), Errno> {
        let range = offset..offset + length;
        if length == 0 {
            return Err(Errno::EINVAL);
        }
        let keeps_size = mode.contains(FallocateFlags::KEEP_SIZE);
        let kind = mode - FallocateFlags::KEEP_SIZE;
        let of_pages = offset.is_multiple_of(PAGE) && length.is_multiple_of(PAGE);
        let (first, whole) = (offset / PAGE, offset.div_ceil(PAGE)..range.end / PAGE);
        let reserve = |page: Page| match page {
            Page::Hole | Page::HoleHere => Page::Reserved,
            // A page is filled with zeroes when it is reserved again, as on a tmpfs.
            Page::Reserved => Page::WrittenHere,
            other => other,
        };
        match kind {
            FallocateFlags::PUNCH_HOLE if keeps_size => {
                self.clear(range.clone());
                self.punch(range);
                return Ok(());
            }
            FallocateFlags::COLLAPSE_RANGE if !keeps_size => {
                if !of_pages || range.end >= self.size() {
                    return Err(Errno::EINVAL);
                }
                self.data.drain(range.start as usize..range.end as usize);
                self.set(whole.clone(), |page| page);
                self.pages.drain(whole.start as usize..whole.end as usize);
                return Ok(());
            }
            FallocateFlags::INSERT_RANGE if !keeps_size => {
                if !of_pages || offset >= self.size() {
                    return Err(Errno::EINVAL);
                }
                let (zeroes, holes) = (vec![0; length as usize], vec![Page::Hole; (length / PAGE) as usize]);
                self.data.splice(offset as usize..offset as usize, zeroes);
                self.set(0..first, |page| page);
                self.pages.splice(first as usize..first as usize, holes);
                return Ok(());
            }
            FallocateFlags::ZERO_RANGE => {
                self.clear(range.clone());
                self.set(touched(&range), reserve);
                self.set(whole, |_| Page::Reserved);
            }
            FallocateFlags::UNSHARE_RANGE => self.set(touched(&range), reserve),
            other if other.is_empty() => self.set(touched(&range), reserve),
            _ => return Err(Errno::EOPNOTSUPP),
        }
        if !keeps_size && range.end > self.size() {
            self.data.resize(range.end as usize, 0);
        }
        Ok(())
    }

    /// Makes the whole pages of a range holes. The kernel's ext4 leaves what is reserved behind the
    /// end, and takes the page of the end as a whole if the range goes beyond the end.
    fn punch(&mut self, range: Range<u64>) {
        let behind = self.size().div_ceil(PAGE);
        let whole = range.start.div_ceil(PAGE)..range.end / PAGE;
        self.set(whole.start..whole.end.min(behind), |_| Page::Hole);
        let cloud = |page| if page == Page::Hole { Page::Hole } else { Page::HoleHere };
        self.set(whole.start.max(behind)..whole.end, cloud);
        if range.end > self.size() && !whole.contains(&(behind.max(1) - 1)) {
            let last = behind.max(1) - 1;
            self.set(last..last + 1, |page| if page == Page::Written { Page::WrittenHere } else { page });
        }
    }

    fn clear(&mut self, range: Range<u64>) {
        let size = self.data.len();
        self.data[size.min(range.start as usize)..size.min(range.end as usize)].fill(0);
    }

    fn seek(&self, offset: u64, for_data: impl Fn(bool) -> bool) -> Option<u64> {
        let mut numbers = offset / PAGE..self.size().div_ceil(PAGE);
        let number = numbers.find(|number| for_data(self.page(*number).is_data()))?;
        Some(offset.max(number * PAGE))
    }

    fn seek_data(&self, offset: u64) -> Answer {
        let found = if offset < self.size() { self.seek(offset, |is_data| is_data) } else { None };
        found.map_or(Answer::Failed(Errno::ENXIO), Answer::Number)
    }

    fn seek_hole(&self, offset: u64) -> Answer {
        if offset >= self.size() {
            return Answer::Failed(Errno::ENXIO);
        }
        Answer::Number(self.seek(offset, |is_data| !is_data).unwrap_or(self.size()))
    }

    /// Returns whether the kernel's file has its data and holes in the same pages.
    fn is_sure(&self) -> bool {
        self.pages.iter().all(|page| matches!(page, Page::Hole | Page::Written))
    }
}

impl Oracle {
    /// Carries an operation out on the buffers.
    pub(super) fn carry_out(&mut self, op: &Op) -> Answer {
        let files = &mut self.0;
        match *op {
            Op::Read { file, offset, length } => Answer::Bytes(files[file].read(offset, length)),
            Op::Write { file, offset, length, byte } => {
                files[file].write(offset, &bytes(byte, length));
                Answer::Number(length)
            }
            Op::Truncate { file, size } => {
                files[file].truncate(size);
                Answer::Done
            }
            Op::Fallocate { file, mode, offset, length } => {
                files[file].fallocate(mode, offset, length).map_or_else(Answer::Failed, |()| Answer::Done)
            }
            Op::SeekData { file, offset } => files[file].seek_data(offset),
            Op::SeekHole { file, offset } => files[file].seek_hole(offset),
            Op::Copy { from, start, to, at, length } => {
                let data = files[from].read(start, length);
                if from == to && overlap(start, at, data.len() as u64) {
                    return Answer::Failed(Errno::EINVAL);
                }
                files[to].write(at, &data);
                Answer::Number(data.len() as u64)
            }
            Op::Clone { from, start, to, at, length } => {
                self.share((from, start), (to, at), length).map_or_else(Answer::Failed, |()| Answer::Done)
            }
        }
    }

    /// Shares a range as Linux's file systems with that ability do.
    fn share(&mut self, (from, start): (usize, u64), (to, at): (usize, u64), length: u64) -> Result<(), Errno> {
        let (source, target_size) = (self.0[from].clone(), self.0[to].size());
        if length == 0 && start == source.size() {
            return Ok(());
        }
        if start >= source.size() || !start.is_multiple_of(PAGE) || !at.is_multiple_of(PAGE) {
            return Err(Errno::EINVAL);
        }
        let length = if length == 0 { source.size() - start } else { length };
        let reaches_end = start + length == source.size();
        let is_odd = !length.is_multiple_of(PAGE) && (!reaches_end || at + length < target_size);
        let rounded = length.next_multiple_of(PAGE);
        if start + length > source.size() || is_odd || from == to && overlap(start, at, rounded) {
            return Err(Errno::EINVAL);
        }
        let target = &mut self.0[to];
        let before = target.pages.clone();
        target.write(at, &source.read(start, length));
        // The kernel's file is written as a whole.
        let clouded = |page: Page| if page == Page::Hole { Page::HoleHere } else { page };
        target.pages = before;
        target.set(0..target.size().div_ceil(PAGE), clouded);
        for number in 0..rounded / PAGE {
            let is_data = source.page(start / PAGE + number).is_data();
            let page = if is_data { Page::WrittenHere } else { Page::HoleHere };
            target.set(at / PAGE + number..at / PAGE + number + 1, |_| page);
        }
        Ok(())
    }

    /// Returns whether a side may answer this, where the buffers answer `expected`.
    pub(super) fn allows(&self, op: &Op, expected: &Answer, found: &Answer, side: Kind) -> bool {
        let is_unsure = match *op {
            Op::SeekData { file, .. } | Op::SeekHole { file, .. } => match side {
                Kind::Pathwalk => false,
                Kind::Kernel(disk) => !disk.has_exact_holes() || !self.0[file].is_sure(),
            },
            _ => false,
        };
        is_unsure || expected == found
    }
}

fn overlap(start: u64, at: u64, length: u64) -> bool {
    start < at + length && at < start + length
}

/// Returns the numbers of the pages that a range touches.
fn touched(range: &Range<u64>) -> Range<u64> {
    range.start / PAGE..range.end.div_ceil(PAGE)
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Failed(errno) => write!(f, "{errno:?}"),
            Answer::Done => write!(f, "success"),
            Answer::Number(number) => write!(f, "{number}"),
            Answer::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
        }
    }
}
