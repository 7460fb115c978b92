//! Where a file system puts the names of a directory that were not asked for yet.

use crate::node::Node;
use crate::text::Name;

/// What takes names of a directory as a whole: the engine, seen from the file system.
pub(crate) trait TakesSiblings {
    /// See [`Siblings::most`].
    fn most(&self) -> usize;

    /// See [`Siblings::wants`].
    fn wants(&self, name: Name<'_>) -> bool;

    /// See [`Siblings::give`].
    fn give(&mut self, found: &[(Name<'_>, Node)]);

    /// See [`Siblings::note`].
    fn note(&mut self, name: Name<'_>);

    /// See [`Siblings::are_all`].
    fn are_all(&mut self);
}

/// Takes what a file system tells of a directory as a whole: see [`FileSystem::lookup_siblings`](crate::FileSystem::lookup_siblings).
///
/// The directory is pinned and its names do not change through the `Vfs` for the length of the call.
pub struct Siblings<'a>(&'a mut dyn TakesSiblings);

impl<'a> Siblings<'a> {
    pub(crate) fn new(taker: &'a mut dyn TakesSiblings) -> Siblings<'a> {
        Siblings(taker)
    }

    /// How many names the directory may have at most for this to be worth while; where it has more, nothing should be given.
    pub fn most(&self) -> usize {
        self.0.most()
    }

    /// Whether nothing is known of this name yet. A name that is not wanted need not be given; that it is there the engine knows.
    pub fn wants(&self, name: Name<'_>) -> bool {
        self.0.wants(name)
    }

    /// What is behind names: each node is handed out, as from [`lookup`](crate::FileSystem::lookup), with a `forget` to come whatever becomes of it.
    pub fn give(&mut self, found: &[(Name<'_>, Node)]) {
        self.0.give(found);
    }

    /// A name that is there; what is behind it is asked for by `lookup` when it is needed.
    pub fn note(&mut self, name: Name<'_>) {
        self.0.note(name);
    }

    /// Those that were given, noted, or not wanted are all names that can be looked up in the directory: one that is not cached is absent, from
    /// now on and until one of them leaves the cache.
    pub fn are_all(&mut self) {
        self.0.are_all();
    }
}

impl std::fmt::Debug for Siblings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Siblings").field("most", &self.most()).finish_non_exhaustive()
    }
}
