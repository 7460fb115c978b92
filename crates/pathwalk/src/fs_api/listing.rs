//! The sink for the entries of a directory with their nodes.

use std::ops::ControlFlow;

use super::Entry;
use crate::node::Node;
use crate::text::Name;

/// The engine's receiver of a listing with nodes, as the file system sees it.
pub(crate) trait TakesEntries {
    /// Receives an entry: see [`EntrySink::push`].
    fn push(&mut self, entry: Entry<'_>) -> ControlFlow<()>;

    /// Returns whether a node is of use: see [`EntrySink::wants`].
    fn wants(&self, name: Name<'_>) -> bool;

    /// Receives nodes: see [`EntrySink::give`].
    fn give(&mut self, found: &[(Name<'_>, Node)]);
}

/// A sink for a listing with nodes: see
/// [`OpenFile::read_dir_with_nodes`](crate::OpenFile::read_dir_with_nodes).
///
/// The directory is pinned, and its names do not change through the `Vfs` during the call.
///
/// ```
/// use pathwalk::{Attributes, Entry, EntrySink, Errno, FIRST_COOKIE, FileType, Name, Node, NodeKey};
///
/// /// The body of `OpenFile::read_dir_with_nodes` for a directory with these names.
/// fn list(names: &[(&[u8], u128)], from: u64, sink: &mut EntrySink<'_>) -> Result<(), Errno> {
///     let node = |key| Node::new(NodeKey(key), Attributes::new(FileType::Regular, 0o644).with_ino(key as u64));
///     let mut found = Vec::new();
///     for ((name, key), cookie) in names.iter().zip(FIRST_COOKIE..).filter(|(_, cookie)| *cookie > from) {
///         let entry = Entry { name, key: NodeKey(*key), ino: *key as u64, kind: FileType::Regular, cookie };
///         let flow = sink.push(entry);
///         let name = Name::new(name)?;
///         if sink.wants(name) {
///             found.push((name, node(*key)));
///         }
///         if flow.is_break() {
///             break;
///         }
///     }
///     sink.give(&found);
///     Ok(())
/// }
/// # let _ = list;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EntrySink<'a>(&'a mut dyn TakesEntries);

impl<'a> EntrySink<'a> {
    pub(crate) fn new(taker: &'a mut dyn TakesEntries) -> EntrySink<'a> {
        EntrySink(taker)
    }

    /// Takes the next entry, in the order of cookies. Breaks if it is the last that fits: no entry
    /// after it is taken, but its node is.
    ///
    /// It calls nothing of the file system, so a lock may be held.
    pub fn push(&mut self, entry: Entry<'_>) -> ControlFlow<()> {
        self.0.push(entry)
    }

    /// Returns whether nothing is known of this name yet. The node of a name that is not wanted
    /// need not be given.
    ///
    /// It calls nothing of the file system, so a lock may be held.
    pub fn wants(&self, name: Name<'_>) -> bool {
        self.0.wants(name)
    }

    /// Takes the nodes behind names, in any number of calls. Each node is handed out, as from
    /// [`lookup`](crate::FileSystem::lookup): a `forget` follows in any case. A name whose node is
    /// not given is looked up.
    ///
    /// The engine may call `attributes` and `forget`, so hold no lock that those take.
    pub fn give(&mut self, found: &[(Name<'_>, Node)]) {
        self.0.give(found);
    }
}

impl std::fmt::Debug for EntrySink<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EntrySink").finish_non_exhaustive()
    }
}
