//! How a walk went: the fields of one word of an entry, and an entry before it is stored.

use super::entry::MOST_SLOTS;
use super::question::{LastLink, Question};
use super::text;
use crate::memory::lines::LINE_WORDS;

/// How a walk went, in the fields of one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct What(u64);

/// A field of [`What`].
#[derive(Clone, Copy)]
struct Field {
    shift: u32,
    most: u64,
}

/// The bytes of the path.
const LENGTH: Field = Field { shift: 0, most: 0xff };
/// A bit for each [`LastLink`] with which the walk goes this way.
const LAST_LINKS: Field = Field { shift: 8, most: 7 };
/// Set where the walk ended in `ENOENT`.
const ABSENT: Field = Field { shift: 11, most: 1 };
/// The number of dentries beside the end.
const OTHERS: Field = Field { shift: 12, most: 15 };
/// Set where the walk went up by `..`.
const DOT_DOT: Field = Field { shift: 16, most: 1 };
/// Set where the walk crossed to another mount.
const CROSSES: Field = Field { shift: 17, most: 1 };
/// The number of links that the walk followed.
const LINKS: Field = Field { shift: 18, most: 15 };
/// The number of mounts on which the way depends.
const MOUNTS: Field = Field { shift: 22, most: 15 };
/// The last four fields. Where all are clear, the way leads down by names, in one mount.
const NOT_PLAIN: Field = Field { shift: DOT_DOT.shift, most: 0x3ff };
/// The upper half: of a way that all users may go, a [stamp](super::entry::Slots::stamp) from when
/// nothing on the way had changed. It is odd.
const STAMP: Field = Field { shift: 32, most: u32::MAX as u64 };
/// The first bit of a stamp.
const STAMPED: Field = Field { shift: 32, most: 1 };
/// In the place of a stamp, twice the number of the only class of credentials that may go this way.
const CLASS: Field = Field { shift: 33, most: u32::MAX as u64 >> 1 };

const _: () = assert!(text::MOST as u64 <= LENGTH.most && MOST_SLOTS as u64 <= OTHERS.most + 1);

impl What {
    /// Returns the fields of a word that an entry holds.
    #[inline(always)]
    pub(super) fn of_word(word: u64) -> What {
        What(word)
    }

    /// Returns the word that holds these fields.
    pub(super) fn word(self) -> u64 {
        self.0
    }

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

    /// Returns whether length and last link are those of a question.
    #[inline(always)]
    pub(super) fn is_of(self, question: &Question<'_>) -> bool {
        let last_link = 1 << (LAST_LINKS.shift + question.last_link as u32);
        self.0 & (LENGTH.most | last_link) == question.path.len() as u64 | last_link
    }

    /// Returns whether a caller of the given class may go this way. Calls `class` only where that
    /// matters.
    #[inline(always)]
    pub(super) fn is_for(self, class: impl Fn() -> u32) -> bool {
        self.is_stamped() || self.get(CLASS) == u64::from(class())
    }

    /// Returns whether all users may go this way: it has a stamp.
    #[inline(always)]
    pub(super) fn is_stamped(self) -> bool {
        self.has(STAMPED)
    }

    /// Returns whether the way has this stamp.
    #[inline(always)]
    pub(super) fn is_stamped_at(self, stamp: u64) -> bool {
        self.get(STAMP) == u64::from(stamp as u32)
    }

    /// Returns the same with another stamp.
    pub(super) fn stamped_at(self, stamp: u64) -> What {
        debug_assert!(stamp % 2 == 1);
        What(self.0 & !(STAMP.most << STAMP.shift) | stamp << STAMP.shift)
    }

    /// Returns these bits of the number of dentries beside the end, where they stand in the word.
    #[inline(always)]
    pub(super) fn others(self, bits: u64) -> u64 {
        self.0 & bits << OTHERS.shift
    }

    /// Returns whether more than 12 dentries are beside the end.
    #[inline(always)]
    pub(super) fn has_over_12_others(self) -> bool {
        self.others(0b1100) == 0b1100 << OTHERS.shift
    }

    /// Returns the number of links that the walk followed.
    #[inline(always)]
    pub(super) fn links(self) -> usize {
        self.get(LINKS) as usize
    }

    /// Returns the number of mounts on which the way depends.
    #[inline(always)]
    pub(super) fn mounts(self) -> usize {
        self.get(MOUNTS) as usize
    }

    /// Returns whether the way depends on mounts.
    #[inline(always)]
    pub(super) fn has_mounts(self) -> bool {
        self.has(MOUNTS)
    }

    /// Returns whether the walk ended in `ENOENT`.
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

    /// Returns whether the way leads down by names, in one mount. The rules of a scope forbid none
    /// of that.
    #[inline(always)]
    pub(crate) fn is_plain(self) -> bool {
        !self.has(NOT_PLAIN)
    }

    /// Returns the word of an entry for this path.
    pub(super) fn word_for(self, question: &Question<'_>) -> u64 {
        self.with(LENGTH, question.path.len() as u64).0
    }
}

/// An entry before it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Draft {
    pub(super) what: What,
    pub(super) sum: u64,
    pub(super) slots: [u32; MOST_SLOTS],
}

/// The parts of a [`Draft`]. Dentries and mounts are pairs of a slot and its word.
pub(super) struct Parts<'a> {
    /// The end, then links, then the rest.
    pub(super) dentries: &'a [(u32, u64)],
    /// The end's, then the rest.
    pub(super) mounts: &'a [(u32, u64)],
    pub(super) links: usize,
    pub(super) last_links: &'a [LastLink],
    pub(super) is_absent: bool,
    pub(super) has_dot_dot: bool,
    pub(super) crosses: bool,
    pub(super) class: u32,
    /// The stamp, from before the words were compared.
    pub(super) stamp: u64,
}

impl Draft {
    /// Returns the entry of a walk; none where the walk went through more than an entry holds.
    pub(super) fn new(parts: &Parts<'_>) -> Option<Draft> {
        let Parts { dentries, mounts, .. } = *parts;
        // Dentries are read by four.
        let by_four = dentries.len().next_multiple_of(4).min(MOST_SLOTS);
        if by_four + mounts.len() > MOST_SLOTS || dentries.len() > MOST_SLOTS || u64::from(parts.class) > CLASS.most {
            return None;
        }
        if dentries.iter().chain(mounts).any(|(slot, _)| *slot > u32::MAX / LINE_WORDS as u32) {
            return None;
        }
        let mut slots = [0; MOST_SLOTS];
        let at_word = |(at, (slot, _)): (&mut u32, &(u32, u64))| *at = slot * LINE_WORDS as u32;
        slots.iter_mut().zip(dentries).for_each(at_word);
        slots.iter_mut().rev().zip(mounts).for_each(at_word);
        let sum = dentries.iter().chain(mounts).fold(0u64, |sum, (_, word)| sum.wrapping_add(*word));
        let last_links = parts.last_links.iter().fold(0, |all, one| all | 1 << *one as u64);
        let what = What(0)
            .with(LAST_LINKS, last_links)
            .with(ABSENT, parts.is_absent.into())
            .with(DOT_DOT, parts.has_dot_dot.into())
            .with(CROSSES, parts.crosses.into())
            .with(LINKS, parts.links as u64)
            .with(OTHERS, dentries.len() as u64 - 1)
            .with(MOUNTS, mounts.len() as u64);
        let what = match parts.class {
            0 => what.stamped_at(parts.stamp),
            class => what.with(CLASS, class.into()),
        };
        Some(Draft { what, sum, slots })
    }
}
