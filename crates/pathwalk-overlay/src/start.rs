//! The time from which a change of the base counts.
//!
//! What always holds: a change that was made before [`now`] began has an earlier time, and one that
//! is made after it returned has this time or a later one. The kernel writes the time of its last
//! tick to nodes, or on some file systems a finer one. So this waits for the next tick, which takes
//! some milliseconds.
//!
//! What it does not do: hold for a file system whose times another machine writes.

use std::time::Duration;

use pathwalk::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// Returns the time of the next tick of the kernel's clock, when it has come.
pub(crate) fn now() -> Timestamp {
    let of = |clock| {
        let time = clock_gettime(clock);
        Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec as u32 }
    };
    let begin = of(ClockId::Realtime);
    loop {
        let tick = of(ClockId::RealtimeCoarse);
        if tick > begin {
            return tick;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
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
            let start = now();
            assert!(before < start && changed("after") >= start);
        }
    }
}
