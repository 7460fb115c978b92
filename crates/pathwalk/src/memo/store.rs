//! The entries, in sets of two, found by a hash.
//!
//! What always holds: a hit stores nothing but the marks that any walk leaves, and takes no lock. The
//! memory is reserved once, and untouched until an entry is stored.

use super::classes::Classes;
use super::entry::{Entry, Found, LINES, OfMount, Slots, What};
use super::pace::{self, Credit, Taught};
use super::question::{Keys, Question};
use super::text;
use crate::cache::dcache::dentry::mark_hit;
use crate::memory::alone::Alone;
use crate::memory::lines::{LINE, LINE_WORDS, Line, Records};
use crate::memory::seqcount;
use crate::stats::WholePaths;
use crate::sync::{AtomicU64, Ordering};

/// Entries of a set.
const WAYS: usize = 2;

/// The least bytes of a directory's path that are remembered. A walk of fewer, which are two or three
/// components, takes no longer than a probe.
const LEAST_OF_DIRECTORY: usize = 16;

/// Words of a set.
const SET: usize = WAYS * LINES * LINE_WORDS;

/// When the memo learns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Learning {
    /// Of what was asked before, some.
    Paced,
    /// All that is walked: for tests.
    AtOnce,
    /// The directory of all that is walked: for tests.
    DirectoriesAtOnce,
    /// Nothing: to measure what it costs to ask.
    Never,
}

/// See the module.
pub(crate) struct Memo {
    /// Protected by the entries' sequence counts.
    sets: Records<SET>,
    /// How many sets there are.
    count: u64,
    keys: Keys,
    learning: Learning,
    /// The [laps](seqcount::laps) when the entries were cleared last. `Relaxed`: see there.
    lap: AtomicU64,
    pub(crate) classes: Classes,
    counts: Alone<Counts>,
}

/// What is counted where the memo learns; each alone, so `Relaxed`.
#[derive(Default)]
struct Counts {
    fills: AtomicU64,
    refusals: AtomicU64,
    turns: AtomicU64,
}

impl Memo {
    /// Bytes of a set.
    pub(crate) const SET_BYTES: u64 = SET as u64 * 8;

    /// Returns a memo of so many bytes at most; none where there is no room.
    pub(crate) fn new(bytes: u64, seed: u64, learning: Learning) -> Option<Memo> {
        let count = bytes / Memo::SET_BYTES;
        Some(Memo {
            sets: Records::new(usize::try_from(count).ok()?)?,
            count,
            keys: Keys::new(seed),
            learning,
            lap: AtomicU64::new(seqcount::laps()),
            classes: Classes::default(),
            counts: Alone(Counts::default()),
        })
    }

    /// Where its entries lie.
    pub(crate) fn range(&self) -> (usize, usize) {
        self.sets.range()
    }

    /// Returns whether it has no room for any path.
    #[inline(always)]
    pub(crate) fn is_off(&self) -> bool {
        self.count == 0
    }

    fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.sets.all().iter().flat_map(|set| lines(set).as_chunks().0).map(Entry)
    }

    /// Returns the two entries in which a path may be.
    #[inline(always)]
    pub(super) fn set(&self, hash: u64) -> Option<[Entry<'_>; WAYS]> {
        let at = (u128::from(hash) * u128::from(self.count)) >> 64;
        let (first, second) = lines(self.sets.all().get(at as usize)?).split_first_chunk()?;
        Some([Entry(first), Entry(second.first_chunk()?)])
    }

    #[inline(always)]
    pub(super) fn hash(&self, question: &Question<'_>) -> u64 {
        question.hash(&self.keys)
    }

    /// Returns where a path leads to, as of now; none where it has to be walked. What is read of its
    /// end is to be rechecked, as after a walk. Of a memo that is not off.
    ///
    /// `may` says whether a way that is not plain may be gone.
    ///
    /// The mount of the end is written to `of_end` where it is not that of the start. It is not
    /// returned with the rest: that is in registers.
    #[inline(always)]
    pub(crate) fn find<'a>(
        &self,
        question: &Question<'_>,
        slots: impl Slots<'a>,
        class: impl Fn() -> u32,
        may: impl Fn(What) -> bool,
        of_end: &mut OfMount,
    ) -> Option<Found> {
        let credit = self.asks()?;
        if question.path.len() > text::MOST {
            return None;
        }
        let found = self.probe(question, slots, class, may, of_end);
        if found.is_some() {
            credit.hit()
        } else {
            credit.missed()
        }
        found
    }

    /// Returns whether directories are asked for.
    #[inline(always)]
    pub(crate) fn asks_for_directories(&self) -> bool {
        !self.is_off() && (pace::will_ask() || self.learns_at_once())
    }

    /// Returns where the directory leads to in which a path ends that [`find`](Self::find) did not find.
    pub(crate) fn find_directory<'a>(
        &self,
        question: &Question<'_>,
        slots: impl Slots<'a>,
        class: impl Fn() -> u32,
        may: impl Fn(What) -> bool,
        of_end: &mut OfMount,
    ) -> Option<Found> {
        if !self.is_worth_asking(question.path) {
            return None;
        }
        let found = self.probe(question, slots, class, may, of_end)?;
        pace::found_directory();
        Some(found)
    }

    /// Returns whether a directory's path is short enough to be learned, and long enough: a walk of few
    /// components takes no longer than a probe.
    fn is_worth_asking(&self, path: &[u8]) -> bool {
        let least = if self.learns_at_once() { 1 } else { LEAST_OF_DIRECTORY };
        (least..=text::MOST).contains(&path.len())
    }

    /// Returns whether an entry seems to be of a path, and will be asked: a guess by its tag. Counts
    /// nothing.
    #[inline(always)]
    pub(crate) fn seems_to_have(&self, question: &Question<'_>) -> bool {
        if self.is_off() || question.path.len() > text::MOST || !(pace::will_ask() || self.learns_at_once()) {
            return false;
        }
        let hash = self.hash(question);
        self.set(hash).is_some_and(|set| set.iter().any(|entry| entry.sample() as u32 == tag(hash)))
    }

    #[inline(always)]
    fn probe<'a>(
        &self,
        question: &Question<'_>,
        slots: impl Slots<'a>,
        class: impl Fn() -> u32,
        may: impl Fn(What) -> bool,
        of_end: &mut OfMount,
    ) -> Option<Found> {
        if self.lap.load(Ordering::Relaxed) != seqcount::laps() {
            self.begin_lap();
            return None;
        }
        let hash = self.hash(question);
        let tag = tag(hash);
        // Both may tell of the path: for other classes, roots, or kinds of last links.
        for entry in self.set(hash)? {
            let sampled = entry.sample();
            if sampled as u32 == tag
                && let Some(what) = entry.answers(question, &class)
            {
                return found(entry, sampled, what, slots, may, of_end);
            }
        }
        None
    }

    #[inline(always)]
    fn asks(&self) -> Option<Credit> {
        pace::asks().or_else(|| self.learns_at_once().then_some(Credit::ALWAYS))
    }

    /// Returns whether it learns at once, and so is asked each time.
    #[inline(always)]
    fn learns_at_once(&self) -> bool {
        matches!(self.learning, Learning::AtOnce | Learning::DirectoriesAtOnce)
    }

    /// Returns what is to be learned of a walk, if anything is.
    pub(crate) fn learns(&self) -> Option<Taught> {
        if self.is_off() {
            return None;
        }
        match self.learning {
            Learning::Paced => pace::teaches(),
            Learning::AtOnce => Some(Taught::Path),
            Learning::DirectoriesAtOnce => Some(Taught::Directory),
            Learning::Never => None,
        }
    }

    /// Returns whether a path may be learned whose end was used before, or was not.
    pub(crate) fn may_learn(&self, path: &[u8], used_before: bool) -> bool {
        let may = match self.learning {
            Learning::Paced => used_before,
            Learning::AtOnce => true,
            Learning::DirectoriesAtOnce | Learning::Never => false,
        };
        may && path.len() <= text::MOST
    }

    /// Returns whether a directory's path may be learned.
    pub(crate) fn may_learn_directory(&self, path: &[u8]) -> bool {
        self.is_worth_asking(path)
    }

    /// Clears all entries: a count may come round.
    #[cold]
    #[inline(never)]
    fn begin_lap(&self) {
        let lap = seqcount::laps();
        self.entries().for_each(Entry::clear);
        self.lap.store(lap, Ordering::Relaxed);
    }

    /// Counts a path that was learned.
    pub(super) fn count_fill(&self) {
        self.counts.fills.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a path that could not be.
    pub(super) fn count_refusal(&self) {
        self.counts.refusals.fetch_add(1, Ordering::Relaxed);
        pace::refused();
    }

    /// Returns the next of consecutive numbers.
    pub(super) fn turn(&self) -> u64 {
        self.counts.turns.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns what it holds and did. Cost: a look at each entry.
    pub(crate) fn stats(&self) -> WholePaths {
        WholePaths {
            capacity: self.count * WAYS as u64,
            used: self.entries().filter(|entry| !entry.is_empty()).count() as u64,
            entry_bytes: (LINES * LINE) as u64,
            fills: self.counts.fills.load(Ordering::Relaxed),
            refusals: self.counts.refusals.load(Ordering::Relaxed),
        }
    }

    pub(super) fn tag_of(hash: u64) -> u64 {
        tag(hash).into()
    }
}

/// Returns where the way of an entry leads, if nothing has changed since, and the way may be gone.
#[inline(always)]
fn found<'a>(
    entry: Entry<'_>,
    sampled: u64,
    what: What,
    slots: impl Slots<'a>,
    may: impl Fn(What) -> bool,
    of_end: &mut OfMount,
) -> Option<Found> {
    if what.has_mounts() {
        let mut end = 0;
        let word = across_mounts(entry, sampled, what, slots, (&mut end, of_end))?;
        return may(what).then_some(Found { what, end, word });
    }
    let dentries = slots.dentries();
    let (end, line, word) = entry.end_in_mount(what, dentries)?;
    if !entry.unchanged(sampled) {
        return None;
    }
    mark_hit(line);
    if !what.is_plain() {
        entry.mark_links(what, dentries);
        if !may(what) {
            return None;
        }
    }
    Some(Found { what, end, word })
}

/// Returns the word of the end of a way that depends on mounts, and stores which it is.
#[inline(never)]
fn across_mounts<'a>(
    entry: Entry<'_>,
    sampled: u64,
    what: What,
    slots: impl Slots<'a>,
    (end, of_end): (&mut u32, &mut OfMount),
) -> Option<u64> {
    let ((found, line, word), mount) = entry.end(what, slots)?;
    if !entry.unchanged(sampled) {
        return None;
    }
    mark_hit(line);
    entry.mark_links(what, slots.dentries());
    (*end, *of_end) = (found, mount);
    Some(word)
}

/// Returns the lines of a set.
#[inline(always)]
fn lines(set: &[AtomicU64; SET]) -> &[Line] {
    set.as_chunks().0
}

/// What of a hash an entry's word has.
#[inline(always)]
fn tag(hash: u64) -> u32 {
    hash as u32 & !(seqcount::ODD as u32)
}
