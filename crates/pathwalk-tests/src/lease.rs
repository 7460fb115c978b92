//! Leases of files, for which `open(2)` of another process waits.
//!
//! A lease conflicts with every other open of the file, even by the same process.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// The number of the command. Source: `asm-generic/fcntl.h`.
const F_SETSIG: libc::c_int = 10;

/// A write lease, which is given back on drop. Source: `F_SETLEASE` in `fcntl(2)`.
#[derive(Debug)]
pub struct Lease(File);

impl Lease {
    /// Takes the lease of a file that is not open. Fails if the file system has no leases.
    pub fn take(path: &Path) -> io::Result<Lease> {
        let lease = Lease(OpenOptions::new().read(true).write(true).open(path)?);
        // The holder gets a signal that has no effect by default, in place of one that ends the
        // process.
        lease.control(F_SETSIG, libc::SIGURG)?;
        lease.control(libc::F_SETLEASE, libc::F_WRLCK)?;
        Ok(lease)
    }

    /// Returns whether the file is not about to be opened by others.
    pub fn is_unbroken(&self) -> io::Result<bool> {
        Ok(self.control(libc::F_GETLEASE, 0)? == libc::F_WRLCK)
    }

    /// Waits until the file is about to be opened, writes `text` into it, and gives the lease back.
    pub fn hand_over(self, text: &[u8]) -> io::Result<()> {
        while self.is_unbroken()? {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.0.write_all_at(text, 0)
    }

    fn control(&self, command: libc::c_int, argument: libc::c_int) -> io::Result<libc::c_int> {
        // SAFETY: these commands take a number, no pointer, and the descriptor is open.
        let answer = unsafe { libc::fcntl(self.0.as_raw_fd(), command, argument) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
    }
}
