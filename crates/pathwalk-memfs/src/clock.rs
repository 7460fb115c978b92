//! The clock of the times of nodes: the system's, or one that the caller gives.

use std::fmt;
use std::sync::Arc;

use pathwalk::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// The source of a file system's times.
#[derive(Clone, Default)]
pub(crate) enum Clock {
    /// The system's last tick, which the kernel's file systems use, too: a few milliseconds old,
    /// and cheap to read.
    #[default]
    System,
    /// A clock that the constructor of the file system gives.
    Given(Arc<dyn Fn() -> Timestamp + Send + Sync>),
}

impl Clock {
    /// Returns the current time.
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
