//! A hash table from a hash to a slot, in lines of eight entries that never move.
//!
//! The size follows from the budget, so the table never grows. An entry is one word: 24 bits of tag
//! (the lowest, which are the hash's lowest) and 32 bits of slot (the highest). In the first entry
//! of a line only, the 8 bits between them count the entries that went past this line because it
//! was full. An entry is stored in the first line from its home that has room. So a search ends at
//! a line that no entry went past.
//!
//! - Readers compare tags and check candidates themselves, since several keys may share a tag. A
//!   reader may miss an entry that is put or removed meanwhile, but no other.
//! - A holder of the lock under which a key is put and removed finds it exactly: the counts along
//!   its way are raised before the entry is stored, and fall after it is cleared.
//! - The slot of a key within its line is part of the hash, so the first entry that is looked at is
//!   mostly the right one.
//!
//! A count that reaches 255 stays there. Then searches go past the line for nothing, but miss no
//! entry.
//!
//! Pairs: `put`'s Release with the reader's Acquire: a reader that finds an entry sees its slot
//! filled.

use super::lines::{LINE, Line, Records};
use crate::sync::{AtomicU64, Ordering};

const TAG: u32 = 0xff_ffff;
const PASSED_ONE: u64 = 1 << 24;
const PASSED: u64 = 0xff << 24;
const SLOT_SHIFT: u32 = 32;
const PER_LINE: usize = 8;

/// The number of entries that a line is meant to hold on average: six of eight.
const FILL: u64 = 6;

/// A hash table that never moves or grows.
pub(crate) struct Table {
    lines: Records<PER_LINE>,
    /// A bit for each page of memory that the table lies in, set if the page was certainly written
    /// to. Each bit stands alone, so `Relaxed`.
    written: Box<[AtomicU64]>,
}

/// The number of bytes of a page of memory. If pages are larger, this works as well.
const PAGE: usize = 4096;

/// A table as a walk holds it, in two registers.
#[derive(Clone, Copy)]
pub(crate) struct TableView<'a>(&'a [Line]);

impl Table {
    /// Returns the bytes that a table for this many keys takes.
    pub(crate) fn bytes_for(keys: u64) -> u64 {
        let lines = Table::lines_for(keys);
        lines * LINE as u64 + words_of_pages(lines) * 8
    }

    fn lines_for(keys: u64) -> u64 {
        keys.div_ceil(FILL).max(2)
    }

    /// Creates a table for this many keys; returns `None` if there is no memory.
    pub(crate) fn new(keys: u32) -> Option<Table> {
        let lines = Table::lines_for(keys.into()) as usize;
        let written = (0..words_of_pages(lines as u64)).map(|_| AtomicU64::new(0)).collect();
        Some(Table { lines: Records::new(lines)?, written })
    }

    #[inline(always)]
    pub(crate) fn view(&self) -> TableView<'_> {
        TableView(self.lines.all())
    }

    /// Returns the address range of the table.
    pub(crate) fn range(&self) -> (usize, usize) {
        self.lines.range()
    }

    /// Reads the line where a key will be put, or writes to it without a change, to bring it into
    /// the processor's cache. A page of memory that is read before it is written to is allocated
    /// twice, and all processors are notified of it. So the first access to a page is a write.
    pub(crate) fn fetch(&self, hash: u64) -> u64 {
        let lines = self.lines.all();
        let line = &lines[self.view().home(hash)];
        let page = line.as_ptr().addr() / PAGE - lines.as_ptr().addr() / PAGE;
        let (word, page, bit) = (&line[0], &self.written[page / 64], 1 << (page % 64));
        if page.load(Ordering::Relaxed) & bit != 0 {
            return word.load(Ordering::Relaxed);
        }
        page.fetch_or(bit, Ordering::Relaxed);
        // A read-modify-write that does not begin with a load. The compiler must not know that the
        // operand is zero, or it would make this a load. It is not a store either, so a reader that
        // finds the entry afterwards still sees what the thread that put the entry had filled.
        word.fetch_add(std::hint::black_box(0), Ordering::Relaxed)
    }
}

/// Returns the number of words of bits for the pages that this many lines lie in, wherever the
/// lines begin.
fn words_of_pages(lines: u64) -> u64 {
    (lines * LINE as u64 / PAGE as u64 + 2).div_ceil(64)
}

impl TableView<'_> {
    /// Returns the number of the line where a search begins. The hash's top bits choose it:
    /// multiplied by the number of lines, they are spread evenly over any number of lines.
    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.0.len() as u128) >> 64) as usize
    }

    /// Returns the slot of the entry in the key's own place, if its tag is the key's. It is mostly
    /// the one that is looked for.
    #[inline(always)]
    pub(crate) fn likely(&self, hash: u64) -> Option<u32> {
        let entry = self.0[self.home(hash)][place(hash)].load(Ordering::Acquire);
        same_tag(entry, hash).then_some(slot_of(entry))
    }

    /// Reads some word of the line where a search begins, to bring it into the processor's cache.
    pub(crate) fn peek(&self, hash: u64) -> u64 {
        self.0[self.home(hash)][0].load(Ordering::Relaxed)
    }

    /// Returns the slot of the first entry with the key's tag in the line where a search begins; 0
    /// if there is none. The result is a guess: the caller's reads through it are not ordered after
    /// it.
    #[inline(always)]
    pub(crate) fn guess(&self, hash: u64) -> u32 {
        let line = &self.0[self.home(hash)];
        let own = line[place(hash)].load(Ordering::Relaxed);
        if same_tag(own, hash) {
            return slot_of(own);
        }
        let mut entries = line.iter().map(|entry| entry.load(Ordering::Relaxed));
        entries.find(|entry| same_tag(*entry, hash)).map_or(0, slot_of)
    }

    /// Returns the result of `check` for the first candidate that it accepts. Candidates may be
    /// slot 0, which is never in use.
    pub(crate) fn find<T>(&self, hash: u64, check: impl Fn(u32) -> Option<T> + Copy) -> Option<T> {
        self.likely(hash).and_then(check).or_else(|| self.search(hash, check))
    }

    /// Searches all lines on the key's way: for entries that are not in their own place, and for
    /// keys that are absent.
    #[cold]
    #[inline(never)]
    pub(crate) fn search<T>(&self, hash: u64, check: impl Fn(u32) -> Option<T>) -> Option<T> {
        let mut at = self.home(hash);
        for _ in 0..self.0.len() {
            let line = &self.0[at];
            for word in line {
                let entry = word.load(Ordering::Acquire);
                if same_tag(entry, hash)
                    && let Some(found) = check(slot_of(entry))
                {
                    return Some(found);
                }
            }
            if line[0].load(Ordering::Acquire) & PASSED == 0 {
                return None;
            }
            at = self.after(at);
        }
        None
    }

    /// Stores an entry. The caller holds the lock of its key and has checked that the key is not in
    /// the table.
    ///
    /// There is always room, since the table has more entries than there are slots. Entries that
    /// other threads put and remove may make every line look full in turn. Then the search for room
    /// goes round again, and lines stay counted as passed for nothing.
    pub(crate) fn put(self, hash: u64, slot: u32) {
        debug_assert_ne!(slot, 0);
        let entry = u64::from(slot) << SLOT_SHIFT | u64::from(hash as u32 & TAG);
        let mut at = self.home(hash);
        loop {
            let line = &self.0[at];
            let preferred = place(hash);
            if fill(&line[preferred], entry) || line.iter().any(|word| fill(word, entry)) {
                return;
            }
            pass(&line[0]);
            at = self.after(at);
        }
    }

    /// Clears the entry of this slot; returns whether it was there. The caller holds the lock of
    /// its key.
    pub(crate) fn remove(self, hash: u64, slot: u32) -> bool {
        let was_in = self.line_where(hash, |word| clear(word, slot));
        was_in.inspect(|line| self.unpass(self.home(hash), *line)).is_some()
    }

    /// Replaces `slot` by the slot `by`, which has its key from now on; returns whether `slot` was
    /// there. The caller holds the lock of that key.
    pub(crate) fn replace(self, hash: u64, slot: u32, by: u32) -> bool {
        self.line_where(hash, |word| change_slot(word, hash, slot, by)).is_some()
    }

    /// Returns the first line on a key's way where `done` succeeded on an entry.
    fn line_where(self, hash: u64, done: impl Fn(&AtomicU64) -> bool) -> Option<usize> {
        let mut at = self.home(hash);
        for _ in 0..self.0.len() {
            let line = &self.0[at];
            if done(&line[place(hash)]) || line.iter().any(&done) {
                return Some(at);
            }
            if line[0].load(Ordering::Relaxed) & PASSED == 0 {
                return None;
            }
            at = self.after(at);
        }
        None
    }

    /// Lowers the counts of the lines before `to`, since an entry whose home is `from` left the
    /// line `to`.
    fn unpass(self, from: usize, to: usize) {
        let mut at = from;
        while at != to {
            // Saturated counts stay, since the true number is lost.
            let fewer = |word| ((word & PASSED) != PASSED).then(|| word - PASSED_ONE);
            let _ = self.0[at][0].fetch_update(Ordering::Release, Ordering::Relaxed, fewer);
            at = self.after(at);
        }
    }

    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.0.len() { 0 } else { at + 1 }
    }
}

#[inline(always)]
fn place(hash: u64) -> usize {
    (hash >> 24) as usize % PER_LINE
}

#[inline(always)]
fn same_tag(entry: u64, hash: u64) -> bool {
    (entry ^ hash) as u32 & TAG == 0
}

#[inline(always)]
fn slot_of(entry: u64) -> u32 {
    (entry >> SLOT_SHIFT) as u32
}

fn fill(word: &AtomicU64, entry: u64) -> bool {
    let into_empty = |now: u64| (slot_of(now) == 0).then_some((now & PASSED) | entry);
    word.fetch_update(Ordering::Release, Ordering::Relaxed, into_empty).is_ok()
}

fn clear(word: &AtomicU64, slot: u32) -> bool {
    let if_it_is = |now: u64| (slot_of(now) == slot).then_some(now & PASSED);
    word.fetch_update(Ordering::Release, Ordering::Relaxed, if_it_is).is_ok()
}

/// Puts `by` in the place of `slot` in an entry. During an exchange, two entries of one line may
/// have the same slot for a moment, so the tag has to be this key's, too.
fn change_slot(word: &AtomicU64, hash: u64, slot: u32, by: u32) -> bool {
    let is_it = |now: u64| slot_of(now) == slot && same_tag(now, hash);
    let changed = |now: u64| is_it(now).then_some(now & u64::from(u32::MAX) | u64::from(by) << SLOT_SHIFT);
    word.fetch_update(Ordering::Release, Ordering::Relaxed, changed).is_ok()
}

fn pass(first: &AtomicU64) {
    let one_more = |word| ((word & PASSED) != PASSED).then(|| word + PASSED_ONE);
    let _ = first.fetch_update(Ordering::Release, Ordering::Relaxed, one_more);
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
