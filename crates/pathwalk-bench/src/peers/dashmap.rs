//! Whole paths in a `DashMap`: a lock on a shard around each lookup.

use dashmap::DashMap;
use pathwalk::{Access, Errno};

use super::{Answer, Hash, NO_COHERENCE, Peer};

/// The map.
#[derive(Default)]
pub struct WholePaths {
    answers: DashMap<Box<[u8]>, Answer, Hash>,
}

impl WholePaths {
    #[inline(always)]
    fn with<T>(&self, path: &[u8], answer: impl FnOnce(&Answer) -> T) -> T {
        match self.answers.get(path) {
            Some(cached) => answer(&cached),
            None => answer(&self.answers.entry(path.into()).or_insert_with(|| Answer::of(path))),
        }
    }
}

impl Peer for WholePaths {
    const WHAT: &'static str = "dashmap of whole paths";
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
