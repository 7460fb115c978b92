//! From a hash to a slot, in lines of eight entries that never move.
//!
//! The size follows from the budget, so the table never grows. An entry is one word: 24 bits of tag (the lowest, which are the
//! hash's lowest), 32 of slot (the highest); and between them, in the first entry of a line only, 8 bits that count how many
//! entries went past this line because it was full. An entry is stored in the first line from its home that has room; so a search
//! ends at a line that nothing went past.
//!
//! - Readers compare tags and check candidates themselves, since a tag may be shared. They may miss an entry that is put or
//!   removed meanwhile, never more.
//! - Whoever holds the lock under which a key is put and removed finds it exactly: the counts along its way were raised
//!   before the entry was stored, and fall after it is cleared.
//! - The slot of a key within its line is part of the hash: mostly the first entry looked at is the one.
//!
//! A count that reaches 255 stays there: then a line is searched past for nothing, never missed.
//!
//! Pairs: `put`'s Release with the reader's Acquire: who finds an entry sees its slot filled.

use super::lines::{LINE, Line, Records};
use crate::sync::{AtomicU64, Ordering};

const TAG: u32 = 0xff_ffff;
const PASSED_ONE: u64 = 1 << 24;
const PASSED: u64 = 0xff << 24;
const SLOT_SHIFT: u32 = 32;
const PER_LINE: usize = 8;

/// Entries a line is meant to hold on average: six of eight.
const FILL: u64 = 6;

/// A table.
pub(crate) struct Table {
    lines: Records<PER_LINE>,
    /// A bit for each page of memory that it lies in: written to, for sure. Each bit alone, so `Relaxed`.
    written: Box<[AtomicU64]>,
}

/// Bytes of a page of memory; where pages are larger, that is as good.
const PAGE: usize = 4096;

/// A table as a walk holds it: two registers.
#[derive(Clone, Copy)]
pub(crate) struct TableView<'a>(&'a [Line]);

impl Table {
    /// Bytes that a table for this many keys takes.
    pub(crate) fn bytes_for(keys: u64) -> u64 {
        let lines = Table::lines_for(keys);
        lines * LINE as u64 + words_of_pages(lines) * 8
    }

    fn lines_for(keys: u64) -> u64 {
        keys.div_ceil(FILL).max(2)
    }

    /// A table for this many keys, or `None` where there is no room.
    pub(crate) fn new(keys: u32) -> Option<Table> {
        let lines = Table::lines_for(keys.into()) as usize;
        let written = (0..words_of_pages(lines as u64)).map(|_| AtomicU64::new(0)).collect();
        Some(Table { lines: Records::new(lines)?, written })
    }

    #[inline(always)]
    pub(crate) fn view(&self) -> TableView<'_> {
        TableView(self.lines.all())
    }

    /// Where it lies.
    pub(crate) fn range(&self) -> (usize, usize) {
        self.lines.range()
    }

    /// Reads, or writes without a change, where a key will be put: so that it is near then. A page of memory that is read before it is written to
    /// is made twice, and all processors are told of it; so the first to come writes.
    pub(crate) fn fetch(&self, hash: u64) -> u64 {
        let lines = self.lines.all();
        let line = &lines[self.view().home(hash)];
        let page = line.as_ptr().addr() / PAGE - lines.as_ptr().addr() / PAGE;
        let (word, page, bit) = (&line[0], &self.written[page / 64], 1 << (page % 64));
        if page.load(Ordering::Relaxed) & bit != 0 {
            return word.load(Ordering::Relaxed);
        }
        page.fetch_or(bit, Ordering::Relaxed);
        // An exchange that begins with no load, of a zero that the compiler does not know: else it would be a load. And no store: who finds the
        // entry after it still sees what the one who put it had filled.
        word.fetch_add(std::hint::black_box(0), Ordering::Relaxed)
    }
}

/// Words of bits for the pages that so many lines lie in, wherever they begin.
fn words_of_pages(lines: u64) -> u64 {
    (lines * LINE as u64 / PAGE as u64 + 2).div_ceil(64)
}

impl TableView<'_> {
    /// The top bits choose the line: multiplied by the number of lines, they are spread evenly over any number.
    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.0.len() as u128) >> 64) as usize
    }

    /// The slot of the entry in the key's own place, if its tag is the key's: mostly the one that is looked for.
    #[inline(always)]
    pub(crate) fn likely(&self, hash: u64) -> Option<u32> {
        let entry = self.0[self.home(hash)][place(hash)].load(Ordering::Acquire);
        same_tag(entry, hash).then_some(slot_of(entry))
    }

    /// Some word of the line where a search begins: so that it is near when it does.
    pub(crate) fn peek(&self, hash: u64) -> u64 {
        self.0[self.home(hash)][0].load(Ordering::Relaxed)
    }

    /// Returns the slot of the first entry in the line where a search begins whose tag is the key's; 0
    /// where there is none. A guess: what the caller reads through it is not ordered behind it.
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

    /// What `check` makes of the first candidate that it accepts. Candidates may be slot 0, which is never in use.
    pub(crate) fn find<T>(&self, hash: u64, check: impl Fn(u32) -> Option<T> + Copy) -> Option<T> {
        self.likely(hash).and_then(check).or_else(|| self.search(hash, check))
    }

    /// The whole search, for entries that are not in their own place, and for those that are not there.
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

    /// Stores an entry. The caller holds the lock of its key and knows that the key is not there.
    ///
    /// There is always room: the table has more entries than there are slots. Others that come and go may show every line full in turn; then
    /// it goes round again, and lines stay marked as passed for nothing.
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

    /// Clears the entry of this slot. The caller holds the lock of its key. Whether it was there.
    pub(crate) fn remove(self, hash: u64, slot: u32) -> bool {
        let was_in = self.line_where(hash, |word| clear(word, slot));
        was_in.inspect(|line| self.unpass(self.home(hash), *line)).is_some()
    }

    /// Puts the slot `by` where this one is, whose key it has from now on. The caller holds the lock of that key. Whether this one was there.
    pub(crate) fn replace(self, hash: u64, slot: u32, by: u32) -> bool {
        self.line_where(hash, |word| change_slot(word, hash, slot, by)).is_some()
    }

    /// The first line on a key's way where something could be done to an entry.
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

    /// An entry whose home is `from` left the line `to`: the lines before it are passed by one fewer.
    fn unpass(self, from: usize, to: usize) {
        let mut at = from;
        while at != to {
            // Saturated counts stay: nobody knows any more how many passed.
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

/// Two that are exchanged may be in one line for a moment under the same slot: so it has to be of this key.
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
