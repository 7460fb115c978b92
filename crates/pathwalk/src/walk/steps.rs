//! The steps of a walk, reported one by one to explain why a lookup ends as it does.
//!
//! The locked walk itself reports them, so the report is what was done. The fast walk reports
//! nothing: it has no listener.
//!
//! What it does not do: judge. Which rule refused a user follows from the node's attributes and the
//! user's credentials.

use crate::Errno;
use crate::mount::PinnedPlace;

/// A step of a walk; `P` is the type that stands for a place.
///
/// [`Steps`](crate::Steps) has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum What<P> {
    /// The start of the walk: the root, or the place where a relative path starts.
    Start(P),
    /// `.`: the walk stays where it is, and needs the right to search there.
    Dot,
    /// `..`: to the directory above; at the root, to itself.
    Up(P),
    /// A name, and the node of that name.
    Name {
        /// The name.
        name: Box<[u8]>,
        /// The node of that name. For a link, it is the link itself.
        node: P,
    },
    /// A mount on the place that the walk reached. The walk goes on at the root of the mount.
    Mount(P),
    /// A link, the node of the step before, which is followed.
    Link {
        /// The body of the link: the path to which it leads.
        body: Box<[u8]>,
        /// The place where the body starts: the root, or the directory of the link.
        from: P,
    },
    /// A name that does not exist: `ENOENT`.
    Absent {
        /// The name.
        name: Box<[u8]>,
        /// The directory that lacks the name.
        dir: P,
    },
    /// The end of the walk with an error.
    Refused {
        /// The error.
        errno: Errno,
        /// The reason.
        why: Why,
        /// The node that the error is about: the one to be searched, to be followed, or required to
        /// be a directory.
        node: P,
        /// The name that was to be looked up in it. Empty for links, and for a slash at the end.
        name: Box<[u8]>,
    },
}

/// The reason why a walk ends with an error.
///
/// ```
/// use pathwalk::{Credentials, Errno, Vfs, What, Why};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// context.write("/file", "")?;
/// let steps = context.steps("/file/below");
/// let last = &steps.steps.last().unwrap().what;
/// assert!(matches!(last, What::Refused { errno: Errno::ENOTDIR, why: Why::NotADirectory, .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Why {
    /// A component or a slash follows a node that is no directory: `ENOTDIR`.
    NotADirectory,
    /// The directory may not be searched: `EACCES`, or the error of the file system's own check.
    Search,
    /// The security hook refuses the search of the directory: `EACCES`.
    SecurityHook,
    /// The name could not be looked up: `ENAMETOOLONG`, `ENOENT` in a directory that was removed,
    /// `ENOENT` of a `..` that would lead out of what the mount shows, or the file system's error.
    Lookup,
    /// One link too many: `ELOOP`.
    TooManyLinks,
    /// `protected_symlinks` forbids the link at the end: `EACCES`.
    ProtectedLink,
    /// The mount, or a rule of the walk, follows no links: `ELOOP`.
    NoLinks,
    /// The way leads out of the directory that the walk must stay below: `EXDEV`. Or it may lead
    /// out, because directories were moved meanwhile: `EAGAIN`.
    Scope,
    /// The body of the link could not be read: the file system's error.
    Body,
}

impl<P> What<P> {
    /// Returns this step with another type of place.
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

/// A receiver of the steps of a walk.
pub(crate) trait Listener {
    /// Receives a step that was taken in `depth` nested bodies of links.
    fn step(&self, depth: usize, what: What<PinnedPlace<'_>>);

    /// Receives the notice that the walk begins anew: the steps so far are no part of it.
    fn begin_anew(&self);
}

/// A sender of the steps of a walk to a listener, if there is one.
#[derive(Clone, Copy)]
pub(crate) struct Teller<'a>(Option<&'a dyn Listener>);

impl<'a> Teller<'a> {
    /// A teller without a listener.
    pub(crate) const SILENT: Teller<'static> = Teller(None);

    pub(crate) fn to(listener: &'a dyn Listener) -> Self {
        Teller(Some(listener))
    }

    /// Reports a step. `what` is called only if there is a listener.
    pub(crate) fn tell<'p>(self, depth: usize, what: impl FnOnce() -> What<PinnedPlace<'p>>) {
        if let Some(listener) = self.0 {
            listener.step(depth, what());
        }
    }
}
