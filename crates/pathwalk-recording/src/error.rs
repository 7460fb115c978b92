//! The errors of reading a recording, and what to do about them.

use std::io;
use std::path::PathBuf;

/// The reason why a recording could not be read.
///
/// ```
/// use pathwalk_recording::{Options, ReadError, Recording};
/// assert!(matches!(Recording::read(&b""[..], Options::default()), Err(ReadError::Empty)));
/// assert!(matches!(Recording::read(&b"hello\n"[..], Options::default()), Err(ReadError::Neither { .. })));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// An error of the source.
    #[error("reading failed after {bytes} bytes: {source}; check the file and the disk that it is on")]
    Io {
        /// The number of bytes that had been read, unpacked.
        bytes: u64,
        /// The error that the system reported.
        source: io::Error,
    },
    /// An empty file.
    #[error("it is empty; {HOW_TO_RECORD}")]
    Empty,
    /// A file that is neither a recording nor a trace.
    #[error(
        "this is neither what strace writes (lines such as `{STRACE_LINE}`) nor a trace (lines of `path TAB mode`): {looks}; {HOW_TO_RECORD}"
    )]
    Neither {
        /// A description of the file's beginning.
        looks: String,
    },
    /// A trace of lookups instead of a recording.
    #[error("this is a trace (lines of `path TAB mode`), not what strace writes; {HOW_TO_RECORD}")]
    Trace,
    /// A packed file that ends early, where all of it is needed.
    #[error("the packed file ends early: {problem}; copy or pack it again")]
    CutShort {
        /// The error that the unpacker reported.
        problem: String,
    },
    /// A relative path for the directory in which the recording starts.
    #[error("the directory in which the recording starts must be absolute, \"{}\" is not", .0.as_os_str().as_encoded_bytes().escape_ascii())]
    RelativeDirectory(PathBuf),
}

const STRACE_LINE: &str = "1234 access(\"/etc/hosts\", R_OK) = 0";
const HOW_TO_RECORD: &str =
    "record a command with `strace -f -y -o FILE -e trace=%file,%process,fchdir,close,dup,dup2,dup3,fcntl COMMAND`";
