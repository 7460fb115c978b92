//! What the memo holds of one path: three cache lines.
//!
//! | word | bits | what |
//! |---|---|---|
//! | 0 | 32, 31, 1 | sequence count; tag of the hash; odd |
//! | 1 | 64 | where the walk began: mount and dentry |
//! | 2 | 64 | where absolute links begin and `..` ends |
//! | 3 | 32, 32 | class of credentials; the fields of [`What`] |
//! | 4 | 64 | the sum of the words of all that the walk went through |
//! | 5–11 | 32 each | which: dentries from the front, the end first, then links, then the rest; mounts from the back, the end's first |
//! | 12–23 | | the path, see [`text`] |
//!
//! What is not filled of words 5 to 11 is 0: slot 0 is never used, and its word is 0.
//!
//! What always holds: an entry is written with its count odd, by one thread; a thread that finds
//! another at it goes on without. Pairs: the sequence count's (see there).

use super::question::{LastLink, Question};
use super::text::{self, TEXT_WORDS};
use crate::cache::dcache::dentry::mark_hit;
use crate::memory::lines::{LINE_WORDS, Line};
use crate::memory::seqcount;
use crate::sync::{AtomicU64, Ordering};

/// Lines of an entry.
pub(super) const LINES: usize = 3;

const _: () = assert!(TEXT + TEXT_WORDS == LINES * LINE_WORDS);

const WORD: usize = 0;
const START: usize = 1;
const ROOT: usize = 2;
const WHAT: usize = 3;
const SUM: usize = 4;
const SLOTS: usize = 5;
const TEXT: usize = 12;

/// The most dentries and mounts of an entry.
pub(super) const MOST_SLOTS: usize = (TEXT - SLOTS) * 2;

/// The word of a dentry, and of a mount.
const OF_SLOT: usize = 0;

/// How a walk went, in the fields of one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct What(u64);

/// A field of [`What`].
#[derive(Clone, Copy)]
struct Field {
    shift: u32,
    most: u64,
}

const LENGTH: Field = Field { shift: 0, most: 0xff };
const LAST_LINKS: Field = Field { shift: 8, most: 7 };
const ABSENT: Field = Field { shift: 11, most: 1 };
/// Dentries behind the end.
const OTHERS: Field = Field { shift: 12, most: 15 };
const DOT_DOT: Field = Field { shift: 16, most: 1 };
const CROSSES: Field = Field { shift: 17, most: 1 };
const LINKS: Field = Field { shift: 18, most: 15 };
const MOUNTS: Field = Field { shift: 22, most: 15 };
/// The last four: if none is set, the way leads down by names, in one mount.
const NOT_PLAIN: Field = Field { shift: DOT_DOT.shift, most: 0x3ff };
const CLASS: Field = Field { shift: 32, most: u32::MAX as u64 };

const _: () = assert!(text::MOST as u64 <= LENGTH.most && MOST_SLOTS as u64 <= OTHERS.most + 1);

impl What {
    #[inline(always)]
    fn get(self, field: Field) -> u64 {
        self.0 >> field.shift & field.most
    }

    #[inline(always)]
    fn has(self, field: Field) -> bool {
        self.0 & field.most << field.shift != 0
    }

    fn with(self, field: Field, value: u64) -> What {
        debug_assert!(value <= field.most);
        What(self.0 | value << field.shift)
    }

    /// Returns whether there is no such name.
    #[inline(always)]
    pub(crate) fn is_absent(self) -> bool {
        self.has(ABSENT)
    }

    /// Returns whether the walk went up by `..`.
    #[inline(always)]
    pub(crate) fn has_dot_dot(self) -> bool {
        self.has(DOT_DOT)
    }

    /// Returns whether the walk followed links.
    #[inline(always)]
    pub(crate) fn has_links(self) -> bool {
        self.has(LINKS)
    }

    /// Returns whether the way depends on what mounts say.
    #[inline(always)]
    pub(super) fn has_mounts(self) -> bool {
        self.has(MOUNTS)
    }

    /// Returns whether rules may be about the way that the walk took, and not only about where it led.
    #[inline(always)]
    pub(crate) fn is_plain(self) -> bool {
        !self.has(NOT_PLAIN)
    }
}

/// What becomes of an entry, before it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Draft {
    pub(super) what: What,
    pub(super) sum: u64,
    pub(super) slots: [u32; MOST_SLOTS],
}

/// What a [`Draft`] is made of.
pub(super) struct Parts<'a> {
    /// (slot, word): the end, then links, then the rest.
    pub(super) dentries: &'a [(u32, u64)],
    /// The end's first.
    pub(super) mounts: &'a [(u32, u64)],
    pub(super) links: usize,
    pub(super) last_links: &'a [LastLink],
    pub(super) is_absent: bool,
    pub(super) has_dot_dot: bool,
    pub(super) crosses: bool,
    pub(super) class: u32,
}

impl Draft {
    /// Returns that of a walk; none where it went through too much.
    pub(super) fn new(parts: &Parts<'_>) -> Option<Draft> {
        let Parts { dentries, mounts, .. } = *parts;
        // Dentries are read by four.
        if dentries.len().next_multiple_of(4).min(MOST_SLOTS) + mounts.len() > MOST_SLOTS || dentries.len() > MOST_SLOTS {
            return None;
        }
        if dentries.iter().chain(mounts).any(|(slot, _)| *slot > u32::MAX / LINE_WORDS as u32) {
            return None;
        }
        let mut slots = [0; MOST_SLOTS];
        slots.iter_mut().zip(dentries).for_each(|(at, (slot, _))| *at = slot * LINE_WORDS as u32);
        slots.iter_mut().rev().zip(mounts).for_each(|(at, (slot, _))| *at = slot * LINE_WORDS as u32);
        let sum = dentries.iter().chain(mounts).fold(0u64, |sum, (_, word)| sum.wrapping_add(*word));
        let last_links = parts.last_links.iter().fold(0, |all, one| all | 1 << *one as u64);
        let what = What(0)
            .with(LAST_LINKS, last_links)
            .with(ABSENT, parts.is_absent.into())
            .with(DOT_DOT, parts.has_dot_dot.into())
            .with(CROSSES, parts.crosses.into())
            .with(LINKS, parts.links as u64)
            .with(OTHERS, dentries.len() as u64 - 1)
            .with(MOUNTS, mounts.len() as u64)
            .with(CLASS, parts.class.into());
        Some(Draft { what, sum, slots })
    }
}

/// What a path leads to, as of now.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) what: What,
    /// The slot of the dentry, and its word.
    pub(crate) end: u32,
    pub(crate) word: u64,
}

/// The mount through which the end is seen: its slot and its word; 0: that where the walk begins.
#[derive(Clone, Copy, Default)]
pub(crate) struct OfMount {
    pub(crate) slot: usize,
    pub(crate) word: u64,
}

/// Where the words are that entries were made of: the first of each line.
pub(crate) trait Slots<'a>: Copy {
    /// Returns those of dentries.
    fn dentries(self) -> &'a [Line];
    /// Returns those of mounts.
    fn mounts(self) -> &'a [Line];
}

#[inline(always)]
fn word_at(words: &[AtomicU64], at: u64) -> Option<u64> {
    words.get(at as u32 as usize).map(|word| word.load(Ordering::Relaxed))
}

/// An entry as it is read.
#[derive(Clone, Copy)]
pub(super) struct Entry<'m>(pub(super) &'m [Line; LINES]);

impl<'m> Entry<'m> {
    #[inline(always)]
    fn load(self, at: usize) -> u64 {
        self.0[at / LINE_WORDS % LINES][at % LINE_WORDS].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn text(self) -> &'m [AtomicU64; TEXT_WORDS] {
        // Its length is what is left.
        self.0.as_flattened().last_chunk().unwrap_or_else(|| unreachable!())
    }

    /// Returns the word 0, to be held against later.
    #[inline(always)]
    pub(super) fn sample(self) -> u64 {
        seqcount::sample(&self.0[0][WORD])
    }

    /// Returns how a walk went that answers a question of the asker's class, or none if the entry
    /// does not tell of it.
    #[inline(always)]
    pub(super) fn answers(self, question: &Question<'_>, class: impl Fn() -> u32) -> Option<What> {
        let what = What(self.load(WHAT));
        let asked = question.path.len() as u64 | 1 << (LAST_LINKS.shift + question.last_link as u32);
        let of_question = LENGTH.most | 1 << (LAST_LINKS.shift + question.last_link as u32);
        if what.0 & of_question != asked || self.load(START) != question.start || self.load(ROOT) != question.root {
            return None;
        }
        if what.has(CLASS) && what.get(CLASS) != u64::from(class()) {
            return None;
        }
        text::is(self.text(), question.path).then_some(what)
    }

    /// Returns what the path leads to if nothing has changed since, provided that the entry is the
    /// same afterwards: its slot, line and word. For a way that depends on no mount.
    #[inline(always)]
    pub(super) fn end_in_mount(self, what: What, dentries: &[Line]) -> Option<(u32, &Line, u64)> {
        self.end_with(what, dentries, 0)
    }

    /// The same for any way, and the mount through which it is seen.
    pub(super) fn end<'a>(self, what: What, slots: impl Slots<'a>) -> Option<((u32, &'a Line, u64), OfMount)> {
        let (sum, of_end) = self.mounts(what.get(MOUNTS) as usize, slots.mounts())?;
        Some((self.end_with(what, slots.dentries(), sum)?, of_end))
    }

    #[inline(always)]
    fn end_with(self, what: What, dentries: &[Line], of_mounts: u64) -> Option<(u32, &Line, u64)> {
        // Slots are kept as indices of their words, which takes an instruction less than lines.
        let words = dentries.as_flattened();
        let two = |at: usize| {
            let slots = self.load(SLOTS + at);
            Some(word_at(words, slots)?.wrapping_add(word_at(words, slots >> 32)?))
        };
        let first = self.load(SLOTS);
        let end = (first as u32) / LINE_WORDS as u32;
        let line = dentries.get(end as usize)?;
        // What is read of the dentry is behind this.
        let word = seqcount::sample(&line[OF_SLOT]);
        let mut sum = word.wrapping_add(word_at(words, first >> 32)?).wrapping_add(two(1)?).wrapping_add(of_mounts);
        // In steps of four: of their number, these bits tell.
        let others = |bits: u64| what.0 & bits << OTHERS.shift;
        if others(0b1100) != 0 {
            sum = sum.wrapping_add(two(2)?).wrapping_add(two(3)?);
            if others(0b1000) != 0 {
                sum = sum.wrapping_add(two(4)?).wrapping_add(two(5)?);
                if others(0b1100) == 0b1100 << OTHERS.shift {
                    sum = sum.wrapping_add(two(6)?);
                }
            }
        }
        (sum == self.load(SUM)).then_some((end, line, word))
    }

    /// Returns the sum of the words of so many mounts, and that of the end.
    fn mounts(self, count: usize, lines: &[Line]) -> Option<(u64, OfMount)> {
        let (mut sum, mut of_end) = (0u64, OfMount::default());
        for at in (0..count).rev() {
            let slot = self.slot(MOST_SLOTS - 1 - at);
            of_end = OfMount { slot, word: seqcount::sample(&lines.get(slot)?[OF_SLOT]) };
            sum = sum.wrapping_add(of_end.word);
        }
        Some((sum, of_end))
    }

    fn slot(self, at: usize) -> usize {
        let two = self.load(SLOTS + at / 2 % (TEXT - SLOTS));
        (two >> (at % 2 * 32)) as u32 as usize / LINE_WORDS
    }

    /// Returns whether the entry is what it was when word 0 was sampled.
    #[inline(always)]
    pub(super) fn unchanged(self, sampled: u64) -> bool {
        seqcount::unchanged(&self.0[0][WORD], sampled)
    }

    /// Marks the links on the way as used. If the entry became another meanwhile, that one's are kept
    /// a little longer.
    #[inline(always)]
    pub(super) fn mark_links(self, what: What, dentries: &[Line]) {
        for at in 1..=what.get(LINKS) as usize {
            if let Some(line) = dentries.get(self.slot(at)) {
                mark_hit(line);
            }
        }
    }

    /// Stores what was learned, unless another thread is at the entry.
    pub(super) fn store(self, tag: u64, question: &Question<'_>, draft: &Draft) -> bool {
        let Some(writing) = seqcount::try_write(&self.0[0][WORD]) else { return false };
        let what = draft.what.with(LENGTH, question.path.len() as u64);
        let head = [question.start, question.root, what.0, draft.sum];
        let (pairs, _) = draft.slots.as_chunks::<2>();
        let slots = pairs.iter().map(|[low, high]| u64::from(*high) << 32 | u64::from(*low));
        for (word, value) in self.0.as_flattened()[START..TEXT].iter().zip(head.into_iter().chain(slots)) {
            word.store(value, Ordering::Relaxed);
        }
        text::store(self.text(), question.path);
        writing.end(tag);
        true
    }

    /// Makes it one that answers nothing.
    pub(super) fn clear(self) {
        let writing = seqcount::write(&self.0[0][WORD]);
        self.0[0][WHAT].store(0, Ordering::Relaxed);
        writing.end(0);
    }

    /// Returns whether nothing was ever stored, or it was cleared.
    pub(super) fn is_empty(self) -> bool {
        self.load(WHAT) == 0
    }

    /// Returns how the walk went of which it was made; to be believed as a guess.
    pub(super) fn what(self) -> What {
        What(self.load(WHAT))
    }
}
