//! What is known of a directory's names as a whole, as its note says it. The note lies in the upper
//! half of the word of the first child; [`complete`](super::complete) is what keeps it true.

use crate::sync::{AtomicU32, Ordering};

/// What is known of a directory's names as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    Nothing,
    /// A listing runs, and nothing was lost since it began.
    Watched(Watch),
    /// All of them are cached.
    All,
}

/// One listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Watch(u32);

const ALL: u32 = u32::MAX;

/// Numbers listings. Any number will do that no other running one has.
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

    /// Returns the note that says it.
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
