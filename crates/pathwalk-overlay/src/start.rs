//! The time from which a change of the base counts.
//!
//! What always holds: a change that was made before [`Begun::now`] has an earlier time, and one
//! that is made after [`Begun::tick`] returned has this time or a later one. The kernel writes the
//! time of its last tick to nodes, or on some file systems a finer one. So there is a tick between
//! both, which takes some milliseconds, in which other things can be done.
//!
//! What it does not do: hold for a file system whose times another machine writes.

use std::time::Duration;

use pathwalk::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// A time behind which the start is to be.
pub(crate) struct Begun(Timestamp);

impl Begun {
    pub(crate) fn now() -> Begun {
        Begun(read(ClockId::Realtime))
    }

    /// Returns the time of the kernel's last tick, once one has come since it began.
    pub(crate) fn tick(&self) -> Timestamp {
        loop {
            let tick = read(ClockId::RealtimeCoarse);
            if tick > self.0 {
                return tick;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

fn read(clock: ClockId) -> Timestamp {
    let time = clock_gettime(clock);
    Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_before_is_earlier_and_one_after_is_not() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().expect("there is room");
        let changed = |name: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, name).expect("there is room");
            let of = path.metadata().expect("it is there");
            Timestamp { seconds: of.ctime(), nanoseconds: of.ctime_nsec() as u32 }
        };
        for _ in 0..20 {
            let before = changed("before");
            let start = Begun::now().tick();
            assert!(before < start && changed("after") >= start);
        }
    }
}
