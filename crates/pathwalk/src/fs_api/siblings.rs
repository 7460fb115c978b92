//! The sink for the names of a directory that were not looked up yet.

use crate::node::Node;
use crate::text::Name;

/// The engine's receiver of the names of a directory, as the file system sees it.
pub(crate) trait TakesSiblings {
    /// Returns the limit: see [`Siblings::most`].
    fn most(&self) -> usize;

    /// Returns whether a name is of use: see [`Siblings::wants`].
    fn wants(&self, name: Name<'_>) -> bool;

    /// Receives nodes: see [`Siblings::give`].
    fn give(&mut self, found: &[(Name<'_>, Node)]);

    /// Receives a name: see [`Siblings::note`].
    fn note(&mut self, name: Name<'_>);

    /// Receives the end of a complete set: see [`Siblings::are_all`].
    fn are_all(&mut self);
}

/// A sink for the names of a directory as a whole: see
/// [`FileSystem::lookup_siblings`](crate::FileSystem::lookup_siblings).
///
/// The directory is pinned, and its names do not change through the `Vfs` during the call.
///
/// ```
/// use pathwalk::{Attributes, Directory, Errno, FileType, Name, Node, NodeKey, Siblings};
///
/// /// The body of `FileSystem::lookup_siblings` for a directory with these names.
/// fn siblings(names: &[(&[u8], u128)], siblings: &mut Siblings<'_>) -> Result<(), Errno> {
///     if names.len() > siblings.most() {
///         return Ok(());
///     }
///     for (name, key) in names {
///         let name = Name::new(name)?;
///         if !siblings.wants(name) {
///             continue;
///         }
///         if *key == 0 {
///             siblings.note(name); // its node is not at hand
///         } else {
///             siblings.give(&[(name, Node::new(NodeKey(*key), Attributes::new(FileType::Regular, 0o644)))]);
///         }
///     }
///     siblings.are_all();
///     Ok(())
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Siblings<'a>(&'a mut dyn TakesSiblings);

impl<'a> Siblings<'a> {
    pub(crate) fn new(taker: &'a mut dyn TakesSiblings) -> Siblings<'a> {
        Siblings(taker)
    }

    /// Returns the maximum number of names that the directory may have for this to pay. If it has
    /// more, give nothing.
    pub fn most(&self) -> usize {
        self.0.most()
    }

    /// Returns whether nothing is known of this name yet. A name that is not wanted need not be
    /// given: the engine has it already.
    pub fn wants(&self, name: Name<'_>) -> bool {
        self.0.wants(name)
    }

    /// Takes the nodes behind names. Each node is handed out, as from
    /// [`lookup`](crate::FileSystem::lookup): a `forget` follows in any case.
    pub fn give(&mut self, found: &[(Name<'_>, Node)]) {
        self.0.give(found);
    }

    /// Takes a name that exists. Its node is requested by `lookup` when it is needed.
    pub fn note(&mut self, name: Name<'_>) {
        self.0.note(name);
    }

    /// Declares that the names that were given, noted, or not wanted are all names of the
    /// directory. A name that is not cached is then absent, until one of them leaves the cache.
    pub fn are_all(&mut self) {
        self.0.are_all();
    }
}

impl std::fmt::Debug for Siblings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Siblings").field("most", &self.most()).finish_non_exhaustive()
    }
}
