//! A walk told step by step, for people who want to know why a lookup ends as it does.
//!
//! It is the locked walk itself that tells, so what is told is what is done. The fast walk tells nothing: it has nobody to tell.
//!
//! What it does not do: judge. Which rule refused somebody follows from the node's attributes and his credentials.

use std::cell::RefCell;

use super::Env;
use crate::Errno;
use crate::handle::Handle;
use crate::vfs::Pinned;

/// A lookup, step by step. Made by [`Context::steps`](crate::Context::steps).
#[derive(Clone, Debug)]
pub struct Steps {
    /// In the order in which they were taken. None if the path is refused before any, as one that is too long.
    pub steps: Vec<Step>,
    /// What the lookup comes to.
    pub answer: Result<Handle, Errno>,
}

/// One step of a walk.
#[derive(Clone, Debug)]
pub struct Step {
    /// In how many links' bodies it is taken, one within the other: 0 is the path itself.
    pub depth: usize,
    /// What it is.
    pub what: What,
}

/// What a step is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum What {
    /// The walk begins here: the root, or where a relative path starts.
    Start(Handle),
    /// `.`: it stays where it is, and needs the right to search there.
    Dot,
    /// `..`: to the directory above; at the root, to itself.
    Up(Handle),
    /// A name, and the node of that name.
    Name {
        /// The name.
        name: Box<[u8]>,
        /// What has it; a link is itself here.
        node: Handle,
    },
    /// The node before is a link, and it is followed.
    Link {
        /// Where it leads.
        body: Box<[u8]>,
        /// Where the body starts: the root, or the directory of the link.
        from: Handle,
    },
    /// There is no such name: `ENOENT`.
    Absent {
        /// The name.
        name: Box<[u8]>,
        /// Where there is none.
        dir: Handle,
    },
    /// The walk ends with an error.
    Refused {
        /// Which.
        errno: Errno,
        /// For what reason.
        why: Why,
        /// The node that it is about: what was to be searched, followed or a directory.
        node: Handle,
        /// The name that was wanted in it, where one was: not for links, and not for a slash at the end.
        name: Box<[u8]>,
    },
}

/// Why a walk ends with an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Why {
    /// Something, be it a slash, comes behind what is no directory: `ENOTDIR`.
    NotADirectory,
    /// The directory may not be searched: `EACCES`, or what the file system's own check says.
    Search,
    /// The name could not be looked up: `ENAMETOOLONG`, `ENOENT` in a directory that was removed, or what the file system says.
    Lookup,
    /// One link too many: `ELOOP`.
    TooManyLinks,
    /// `protected_symlinks` forbids the link at the end: `EACCES`.
    ProtectedLink,
    /// The mount follows no links: `ELOOP`.
    NoLinks,
    /// Where the link leads could not be read: what the file system says.
    Body,
}

/// Where a walk writes down its steps, if anybody wants to know.
#[derive(Clone, Copy)]
pub(crate) struct Teller<'a>(Option<&'a RefCell<Vec<Step>>>);

impl<'a> Teller<'a> {
    /// Nobody wants to know.
    pub(crate) const SILENT: Teller<'static> = Teller(None);

    pub(crate) fn to(steps: &'a RefCell<Vec<Step>>) -> Self {
        Teller(Some(steps))
    }

    pub(crate) fn tell(self, depth: usize, what: impl FnOnce() -> What) {
        if let Some(steps) = self.0 {
            let what = what();
            steps.borrow_mut().push(Step { depth, what });
        }
    }
}

/// A handle of one's own on what a walk has pinned.
pub(crate) fn handle(env: &Env<'_>, of: &Pinned<'_>) -> Handle {
    Handle::from_pinned(&env.context.vfs, of.clone().into_id())
}
