//! The clock of the times of nodes: the system's, or one that the caller gives.

use std::fmt;
use std::sync::Arc;

use pathwalk::Timestamp;

/// The source of a file system's times.
#[derive(Clone, Default)]
pub(crate) enum Clock {
    /// The system's clock. On Linux it is that of the last tick, which the kernel's file systems
    /// use, too: a few milliseconds old, and cheap to read.
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
            Clock::System => system(),
            Clock::Given(read) => read(),
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
fn system() -> Timestamp {
    use rustix::time::{ClockId, clock_gettime};

    let time = clock_gettime(ClockId::RealtimeCoarse);
    Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec as u32 }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn system() -> Timestamp {
    std::time::SystemTime::now().into()
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Clock::System => "System",
            Clock::Given(_) => "Given",
        })
    }
}
