//! Standard input that is a file: the command gets it through a mount that is read-only.
//!
//! With the caller's own descriptor, the command could open the file again for writing, by
//! `/proc/self/fd/0`, or change its mode. Files that standard output and standard error are written
//! to are the caller's choice, and stay.

use std::os::fd::AsFd;

use rustix::fs::{CWD, FileType, Mode, OFlags, SeekFrom, fcntl_getfl, fstat, openat, seek};
use rustix::stdio::{dup2_stdin, stdin};

use super::mounts;

/// The standard input of the command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Input {
    /// The caller's.
    Callers,
    /// A file that was opened anew, so that it has a position of its own.
    OpenedAnew,
}

impl Input {
    /// Returns the position that the command has left, if the caller is to have it.
    pub(super) fn offset(self) -> Option<u64> {
        match self {
            Input::Callers => None,
            Input::OpenedAnew => seek(stdin(), SeekFrom::Current(0)).ok(),
        }
    }
}

/// Opens standard input anew, if it is a file that is read.
pub(super) fn protect() -> Input {
    // A file that is no longer there cannot be mounted, and can be opened by its descriptor alone.
    opened_anew().map_or(Input::Callers, |()| Input::OpenedAnew)
}

fn opened_anew() -> Option<()> {
    let is_file = FileType::from_raw_mode(fstat(stdin()).ok()?.st_mode) == FileType::RegularFile;
    let access = fcntl_getfl(stdin()).ok()? & OFlags::RWMODE;
    if !is_file || access != OFlags::RDONLY {
        return None;
    }
    let offset = seek(stdin(), SeekFrom::Current(0)).ok()?;
    let mount = mounts::copy_of(stdin()).ok()?;
    mounts::restrict(mount.as_fd(), mounts::Depth::All).ok()?;
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&mount));
    let anew = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    seek(&anew, SeekFrom::Start(offset)).ok()?;
    dup2_stdin(&anew).ok()
}
