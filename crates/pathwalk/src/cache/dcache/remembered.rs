//! Dentries through which remembered paths lead, and a count of their changes.
//!
//! The memo of whole paths sets [`REMEMBERED`](flags::REMEMBERED) in the word of each dentry on the
//! way of a path before it stores the path. The next write of the dentry clears the flag and adds
//! to the count. So while the count stays as it is, all ways that were remembered lead where they
//! led, and the memo need not look at them dentry by dentry.
//!
//! What always holds: the count moves behind the moment in which the word becomes odd, and before
//! all else that the write does. So a thread that reads the count, and then finds a remembered word
//! even and as it was, sees the count move before it sees anything of a later write. The flag is in
//! the word, so no writer misses it: it is in the value that the writer replaces.
//!
//! Pairs: a read of the count (Acquire) with the fence (Release) between odd word and count: where
//! the count is seen moved, the word is seen odd or later. The other way round, a reader of what
//! the write stores sees the count moved if it reads behind an Acquire (see
//! [`seqcount`](crate::memory::seqcount)).
//!
//! What it does not do: new slots are written without it, since no path leads through them. It does
//! not count what becomes of mounts.

use super::dentry::flags;
use crate::memory::alone::Alone;
use crate::memory::seqcount::{self, ODD};
use crate::sync::{AtomicU64, Ordering};

/// The value that a change adds to the count, which begins at 1. See
/// [`Slots::stamp`](crate::memo::Slots::stamp).
const ONE: u64 = 4;

/// The number of changes of which one ends a lap: the memo, which keeps 32 bits of the count, is
/// emptied before it learns again. Until then, the count moves once for each remembered dentry at
/// most, and there are fewer dentries than this.
const LAP: u64 = 1 << 29;

/// The count of changes of remembered dentries.
pub(crate) struct Changes(Alone<AtomicU64>);

impl Default for Changes {
    fn default() -> Self {
        Changes(Alone(AtomicU64::new(1)))
    }
}

impl Changes {
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn one_before_a_lap() -> Changes {
        Changes(Alone(AtomicU64::new((LAP - 1) * ONE + 1)))
    }

    /// Returns the count.
    #[inline(always)]
    pub(crate) fn now(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Makes the count of a dentry's word odd, after any other writer has finished.
    pub(crate) fn write<'a>(&self, word: &'a AtomicU64) -> Writing<'a> {
        let writing = seqcount::write(word);
        if writing.flags() & flags::REMEMBERED != 0 {
            self.count();
        }
        Writing(writing)
    }

    /// Counts a change.
    pub(crate) fn count(&self) {
        let before = self.0.fetch_add(ONE, Ordering::Relaxed);
        if (before / ONE + 1).is_multiple_of(LAP) {
            seqcount::count_lap();
        }
    }
}

/// The right to write a dentry.
pub(crate) struct Writing<'a>(seqcount::Writing<'a>);

impl Writing<'_> {
    /// Returns the flags before the write. The dentry is not remembered any more.
    pub(crate) fn flags(&self) -> u64 {
        self.0.flags() & !flags::REMEMBERED
    }

    /// Ends the write with these flags.
    pub(crate) fn end(self, flags: u64) {
        debug_assert_eq!(flags & flags::REMEMBERED, 0, "only the memo remembers");
        self.0.end(flags);
    }
}

/// Remembers a dentry whose word was sampled. Returns its word then; none if the dentry has changed
/// since.
pub(crate) fn remember(word: &AtomicU64, sampled: u64) -> Option<u64> {
    if sampled & flags::REMEMBERED != 0 {
        return Some(sampled);
    }
    let writing = seqcount::try_write_from(word, sampled)?;
    let flags = writing.flags() | flags::REMEMBERED;
    writing.end(flags);
    Some(seqcount::written(sampled, flags))
}

/// Returns the word of a dentry whose word was sampled, if the dentry was at most remembered since;
/// else, the sampled word.
pub(crate) fn same_but_remembered(word: &AtomicU64, sampled: u64) -> u64 {
    let now = seqcount::sample(word);
    // No other write ends with the flag.
    let is_same = sampled & ODD == 0 && now == seqcount::written(sampled, u64::from(sampled as u32) | flags::REMEMBERED);
    if is_same { now } else { sampled }
}
