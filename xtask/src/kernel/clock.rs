//! The kernel's clock, made to advance between two steps: see [`times`](crate::times).
//!
//! A file in memory, which is on no mount that other code sees, raises the lower bound of all times
//! of change. Its time of change is read and the file is then written, twice. The first write may
//! be stamped with the clock's last tick, which an inode changed in the step before may have, too.
//! The second write's time is later than that, whether it is a fine time or a new tick.

use std::os::fd::OwnedFd;

use rustix::fs::{self, AtFlags, MemfdFlags, StatxFlags};
use rustix::io;

use crate::outcome::{Node, Transcript};

pub(crate) struct Clock {
    file: OwnedFd,
    /// The clock's value at the beginning of each step; always empty where the kernel has no fine
    /// times.
    floors: Vec<(i64, u32)>,
    is_fine: bool,
}

impl Clock {
    pub(crate) fn new() -> io::Result<Clock> {
        let file = fs::memfd_create("pathwalk", MemfdFlags::CLOEXEC)?;
        let mut clock = Clock { file, floors: Vec::new(), is_fine: true };
        // Without fine times, most of these readings would be equal.
        clock.begin()?;
        let readings: Vec<_> = (0..8).map(|_| clock.raise()).collect::<io::Result<_>>()?;
        clock.is_fine = readings.windows(2).all(|two| two[0] < two[1]);
        Ok(clock)
    }

    /// Returns whether steps can be distinguished.
    pub(crate) fn is_fine(&self) -> bool {
        self.is_fine
    }

    /// Drops the steps of the program before.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        self.floors.clear();
        self.read().map(drop)
    }

    /// Advances the clock: later times are greater than all earlier ones.
    pub(crate) fn step(&mut self) -> io::Result<()> {
        if self.is_fine {
            let floor = self.raise()?;
            self.floors.push(floor);
        }
        Ok(())
    }

    /// Looks up the steps of all times in a transcript.
    pub(crate) fn tell(&self, transcript: &mut Transcript) {
        let floors = self.is_fine.then_some(&self.floors[..]);
        transcript.nodes_mut(|node: &mut Node| node.times_mut().for_each(|time| time.look_up(floors)));
    }

    fn raise(&self) -> io::Result<(i64, u32)> {
        io::pwrite(&self.file, b".", 0)?;
        self.read()?;
        io::pwrite(&self.file, b".", 0)?;
        self.read()
    }

    fn read(&self) -> io::Result<(i64, u32)> {
        let found = fs::statx(&self.file, "", AtFlags::EMPTY_PATH, StatxFlags::CTIME)?;
        Ok((found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec))
    }
}
