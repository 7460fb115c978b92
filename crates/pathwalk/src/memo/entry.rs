//! The entry of one path: three cache lines.
//!
//! | word | bits | content |
//! |---|---|---|
//! | 0 | 32, 31, 1 | sequence count; tag of the hash; odd while written |
//! | 1 | 64 | the place where the walk began: mount and dentry |
//! | 2 | 64 | the place where absolute links begin and `..` ends |
//! | 3 | 32, 32 | class of credentials, or stamp; the other fields of [`What`] |
//! | 4 | 64 | the sum of the words of all dentries and mounts of the walk |
//! | 5–11 | 32 each | their slots: dentries from the front (the end, then links, then the rest), mounts from the back (the end's first) |
//! | 12–23 | | the path, see [`text`] |
//!
//! The rest of words 5 to 11 is 0: slot 0 is never used, and its word is 0.
//!
//! What always holds: one thread writes an entry at a time, with its count odd. A thread that finds
//! another writing goes on without. Pairs: see [`seqcount`].

use super::question::Question;
use super::text::{self, TEXT_WORDS};
use super::what::{Draft, What};
use crate::cache::dcache::dentry::mark_hit;
use crate::cache::dcache::remembered::Changes;
use crate::memory::lines::{LINE_WORDS, Line};
use crate::memory::seqcount::{self, ODD};
use crate::sync::{AtomicU64, Ordering};

/// The lines of an entry.
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

/// The position of the word in the line of a dentry, and of a mount.
const OF_SLOT: usize = 0;

/// The end of a path, as of now.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) what: What,
    /// The slot of the dentry.
    pub(crate) end: u32,
    /// The word of the dentry.
    pub(crate) word: u64,
}

/// The mount through which the end is seen. A slot of 0 stands for the mount of the start.
#[derive(Clone, Copy, Default)]
pub(crate) struct OfMount {
    pub(crate) slot: usize,
    pub(crate) word: u64,
}

/// The lines of dentries and mounts, whose first words entries are made of.
pub(crate) trait Slots<'a>: Copy {
    /// Returns the count of changes of remembered dentries.
    fn changes(self) -> &'a Changes;
    /// Returns the count of changes of the tree of mounts, which is even; none while it changes.
    fn mount_changes(self) -> Option<u64>;
    /// Returns the stamp of a way that holds now: the count of changes, which is 1 above a multiple
    /// of 4. If the way depends on mounts, it is a sum of both counts, which is 3 above; none while
    /// mounts change. Neither count falls.
    #[inline(always)]
    fn stamp(self, has_mounts: bool) -> Option<u64> {
        let changes = self.changes().now();
        if has_mounts { Some(changes.wrapping_add(2 * self.mount_changes()? + 2)) } else { Some(changes) }
    }
    /// Returns the lines of dentries.
    fn dentries(self) -> &'a [Line];
    /// Returns the lines of mounts.
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
        // The constant assertion above says that these are the last words.
        self.0.as_flattened().last_chunk().unwrap_or_else(|| unreachable!())
    }

    /// Returns word 0, for a later recheck.
    #[inline(always)]
    pub(super) fn sample(self) -> u64 {
        seqcount::sample(&self.0[0][WORD])
    }

    /// Returns how the walk went if the entry is of this question.
    #[inline(always)]
    pub(super) fn is_of(self, question: &Question<'_>) -> Option<What> {
        let what = self.what();
        if !what.is_of(question) || self.load(START) != question.start || self.load(ROOT) != question.root {
            return None;
        }
        text::is(self.text(), question.path).then_some(what)
    }

    /// Returns the slot, line and word of the end if no remembered dentry has changed since the
    /// entry was stamped. The caller rechecks that the entry is unchanged.
    #[inline(always)]
    pub(super) fn fresh_end<'a>(self, what: What, slots: impl Slots<'a>) -> Option<(u32, &'a Line, u64)> {
        let end = self.sampled_end(slots)?;
        what.is_stamped_at(slots.changes().now()).then_some(end)
    }

    /// Returns the same for a way that depends on mounts, with the end's mount: if neither a
    /// remembered dentry has changed since, nor the tree of mounts.
    pub(super) fn fresh_end_in_mount<'a>(self, what: What, slots: impl Slots<'a>) -> Option<((u32, &'a Line, u64), OfMount)> {
        if !what.has_mounts() {
            return None;
        }
        let end = self.sampled_end(slots)?;
        let slot = self.slot(MOST_SLOTS - 1);
        let word = seqcount::sample(&slots.mounts().get(slot)?[OF_SLOT]);
        (word & ODD == 0 && what.is_stamped_at(slots.stamp(true)?)).then_some((end, OfMount { slot, word }))
    }

    /// Returns the slot, line and word of the end, unless it is being written.
    #[inline(always)]
    fn sampled_end<'a>(self, slots: impl Slots<'a>) -> Option<(u32, &'a Line, u64)> {
        let end = (self.load(SLOTS) as u32) / LINE_WORDS as u32;
        let line = slots.dentries().get(end as usize)?;
        // Acquire: if this is what a later write left, the count is seen moved.
        let word = seqcount::sample(&line[OF_SLOT]);
        (word & ODD == 0).then_some((end, line, word))
    }

    /// Returns the slot, line and word of the end if no word of the way has changed, and the mount
    /// through which the end is seen. The caller rechecks that the entry is unchanged.
    pub(super) fn end<'a>(self, what: What, slots: impl Slots<'a>) -> Option<((u32, &'a Line, u64), OfMount)> {
        let (sum, of_end) = self.mounts(what.mounts(), slots.mounts())?;
        Some((self.end_with(what, slots.dentries(), sum)?, of_end))
    }

    #[inline(always)]
    fn end_with(self, what: What, dentries: &[Line], of_mounts: u64) -> Option<(u32, &Line, u64)> {
        // Slots are stored as indices of words, which takes an instruction less than those of
        // lines.
        let words = dentries.as_flattened();
        let two = |at: usize| {
            let slots = self.load(SLOTS + at);
            Some(word_at(words, slots)?.wrapping_add(word_at(words, slots >> 32)?))
        };
        let first = self.load(SLOTS);
        let end = (first as u32) / LINE_WORDS as u32;
        let line = dentries.get(end as usize)?;
        // Acquire: later reads of the dentry are behind this.
        let word = seqcount::sample(&line[OF_SLOT]);
        let mut sum = word.wrapping_add(word_at(words, first >> 32)?).wrapping_add(two(1)?).wrapping_add(of_mounts);
        // Four slots at a time, by the upper bits of their number.
        if what.others(0b1100) != 0 {
            sum = sum.wrapping_add(two(2)?).wrapping_add(two(3)?);
            if what.others(0b1000) != 0 {
                sum = sum.wrapping_add(two(4)?).wrapping_add(two(5)?);
                if what.has_over_12_others() {
                    sum = sum.wrapping_add(two(6)?);
                }
            }
        }
        (sum == self.load(SUM)).then_some((end, line, word))
    }

    /// Returns the sum of the words of so many mounts, and the end's mount.
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

    /// Returns whether the entry is unchanged since word 0 was sampled.
    #[inline(always)]
    pub(super) fn unchanged(self, sampled: u64) -> bool {
        seqcount::unchanged(&self.0[0][WORD], sampled)
    }

    /// Marks the links on the way as used. Where the entry was replaced meanwhile, other dentries
    /// are marked, which only keeps them in the cache a little longer.
    #[inline(always)]
    pub(super) fn mark_links(self, what: What, dentries: &[Line]) {
        for at in 1..=what.links() {
            if let Some(line) = dentries.get(self.slot(at)) {
                mark_hit(line);
            }
        }
    }

    /// Stores a draft, unless another thread is writing the entry. Returns whether it did.
    pub(super) fn store(self, tag: u64, question: &Question<'_>, draft: &Draft) -> bool {
        let Some(writing) = seqcount::try_write(&self.0[0][WORD]) else { return false };
        let head = [question.start, question.root, draft.what.word_for(question), draft.sum];
        let (pairs, _) = draft.slots.as_chunks::<2>();
        let slots = pairs.iter().map(|[low, high]| u64::from(*high) << 32 | u64::from(*low));
        for (word, value) in self.0.as_flattened()[START..TEXT].iter().zip(head.into_iter().chain(slots)) {
            word.store(value, Ordering::Relaxed);
        }
        text::store(self.text(), question.path);
        writing.end(tag);
        true
    }

    /// Stamps an entry that is unchanged since word 0 was sampled, where no word of its way had
    /// changed after the stamp was read. If another thread writes the entry, it stays as it is.
    pub(super) fn stamp(self, sampled: u64, what: What, stamp: u64) {
        if let Some(writing) = seqcount::try_write_from(&self.0[0][WORD], sampled) {
            let tag = writing.flags();
            self.0[0][WHAT].store(what.stamped_at(stamp).word(), Ordering::Relaxed);
            writing.end(tag);
        }
    }

    /// Empties the entry.
    pub(super) fn clear(self) {
        let writing = seqcount::write(&self.0[0][WORD]);
        self.0[0][WHAT].store(0, Ordering::Relaxed);
        writing.end(0);
    }

    /// Returns whether the entry is empty.
    pub(super) fn is_empty(self) -> bool {
        self.load(WHAT) == 0
    }

    /// Returns how the walk went of which the entry was made. The caller rechecks that it is
    /// unchanged, or takes it for a guess.
    #[inline(always)]
    pub(super) fn what(self) -> What {
        What::of_word(self.load(WHAT))
    }
}
