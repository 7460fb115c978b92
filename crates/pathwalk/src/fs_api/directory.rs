//! The directory for which a file system is called.

use crate::Errno;
use crate::cache::Caches;
use crate::cache::icache::inode::key_of;
use crate::memory::slot::DentryId;
use crate::node::NodeKey;

/// The directory in which a name is looked up or changed. It is pinned during the call.
///
/// ```
/// use pathwalk::{Attributes, Credentials, Directory, Errno, FileSystem, FileType, Name, Node, NodeKey, Vfs};
///
/// /// A file system that works by paths: each name leads to a file as long as its path.
/// struct Paths;
///
/// impl FileSystem for Paths {
///     fn root(&self) -> Result<Node, Errno> {
///         Ok(Node::new(NodeKey(0), Attributes::new(FileType::Directory, 0o755)))
///     }
///
///     fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
///         assert_eq!(dir.key(), NodeKey(0));
///         let length = dir.path()?.len() + name.bytes().len();
///         let mut attributes = Attributes::new(FileType::Regular, 0o644);
///         attributes.size = length as u64;
///         Ok(Some(Node::new(NodeKey(length as u128), attributes)))
///     }
///
///     fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
///         if node == NodeKey(0) { Ok(self.root()?.attributes) } else { Err(Errno::ESTALE) }
///     }
/// }
///
/// let context = Vfs::builder().build(Paths)?.context(Credentials::root());
/// assert_eq!(context.stat("/name")?.size, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Directory<'a> {
    caches: &'a Caches,
    dentry: DentryId,
}

impl<'a> Directory<'a> {
    /// Creates the view of a dentry on which the caller has a pin.
    pub(crate) fn new(caches: &'a Caches, dentry: DentryId) -> Directory<'a> {
        Directory { caches, dentry }
    }

    /// Returns the key of the directory's node.
    pub fn key(&self) -> NodeKey {
        key_of(self.caches.inodes.record(self.caches.dentries.inode(self.dentry)))
    }

    /// Returns its path from the root of the file system, `/` for the root: for file systems that
    /// work by paths.
    ///
    /// `ENOENT` once it was removed. The path is of some instant during the call; a directory above
    /// may be renamed at any time. Cost: one allocation and one a component.
    pub fn path(&self) -> Result<Vec<u8>, Errno> {
        let path = self.caches.path_below(self.dentry, DentryId::NONE)?;
        Ok(if path.is_empty() { b"/".to_vec() } else { path })
    }
}

impl std::fmt::Debug for Directory<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Directory({:?})", self.key())
    }
}
