//! Side lines: chains of cache lines for text that does not fit elsewhere: names over 32 bytes, and
//! link bodies.
//!
//! A line is a link to the next line, and 56 bytes. The link has 32 bits; the other half of its
//! word in the first line of a chain is the *tag*, a number that the chain's owner keeps there.
//! Text is stored as little-endian words, padded
//! with zeros. A chain belongs to one dentry or inode. It is filled before its owner shows it, and
//! given back after the owner stopped showing it.
//!
//! A reader may follow a chain that is being reused: its links may then lead anywhere, even in
//! circles. So the length that the owner records bounds the read, and the owner's sequence count is
//! rechecked before the text is used.

use std::cell::Cell;

use super::free_list::FreeList;
use super::lines::{Line, Records};
use crate::sync::{AtomicU64, Ordering};
use crate::text::swar::word_at;

const TEXT_WORDS: usize = 7;
/// The number of bytes of text in a line.
pub(crate) const TEXT_BYTES: usize = TEXT_WORDS * 8;

/// The pool of side lines.
pub(crate) struct Side {
    lines: Records<8>,
    free: FreeList,
}

/// The first line of a chain; 0 is none.
pub(crate) type Chain = u32;

impl Side {
    pub(crate) fn new(capacity: u32) -> Option<Side> {
        Some(Side { lines: Records::new(capacity as usize + 1)?, free: FreeList::new(capacity) })
    }

    pub(crate) fn lines(&self) -> &[Line] {
        self.lines.all()
    }

    pub(crate) fn free(&self) -> &FreeList {
        &self.free
    }

    /// Returns the number of lines in use.
    pub(crate) fn used(&self) -> u32 {
        self.free.used(|slot| self.link(slot))
    }

    fn link(&self, slot: u32) -> &AtomicU64 {
        &self.lines.at(slot)[0]
    }

    pub(crate) fn range(&self) -> (usize, usize) {
        self.lines.range()
    }

    /// Stores `text` in a new chain. Returns `None`, and keeps no line, if there are too few lines.
    pub(crate) fn store(&self, text: &[u8]) -> Option<Chain> {
        let mut chain = 0;
        // From the end, so that each line can store the number of the next.
        for part in text.chunks(TEXT_BYTES).rev() {
            let Some(slot) = self.free.take(|slot| self.link(slot)) else {
                self.release(chain);
                return None;
            };
            let line = self.lines.at(slot);
            for (at, word) in line[1..].iter().enumerate() {
                word.store(word_at(part, at * 8), Ordering::Relaxed);
            }
            line[0].store(chain.into(), Ordering::Relaxed);
            chain = slot;
        }
        Some(chain)
    }

    /// Returns the number that the chain's owner keeps with it; 0 of a new chain, and of none. The
    /// result is nonsense if the chain is stale.
    pub(crate) fn tag(&self, chain: Chain) -> u32 {
        (line_of(self.lines.all(), chain)[0].load(Ordering::Relaxed) >> 32) as u32
    }

    /// Keeps a number with a chain. The caller excludes other writers.
    pub(crate) fn set_tag(&self, chain: Chain, tag: u32) {
        let word = &self.lines.at(chain)[0];
        let next = word.load(Ordering::Relaxed) as u32;
        word.store(u64::from(tag) << 32 | u64::from(next), Ordering::Relaxed);
    }

    /// Gives a chain back. Its owner no longer shows it.
    pub(crate) fn release(&self, mut chain: Chain) {
        while chain != 0 {
            let next = self.lines.at(chain)[0].load(Ordering::Relaxed) as u32;
            self.free.give(chain, |slot| self.link(slot));
            chain = next;
        }
    }
}

/// Text in a chain, read by words. The reader keeps the line that it read last, since reading goes
/// forward.
pub(crate) struct ChainReader<'a> {
    lines: &'a [Line],
    /// The first line. A chain that leads nowhere reads as slot 0, which is all zeros.
    first: &'a Line,
    /// The line that was read last, if beyond the first, and its number within the chain.
    last: Cell<(usize, &'a Line)>,
}

impl<'a> ChainReader<'a> {
    #[inline(always)]
    pub(crate) fn new(lines: &'a [Line], first: Chain) -> Self {
        let first = line_of(lines, first);
        ChainReader { lines, first, last: Cell::new((0, first)) }
    }

    /// Returns the `index`th word. The result is nonsense if the chain is stale, and zero if it
    /// leads nowhere. `index` must be below the recorded length, which bounds the steps.
    #[inline(always)]
    pub(crate) fn word(&self, index: usize) -> u64 {
        if index < TEXT_WORDS { self.first[1 + index].load(Ordering::Relaxed) } else { self.far_word(index) }
    }

    #[inline(never)]
    fn far_word(&self, index: usize) -> u64 {
        let wanted = index / TEXT_WORDS;
        let (mut number, mut line) = self.last.get();
        if wanted < number {
            (number, line) = (0, self.first);
        }
        while number < wanted {
            line = line_of(self.lines, line[0].load(Ordering::Relaxed) as u32);
            number += 1;
        }
        self.last.set((number, line));
        line[1 + index % TEXT_WORDS].load(Ordering::Relaxed)
    }
}

#[inline(always)]
fn line_of(lines: &[Line], slot: Chain) -> &Line {
    lines.get(slot as usize).unwrap_or(&lines[0])
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn text_goes_there_and_back() {
        let side = Side::new(100).unwrap();
        for length in [1usize, 7, 8, 55, 56, 57, 112, 113, 255, 4095] {
            let text: Vec<u8> = (0..length).map(|i| (i % 251 + 1) as u8).collect();
            let chain = side.store(&text).unwrap();
            let reader = ChainReader::new(side.lines(), chain);
            for at in (0..length.div_ceil(8)).chain([0]) {
                assert_eq!(reader.word(at), word_at(&text, at * 8), "word {at} of {length} bytes");
            }
            side.release(chain);
        }
        assert_eq!(side.used(), 0);
    }

    #[test]
    fn a_tag_changes_neither_the_text_nor_the_chain() {
        let side = Side::new(10).unwrap();
        let text = [7; 3 * TEXT_BYTES];
        let chain = side.store(&text).unwrap();
        assert_eq!(side.tag(chain), 0);
        for tag in [u32::MAX, 1, 0x8000_0000] {
            side.set_tag(chain, tag);
            assert_eq!((side.tag(chain), side.tag(u32::MAX)), (tag, 0), "a stale chain has a tag, too");
            let reader = ChainReader::new(side.lines(), chain);
            assert!((0..21).all(|at| reader.word(at) == word_at(&text, at * 8)));
        }
        assert_eq!(side.used(), 3);
        side.release(chain);
        assert_eq!((side.used(), side.tag(side.store(&text).unwrap())), (0, 0));
    }

    #[test]
    fn too_few_lines_leave_none_taken() {
        let side = Side::new(2).unwrap();
        assert!(side.store(&[1; 3 * TEXT_BYTES]).is_none());
        assert_eq!(side.used(), 0);
        assert!(side.store(&[1; 2 * TEXT_BYTES]).is_some());
        assert!(side.store(&[1]).is_none());
    }

    #[test]
    fn a_chain_in_circles_ends() {
        let side = Side::new(1).unwrap();
        side.lines()[1][0].store(1, Ordering::Relaxed);
        assert_eq!(ChainReader::new(side.lines(), 1).word(510), 0);
        assert_eq!(ChainReader::new(side.lines(), 77).word(20), 0);
    }
}
