//! Numbers that are given once: those of new nodes, and those of what a store keeps.

use std::ops::Range;

use parking_lot::Mutex;
use pathwalk::Errno;

/// A counter that takes its numbers in ranges.
pub(crate) struct Numbers {
    left: Mutex<Range<u64>>,
    reserve: Reserve,
}

/// What returns a range of which no other counter gets a part.
type Reserve = Box<dyn Fn() -> Result<Range<u64>, Errno> + Send + Sync>;

impl Numbers {
    /// Creates a counter of one range.
    pub(crate) fn within(range: Range<u64>) -> Numbers {
        Numbers { left: Mutex::new(range), reserve: Box::new(|| Err(Errno::ENOSPC)) }
    }

    /// Creates a counter that reserves a range when it needs one.
    pub(crate) fn reserved(reserve: impl Fn() -> Result<Range<u64>, Errno> + Send + Sync + 'static) -> Numbers {
        Numbers { left: Mutex::new(0..0), reserve: Box::new(reserve) }
    }

    /// Returns the next number: `ENOSPC` if there is none, and the error of the reservation.
    pub(crate) fn next(&self) -> Result<u64, Errno> {
        let mut left = self.left.lock();
        if left.is_empty() {
            *left = (self.reserve)()?;
        }
        left.next().ok_or(Errno::ENOSPC)
    }
}
