//! The work that is timed: loops over questions, one for each contestant.
//!
//! All loops are alike, so that differences in time come from the contestants.

use std::hint::black_box;

/// Work that a thread can repeat and that is timed.
pub trait Work: Send + Sync {
    /// Returns the number of lookups in one pass.
    fn lookups(&self) -> u64;
    /// Does `passes` passes. Returns the number of lookups that failed, so that none of them can be
    /// optimised away.
    fn run(&self, passes: u64) -> u64;
}

/// Work that asks questions one after the other.
pub struct Asking<Q, F> {
    /// The questions.
    pub questions: Vec<Q>,
    /// The function that asks one question and returns whether it succeeded.
    pub ask: F,
}

impl<Q: Send + Sync, F: Fn(&Q) -> bool + Send + Sync> Work for Asking<Q, F> {
    fn lookups(&self) -> u64 {
        self.questions.len() as u64
    }

    #[inline(never)]
    fn run(&self, passes: u64) -> u64 {
        let mut failed = 0;
        for _ in 0..passes {
            for question in black_box(&self.questions[..]) {
                failed += u64::from(!(self.ask)(question));
            }
        }
        failed
    }
}

/// A loop without stores over the same paths. Its gain from more threads is the upper limit of the
/// gain of lookups.
pub struct StoreFree {
    /// The paths that are read.
    pub paths: Vec<Box<[u8]>>,
}

impl Work for StoreFree {
    fn lookups(&self) -> u64 {
        self.paths.len() as u64
    }

    #[inline(never)]
    fn run(&self, passes: u64) -> u64 {
        let mut sum = 0;
        for _ in 0..passes {
            for path in black_box(&self.paths[..]) {
                let (words, rest) = path.as_chunks::<8>();
                sum = words.iter().fold(sum, |sum, word| folded(sum ^ u64::from_le_bytes(*word)));
                sum = rest.iter().fold(sum, |sum, byte| folded(sum ^ u64::from(*byte)));
            }
        }
        black_box(sum);
        0
    }
}

fn folded(word: u64) -> u64 {
    let wide = u128::from(word) * 0x9e37_79b9_7f4a_7c15;
    wide as u64 ^ (wide >> 64) as u64
}
