//! The entries, in sets of two, found by a hash.
//!
//! What always holds: the memory is reserved once, and untouched until an entry is stored.

use super::classes::Classes;
use super::entry::{Entry, LINES};
use super::pace::{self, Taught};
use super::question::{Keys, Question};
use super::text;
use crate::memory::alone::Alone;
use crate::memory::lines::{LINE, LINE_WORDS, Line, Records};
use crate::memory::seqcount;
use crate::stats::WholePaths;
use crate::sync::{AtomicU64, Ordering};

/// The entries of a set.
const WAYS: usize = 2;

/// The words of a set.
const SET: usize = WAYS * LINES * LINE_WORDS;

/// The walks of which the memo learns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Learning {
    /// Some of those whose end was used before.
    Paced,
    /// All: for tests.
    AtOnce,
    /// Of all, the directory: for tests.
    DirectoriesAtOnce,
    /// None: for measurements of what asking costs.
    Never,
}

/// The memo of whole paths of one `Vfs`.
pub(crate) struct Memo {
    /// Protected by the entries' sequence counts.
    sets: Records<SET>,
    /// The number of sets.
    count: u64,
    keys: Keys,
    learning: Learning,
    /// The [laps](seqcount::laps) when the entries were cleared last. `Relaxed`: see there.
    lap: AtomicU64,
    pub(crate) classes: Classes,
    counts: Alone<Counts>,
}

/// Counts of a memo that learns. Each is read alone: so `Relaxed`.
#[derive(Default)]
struct Counts {
    fills: AtomicU64,
    refusals: AtomicU64,
    turns: AtomicU64,
}

impl Memo {
    /// The bytes of a set.
    pub(crate) const SET_BYTES: u64 = SET as u64 * 8;

    /// Returns a memo of so many bytes at most; none where memory cannot be had.
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

    /// Returns the address range of the entries.
    pub(crate) fn range(&self) -> (usize, usize) {
        self.sets.range()
    }

    /// Returns whether the memo has room for no path.
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

    /// Returns whether all walks are learned, and so each lookup asks.
    #[inline(always)]
    pub(super) fn learns_at_once(&self) -> bool {
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

    /// Empties all entries where a lap has ended since they were emptied last: the count of some
    /// word may come round. Called before words are compared with those of an entry, and before a
    /// path is stored.
    #[inline(always)]
    pub(super) fn keep_lap(&self) {
        let lap = seqcount::laps();
        if self.lap.load(Ordering::Relaxed) != lap {
            self.begin_lap(lap);
        }
    }

    #[cold]
    #[inline(never)]
    fn begin_lap(&self, lap: u64) {
        self.entries().for_each(Entry::clear);
        self.lap.store(lap, Ordering::Relaxed);
    }

    /// Counts a path that was learned.
    pub(super) fn count_fill(&self) {
        self.counts.fills.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a walk that cannot be learned, and lets the thread learn nothing for a while.
    pub(crate) fn refuse(&self) {
        self.counts.refusals.fetch_add(1, Ordering::Relaxed);
        pace::refused();
    }

    /// Returns the next of consecutive numbers.
    pub(super) fn turn(&self) -> u64 {
        self.counts.turns.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the counts, and the number of entries in use. Cost: a look at each entry.
    pub(crate) fn stats(&self) -> WholePaths {
        WholePaths {
            capacity: self.count * WAYS as u64,
            used: self.entries().filter(|entry| !entry.is_empty()).count() as u64,
            entry_bytes: (LINES * LINE) as u64,
            fills: self.counts.fills.load(Ordering::Relaxed),
            refusals: self.counts.refusals.load(Ordering::Relaxed),
        }
    }
}

/// Returns the lines of a set.
#[inline(always)]
fn lines(set: &[AtomicU64; SET]) -> &[Line] {
    set.as_chunks().0
}

/// Returns the part of a hash that an entry's word has.
#[inline(always)]
pub(super) fn tag(hash: u64) -> u32 {
    hash as u32 & !(seqcount::ODD as u32)
}
