//! The delay of an answer.

use std::hint::spin_loop;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The delay before each answer: to a lookup, to a question for attributes, to an open, and to each
/// part of a listing.
///
/// [`SynthFs`](crate::SynthFs) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Delay {
    /// No delay.
    #[default]
    None,
    /// The thread sleeps at least this long, as if it waited for a disk. The coarseness of the
    /// system's timers comes on top, some 50 µs on Linux.
    Sleep(Duration),
    /// The thread keeps its processor busy for this long, as if it computed, with a precision of
    /// some 50 ns.
    Spin(Duration),
}

impl Delay {
    #[inline]
    pub(crate) fn pass(self) {
        match self {
            Delay::None => {}
            Delay::Sleep(time) => sleep(time),
            Delay::Spin(time) => {
                let start = Instant::now();
                while start.elapsed() < time {
                    spin_loop();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_so_long() {
        let time = Duration::from_millis(2);
        for delay in [Delay::Sleep(time), Delay::Spin(time)] {
            let start = Instant::now();
            delay.pass();
            assert!(start.elapsed() >= time, "{delay:?}");
        }
        Delay::default().pass();
    }
}
