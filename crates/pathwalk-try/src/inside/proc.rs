//! `/proc` of the command: its own processes, and nothing by which root could change the machine.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::io;

use super::mounts::{self, Depth};
use crate::error::{Failed, While};

/// The place.
pub(super) const PROC: &str = "/proc";

/// What root could change the machine by, whatever its capabilities are.
const FIXED: [&str; 8] = ["sys", "sysrq-trigger", "irq", "bus", "fs", "scsi", "acpi", "asound"];

/// What root could read the machine's memory and keys by.
const COVERED: [&str; 4] = ["kcore", "keys", "kmsg", "timer_list"];

/// Mounts it. Where the kernel refuses, as it does in containers that cover a part of `/proc`,
/// `old` is there: all processes are seen, and the kernel refuses those that are not in the user
/// namespace.
pub(super) fn mount(old: OwnedFd) -> Result<(), Failed> {
    let made = match mounts::make("proc", &[("source", "proc")]) {
        Ok(made) => made,
        Err(io::Errno::PERM) => {
            let changed = mounts::attach(old.as_fd(), Path::new(PROC));
            return changed.doing("attaching /proc as it is outside");
        }
        Err(errno) => return Err(errno).doing("mounting /proc"),
    };
    mounts::attach(made.as_fd(), Path::new(PROC)).doing("attaching /proc")?;
    if rustix::process::geteuid().is_root() {
        protect().doing("protecting /proc/sys and the like from root")?;
    }
    Ok(())
}

/// Makes read-only and covers what a root without capabilities may still change and read, since it
/// owns it.
fn protect() -> io::Result<()> {
    for name in FIXED {
        let path = Path::new(PROC).join(name);
        if path.exists() {
            let copy = mounts::copy(&path)?;
            mounts::restrict(copy.as_fd(), Depth::All)?;
            mounts::attach(copy.as_fd(), &path)?;
        }
    }
    for name in COVERED {
        let path = Path::new(PROC).join(name);
        if path.exists() {
            let null = mounts::copy(Path::new("/dev/null"))?;
            mounts::attach(null.as_fd(), &path)?;
        }
    }
    Ok(())
}
