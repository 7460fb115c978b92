//! Whole paths in papaya's map: lock-free reads under an epoch, one pin a lookup.

use papaya::HashMap;
use pathwalk::{Access, Errno};

use super::{Answer, Hash, NO_COHERENCE, Peer};

/// The map.
#[derive(Default)]
pub struct WholePaths {
    answers: HashMap<Box<[u8]>, Answer, Hash>,
}

impl WholePaths {
    #[inline(always)]
    fn with<T>(&self, path: &[u8], answer: impl FnOnce(&Answer) -> T) -> T {
        let answers = self.answers.pin();
        match answers.get(path) {
            Some(cached) => answer(cached),
            None => answer(answers.get_or_insert_with(path.into(), || Answer::of(path))),
        }
    }
}

impl Peer for WholePaths {
    const WHAT: &'static str = "papaya map of whole paths";
    const GETS_WRONG: &'static str = NO_COHERENCE;

    #[inline]
    fn access(&self, path: &[u8], want: Access) -> Result<(), Errno> {
        self.with(path, |answer| answer.access(want))
    }

    #[inline]
    fn readlink(&self, path: &[u8], buffer: &mut [u8]) -> Result<usize, Errno> {
        self.with(path, |answer| answer.readlink(buffer))
    }
}
