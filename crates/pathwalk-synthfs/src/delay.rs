//! How long an answer takes.

use std::hint::spin_loop;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What happens before each answer: to a lookup, to a question for attributes, to opening, and to each part of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Delay {
    /// Nothing.
    #[default]
    None,
    /// The thread sleeps at least so long, as if it waited for a disk. The system adds what its timers are coarse by, some 50 µs on Linux.
    Sleep(Duration),
    /// The thread keeps its processor busy for so long, as if it computed. To some 50 ns.
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
