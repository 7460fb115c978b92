//! The memory of a file system in bytes, updated at each allocation and release.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Returns the memory that the allocator uses for a request: glibc's malloc adds a word and rounds
/// up to 16 bytes, 32 at least.
///
/// A count of the requested bytes alone would omit up to half of the cost of many short names.
pub(crate) const fn allocation(bytes: usize) -> u64 {
    if bytes == 0 {
        return 0;
    }
    let chunk = (bytes + 8).next_multiple_of(16);
    if chunk < 32 { 32 } else { chunk as u64 }
}

/// A sum that several threads update. Relaxed: no decision depends on it.
#[derive(Default)]
pub(crate) struct Ledger(AtomicU64);

impl Ledger {
    pub(crate) fn charge(&self, bytes: u64) {
        self.resize(0, bytes);
    }

    pub(crate) fn credit(&self, bytes: u64) {
        self.resize(bytes, 0);
    }

    /// Records a change of an object's size.
    pub(crate) fn resize(&self, before: u64, after: u64) {
        if before != after {
            self.0.fetch_add(after.wrapping_sub(before), Relaxed);
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_rounded_as_malloc_does() {
        assert_eq!([0, 1, 24, 25, 40, 41].map(allocation), [0, 32, 32, 48, 48, 64]);
    }

    #[test]
    fn it_grows_and_shrinks() {
        let ledger = Ledger::default();
        ledger.charge(100);
        ledger.resize(60, 10);
        ledger.credit(20);
        ledger.resize(10, 11);
        assert_eq!(ledger.total(), 31);
    }
}
