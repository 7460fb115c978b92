//! The state of a directory's names as a whole, in the form of the directory's note. The note lies
//! in the upper half of the word of the first child; [`complete`](super::complete) keeps it true.

use crate::sync::{AtomicU32, Ordering};

/// The state of a directory's names as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    Nothing,
    /// A listing runs, and no name was lost since it began.
    Watched(Watch),
    /// All names are cached.
    All,
}

/// The number of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Watch(u32);

const ALL: u32 = u32::MAX;

/// The source of listings' numbers. A number must only differ from those of other running listings.
pub(crate) struct Watches(AtomicU32);

impl Watches {
    pub(crate) fn new() -> Watches {
        Watches(AtomicU32::new(0))
    }

    pub(super) fn next(&self) -> Watch {
        Watch(self.0.fetch_add(1, Ordering::Relaxed) % (ALL - 1) + 1)
    }
}

impl Known {
    /// Returns what a note says.
    pub(super) fn of(note: u32) -> Known {
        match note {
            0 => Known::Nothing,
            ALL => Known::All,
            number => Known::Watched(Watch(number)),
        }
    }

    /// Returns the note that stands for this state.
    pub(super) fn note(self) -> u32 {
        match self {
            Known::Nothing => 0,
            Known::Watched(Watch(number)) => number,
            Known::All => ALL,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_never_one_of_the_two_that_mean_something() {
        let watches = Watches(AtomicU32::new(ALL - 3));
        assert_eq!([(); 4].map(|()| watches.next().0), [ALL - 2, ALL - 1, 1, 2]);
        assert!(Watches::new().next().0 == 1);
    }
}
