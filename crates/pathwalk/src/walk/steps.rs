//! A walk told step by step, for people who want to know why a lookup ends as it does.
//!
//! It is the locked walk itself that tells, so what is told is what is done. The fast walk tells
//! nothing: it has nobody to tell.
//!
//! What it does not do: judge. Which rule refused somebody follows from the node's attributes and
//! his credentials.

use crate::Errno;
use crate::mount::PinnedPlace;

/// What a step is; `P` is what stands for a place.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum What<P> {
    /// The walk begins here: the root, or where a relative path starts.
    Start(P),
    /// `.`: it stays where it is, and needs the right to search there.
    Dot,
    /// `..`: to the directory above; at the root, to itself.
    Up(P),
    /// A name, and the node of that name.
    Name {
        /// The name.
        name: Box<[u8]>,
        /// What has it; a link is itself here.
        node: P,
    },
    /// Something is mounted where the walk came to: it goes on at the root of that.
    Mount(P),
    /// The node before is a link, and it is followed.
    Link {
        /// Where it leads.
        body: Box<[u8]>,
        /// Where the body starts: the root, or the directory of the link.
        from: P,
    },
    /// There is no such name: `ENOENT`.
    Absent {
        /// The name.
        name: Box<[u8]>,
        /// Where there is none.
        dir: P,
    },
    /// The walk ends with an error.
    Refused {
        /// Which.
        errno: Errno,
        /// For what reason.
        why: Why,
        /// The node that it is about: what was to be searched, followed or a directory.
        node: P,
        /// The name that was wanted in it, where one was: not for links, and not for a slash at the
        /// end.
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
    /// The name could not be looked up: `ENAMETOOLONG`, `ENOENT` in a directory that was removed,
    /// `ENOENT` of a `..` that would lead out of what the mount shows, or what the file system says.
    Lookup,
    /// One link too many: `ELOOP`.
    TooManyLinks,
    /// `protected_symlinks` forbids the link at the end: `EACCES`.
    ProtectedLink,
    /// The mount, or a rule of the walk, follows no links: `ELOOP`.
    NoLinks,
    /// The way leads out of the directory that the walk must stay below: `EXDEV`; or it may, since
    /// directories were moved meanwhile: `EAGAIN`.
    Scope,
    /// Where the link leads could not be read: what the file system says.
    Body,
}

impl<P> What<P> {
    /// Returns the same with another kind of place.
    pub(crate) fn map<Q>(self, of: impl Fn(P) -> Q) -> What<Q> {
        match self {
            What::Start(place) => What::Start(of(place)),
            What::Dot => What::Dot,
            What::Up(place) => What::Up(of(place)),
            What::Mount(root) => What::Mount(of(root)),
            What::Name { name, node } => What::Name { name, node: of(node) },
            What::Link { body, from } => What::Link { body, from: of(from) },
            What::Absent { name, dir } => What::Absent { name, dir: of(dir) },
            What::Refused { errno, why, node, name } => What::Refused { errno, why, node: of(node), name },
        }
    }
}

/// The one that is told the steps of a walk.
pub(crate) trait Listener {
    /// A step was taken, in so many links' bodies, one within the other.
    fn step(&self, depth: usize, what: What<PinnedPlace<'_>>);

    /// The walk begins anew: what was told so far is no part of it.
    fn begin_anew(&self);
}

/// Tells a listener the steps of a walk, if there is one.
#[derive(Clone, Copy)]
pub(crate) struct Teller<'a>(Option<&'a dyn Listener>);

impl<'a> Teller<'a> {
    /// There is no listener.
    pub(crate) const SILENT: Teller<'static> = Teller(None);

    pub(crate) fn to(listener: &'a dyn Listener) -> Self {
        Teller(Some(listener))
    }

    /// Tells a step; `what` is asked only if there is a listener.
    pub(crate) fn tell<'p>(self, depth: usize, what: impl FnOnce() -> What<PinnedPlace<'p>>) {
        if let Some(listener) = self.0 {
            listener.step(depth, what());
        }
    }
}
