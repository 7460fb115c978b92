//! The `fs.protected_*` switches of the whole machine, set for a program and restored at the end.

use std::os::fd::OwnedFd;

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use rustix::io;

use crate::program::Settings;

const DIR: &str = "/proc/sys/fs";
const ALL: [&str; 4] = ["protected_symlinks", "protected_hardlinks", "protected_fifos", "protected_regular"];

/// The switches, opened so that they can be reached after the root has changed.
pub(super) struct Switches {
    dir: OwnedFd,
}

impl Switches {
    pub(super) fn open() -> io::Result<Switches> {
        let dir = openat(CWD, DIR, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Switches { dir })
    }

    /// Sets the switches for a program; those that the engine does not have are off.
    pub(super) fn set(&self, settings: Settings) -> io::Result<()> {
        let wanted = [Settings::PROTECT_SYMLINKS, Settings::PROTECT_HARDLINKS, Settings::empty(), Settings::empty()];
        let on = |flag: Settings| !flag.is_empty() && settings.contains(flag);
        ALL.iter().zip(wanted).try_for_each(|(name, flag)| self.write(name, if on(flag) { b"1" } else { b"0" }))
    }

    fn write(&self, name: &str, value: &[u8]) -> io::Result<()> {
        let file = openat(&self.dir, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        io::write(file, value).map(drop)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let file = openat(&self.dir, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut value = vec![0; 16];
        let length = io::read(file, &mut value)?;
        value.truncate(length);
        Ok(value)
    }
}

/// The switches as they were before; they are restored on drop.
///
/// Only one process at a time holds them: others wait until it has ended.
pub(super) struct Saved {
    switches: Switches,
    _lock: OwnedFd,
    values: [Vec<u8>; ALL.len()],
}

impl Saved {
    pub(super) fn now() -> io::Result<Saved> {
        let switches = Switches::open()?;
        let lock = openat(&switches.dir, ALL[0], OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        flock(&lock, FlockOperation::LockExclusive)?;
        let mut values = <[Vec<u8>; ALL.len()]>::default();
        for (value, name) in values.iter_mut().zip(ALL) {
            *value = switches.read(name)?;
        }
        Ok(Saved { switches, _lock: lock, values })
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        for (name, value) in ALL.iter().zip(&self.values) {
            if let Err(error) = self.switches.write(name, value) {
                let value = value.escape_ascii();
                eprintln!("xtask: {DIR}/{name} could not be set back ({error}): write {value} into it yourself");
            }
        }
    }
}
