//! Whether a file may still be written to by those that have it open.

use std::os::fd::BorrowedFd;

use crate::calls;

/// Returns whether no process has a file open for writing, or mapped so: what a descriptor for
/// reading shows stays as it is until the file is opened anew. Returns false where that cannot be
/// told: the descriptor is not for reading alone, the file system has no leases, or the file has
/// another owner than this process, which is not root.
///
/// ```
/// use std::fs::File;
/// use std::os::fd::AsFd;
/// use pathwalk_hostfs::has_no_writer;
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("file");
/// let writer = File::create(&path)?;
/// let reader = File::open(&path)?;
/// assert!(!has_no_writer(reader.as_fd()));
/// drop(writer);
/// assert!(has_no_writer(reader.as_fd()));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn has_no_writer(file: BorrowedFd<'_>) -> bool {
    // The signal by which the kernel tells of an open is one that has no effect.
    let taken = calls::set_signal(file, libc::SIGURG).and_then(|()| calls::set_lease(file, libc::F_RDLCK));
    taken.is_ok() && calls::set_lease(file, libc::F_UNLCK).is_ok()
}
