//! The errors of writing changes, and of applying them.

use std::{fmt, io};

use pathwalk::Errno;

/// Changes that could not be written, or not be applied.
///
/// ```
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_changes::{Error, json};
/// let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let error = json::apply(std::io::Cursor::new("no changes"), &context).unwrap_err();
/// assert!(matches!(error, Error::Malformed { .. }));
/// assert!(error.to_string().starts_with("line 1: "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A tree refused an operation.
    #[error("cannot {action} \"{}\": {errno}", path.escape_ascii())]
    Tree {
        /// The operation.
        action: &'static str,
        /// The path.
        path: Box<[u8]>,
        /// The error of the tree.
        errno: Errno,
    },
    /// The output could not be written.
    #[error("cannot write the changes: {0}; what was written is not whole, so remove it")]
    Output(io::Error),
    /// The input could not be read.
    #[error("cannot read the changes: {0}")]
    Input(io::Error),
    /// The input is not in its format. Nothing was changed.
    #[error("{place}: {what}; the changes are damaged or of another format, so write them again")]
    Malformed {
        /// The place in the input.
        place: Position,
        /// The fault.
        what: String,
    },
    /// A path that is none below the root: nothing was changed.
    #[error("{place}: \"{}\" is no path below the root, and no other is changed", path.escape_ascii())]
    Path {
        /// The place in the input.
        place: Position,
        /// The path.
        path: Box<[u8]>,
    },
    /// The tree is not one to which the changes belong. Nothing was changed.
    #[error(
        "\"{}\" {what}: apply the changes to a tree that is, there, as the one that they were made on",
        path.escape_ascii()
    )]
    Differs {
        /// The path.
        path: Box<[u8]>,
        /// The difference.
        what: &'static str,
    },
    /// A part of a text that a patch replaces is not in the file. Nothing was changed.
    #[error(
        "{place}: what the hunk replaces is not in \"{}\": apply the patch to the version of the file that it was made on",
        path.escape_ascii()
    )]
    Hunk {
        /// The place of the hunk in the input.
        place: Position,
        /// The path of the file.
        path: Box<[u8]>,
    },
    /// The application stopped after some changes were made.
    #[error("stopped at {change}: {source}; the changes before it were made{}", Kept(kept))]
    Stopped {
        /// The change.
        change: String,
        /// The error.
        #[source]
        source: Box<Error>,
        /// The directory that holds what was on its way to another name, if there is any.
        kept: Option<Box<[u8]>>,
    },
    /// A name that the format cannot hold.
    #[error("\"{}\" cannot be written in this format, where such a name means a removal: write JSON", .0.escape_ascii())]
    Name(Box<[u8]>),
}

/// A place in the input.
///
/// [`Error`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// The number of a line, from 1.
    Line(u64),
    /// The number of bytes before it.
    Byte(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Line(number) => write!(f, "line {number}"),
            Position::Byte(offset) => write!(f, "byte {offset}"),
        }
    }
}

/// Where what was moved is kept, in a message.
struct Kept<'a>(&'a Option<Box<[u8]>>);

impl fmt::Display for Kept<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(path) => write!(f, ", and what was to be moved is in \"{}\"", path.escape_ascii()),
            None => Ok(()),
        }
    }
}

impl Error {
    pub(crate) fn tree(action: &'static str, path: &[u8]) -> impl FnOnce(Errno) -> Error {
        let path = path.into();
        move |errno| Error::Tree { action, path, errno }
    }

    pub(crate) fn malformed(place: Position, what: impl Into<String>) -> Error {
        Error::Malformed { place, what: what.into() }
    }

    pub(crate) fn differs(path: &[u8], what: &'static str) -> Error {
        Error::Differs { path: path.into(), what }
    }
}
