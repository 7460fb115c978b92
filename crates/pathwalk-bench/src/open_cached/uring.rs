//! The kernel's own ring: `openat` through `io_uring`, with a number of operations in flight.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, squeue, types};

use super::drive::Failure;
use super::place::Target;

/// The way in which the kernel begins an open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Begin {
    /// In its caches, and by a worker where they do not suffice.
    Inline,
    /// By a worker: `IOSQE_ASYNC`.
    Punted,
}

/// A ring of the kernel with `depth` entries.
pub(super) struct Kernel {
    ring: IoUring,
    depth: usize,
}

impl Kernel {
    pub(super) fn new(depth: u32) -> io::Result<Kernel> {
        Ok(Kernel { ring: IoUring::new(depth)?, depth: depth as usize })
    }

    /// Opens all files and closes each when it is open. Returns the time of the whole batch.
    pub(super) fn opens(&mut self, targets: &[&Target], begin: Begin) -> Result<Duration, Failure> {
        let start = Instant::now();
        let (mut begun, mut done) = (0, 0);
        while done < targets.len() {
            while begun < targets.len() && begun - done < self.depth {
                self.push(targets[begun], begun as u64, begin)?;
                begun += 1;
            }
            let wanted = (self.depth / 2).max(1).min(begun - done);
            self.ring.submit_and_wait(wanted).map_err(|error| Failure::Kernel("entering", error))?;
            for completion in self.ring.completion() {
                done += 1;
                match completion.result() {
                    // SAFETY: the kernel has just made this descriptor for the open that completed,
                    // and nothing else owns it.
                    fd @ 0.. => drop(unsafe { OwnedFd::from_raw_fd(fd) }),
                    error => return Err(Failure::Kernel("openat", io::Error::from_raw_os_error(-error))),
                }
            }
        }
        Ok(start.elapsed())
    }

    fn push(&mut self, target: &Target, user_data: u64, begin: Begin) -> Result<(), Failure> {
        let flags = if begin == Begin::Punted { squeue::Flags::ASYNC } else { squeue::Flags::empty() };
        let open = opcode::OpenAt::new(types::Fd(libc::AT_FDCWD), target.raw.as_ptr());
        let entry = open.flags(libc::O_RDONLY | libc::O_CLOEXEC).build().flags(flags).user_data(user_data);
        // SAFETY: the kernel copies the path when the entry is submitted, which `opens` does while
        // it borrows the target.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|error| Failure::Kernel("pushing an entry", io::Error::other(error)))
    }
}
