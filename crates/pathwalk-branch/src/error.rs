//! The errors of operations on branches as wholes.

use std::fmt;

use pathwalk::Errno;

use crate::commit::Conflict;
use crate::commit::onto_base::{Failure, Left};

/// An operation on a branch that was refused. Nothing was changed.
///
/// ```
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_branch::{Branches, Error};
/// let base = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let branches = Branches::new(base)?;
/// branches.fork(None, "work")?;
/// let error = branches.fork(None, "work").unwrap_err();
/// assert!(matches!(error, Error::Exists(_)));
/// assert_eq!(error.to_string(), "there is a branch \"work\" already: choose another name");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no branch of this name.
    #[error("there is no branch \"{0}\"; list the branches to see what there is")]
    NoBranch(String),
    /// There is a branch of this name already.
    #[error("there is a branch \"{0}\" already: choose another name")]
    Exists(String),
    /// The name is none for a branch.
    #[error("\"{0}\" is no name for a branch: take 1 to 255 bytes without a slash and without control characters")]
    Name(String),
    /// Other branches were forked from it.
    #[error("\"{name}\" has forks ({}): commit or drop those first", forks.join(", "))]
    HasForks {
        /// The branch.
        name: String,
        /// The names of its forks.
        forks: Vec<String>,
    },
    /// The branch has changed nothing at this path, or below it.
    #[error("nothing was changed at \"{}\"", .0.escape_ascii())]
    Unchanged(Box<[u8]>),
    /// Some paths were to be committed, and these two hang together: they are those of a rename, or
    /// one is a new or removed directory.
    #[error("\"{}\" and \"{}\" hang together: commit both, or none", path.escape_ascii(), with.escape_ascii())]
    Together {
        /// One of them.
        path: Box<[u8]>,
        /// The other one.
        with: Box<[u8]>,
    },
    /// A copy of another parent cannot take the place of a branch.
    #[error("\"{name}\" and \"{to}\" were not forked from the same branch, so one cannot take the place of the other")]
    OtherParent {
        /// The branch.
        name: String,
        /// The one that is to take its place.
        to: String,
    },
    /// The branch, and its parent or the base, changed the same things.
    #[error(
        "nothing was done: \"{name}\" and what it was forked from do not agree on {}; choose ours, theirs or a merge",
        Paths(conflicts)
    )]
    Conflicts {
        /// The branch.
        name: String,
        /// The things, sorted by their paths.
        conflicts: Vec<Conflict>,
    },
    /// A commit onto the base failed, and the base is as it was.
    #[error("cannot commit{}: {action} \"{}\": {errno}; the base is as it was", Quoted(name), path.escape_ascii())]
    NotCommitted {
        /// The branch; empty if it was another one, which a crash has left half committed.
        name: String,
        /// What could not be done.
        action: &'static str,
        /// The path, or a name in `.pathwalk-commit`.
        path: Box<[u8]>,
        /// The error of the base.
        errno: Errno,
    },
    /// A commit onto the base is decided, and a step of it failed. The next [`Branches`] of the
    /// base, or the next commit, goes on with it.
    ///
    /// [`Branches`]: crate::Branches
    #[error(
        "cannot finish the commit{}: {action} \"{}\": {errno}; \
         what is left is in \".pathwalk-commit\": mend the cause, and commit again",
        Quoted(name), path.escape_ascii()
    )]
    Unfinished {
        /// The branch; empty if it was another one, which a crash has left half committed.
        name: String,
        /// What could not be done.
        action: &'static str,
        /// The path, or a name in `.pathwalk-commit`.
        path: Box<[u8]>,
        /// The error of the base.
        errno: Errno,
    },
    /// Another process uses the branch.
    #[error("another process uses the branch \"{0}\": end that process, or wait for its end")]
    InUse(String),
    /// The store has branches of another base.
    #[error("the store has branches of another base: open it with that one, or choose another store")]
    OtherBase,
    /// The store was written by another version of this library, in a form that this one does not
    /// know.
    #[error("the store was written by another version of pathwalk: use that version, or choose another store")]
    OtherVersion,
    /// The store refused an operation.
    #[error("cannot {action}: {errno}")]
    Store {
        /// The operation.
        action: &'static str,
        /// The error of the store: `EIO` for one that is damaged.
        errno: Errno,
    },
    /// The base refused an operation.
    #[error("cannot {action}: {errno}")]
    Base {
        /// The operation.
        action: &'static str,
        /// The error of the base.
        errno: Errno,
    },
}

/// The name of a branch, in a message, if it is known.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " \"{}\"", self.0) }
    }
}

/// The most conflicts that a message names.
const NAMED: usize = 3;

/// The paths of conflicts, in a message.
struct Paths<'a>(&'a [Conflict]);

impl fmt::Display for Paths<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, conflict) in self.0.iter().take(NAMED).enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}\"{}\" ({})", conflict.path.escape_ascii(), conflict.kind)?;
        }
        match self.0.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl Error {
    pub(crate) fn of_commit(name: &str, failure: Failure) -> Error {
        let Failure { action, path, errno, left } = failure;
        let name = name.to_owned();
        match left {
            Left::Nothing => Error::NotCommitted { name, action, path, errno },
            Left::Decided => Error::Unfinished { name, action, path, errno },
        }
    }

    /// Returns what an operation of a file system fails with for this.
    pub(crate) fn errno(&self) -> Errno {
        match self {
            Error::Store { errno, .. } | Error::Base { errno, .. } => *errno,
            _ => Errno::EIO,
        }
    }

    pub(crate) fn base(action: &'static str) -> impl FnOnce(Errno) -> Error {
        move |errno| Error::Base { action, errno }
    }
}
