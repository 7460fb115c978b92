//! The clock that times of nodes come from: the system's, or one that was given.

use std::fmt;
use std::sync::Arc;

use pathwalk::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// Where a file system's times come from.
#[derive(Clone, Default)]
pub(crate) enum Clock {
    /// The system's last tick, which is what the kernel's file systems go by: a few milliseconds
    /// old, and cheap to read.
    #[default]
    System,
    /// A reading of the holder's making.
    Given(Arc<dyn Fn() -> Timestamp + Send + Sync>),
}

impl Clock {
    /// Returns what the clock says.
    #[inline]
    pub(crate) fn now(&self) -> Timestamp {
        match self {
            Clock::System => {
                let time = clock_gettime(ClockId::RealtimeCoarse);
                Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec as u32 }
            }
            Clock::Given(read) => read(),
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Clock::System => "System",
            Clock::Given(_) => "Given",
        })
    }
}
