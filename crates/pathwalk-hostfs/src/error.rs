//! The errors of opening a directory as a file system: what failed, on which path, and what to do.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// The reason why [`HostFs::open`](crate::HostFs::open) failed.
///
/// ```
/// use pathwalk_hostfs::{HostFs, OpenError};
/// let error = HostFs::open("/no-such-directory".as_ref()).unwrap_err();
/// assert!(matches!(error, OpenError::Open { .. }));
/// println!("{error}");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A path that leads to no directory that can be opened.
    #[error("cannot open \"{}\" as the root of a file system: {source}; {}", shown(path), advice(source))]
    Open {
        /// The path as it was given.
        path: PathBuf,
        /// The error that the kernel reported.
        source: io::Error,
    },
    /// A directory in which this process may not look up names.
    #[error("may not look up names in \"{}\": {source}; {}", shown(path), advice(source))]
    Search {
        /// The path as it was given.
        path: PathBuf,
        /// The error that the kernel reported.
        source: io::Error,
    },
    /// A kernel, or a sandbox around this process, that lacks something without which lookups could
    /// leave the root.
    #[error(
        "cannot confine lookups to \"{}\": {missing}; this needs Linux 5.8 or newer, and a seccomp filter that lets openat2 and statx through",
        shown(path)
    )]
    Unsupported {
        /// The path as it was given.
        path: PathBuf,
        /// The thing that is missing.
        missing: &'static str,
    },
}

impl OpenError {
    pub(crate) fn open(path: &Path, errno: Errno) -> OpenError {
        OpenError::Open { path: path.into(), source: errno.into() }
    }

    pub(crate) fn search(path: &Path, errno: Errno) -> OpenError {
        OpenError::Search { path: path.into(), source: errno.into() }
    }

    pub(crate) fn unsupported(path: &Path, missing: &'static str) -> OpenError {
        OpenError::Unsupported { path: path.into(), missing }
    }
}

fn shown(path: &Path) -> impl std::fmt::Display {
    path.as_os_str().as_bytes().escape_ascii()
}

fn advice(error: &io::Error) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT) => "name a directory that exists",
        Some(Errno::NOTDIR) => "name a directory, not a file",
        Some(Errno::ACCESS) => "run as a user who may search it and every directory above it (mode bit x)",
        Some(Errno::MFILE | Errno::NFILE) => "close descriptors or raise the limit (ulimit -n)",
        Some(Errno::LOOP) => "a symbolic link on the way leads in a circle: name the directory itself",
        Some(Errno::INVAL) => "the path must not be empty or have a NUL byte in it",
        _ => "check the path and the file system that it is on",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_failed_where_and_what_to_do() {
        let error = OpenError::open(Path::new("no\nwhere"), Errno::NOENT);
        let text = error.to_string();
        assert!(text.contains("no\\nwhere") && text.contains("No such file") && text.contains("name a directory"), "{text}");
    }
}
