//! Why nothing could be read, and what to do.

use std::io;
use std::path::PathBuf;

/// Why a recording could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Reading failed.
    #[error("reading failed after {bytes} bytes: {source}; check the file and the disk that it is on")]
    Io {
        /// How much had been read, unpacked.
        bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("it is empty; {HOW_TO_RECORD}")]
    Empty,
    /// It is neither a recording nor a trace.
    #[error(
        "this is neither what strace writes (lines such as `{STRACE_LINE}`) nor a trace (lines of `path TAB mode`): {looks}; {HOW_TO_RECORD}"
    )]
    Neither {
        /// What it looks like.
        looks: String,
    },
    /// It is a trace of lookups, not a recording.
    #[error("this is a trace (lines of `path TAB mode`), not what strace writes; {HOW_TO_RECORD}")]
    Trace,
    /// A packed file that ends early, where all of it is needed.
    #[error("the packed file ends early: {problem}; copy or pack it again")]
    CutShort {
        /// What the unpacker said.
        problem: String,
    },
    /// The directory in which the recording is said to start is a relative one.
    #[error("the directory in which the recording starts must be absolute, \"{}\" is not", .0.as_os_str().as_encoded_bytes().escape_ascii())]
    RelativeDirectory(PathBuf),
}

const STRACE_LINE: &str = "1234 access(\"/etc/hosts\", R_OK) = 0";
const HOW_TO_RECORD: &str =
    "record a command with `strace -f -y -o FILE -e trace=%file,%process,fchdir,close,dup,dup2,dup3,fcntl COMMAND`";
